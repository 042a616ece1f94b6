"""Persons of a remote registry: observe, reconstruct, show and find."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

import msgspec

from perdure.cli.remote import api_client
from perdure.cli.remote.api_client import Answer, ServerFailed
from perdure.cli.remote.remote_registry import PAGE, RemoteRegistry, path_to
from perdure.cli.remote.reported_error import build_error
from perdure.errors import InvalidInput, NoSuchName, PerdureError
from perdure.names import external
from perdure.records.authority_metadata import AuthorityMetadata
from perdure.records.person import Claim, Link, Observation, Reconstruction, Redaction, Restriction
from perdure.records.record import Tombstone
from perdure.registry.entities import Act, Agent
from perdure.registry.identifier_view import View
from perdure.registry.persons import (
    DroppedItem,
    Person,
    PersonHit,
    PersonPage,
    PersonView,
    find_dropped,
)
from perdure.registry.withdrawal import Withdrawal

_CREATED: Final = 201
_PPID: Final = re.compile(r"P[OR]ID-", re.IGNORECASE)


class CreatedPerson(msgspec.Struct):
    """A person identifier, as the API shows a new one."""

    ppid: str
    uuid_raw: UUID
    state: Any = "active"
    tombstone: Tombstone | None = None

    def to_domain(self, created: bool) -> Person:
        return Person(self.ppid, self.uuid_raw, created, self.state, self.tombstone)


class _Withdrawal(msgspec.Struct):
    at: str
    by: str
    by_identifier: str = ""


class ShownPerson(msgspec.Struct, kw_only=True):
    """A person, as the API shows one."""

    ppid: str
    state: str
    version: int
    newest: int
    authority: AuthorityMetadata
    uuid_raw: str | None = None
    observation: Observation | None = None
    reconstruction: Reconstruction | None = None
    restriction: Restriction | None = None
    redaction: Redaction | None = None
    tombstone: Tombstone | None = None
    withdrawal: _Withdrawal | None = None
    redacted_too: tuple[str, ...] = ()

    def to_view(self) -> View:
        return View(
            name=self.ppid,
            names=(self.ppid,),
            scheme="ppid",
            state=self.state,
            version=self.version,
            authority=self.authority,
            tombstone=self.tombstone,
            observation=self.observation,
            reconstruction=self.reconstruction,
            restriction=self.restriction,
            redaction=self.redaction,
            uuid_raw=self.uuid_raw,
        )


class _ObservationItem(msgspec.Struct):
    ppid: str
    observation: Observation | None = None


class _Observations(msgspec.Struct):
    observations: tuple[_ObservationItem, ...]


class _Acts(msgspec.Struct):
    revisions: tuple[Act, ...]
    next: int | None = None


class _Hit(msgspec.Struct):
    ppid: str
    state: str
    names: tuple[str, ...]


class _HitPage(msgspec.Struct):
    found: tuple[_Hit, ...]
    next: str | None = None


class _ObservedLine(msgspec.Struct):
    line: int | None = None
    ppid: str | None = None
    uuid_raw: UUID | None = None
    created: Any = None  # whether it is new; on the last line, a number
    state: Any = "active"
    error: dict[str, Any] | None = None


async def observe(
    remote: RemoteRegistry,
    by: Agent,
    source_url: str,
    retrieval_timestamp: str,
    content_hash: str,
    *,
    source_name: str | None = None,
    holding_archive: str | None = None,
    claims: Sequence[Claim] = (),
) -> Person:
    seen = Observation(source_url, retrieval_timestamp, content_hash, source_name, holding_archive, tuple(claims))
    return created_person(remote, remote.send("POST", "/poid", msgspec.to_builtins(seen)))


async def observe_many(
    remote: RemoteRegistry,
    by: Agent,
    observations: Sequence[Observation],
    *,
    note: str | None = None,
    dry_run: bool = False,
) -> list[Person | PerdureError]:
    """Record observations with one request. The server writes its own note into the history."""
    if not observations:
        return []
    body = (msgspec.json.encode(one) + b"\n" for one in observations)
    query = {"dry_run": dry_run}
    with api_client.stream_lines(remote.server, "POST", "/observations", query=query, body=body) as lines:
        read = [remote.decode(Answer(200, line), _ObservedLine) for line in lines]
    outcomes = [_to_outcome(one) for one in read if one.line is not None]
    if len(outcomes) != len(observations):
        raise ServerFailed(remote.server.url, f"it answered {len(outcomes)} of {len(observations)} observations")
    return outcomes


def _to_outcome(line: _ObservedLine) -> Person | PerdureError:
    if line.ppid is None or line.uuid_raw is None:
        return build_error(line.error or {})
    return Person(line.ppid, line.uuid_raw, bool(line.created), line.state)


async def reconstruct(
    remote: RemoteRegistry,
    by: Agent,
    observation_ids: Sequence[str],
    curator_id: str,
    timestamp: str,
    details: Reconstruction | None = None,
) -> Person:
    body = reconstruction_fields(observation_ids, curator_id, timestamp, details)
    return created_person(remote, remote.send("POST", "/prid", body))


async def show_person(
    remote: RemoteRegistry, text: str, *, version: int | None = None, by: Agent | None = None
) -> PersonView:
    shown = remote.get(path_to_person(remote, text), ShownPerson, version=version)
    path = path_to_person(remote, shown.ppid)
    acts = remote.get(f"{path}/history", _Acts, after=shown.version - 1, limit=1).revisions
    observations = {}
    if shown.reconstruction is not None:
        listed = remote.get(f"{path}/observations", _Observations, version=shown.version).observations
        observations = {one.ppid: _without_claims(one.observation) for one in listed}
    gone = shown.withdrawal
    withdrawal = None if gone is None else Withdrawal(gone.at, gone.by, gone.by_identifier)
    at = acts[0].at if acts else ""
    return PersonView(shown.to_view(), at, shown.newest, observations, (), withdrawal)


def _without_claims(observation: Observation | None) -> Observation | None:
    return None if observation is None else msgspec.structs.replace(observation, claims=())


async def list_person_versions(remote: RemoteRegistry, text: str, *, by: Agent | None = None) -> list[Act]:
    path = f"{path_to_person(remote, text)}/history"
    return [act for page in remote.pages(path, _Acts, limit=PAGE) for act in page.revisions]


async def list_public_persons(remote: RemoteRegistry, names: Sequence[str]) -> list[str]:
    """List those of the persons, and of the persons that they replaced, whose content is public."""
    shown: list[ShownPerson] = []
    following, seen = list(names), set(names)
    while following:
        name = following.pop()
        shown.append(remote.public.get(path_to_person(remote, name), ShownPerson))
        if name.startswith("PRID"):  # a restricted one hides what it replaced from other readers
            made = remote.get(path_to_person(remote, name), ShownPerson).reconstruction
            new = [] if made is None else [one for one in made.replaces if one not in seen]
            following += new
            seen.update(new)
    return sorted(one.ppid for one in shown if one.observation is not None or one.reconstruction is not None)


async def list_dropped(
    remote: RemoteRegistry, name: str, version: int, *, by: Agent | None = None, into: Sequence[tuple[str, int]] = ()
) -> list[DroppedItem]:
    """List what the act that made a version dropped: the same comparison as in the registry itself."""
    before = _reconstruction_at(remote, name, version - 1) if version > 1 else None
    after = [_reconstruction_at(remote, one, number) for one, number in into or ((name, version),)]
    known = [one for one in after if one is not None]
    return [] if before is None or len(known) < len(after) else find_dropped([before], known)


def _reconstruction_at(remote: RemoteRegistry, name: str, version: int) -> Reconstruction | None:
    try:
        return remote.get(path_to_person(remote, name), ShownPerson, version=version).reconstruction
    except NoSuchName:
        return None


async def find_by_name(
    remote: RemoteRegistry, words: Sequence[str], *, after: str | None = None, limit: int = 100
) -> PersonPage:
    page = remote.get("/persons", _HitPage, name=" ".join(words), after=after, limit=limit)
    return PersonPage([_to_hit(one) for one in page.found], page.next)


async def find_by_link(remote: RemoteRegistry, scheme: str, text: str, *, limit: int = 100) -> list[PersonHit]:
    linked = external.parse(scheme, text)
    found = remote.get("/persons", _HitPage, **{linked.scheme: linked.value}, limit=limit).found
    return [_to_hit(one) for one in found]


def _to_hit(hit: _Hit) -> PersonHit:
    return PersonHit(hit.ppid, hit.state, hit.names)


def created_person(remote: RemoteRegistry, answer: Answer) -> Person:
    """Return a person identifier that was created (201), or that existed already (200)."""
    return remote.decode(answer, CreatedPerson).to_domain(answer.status == _CREATED)


def path_to_person(remote: RemoteRegistry, name: str) -> str:
    """Return the path of a person in the API. Raise an error for a name that is not that of a person."""
    if _PPID.match(name) is None:
        view = remote.get(path_to("identifiers", name), View)
        if view.scheme != "ppid":
            raise InvalidInput("ppid", "name", f"{view.name} is not a person identifier (POID or PRID)")
        name = view.name
    return f"/{quote(name, safe='')}"


def reconstruction_fields(
    observation_ids: Sequence[str], curator_id: str, timestamp: str, details: Reconstruction | None
) -> dict[str, Any]:
    """Return the JSON of a reconstruction, as the API reads it."""
    given = {"observation_ids": list(observation_ids), "curator_id": curator_id, "timestamp": timestamp}
    return given if details is None else dict(_detail_fields(details)) | given


def _detail_fields(details: Reconstruction) -> Iterator[tuple[str, Any]]:
    for field in ("curator_name", "algorithm_version", "activity", "notes"):
        text = getattr(details, field)
        if text is not None:
            yield field, text
    yield "claims", [{"observation_id": one.observation_id, "claim": one.claim} for one in details.claims]
    yield "links", [_link_fields(one) for one in details.links]
    yield "employment", msgspec.to_builtins(details.employment)
    yield "different_from", list(details.different_from)


def _link_fields(link: Link) -> dict[str, str]:
    return {"relation": link.relation, "scheme": link.scheme, "value": link.value}
