"""Nodes of agents, each with one IRI and one name in all documents.

PiCo allows one name of an agent per language, also in a merge of several documents. But documents may use different
names for one curator. So an agent that has an IRI has this IRI as its name, and the given name as an alternate name. An
agent without an IRI is a node of its document, to which no other document refers.
"""

from collections.abc import Sequence
from typing import Final

from perdure.rdf.iris import find_certain_iri, find_iri
from perdure.rdf.serializer import Tree
from perdure.records.namespaces import Namespaces
from perdure.records.person import Observation, Reconstruction
from perdure.registry.identifier_view import View

_AGENT: Final = ("Agent",)
_CURATOR: Final = ("Person", "Agent")
_PROGRAM: Final = ("SoftwareAgent", "Agent")
_PERSONS: Final = ("POID-", "PRID-")


def claim_agents(version: str, view: View, observation: Observation, namespaces: Namespaces) -> dict[str, Tree]:
    """Return the agents that took claims from the source, or else the one that registered it, by their names."""
    named = dict.fromkeys(claim.agent for claim in observation.claims if claim.agent is not None)
    if not named:
        creator = view.authority.creator
        known = find_iri(creator, namespaces)
        return {creator: _agent_node(known, f"{version}#agent-1", creator, _AGENT, namespaces)}
    return {
        name: _agent_node(find_certain_iri(name, namespaces), f"{version}#agent-{number}", name, _AGENT, namespaces)
        for number, name in enumerate(named, 1)
    }


def curator_node(version: str, reconstruction: Reconstruction, namespaces: Namespaces) -> Tree:
    """Return the node of the curator, or of the program, which has a node for each of its versions."""
    curator, name = reconstruction.curator_id, reconstruction.curator_name
    known, here = find_certain_iri(curator, namespaces), f"{version}#agent"
    called = name or curator
    if reconstruction.algorithm_version is not None:
        node = _local_agent_node(known, here, called, _PROGRAM)
        node["softwareVersion"] = reconstruction.algorithm_version
    else:
        node = _agent_node(known, here, called, _CURATOR, namespaces)
        if name is not None and node["name"] != name:
            node["alternateName"] = name
    return node | {"identifier": curator}


def registry_agent_node(known: str | None, here: str, called: str, namespaces: Namespaces) -> Tree:
    """Return the node of an agent of the registry that changed an identifier."""
    node = _agent_node(known, here, called, _AGENT, namespaces)
    return node if node["name"] == called else node | {"alternateName": called}


def _agent_node(known: str | None, here: str, called: str, types: Sequence[str], namespaces: Namespaces) -> Tree:
    """Return a node under the agent's own IRI, unless that is a person of this registry, who may have many names."""
    if known is None or known.removeprefix(namespaces.ppid).startswith(_PERSONS):
        return _local_agent_node(known, here, called, types)
    return {"id": known, "type": list(types), "name": known}


def _local_agent_node(known: str | None, here: str, called: str, types: Sequence[str]) -> Tree:
    """Return a node of this document that refers to the agent's own IRI."""
    node: Tree = {"id": here, "type": list(types), "name": called}
    return node if known is None else node | {"alternateOf": known}
