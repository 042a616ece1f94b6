"""Curation of persons in a remote registry: revise, merge, split, undo, restrict and redact."""

from collections.abc import Sequence
from typing import Any

import msgspec

from perdure.cli.remote.persons import CreatedPerson, ShownPerson, path_to_person, reconstruction_fields
from perdure.cli.remote.remote_registry import RemoteRegistry
from perdure.records.person import Reconstruction
from perdure.registry.entities import Agent
from perdure.registry.persons import Curation, Person


class _Split(msgspec.Struct):
    persons: tuple[CreatedPerson, ...]


async def revise_reconstruction(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    observation_ids: Sequence[str],
    curator_id: str,
    timestamp: str,
    details: Reconstruction | None = None,
    *,
    expected_version: int | None = None,
    note: str | None = None,
) -> int:
    body = reconstruction_fields(observation_ids, curator_id, timestamp, details) | _without_none(reason=note)
    return remote.change("PUT", path_to_person(remote, name), ShownPerson, body, expected=expected_version).version


async def merge(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    into: str,
    curation: Curation,
    reason: str,
    *,
    expected_version: int | None = None,
) -> int:
    """Merge a person into another one. Return the new version of that other one."""
    body = {"into": into, "reason": reason, **_without_none(**curation._asdict())}
    return _act(remote, name, "merge", body, expected_version).version


async def split(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    parts: Sequence[Sequence[str]],
    curation: Curation,
    reason: str,
    *,
    expected_version: int | None = None,
) -> list[Person]:
    body = {"parts": [list(part) for part in parts], "reason": reason, **_without_none(**curation._asdict())}
    path = f"{path_to_person(remote, name)}/split"
    persons = remote.change("POST", path, _Split, body, expected=expected_version).persons
    return [one.to_domain(created=True) for one in persons]


async def undo_merge(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    curation: Curation,
    reason: str,
    *,
    expected_version: int | None = None,
) -> tuple[int, int]:
    """Undo a merge. Return the new versions of both persons."""
    merged = remote.get(path_to_person(remote, name), ShownPerson).tombstone
    body = {"reason": reason, **_without_none(**curation._asdict())}
    version = _act(remote, name, "undo", body, expected_version).version
    survivor = None if merged is None else merged.replaced_by
    return version, 0 if survivor is None else remote.get(path_to_person(remote, survivor), ShownPerson).version


async def undo_split(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    reason: str,
    curation: Curation | None = None,
    *,
    expected_version: int | None = None,
) -> int:
    body = {"reason": reason, **({} if curation is None else _without_none(**curation._asdict()))}
    return _act(remote, name, "undo", body, expected_version).version


async def restrict(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    reason: str,
    *,
    with_observations: bool = False,
    expected_version: int | None = None,
) -> int:
    body = {"reason": reason, "with_observations": with_observations}
    return _act(remote, name, "restrict", body, expected_version).version


async def lift_restriction(
    remote: RemoteRegistry, by: Agent, name: str, reason: str, *, expected_version: int | None = None
) -> int:
    return _act(remote, name, "lift-restriction", {"reason": reason}, expected_version).version


async def redact(
    remote: RemoteRegistry, by: Agent, name: str, reason: str, *, expected_version: int | None = None
) -> tuple[int, list[str]]:
    """Redact a person. Return the new version, and the reconstructions that lost data too."""
    redacted = _act(remote, name, "redact", {"reason": reason}, expected_version)
    return redacted.version, list(redacted.redacted_too)


def _act(remote: RemoteRegistry, name: str, act: str, body: dict[str, Any], expected: int | None) -> ShownPerson:
    return remote.change("POST", f"{path_to_person(remote, name)}/{act}", ShownPerson, body, expected=expected)


def _without_none(**fields: Any) -> dict[str, Any]:
    return {field: value for field, value in fields.items() if value is not None}
