"""Verify: go over everything that is kept, and say what contradicts what the registry promises."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final
from uuid import UUID

from perdure.errors import InvalidInput, PerdureError, StoreDamaged, StoreUnavailable
from perdure.minting.clock import NANOSECONDS
from perdure.names import handle, ibi, instant, pilin, ppid
from perdure.records import record as records
from perdure.records.authority import DESCRIPTIONS
from perdure.records.checks import checked_values
from perdure.records.record import Record
from perdure.records.target import plain_target, reverse_entries
from perdure.registry.authority import latest_end
from perdure.registry.entities import EVERYWHERE, Event, Grant, History, Identifier, Prefix, Revision
from perdure.registry.history_digest import event_digest, expected_digest
from perdure.registry.naming import locate
from perdure.registry.parties import actionable
from perdure.registry.persons import raw_uuid, successors
from perdure.registry.persons.proving import (
    company_problems,
    ground_problems,
    no_person_problems,
    saying_problems,
)
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry
from perdure.registry.sealing import SEALING, context_of

_CHUNK: Final = 1000
MOST_PROBLEMS: Final = 1000
_MOST_EVENTS: Final = 10_000
_ALL_EVENTS: Final = 1 << 62
_MOST_HITS: Final = 1000

Watch = Callable[[int, int], None]  # identifiers checked, of how many


async def verify(registry: Registry, progress: Watch | None = None) -> list[str]:
    """Every invariant, over the whole registry; what is wrong, or nothing. At most a thousand problems are listed."""
    problems = schema_problems(await registry.store.schema_differences())
    problems += [f"the database: {one}" for one in await _mark_problems(registry)]
    problems += await registry.store.read(lambda reader: list(reader.contradictions()))
    total = 0
    try:
        total = (await registry.store.read(lambda reader: reader.counts()))["identifiers"]
        problems += await registry.store.read(lambda reader: list(_registry_problems(registry, reader)))
    except StoreDamaged as problem:
        problems.append(str(problem))
    parties: dict[str, str | None] = {}
    key, done = "", 0
    while len(problems) < MOST_PROBLEMS:

        def work(reader: Reader, key: str = key) -> tuple[list[str], list[str]]:
            histories = reader.histories(key, _CHUNK)
            look = _Look(registry, reader, parties)
            found = [problem for one in histories for problem in _problems(look, one)]
            return [one.identifier.key for one in histories], found

        try:
            keys, found = await registry.store.read(work)
        except StoreDamaged:
            problems.append(f"after {key!r}: the rest cannot be read")
            break
        if not keys:
            break
        key, done = keys[-1], done + len(keys)
        problems += found
        if progress is not None:
            progress(done, max(done, total))
    return problems[:MOST_PROBLEMS]


def schema_problems(differences: Sequence[str]) -> list[str]:
    """Return the differences of a schema as problems to list."""
    return [f"the schema was changed by another program: {one}" for one in differences]


async def _mark_problems(registry: Registry) -> Sequence[str]:
    try:
        return await registry.store.find_disagreement()
    except StoreDamaged as problem:
        return [str(problem)]


class _Look:
    """A look at one state of the registry. What every name asks for is asked once."""

    def __init__(self, registry: Registry, reader: Reader, parties: dict[str, str | None]) -> None:
        self.registry = registry
        self.reader = reader
        self.parties = parties
        self.timelines = reader.timelines()
        self._prefixes = {key: one for one in reader.prefixes() for key in (one.key, one.opaque) if key is not None}

    def prefix(self, key: str) -> Prefix | None:
        return self._prefixes.get(key)


def _registry_problems(registry: Registry, reader: Reader) -> Iterator[str]:
    for prefix in reader.prefixes():
        if prefix.parent is not None and reader.prefix(prefix.parent) is None:
            yield f"{prefix.name}: the prefix that it is derived from, {prefix.parent}, is not kept"
    for kind in DESCRIPTIONS:
        if reader.find(handle.fold(f"{registry.settings.type_prefix}/{kind}")) is None:
            yield f"{registry.settings.type_prefix}/{kind}: the type is not registered, so it does not resolve"
    now = registry.clock.now_ns() / NANOSECONDS
    for key, last in reader.timelines().items():
        owner = reader.prefix(key)
        # A timeline without a prefix is right: a restore keeps those of prefixes that were added after the backup.
        if owner is not None and owner.minter in ("pilin", "ibi") and last - now > registry.settings.wait + 60:
            yield f"{key}: its last date is {float(last - now):.0f} s in the future (see: perdure prefix reset --help)"
    events = reader.events(_ALL_EVENTS)
    yield from _event_problems(events[::-1])
    yield from _end_problems(reader, events)
    yield from _secret_problems(registry, reader)


def _end_problems(reader: Reader, events: Sequence[Event]) -> Iterator[str]:
    """List the grants and keys that outlive the grant or key by which they were made, as far as that is known."""
    agents = reader.agents()
    for agent in agents:
        for one in reader.grants(agent.id):
            end = latest_end(_giver_ends(reader, one))
            if end is not None and (one.until is None or one.until > end):
                yield (
                    f"{agent.id} may {one.action} on {one.scope} {_until(one.until)}, but {one.given_by}, who granted "
                    f"it, only {_until(end)}: grant it again with an end, or revoke it"
                )
    keys_of = {agent.id: reader.keys(agent.id) for agent in agents}
    keys = {key.id: key for some in keys_of.values() for key in some}
    for event in events:
        made = keys.get(event.detail.removeprefix("key ")) if event.action == "key add" else None
        if made is None or made.revoked is not None:
            continue
        end = latest_end([one.expires for one in keys_of.get(event.agent, ()) if one.created < event.at])
        if end is not None and (made.expires is None or made.expires > end):
            yield (
                f"the key {made.id} of {made.agent} works {_until(made.expires)}, but every key of {event.agent}, who "
                f"made it, only {_until(end)}: revoke it with perdure agent key --revoke"
            )


def _giver_ends(reader: Reader, one: Grant) -> list[str | None]:
    """Return the ends of the grants by which its giver could have given this one.

    For the grants on a derived prefix to its creator, these are grants on the parent.
    """
    prefix = reader.prefix(one.scope)
    scopes = {EVERYWHERE, one.scope}
    if one.given_by == one.agent and prefix is not None and prefix.parent is not None:
        scopes = {EVERYWHERE, prefix.parent}
    given = reader.grants(one.given_by)
    return [
        other.until
        for other in given
        if other.action in ("admin", "derive") and other.scope in scopes and not other.own
    ]


def _until(end: str | None) -> str:
    return "without an end" if end is None else f"until {end}"


def _event_problems(events: Sequence[Event]) -> Iterator[str]:
    """Whether each event has the digest of what it says and of the event before it."""
    before = b""
    for one in events:
        if one.digest != event_digest(one, before):
            yield f"the event {one.action!a} of {one.at} is not what was recorded: its digest differs"
        before = one.digest


def _secret_problems(registry: Registry, reader: Reader) -> Iterator[str]:
    """Whether every secret can be opened here, with the key that this machine has."""
    kept, known = reader.secrets(), reader.fact(SEALING)
    if not kept:
        return
    if known is None:
        yield "secrets are kept, and nothing tells with which key they were sealed"
        return
    try:
        registry.sealer.check(known)
    except StoreUnavailable as problem:
        yield str(problem)
        return
    for key, index, sealed in kept:
        try:
            registry.sealer.open(sealed, context_of(key, index))
        except StoreDamaged as problem:
            yield str(problem)


def _problems(look: _Look, one: History) -> Iterator[str]:
    row = one.identifier
    try:
        record = records.decode(row.record)
        yield from (f"{row.name}: {problem}" for problem in _record_problems(look, row, record))
        if row.subject == row.key:
            yield from (f"{row.name}: {problem}" for problem in _history_problems(look, row, one.revisions))
            if row.scheme == "ppid":
                yield from (f"{row.name}: {problem}" for problem in _person_problems(look, row, one.revisions))
            else:
                yield from (
                    f"{row.name}: {problem}" for _, problem in no_person_problems(record, look.registry.settings.limits)
                )
    except Exception as problem:  # whatever a damaged row does, the others are still looked at
        yield f"{row.name}: it cannot be read ({problem})"


def _record_problems(look: _Look, row: Identifier, record: Record) -> Iterator[str]:
    reader, parties = look.reader, look.parties
    located = locate(look, row.name)
    if located.key != row.key:
        yield f"it is kept under the key {row.key}, and would be looked up as {located.key}"
    if located.scheme != row.scheme:
        yield f"it is kept as {row.scheme}, and is {located.scheme}"
    if (record.state, record.created, plain_target(record)) != (row.state, row.created, row.target):
        yield "its row says something else than its record"
    if (record.tombstone is not None) != (record.state in ("withdrawn", "merged")):
        yield f"it is {record.state}, and its tombstone says otherwise"
    if record.state == "active" and record.created is None:
        yield "it is active and has no creation date"
    if record.state == "reserved" and record.created is not None:
        yield "it is reserved and has a creation date"
    if record.creator in record.owners or len(set(record.owners)) != len(record.owners):
        yield "its owners repeat each other, or the creator"
    try:
        if checked_values(record.values, look.registry.settings.limits) != record.values:
            yield "its values are not in the order of their indexes"
    except InvalidInput as problem:  # they are from before a check was stricter, or the settings
        yield f"a value of it would be refused today: {problem.reason}"
    if row.subject == row.key:
        for kind, data in reverse_entries(record):
            hits = reader.reverse(data, kind, _MOST_HITS)
            if len(hits) < _MOST_HITS and row.name not in {hit.name for hit in hits}:
                yield f"reverse look-up of its {kind} does not find it"
    if record.alias is not None:
        other = reader.find(handle.fold(record.alias))
        if other is None or other.subject != row.subject:
            yield f"its alias {record.alias} is not there, or belongs to something else"
    for party in (record.creator, *record.owners):
        if party not in parties:
            parties[party] = _leads_nowhere(look.registry, reader, party)
        if parties[party] is not None:
            yield f"{party} is named in its authority metadata, and {parties[party]}"


def _leads_nowhere(registry: Registry, reader: Reader, party: str) -> str | None:
    try:
        actionable(reader, party, "party", registry.settings.limits)
    except PerdureError as problem:
        return str(problem)
    return None


def _history_problems(look: _Look, row: Identifier, revisions: Sequence[Revision]) -> Iterator[str]:
    if [one.version for one in revisions] != list(range(1, row.version + 1)):
        yield f"its versions do not count from 1 to {row.version}"
    if any(earlier.at > later.at for earlier, later in pairwise(revisions)):
        yield "its history runs backwards"
    before = b""
    for one in revisions:
        if one.digest != expected_digest(row.key, one, before):
            yield f"version {one.version} is not what was recorded: its digest differs"
        before = one.digest
    if revisions:
        yield from _mint_problems(look, row, revisions[0])


def _mint_problems(look: _Look, row: Identifier, first: Revision) -> Iterator[str]:
    """A name that was minted here must not lie beyond the last date of its timeline, or it could be minted again."""
    prefix = locate(look, row.name).prefix
    if first.action != "mint" or prefix.minter not in ("pilin", "ibi"):
        return
    try:
        date = pilin.to_posix(row.name.partition("/")[2]) if prefix.minter == "pilin" else ibi.parse(row.name).date
    except PerdureError:
        return  # from before the prefix had this minter
    last = look.timelines.get(prefix.key)
    if last is None:
        yield f"its prefix {prefix.name} knows no last date: it could be issued again"
    elif date > last:
        events = look.reader.events(_MOST_EVENTS)
        if not any((one.action, one.subject) == ("timeline reset", prefix.name) for one in events):
            yield f"its date lies after {instant.to_iso(last)}, its timeline's last: it could be issued again"


def _person_problems(look: _Look, row: Identifier, revisions: Sequence[Revision]) -> Iterator[str]:
    registry, reader = look.registry, look.reader
    first = records.decode(revisions[0].record)
    raw = _kept_uuid(reader, row.key) if first.is_redacted else raw_uuid(registry, first)
    if raw is None:
        yield "it says nothing of what it was made from"
        return
    if reader.person(str(raw)) != row.key:
        yield "its inputs do not lead to it"
    own = ppid.uuid_to_ppid(raw, ppid.parse_ppid(row.name)["type"])
    if row.key != own and row.key not in successors(registry, own):
        yield f"its inputs make {own}, and it is no successor of that"
    derived = reader.derivations(row.key)
    for revision in revisions:
        record = records.decode(revision.record)
        if record.observation != first.observation:
            yield f"version {revision.version} is of another observation"
        if record.reconstruction is not None:
            named = {poid for version, poid in derived if version == revision.version}
            if any(not poid.startswith("POID-") for poid in named):
                yield f"version {revision.version} derives from something that is no observation"
            if not named or named != set(record.reconstruction.observation_ids):
                yield f"version {revision.version} does not derive from the observations that it names"
    yield from _saying_problems(look, row, [(one.version, records.decode(one.record)) for one in revisions])


def _kept_uuid(reader: Reader, key: str) -> UUID | None:
    """Of a person that was redacted: its record does not tell any more."""
    raw = reader.input_of(key)
    return None if raw is None else UUID(raw)


def _saying_problems(look: _Look, row: Identifier, versions: Sequence[tuple[int, Record]]) -> Iterator[str]:
    """What is said of a person, as it would be looked at if it were said now."""
    for version, record in versions:
        problems = saying_problems(row.name, record, look.registry.settings.limits)
        yield from (f"version {version}, {part}: {reason}" for part, reason in problems)
    yield from (reason for _, reason in ground_problems(look.reader, versions))
    yield from (reason for _, reason in company_problems(look.reader, row.name, versions[-1][1]))
