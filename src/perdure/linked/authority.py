"""What every identifier says of itself: who answers for it, since when, its state, and what stands in its place."""

from typing import NamedTuple

from perdure.linked.agents import registered
from perdure.linked.iris import reference
from perdure.linked.namespaces import Namespaces
from perdure.linked.writing import Tree
from perdure.registry.looking import View


class Withdrawal(NamedTuple):
    """When an identifier was withdrawn, and by whom: a name, and an identifier of theirs if there is one."""

    at: str
    by: str
    by_identifier: str = ""


def authority(view: View, namespaces: Namespaces, home: str = "") -> Tree:
    """The authority metadata, the state, and the tombstone if there is one; `home` as for a reference."""
    said = view.authority
    tree: Tree = {"state": view.state}
    if said.created is not None:
        tree["created"] = said.created
    if said.updated is not None:
        tree["modified"] = said.updated
    for key, parties in (("creator", (said.creator,)), ("rightsHolder", said.owners)):
        if found := _references(parties, namespaces, home):
            tree[key] = found
    stone = view.tombstone
    if stone is not None:
        tree["tombstoneReason"] = stone.reason
        instead = stone.successors if stone.replaced_by is None else (stone.replaced_by, *stone.successors)
        if found := _references(instead, namespaces, home):
            tree["isReplacedBy"] = found
    return tree


def withdrawn(subject: str, withdrawal: Withdrawal, namespaces: Namespaces, home: str = "") -> Tree:
    """The act that ended an identifier; why is said by its tombstone."""
    known = reference(withdrawal.by_identifier, namespaces, home)
    agent = registered(known, f"{subject}#withdrawn-by", withdrawal.by, namespaces)
    activity: Tree = {
        "id": f"{subject}#withdrawal",
        "type": ["Activity"],
        "startedAtTime": withdrawal.at,
        "wasAssociatedWith": agent,
    }
    return {"invalidatedAtTime": withdrawal.at, "wasInvalidatedBy": activity}


def _references(identifiers: tuple[str, ...], namespaces: Namespaces, home: str) -> list[str] | str:
    found = [iri for one in identifiers if (iri := reference(one, namespaces, home)) is not None]
    return found[0] if len(found) == 1 else found
