"""The document of a person: an observation, a reconstruction, or one version of either."""

from collections.abc import Sequence
from typing import Final

from perdure.linked.authority import Withdrawal, authority, withdrawn
from perdure.linked.claims import Made, claim_node, told
from perdure.linked.iris import external_iri
from perdure.linked.namespaces import Namespaces
from perdure.linked.provenance import OBSERVATION, RECONSTRUCTION, curation, retrieval, source, stub, versions
from perdure.linked.values import exactly
from perdure.linked.writing import Tree
from perdure.records.person import Employment, Observation, Reconstruction
from perdure.registry.looking import View
from perdure.registry.persons import PersonView

_RELATIONS: Final = {"exact": "sameAs", "close": "closeMatch"}
# Versions that are the same as one third would be the same as each other: so they only say where one can see who it is.
_RELATIONS_OF_A_VERSION: Final = _RELATIONS | {"exact": "identityPage"}


def person_tree(
    person: PersonView, namespaces: Namespaces, *, as_version: bool = False, withdrawal: Withdrawal | None = None
) -> Tree:
    """What is said of the person; of a version, if it is not the newest, or if that is asked for."""
    view = person.view
    identifier = namespaces.ppid + view.name
    version = f"{identifier}/v{view.version}"
    subject = version if as_version or not person.is_newest else identifier
    is_observation = view.name.startswith("POID")
    # What was withdrawn is still said by its versions, which stay as they were; of itself it says only that.
    is_gone = view.tombstone is not None and subject == identifier
    seen, made = (None, None) if is_gone else (view.observation, view.reconstruction)
    types = OBSERVATION if is_observation else RECONSTRUCTION
    is_shown = seen is not None or made is not None
    tree: Tree = {
        "id": subject,
        # PiCo's shapes ask for sources, which a record that is restricted or redacted does not tell.
        "type": types if is_shown else types[:1],
        "poid" if is_observation else "prid": view.name,
        "identifier": view.name,
    }
    if seen is not None:
        tree |= _observation(seen, identifier)
        tree["wasGeneratedBy"] = retrieval(version, view, seen, namespaces)
    if made is not None:
        tree |= _reconstruction(made, person, subject, namespaces)
        tree["wasGeneratedBy"] = curation(version, made, namespaces)
    if is_shown:
        tree["version"] = view.version
        tree |= versions(person, identifier, subject)
        if view.uuid_raw is not None:
            tree["uuidRaw"] = view.uuid_raw
    if is_gone and withdrawal is not None:
        tree |= withdrawn(identifier, withdrawal, namespaces)
    return tree | _withheld(view, namespaces) | authority(view, namespaces)


def _withheld(view: View, namespaces: Namespaces) -> Tree:
    """What is not shown, or is no longer there: why, and since when."""
    tree: Tree = {}
    if view.restriction is not None:
        tree["restrictionReason"] = view.restriction.reason
        tree["restrictedSince"] = view.restriction.since
    gone = view.redaction
    if gone is not None:
        tree |= {"redactionReason": gone.reason, "redactedAt": gone.at}
        if gone.sha256:  # which is not shown to everybody
            tree["redactedHash"] = gone.sha256
        if taken := [namespaces.ppid + act.of for act in gone.acts if act.of is not None]:
            tree["redactionOf"] = taken
    return tree


def _observation(seen: Observation, identifier: str) -> Tree:
    claims = [Made(identifier, number, claim) for number, claim in enumerate(seen.claims, 1)]
    tree = told(claims)
    if claims:
        tree["claim"] = [claim_node(made) for made in claims]
    tree["hadPrimarySource"] = source(identifier, seen)
    tree["retrievedAt"] = tree["generatedAtTime"] = seen.retrieval_timestamp
    tree["contentHash"] = seen.content_hash
    return tree


def _reconstruction(made: Reconstruction, person: PersonView, subject: str, namespaces: Namespaces) -> Tree:
    base = namespaces.ppid
    chosen = [Made(base + one.observation_id, one.claim, one.said) for one in made.claims if one.said is not None]
    tree = told(chosen)
    relations = _RELATIONS if subject == base + person.view.name else _RELATIONS_OF_A_VERSION
    for link in made.links:
        tree.setdefault(relations[link.relation], []).append(external_iri(link.scheme, link.value))
        if link.relation == "exact":
            tree.setdefault(link.scheme, []).append(link.value)
    if made.employment:
        tree |= _employments(made.employment, subject)
    for key, others in (("differentFrom", made.different_from), ("replaces", made.replaces)):
        if others:
            tree[key] = [base + name for name in others]
    if made.notes is not None:
        tree["note"] = made.notes
    if chosen:
        tree["claim"] = [claim_node(one) for one in chosen]
    tree["hasObservation"] = [base + name for name in made.observation_ids]
    tree["wasDerivedFrom"] = [stub(name, person.observations.get(name), namespaces) for name in made.observation_ids]
    tree["generatedAtTime"] = made.timestamp
    return tree


def _employments(all_of_them: Sequence[Employment], subject: str) -> Tree:
    """Each by itself; and of the person what section 8.2 shows, as far as it is clear what belongs together."""
    told_of_each = [_employment(one) for one in all_of_them]
    of_the_person = told_of_each[0] if len(told_of_each) == 1 else {}
    return {
        **of_the_person,
        "employedAt": list(dict.fromkeys(one["employedAt"] for one in told_of_each)),
        "employment": [
            {"id": f"{subject}#employment-{number}", "type": ["Employment"], **one}
            for number, one in enumerate(told_of_each, 1)
        ],
    }


def _employment(one: Employment) -> Tree:
    tree: Tree = {"employedAt": external_iri("ghcid", one.institution)}
    if one.role is not None:
        tree["employmentRole"] = one.role
    for key, date in (("employmentStart", one.start), ("employmentEnd", one.end)):
        if date is not None:
            if (exact := exactly(date)) is not None:
                tree[key] = exact
            tree[f"{key}Edtf"] = date
    return tree
