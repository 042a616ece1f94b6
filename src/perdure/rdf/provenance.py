"""Provenance of the description of a person: sources, activities and versions."""

from typing import Final

from perdure.rdf.agents import claim_agents, curator_node
from perdure.rdf.iris import external_iri, iri
from perdure.rdf.serializer import Tree
from perdure.records.namespaces import Namespaces
from perdure.records.person import Observation, Reconstruction
from perdure.registry.identifier_view import View
from perdure.registry.persons import PersonView

OBSERVATION: Final = ["PersonObservation", "PicoPersonObservation"]
RECONSTRUCTION: Final = ["PersonReconstruction", "PicoPersonReconstruction"]
_NOT_SHOWN: Final = {"value": "not shown", "language": "en"}


def source_node(subject: str, observation: Observation | None) -> Tree:
    """Return the primary source of an observation. Of a restricted observation, the source is not disclosed."""
    node: Tree = {"id": f"{subject}#source", "type": ["ArchiveComponent"]}
    if observation is None:
        node["name"] = _NOT_SHOWN
        return node
    address = iri(observation.source_url)
    node["name"] = observation.source_name or address
    node["url"] = address
    if observation.holding_archive is not None:
        holder = observation.holding_archive
        node["holdingArchive"] = iri(holder) if "://" in holder else external_iri("ghcid", holder)
    return node


def observation_stub(name: str, observation: Observation | None, namespaces: Namespaces) -> Tree:
    """Return the part of an observation that makes the document of a reconstruction self-contained."""
    subject = namespaces.ppid + name
    return {"id": subject, "type": OBSERVATION, "poid": name, "hadPrimarySource": source_node(subject, observation)}


def retrieval_activity(version: str, view: View, observation: Observation, namespaces: Namespaces) -> Tree:
    """Return the activity of an observation, with the agents that took claims, or the one that registered it."""
    agents = {agent["id"]: agent for agent in claim_agents(version, view, observation, namespaces).values()}
    return {
        "id": f"{version}#activity",
        "type": ["Activity"],
        "startedAtTime": observation.retrieval_timestamp,
        "wasAssociatedWith": list(agents.values()),
    }


def curation_activity(version: str, reconstruction: Reconstruction, namespaces: Namespaces) -> Tree:
    """Return the activity of a reconstruction, by a curator or an algorithm."""
    activity: Tree = {"id": f"{version}#activity", "type": ["Activity"]}
    if reconstruction.activity is not None:
        activity["label"] = reconstruction.activity
    curator = curator_node(version, reconstruction, namespaces)
    return activity | {"startedAtTime": reconstruction.timestamp, "wasAssociatedWith": curator}


def version_links(person: PersonView, identifier: str, subject: str) -> Tree:
    """Return the relations of the subject to its versions. None is `sameAs`, because a version never changes."""
    number = person.view.version
    version = f"{identifier}/v{number}"
    before = {"wasRevisionOf": f"{identifier}/v{number - 1}"} if number > 1 else {}
    if subject == version:
        whole = {"id": identifier, "type": ["Entity"], "hasVersion": version}
        return {"specializationOf": whole, "isVersionOf": identifier, **before}
    current = {"id": version, "type": ["Entity"], "specializationOf": identifier, **before}
    older: list[Tree | str] = [f"{identifier}/v{earlier}" for earlier in range(1, number)]
    return {"hasVersion": [*older, current], "currentVersion": version}
