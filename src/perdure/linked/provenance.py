"""Where what is said of a person comes from: sources, activities, versions."""

from typing import Final

from perdure.linked.agents import curator, readers
from perdure.linked.iris import external_iri, iri
from perdure.linked.namespaces import Namespaces
from perdure.linked.writing import Tree
from perdure.records.person import Observation, Reconstruction
from perdure.registry.looking import View
from perdure.registry.persons import PersonView

OBSERVATION: Final = ["PersonObservation", "PicoPersonObservation"]
RECONSTRUCTION: Final = ["PersonReconstruction", "PicoPersonReconstruction"]
_NOT_SHOWN: Final = {"value": "not shown", "language": "en"}


def source(observation: str, seen: Observation | None) -> Tree:
    """The primary source of an observation; one that is restricted has a source, of which nothing is told."""
    node: Tree = {"id": f"{observation}#source", "type": ["ArchiveComponent"]}
    if seen is None:
        node["name"] = _NOT_SHOWN
        return node
    address = iri(seen.source_url)
    node["name"] = seen.source_name or address
    node["url"] = address
    if seen.holding_archive is not None:
        holder = seen.holding_archive
        node["holdingArchive"] = iri(holder) if "://" in holder else external_iri("ghcid", holder)
    return node


def stub(name: str, seen: Observation | None, namespaces: Namespaces) -> Tree:
    """As much of an observation as the document of a reconstruction needs to stand on its own."""
    subject = namespaces.ppid + name
    return {"id": subject, "type": OBSERVATION, "poid": name, "hadPrimarySource": source(subject, seen)}


def retrieval(version: str, view: View, seen: Observation, namespaces: Namespaces) -> Tree:
    """The activity behind an observation: whoever took claims from the source, or who registered it."""
    agents = {one["id"]: one for one in readers(version, view, seen, namespaces).values()}
    return {
        "id": f"{version}#activity",
        "type": ["Activity"],
        "startedAtTime": seen.retrieval_timestamp,
        "wasAssociatedWith": list(agents.values()),
    }


def curation(version: str, made: Reconstruction, namespaces: Namespaces) -> Tree:
    """The activity behind a reconstruction: a curator's, or an algorithm's."""
    activity: Tree = {"id": f"{version}#activity", "type": ["Activity"]}
    if made.activity is not None:
        activity["label"] = made.activity
    return activity | {"startedAtTime": made.timestamp, "wasAssociatedWith": curator(version, made, namespaces)}


def versions(person: PersonView, identifier: str, subject: str) -> Tree:
    """How the document's subject stands to the versions. Never the same: each says what it says for ever."""
    number = person.view.version
    version = f"{identifier}/v{number}"
    before = {"wasRevisionOf": f"{identifier}/v{number - 1}"} if number > 1 else {}
    if subject == version:
        whole = {"id": identifier, "type": ["Entity"], "hasVersion": version}
        return {"specializationOf": whole, "isVersionOf": identifier, **before}
    current = {"id": version, "type": ["Entity"], "specializationOf": identifier, **before}
    older: list[Tree | str] = [f"{identifier}/v{one}" for one in range(1, number)]
    return {"hasVersion": [*older, current], "currentVersion": version}
