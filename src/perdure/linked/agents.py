"""Agents: who or what did something, under one IRI and one name wherever they are told of.

PiCo takes one name of an agent in a language, also where the documents of many are put together, and there everybody
may have called a curator otherwise. So whoever has an IRI of their own goes by that, with what they were called beside
it; whoever has none is a node of the document, of which nobody else says anything.
"""

from collections.abc import Sequence
from typing import Final

from perdure.linked.iris import reference, unmistakable
from perdure.linked.namespaces import Namespaces
from perdure.linked.writing import Tree
from perdure.records.person import Observation, Reconstruction
from perdure.registry.looking import View

_AGENT: Final = ("Agent",)
_CURATOR: Final = ("Person", "Agent")
_PROGRAM: Final = ("SoftwareAgent", "Agent")
_PERSONS: Final = ("POID-", "PRID-")


def readers(version: str, view: View, seen: Observation, namespaces: Namespaces) -> dict[str, Tree]:
    """Whoever took claims from the source, or who registered it, by what they are called there."""
    named = dict.fromkeys(claim.agent for claim in seen.claims if claim.agent is not None)
    if not named:
        creator = view.authority.creator
        known = reference(creator, namespaces)
        return {creator: _agent(known, f"{version}#agent-1", creator, _AGENT, namespaces)}
    return {
        name: _agent(unmistakable(name, namespaces), f"{version}#agent-{number}", name, _AGENT, namespaces)
        for number, name in enumerate(named, 1)
    }


def curator(version: str, made: Reconstruction, namespaces: Namespaces) -> Tree:
    """Who concluded something; or the program that did, which is one thing in each of its versions."""
    known, here = unmistakable(made.curator_id, namespaces), f"{version}#agent"
    called = made.curator_name or made.curator_id
    if made.algorithm_version is not None:
        node = _apart(known, here, called, _PROGRAM) | {"softwareVersion": made.algorithm_version}
    else:
        node = _agent(known, here, called, _CURATOR, namespaces)
        if made.curator_name is not None and node["name"] != made.curator_name:
            node["alternateName"] = made.curator_name
    return node | {"identifier": made.curator_id}


def registered(known: str | None, here: str, called: str, namespaces: Namespaces) -> Tree:
    """An agent of the registry, who did something to an identifier, by what they are called there."""
    node = _agent(known, here, called, _AGENT, namespaces)
    return node if node["name"] == called else node | {"alternateName": called}


def _agent(known: str | None, here: str, called: str, types: Sequence[str], namespaces: Namespaces) -> Tree:
    """Under their own IRI, unless that is a person's of this registry: a person may have many names."""
    if known is None or known.removeprefix(namespaces.ppid).startswith(_PERSONS):
        return _apart(known, here, called, types)
    return {"id": known, "type": list(types), "name": known}


def _apart(known: str | None, here: str, called: str, types: Sequence[str]) -> Tree:
    """As a node of this document, which says whose other side it is."""
    node: Tree = {"id": here, "type": list(types), "name": called}
    return node if known is None else node | {"alternateOf": known}
