"""The claims of an observation, one by one: what each says, where it stands, who read it, and in which source."""

from typing import Final

from perdure.errors import InvalidInput
from perdure.linked.agents import readers
from perdure.linked.authority import Withdrawal
from perdure.linked.claims import STATED
from perdure.linked.namespaces import Namespaces
from perdure.linked.person import person_tree
from perdure.linked.terms import terms
from perdure.linked.writing import Tree, write
from perdure.registry.persons import PersonView

# What the document of an observation says and this one need not: the claims put together, and its versions.
_ELSEWHERE: Final = frozenset({"claim", "hasName", "uuidRaw", "version", "hasVersion", "currentVersion"}) | frozenset(
    STATED.values()
)


def write_claims(
    person: PersonView,
    format: str,
    namespaces: Namespaces,
    context_url: str,
    *,
    withdrawal: Withdrawal | None = None,
) -> bytes:
    """The document of an observation's claims."""
    return write(claim_set_tree(person, namespaces, withdrawal), format, terms(namespaces), context_url)


def claim_set_tree(person: PersonView, namespaces: Namespaces, withdrawal: Withdrawal | None = None) -> Tree:
    """Made from the document of the observation, so that neither tells what the other withholds."""
    view = person.view
    if not view.name.startswith("POID"):
        raise InvalidInput("linked", "claims", f"{view.name} is no observation (POID): only those make claims")
    whole = person_tree(person, namespaces, withdrawal=withdrawal)
    identifier = namespaces.ppid + view.name
    observation = {key: said for key, said in whole.items() if key not in _ELSEWHERE}
    tree: Tree = {"id": f"{identifier}/claims", "type": ["ClaimSet"], "about": observation}
    if view.observation is not None and "claim" in whole:
        agents = readers(f"{identifier}/v{view.version}", view, view.observation, namespaces)
        tree["hasPart"] = [_with_provenance(claim, whole, agents) for claim in whole["claim"]]
    return tree


def _with_provenance(claim: Tree, observation: Tree, agents: dict[str, Tree]) -> Tree:
    """A claim, with the source that makes it, and who or what read it there."""
    said = {key: observation[key]["id"] for key in ("hadPrimarySource", "wasGeneratedBy")}
    if "retrievalAgent" in claim:
        said["wasAttributedTo"] = agents[claim["retrievalAgent"]]["id"]
    return claim | said
