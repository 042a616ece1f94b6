"""The document of a person's versions: every change, by whom and when, and the version that it generated.

The change of a record is an activity of the registry. It is another one than the curation of a version, which its
curator dates and which several versions can share.
"""

from collections.abc import Mapping, Sequence

from perdure.rdf.agents import registry_agent_node
from perdure.rdf.iris import find_iri
from perdure.rdf.jsonld_context import terms
from perdure.rdf.provenance import curation_activity
from perdure.rdf.serializer import Tree, write
from perdure.records.namespaces import Namespaces
from perdure.records.person import Reconstruction
from perdure.registry.entities import Act, Agent


def write_version_history(
    name: str,
    acts: Sequence[Act],
    agents: Mapping[str, Agent],
    reconstructions: Mapping[int, Reconstruction],
    format: str,
    namespaces: Namespaces,
    context_url: str,
) -> bytes:
    """Write the versions of a person, the oldest first. Agents and reconstructions that are hidden are left out."""
    person = namespaces.ppid + name
    versions = [f"{person}/v{act.version}" for act in acts]
    tree: Tree = {
        "id": f"{person}/history",
        "type": ["VersionHistory"],
        "about": {"id": person, "type": ["Entity"], "hasVersion": versions, "currentVersion": versions[-1]},
        "hasPart": [
            _change_tree(person, act, agents.get(act.agent), reconstructions.get(act.version), namespaces)
            for act in acts
        ],
    }
    return write(tree, format, terms(namespaces), context_url)


def _change_tree(
    person: str, act: Act, agent: Agent | None, reconstruction: Reconstruction | None, namespaces: Namespaces
) -> Tree:
    """Return the activity that made a version. An agent who is not shown is named as the history names them."""
    version = f"{person}/v{act.version}"
    known, called = (None, act.agent) if agent is None else (find_iri(agent.identifier, namespaces), agent.name)
    tree: Tree = {
        "id": f"{version}#change",
        "type": ["Activity"],
        "label": {"value": act.action, "language": "en"},
        "startedAtTime": act.at,
        "wasAssociatedWith": registry_agent_node(known, f"{version}#changed-by", called, namespaces),
        "generated": _version_tree(person, act, reconstruction, namespaces),
    }
    if act.note is not None:
        tree["note"] = act.note
    return tree


def _version_tree(person: str, act: Act, reconstruction: Reconstruction | None, namespaces: Namespaces) -> Tree:
    version = f"{person}/v{act.version}"
    tree: Tree = {"id": version, "type": ["Entity"], "specializationOf": person, "isVersionOf": person}
    if act.version > 1:
        tree["wasRevisionOf"] = f"{person}/v{act.version - 1}"
    if reconstruction is not None:
        tree["generatedAtTime"] = reconstruction.timestamp
        tree["wasGeneratedBy"] = curation_activity(version, reconstruction, namespaces)
    return tree
