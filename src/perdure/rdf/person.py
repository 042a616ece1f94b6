"""The document of a person: an observation, a reconstruction, or one version of either."""

from collections.abc import Sequence
from typing import Final

from perdure.rdf.authority_metadata import metadata_tree, withdrawal_tree
from perdure.rdf.claims import NumberedClaim, claim_node, claim_properties
from perdure.rdf.iris import external_iri
from perdure.rdf.literals import to_typed_date
from perdure.rdf.provenance import (
    OBSERVATION,
    RECONSTRUCTION,
    curation_activity,
    observation_stub,
    retrieval_activity,
    source_node,
    version_links,
)
from perdure.rdf.serializer import Tree
from perdure.records.namespaces import Namespaces
from perdure.records.person import Employment, Observation, Reconstruction
from perdure.registry.identifier_view import View
from perdure.registry.persons import PersonView

_RELATIONS: Final = {"exact": "sameAs", "close": "closeMatch"}
# `sameAs` from two versions to one identifier would make them one thing. So a version has an identity page instead.
_RELATIONS_OF_A_VERSION: Final = _RELATIONS | {"exact": "identityPage"}


def person_tree(person: PersonView, namespaces: Namespaces, *, as_version: bool = False) -> Tree:
    """Return the document of the person; of a version, if it is not the newest or with `as_version`."""
    view = person.view
    identifier = namespaces.ppid + view.name
    version = f"{identifier}/v{view.version}"
    subject = version if as_version or not person.is_newest else identifier
    is_observation = view.name.startswith("POID")
    # The versions of a withdrawn person stay as they were; the person itself has only the withdrawal.
    is_gone = view.tombstone is not None and subject == identifier
    observation, reconstruction = (None, None) if is_gone else (view.observation, view.reconstruction)
    types = OBSERVATION if is_observation else RECONSTRUCTION
    is_public = observation is not None or reconstruction is not None
    tree: Tree = {
        "id": subject,
        # PiCo's shapes require sources, which a restricted or redacted record does not disclose.
        "type": types if is_public else types[:1],
        "poid" if is_observation else "prid": view.name,
        "identifier": view.name,
    }
    if observation is not None:
        tree |= _observation_tree(observation, identifier)
        tree["wasGeneratedBy"] = retrieval_activity(version, view, observation, namespaces)
    if reconstruction is not None:
        tree |= _reconstruction_tree(reconstruction, person, subject, namespaces)
        tree["wasGeneratedBy"] = curation_activity(version, reconstruction, namespaces)
    if is_public:
        tree["version"] = view.version
        tree |= version_links(person, identifier, subject)
        if view.uuid_raw is not None:
            tree["uuidRaw"] = view.uuid_raw
    if is_gone and person.withdrawal is not None:
        tree |= withdrawal_tree(identifier, person.withdrawal, namespaces)
    return tree | _restriction_tree(view, namespaces) | metadata_tree(view, namespaces)


def _restriction_tree(view: View, namespaces: Namespaces) -> Tree:
    """Return the reasons and dates of a restriction or redactions."""
    tree: Tree = {}
    if view.restriction is not None:
        tree["restrictionReason"] = view.restriction.reason
        tree["restrictedSince"] = view.restriction.since
    gone = view.redaction
    if gone is not None:
        tree |= {"redactionReason": gone.reason, "redactedAt": gone.at}
        if gone.sha256:  # it is not public
            tree["redactedHash"] = gone.sha256
        if taken := [namespaces.ppid + act.of for act in gone.acts if act.of is not None]:
            tree["redactionOf"] = taken
    return tree


def _observation_tree(observation: Observation, identifier: str) -> Tree:
    claims = [NumberedClaim(identifier, number, claim) for number, claim in enumerate(observation.claims, 1)]
    tree = claim_properties(claims)
    if claims:
        tree["claim"] = [claim_node(numbered) for numbered in claims]
    tree["hadPrimarySource"] = source_node(identifier, observation)
    tree["retrievedAt"] = tree["generatedAtTime"] = observation.retrieval_timestamp
    tree["contentHash"] = observation.content_hash
    return tree


def _reconstruction_tree(
    reconstruction: Reconstruction, person: PersonView, subject: str, namespaces: Namespaces
) -> Tree:
    base = namespaces.ppid
    chosen = [
        NumberedClaim(base + choice.observation_id, choice.claim, choice.said)
        for choice in reconstruction.claims
        if choice.said is not None
    ]
    tree = claim_properties(chosen)
    relations = _RELATIONS if subject == base + person.view.name else _RELATIONS_OF_A_VERSION
    for link in reconstruction.links:
        tree.setdefault(relations[link.relation], []).append(external_iri(link.scheme, link.value))
        if link.relation == "exact":
            tree.setdefault(link.scheme, []).append(link.value)
    if reconstruction.employment:
        tree |= _employment_trees(reconstruction.employment, subject)
    for key, others in (("differentFrom", reconstruction.different_from), ("replaces", reconstruction.replaces)):
        if others:
            tree[key] = [base + name for name in others]
    if reconstruction.notes is not None:
        tree["note"] = reconstruction.notes
    if chosen:
        tree["claim"] = [claim_node(numbered) for numbered in chosen]
    tree["hasObservation"] = [base + name for name in reconstruction.observation_ids]
    tree["wasDerivedFrom"] = [
        observation_stub(name, person.observations.get(name), namespaces) for name in reconstruction.observation_ids
    ]
    tree["generatedAtTime"] = reconstruction.timestamp
    return tree


def _employment_trees(employments: Sequence[Employment], subject: str) -> Tree:
    """Return each employment, and the properties of the person in section 8.2, if there is only one employment."""
    trees = [_employment_tree(employment) for employment in employments]
    of_the_person = trees[0] if len(trees) == 1 else {}
    return {
        **of_the_person,
        "employedAt": list(dict.fromkeys(tree["employedAt"] for tree in trees)),
        "employment": [
            {"id": f"{subject}#employment-{number}", "type": ["Employment"], **tree}
            for number, tree in enumerate(trees, 1)
        ],
    }


def _employment_tree(employment: Employment) -> Tree:
    tree: Tree = {"employedAt": external_iri("ghcid", employment.institution)}
    if employment.role is not None:
        tree["employmentRole"] = employment.role
    for key, date in (("employmentStart", employment.start), ("employmentEnd", employment.end)):
        if date is not None:
            if (exact := to_typed_date(date)) is not None:
                tree[key] = exact
            tree[f"{key}Edtf"] = date
    return tree
