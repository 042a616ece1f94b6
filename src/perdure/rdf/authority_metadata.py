"""Authority metadata as RDF: responsible parties, dates, state, and replacements of an identifier."""

from perdure.rdf.agents import registry_agent_node
from perdure.rdf.iris import find_iri
from perdure.rdf.serializer import Tree
from perdure.records.namespaces import Namespaces
from perdure.registry.identifier_view import View
from perdure.registry.withdrawal import Withdrawal


def metadata_tree(view: View, namespaces: Namespaces, home: str = "") -> Tree:
    """Return the authority metadata, the state, and the tombstone if there is one. `home` is as for `find_iri`."""
    metadata = view.authority
    tree: Tree = {"state": view.state}
    if metadata.created is not None:
        tree["created"] = metadata.created
    if metadata.updated is not None:
        tree["modified"] = metadata.updated
    for key, parties in (("creator", (metadata.creator,)), ("rightsHolder", metadata.owners)):
        if iris := _references(parties, namespaces, home):
            tree[key] = iris
    stone = view.tombstone
    if stone is not None:
        tree["tombstoneReason"] = stone.reason
        replacements = stone.successors if stone.replaced_by is None else (stone.replaced_by, *stone.successors)
        if iris := _references(replacements, namespaces, home):
            tree["isReplacedBy"] = iris
    return tree


def withdrawal_tree(subject: str, withdrawal: Withdrawal, namespaces: Namespaces, home: str = "") -> Tree:
    """Return the activity that withdrew an identifier. The tombstone has the reason."""
    known = find_iri(withdrawal.by_identifier, namespaces, home)
    agent = registry_agent_node(known, f"{subject}#withdrawn-by", withdrawal.by, namespaces)
    activity: Tree = {
        "id": f"{subject}#withdrawal",
        "type": ["Activity"],
        "startedAtTime": withdrawal.at,
        "wasAssociatedWith": agent,
    }
    return {"invalidatedAtTime": withdrawal.at, "wasInvalidatedBy": activity}


def _references(identifiers: tuple[str, ...], namespaces: Namespaces, home: str) -> list[str] | str:
    iris = [iri for identifier in identifiers if (iri := find_iri(identifier, namespaces, home)) is not None]
    return iris[0] if len(iris) == 1 else iris
