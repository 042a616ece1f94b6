"""The document of an observation's claims: each with its value, location in the source, reader and source."""

from typing import Final

from perdure.errors import InvalidInput
from perdure.rdf.agents import claim_agents
from perdure.rdf.claims import PROPERTY_OF_CLAIM
from perdure.rdf.jsonld_context import terms
from perdure.rdf.person import person_tree
from perdure.rdf.serializer import Tree, write
from perdure.records.namespaces import Namespaces
from perdure.registry.persons import PersonView

# Parts of the document of an observation that this one leaves out: the claims as properties, and its versions.
_ELSEWHERE: Final = frozenset({"claim", "hasName", "uuidRaw", "version", "hasVersion", "currentVersion"}) | frozenset(
    PROPERTY_OF_CLAIM.values()
)


def write_claims(person: PersonView, format: str, namespaces: Namespaces, context_url: str) -> bytes:
    """Write the document of an observation's claims."""
    return write(claim_set_tree(person, namespaces), format, terms(namespaces), context_url)


def claim_set_tree(person: PersonView, namespaces: Namespaces) -> Tree:
    """Build the document from that of the observation, so that neither discloses what the other withholds."""
    view = person.view
    if not view.name.startswith("POID"):
        raise InvalidInput(
            "linked", "claims", f"{view.name} is not an observation (POID): only observations have claims"
        )
    whole = person_tree(person, namespaces)
    identifier = namespaces.ppid + view.name
    observation = {key: value for key, value in whole.items() if key not in _ELSEWHERE}
    tree: Tree = {"id": f"{identifier}/claims", "type": ["ClaimSet"], "about": observation}
    if view.observation is not None and "claim" in whole:
        agents = claim_agents(f"{identifier}/v{view.version}", view, view.observation, namespaces)
        tree["hasPart"] = [_with_provenance(claim, whole, agents) for claim in whole["claim"]]
    return tree


def _with_provenance(claim: Tree, observation: Tree, agents: dict[str, Tree]) -> Tree:
    """Return a claim with its source, and the agent that took it from there."""
    provenance = {key: observation[key]["id"] for key in ("hadPrimarySource", "wasGeneratedBy")}
    if "retrievalAgent" in claim:
        provenance["wasAttributedTo"] = agents[claim["retrievalAgent"]]["id"]
    return claim | provenance
