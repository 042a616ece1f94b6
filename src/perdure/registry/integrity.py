"""Verification of a whole registry: every stored row against the invariants of the registry."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final
from uuid import UUID

from perdure.errors import InvalidInput, PerdureError, StoreDamaged, StoreUnavailable
from perdure.names import handle, ibi, instant, pilin, ppid
from perdure.records import record as records
from perdure.records.authority_metadata import DESCRIPTIONS, build_metadata, change_time, newest_timestamp
from perdure.records.record import Record
from perdure.records.target import plain_target, reverse_entries
from perdure.records.validation import check_values
from perdure.registry.entities import WHOLE_REGISTRY, Event, Grant, History, Identifier, Prefix, Revision
from perdure.registry.history_digest import event_digest, expected_digest
from perdure.registry.name_keys import locate
from perdure.registry.permissions.permissions import latest_end
from perdure.registry.persons import raw_uuid, successor_names
from perdure.registry.persons.history_checks import (
    content_problems,
    evidence_problems,
    non_person_problems,
    reference_problems,
)
from perdure.registry.prefixes.label_periods import is_after_periods, period_problems
from perdure.registry.registry import Registry
from perdure.registry.responsible_parties import check_resolvable_party
from perdure.registry.secret_box import SEALING_KEY_ID, secret_context
from perdure.registry.store_interface import Reader
from perdure.timelines.clock import NANOSECONDS

_CHUNK: Final = 1000
MOST_PROBLEMS: Final = 1000
_MOST_EVENTS: Final = 10_000
_ALL_EVENTS: Final = 1 << 62
_MOST_HITS: Final = 1000
_CLOCK_DIFFERENCE: Final = 60  # seconds, between the machines that mint and the one that verifies

VerifyProgress = Callable[[int, int], None]  # identifiers checked, of how many


async def verify(registry: Registry, progress: VerifyProgress | None = None) -> list[str]:
    """Check every invariant over the whole registry. Return the problems, at most a thousand."""
    problems = schema_problems(await registry.store.schema_differences())
    problems += [f"the database: {problem}" for problem in await _mark_problems(registry)]
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
            snapshot = _Snapshot(registry, reader, parties)
            chunk_problems = [problem for history in histories for problem in _identifier_problems(snapshot, history)]
            return [history.identifier.key for history in histories], chunk_problems

        try:
            keys, chunk_problems = await registry.store.read(work)
        except StoreDamaged:
            problems.append(f"after {key!r}: the rest cannot be read")
            break
        if not keys:
            break
        key, done = keys[-1], done + len(keys)
        problems += chunk_problems
        if progress is not None:
            progress(done, max(done, total))
    return problems[:MOST_PROBLEMS]


def schema_problems(differences: Sequence[str]) -> list[str]:
    """Return the differences of a schema as problems."""
    return [f"the schema was changed by another program: {one}" for one in differences]


async def _mark_problems(registry: Registry) -> Sequence[str]:
    try:
        return await registry.store.find_disagreement()
    except StoreDamaged as problem:
        return [str(problem)]


class _Snapshot:
    """One state of the registry during verification. Data that every name needs is read once."""

    def __init__(self, registry: Registry, reader: Reader, parties: dict[str, str | None]) -> None:
        self.registry = registry
        self.reader = reader
        self.parties = parties
        self.timelines = reader.timelines()
        self._prefixes = {key: one for one in reader.prefixes() for key in one.lookup_keys}

    def prefix(self, key: str) -> Prefix | None:
        return self._prefixes.get(key)


def _longest_queue(registry: Registry, prefix: Prefix) -> Fraction:
    """Return how many seconds a timeline may be ahead of the clock: requests that wait may have taken these dates."""
    step = Fraction(0) if prefix.subsystem is None else prefix.subsystem.granularity
    return registry.settings.wait + registry.settings.steps_ahead * step + _CLOCK_DIFFERENCE


def _registry_problems(registry: Registry, reader: Reader) -> Iterator[str]:
    for prefix in reader.prefixes():
        if prefix.parent is not None and reader.prefix(prefix.parent) is None:
            yield f"{prefix.name}: the prefix that it is derived from, {prefix.parent}, is not in this registry"
        yield from (f"{prefix.name}: {problem}" for problem in period_problems(prefix))
    for pool in reader.pools():
        for key in pool.members:
            member = reader.prefix(key)
            if member is None or member.subsystem is None:
                yield f"pool {pool.name}: its member {key} is not a subsystem of this registry"
    for kind in DESCRIPTIONS:
        if reader.find(handle.fold(f"{registry.settings.type_prefix}/{kind}")) is None:
            yield f"{registry.settings.type_prefix}/{kind}: the type is not registered, so it does not resolve"
    now = registry.clock.now_ns() / NANOSECONDS
    for key, last in reader.timelines().items():
        owner = reader.prefix(key)
        # A timeline without a prefix is right: a restore keeps those of prefixes that were added after the backup.
        if owner is not None and owner.minter in ("pilin", "ibi") and last - now > _longest_queue(registry, owner):
            yield f"{key}: its last date is {float(last - now):.0f} s in the future (see: perdure prefix reset --help)"
    events = reader.events(_ALL_EVENTS)
    yield from _event_problems(events[::-1])
    yield from _end_problems(reader, events)
    yield from _secret_problems(registry, reader)


def _end_problems(reader: Reader, events: Sequence[Event]) -> Iterator[str]:
    """List the grants and keys that outlive the grant or key by which they were made, as far as that is known."""
    agents = reader.agents()
    for agent in agents:
        if agent.retired is not None and any(key.revoked is None for key in reader.keys(agent.id)):
            yield f"{agent.id} was retired at {agent.retired}, but has a key: revoke it with perdure agent key --revoke"
        for one in reader.grants(agent.id):
            if agent.retired is not None:
                yield f"{agent.id} was retired at {agent.retired}, but may {one.action} on {one.scope}: revoke that"
            end = latest_end(_giver_ends(reader, one))
            if end is not None and (one.until is None or one.until > end):
                yield (
                    f"{agent.id} may {one.action} on {one.scope} {_format_until(one.until)}, but "
                    f"{one.given_by}, who granted "
                    f"it, only {_format_until(end)}: grant it again with an end, or revoke it"
                )
    keys_of = {agent.id: reader.keys(agent.id) for agent in agents}
    keys = {key.id: key for agent_keys in keys_of.values() for key in agent_keys}
    for event in events:
        new_key = keys.get(event.detail.removeprefix("key ")) if event.action == "key add" else None
        if new_key is None or new_key.revoked is not None:
            continue
        end = latest_end([one.expires for one in keys_of.get(event.agent, ()) if one.created < event.at])
        if end is not None and (new_key.expires is None or new_key.expires > end):
            yield (
                f"the key {new_key.id} of {new_key.agent} works {_format_until(new_key.expires)}, but every key of "
                f"{event.agent}, who "
                f"made it, only {_format_until(end)}: revoke it with perdure agent key --revoke"
            )


def _giver_ends(reader: Reader, one: Grant) -> list[str | None]:
    """Return the ends of the grants by which its giver could have given this one.

    For the grants on a derived prefix to its creator, these are grants on the parent.
    """
    prefix = reader.prefix(one.scope)
    scopes = {WHOLE_REGISTRY, one.scope}
    if one.given_by == one.agent and prefix is not None and prefix.parent is not None:
        scopes = {WHOLE_REGISTRY, prefix.parent}
    given = reader.grants(one.given_by)
    return [
        other.until
        for other in given
        if other.action in ("admin", "derive") and other.scope in scopes and not other.own
    ]


def _format_until(end: str | None) -> str:
    return "without an end" if end is None else f"until {end}"


def _event_problems(events: Sequence[Event]) -> Iterator[str]:
    """Check that each event has the digest of its content and of the event before it."""
    before = b""
    for one in events:
        if one.digest != event_digest(one, before):
            yield f"the event {one.action!a} of {one.at} is not what was recorded: its digest differs"
        before = one.digest


def _secret_problems(registry: Registry, reader: Reader) -> Iterator[str]:
    """Check that every secret can be decrypted with the key of this machine."""
    secrets, key_id = reader.secrets(), reader.fact(SEALING_KEY_ID)
    if not secrets:
        return
    if key_id is None:
        yield "there are secrets, but the id of their encryption key is missing"
        return
    try:
        registry.sealer.check(key_id)
    except StoreUnavailable as problem:
        yield str(problem)
        return
    for key, index, sealed in secrets:
        try:
            registry.sealer.open(sealed, secret_context(key, index))
        except StoreDamaged as problem:
            yield str(problem)


def _identifier_problems(snapshot: _Snapshot, history: History) -> Iterator[str]:
    row = history.identifier
    try:
        record = records.decode(row.record)
        yield from (f"{row.name}: {problem}" for problem in _record_problems(snapshot, row, record))
        if row.subject == row.key:
            yield from (f"{row.name}: {problem}" for problem in _history_problems(snapshot, row, history.revisions))
            if row.scheme == "ppid":
                yield from (f"{row.name}: {problem}" for problem in _person_problems(snapshot, row, history.revisions))
            else:
                yield from (
                    f"{row.name}: {problem}"
                    for _, problem in non_person_problems(record, snapshot.registry.settings.limits)
                )
    except Exception as problem:  # one damaged row must not stop the checks of the others
        yield f"{row.name}: it cannot be read ({problem})"


def _record_problems(snapshot: _Snapshot, row: Identifier, record: Record) -> Iterator[str]:
    reader, parties = snapshot.reader, snapshot.parties
    located = locate(snapshot, row.name)
    if located.key != row.key:
        yield f"it is stored under the key {row.key}, but looked up as {located.key}"
    if located.scheme != row.scheme:
        yield f"it is stored as {row.scheme}, but is {located.scheme}"
    if (record.state, record.created, plain_target(record)) != (row.state, row.created, row.target):
        yield "its row differs from its record"
    if (record.tombstone is not None) != (record.state in ("withdrawn", "merged")):
        yield f"its state {record.state} does not match its tombstone"
    if record.state == "active" and record.created is None:
        yield "it is active but has no creation date"
    if record.state == "reserved" and record.created is not None:
        yield "it is reserved but has a creation date"
    if record.creator in record.owners or len(set(record.owners)) != len(record.owners):
        yield "its owners contain duplicates, or the creator"
    try:
        checked = check_values(record.values, snapshot.registry.settings.limits)
        if [value.index for value in checked] != [value.index for value in record.values]:
            yield "its values are not in the order of their indexes"
    except InvalidInput as problem:  # they were stored before a check or the settings became stricter
        yield f"one of its values is not valid any more: {problem.reason}"
    if row.subject == row.key:
        for kind, data in reverse_entries(record):
            hits = reader.find_by_value(data, kind, _MOST_HITS)
            if len(hits) < _MOST_HITS and row.name not in {hit.name for hit in hits}:
                yield f"a reverse look-up of its {kind} does not find it"
    others = {locate(snapshot, name).key: name for name in record.other_names}
    for key, name in others.items():
        other = reader.find(key)
        if other is None or other.subject != row.subject:
            yield f"its alias {name} does not exist, or belongs to another identifier"
    if row.subject != row.key and row.key not in others:
        yield f"it is an alias of {row.subject}, which does not list it"
    for party in (record.creator, *record.owners):
        if party not in parties:  # thousands of names may have the same creator: it is reported once
            parties[party] = _party_problem(snapshot.registry, reader, party)
            if parties[party] is not None:
                yield f"{party} is named in its authority metadata, but {parties[party]}"


def _party_problem(registry: Registry, reader: Reader, party: str) -> str | None:
    try:
        check_resolvable_party(reader, party, "party", registry.settings.limits)
    except PerdureError as problem:
        return str(problem)
    return None


def _history_problems(snapshot: _Snapshot, row: Identifier, revisions: Sequence[Revision]) -> Iterator[str]:
    if [one.version for one in revisions] != list(range(1, row.version + 1)):
        yield f"its versions are not numbered from 1 to {row.version}"
    if any(earlier.at > later.at for earlier, later in pairwise(revisions)):
        yield "the dates of its versions are not in ascending order"
    before = b""
    for one in revisions:
        if one.digest != expected_digest(row.key, one, before):
            yield f"version {one.version} is not what was recorded: its digest differs"
        before = one.digest
    if revisions:
        yield from _change_time_problems(revisions[-1])
        yield from _mint_problems(snapshot, row, revisions[0])


def _change_time_problems(newest: Revision) -> Iterator[str]:
    """Check that Handle clients, who see the newest timestamp of a record, see its last update."""
    record = records.decode(newest.record)
    updated = build_metadata(record, newest.at).updated
    shown = max(newest_timestamp(record), change_time(record, None))
    if record.changed is not None and shown != updated:
        yield f"its newest timestamp is {shown}, but it was updated at {updated}"


def _mint_problems(snapshot: _Snapshot, row: Identifier, first: Revision) -> Iterator[str]:
    """Check that a name minted here is not beyond the last date of its timeline: otherwise it could be minted again."""
    prefix = locate(snapshot, row.name).prefix
    if first.action != "mint" or prefix.minter not in ("pilin", "ibi"):
        return
    try:
        date = pilin.to_posix(row.name.partition("/")[2]) if prefix.minter == "pilin" else ibi.parse(row.name).date
    except PerdureError:
        return  # minted before the prefix had this minter
    if prefix.minter == "ibi" and is_after_periods(prefix, row.key, date):
        yield "its date is after the end of the period in which its label prefix was in use"
    last = snapshot.timelines.get(prefix.key)
    if last is None:
        yield f"its prefix {prefix.name} has no last date: it could be issued again"
    elif date > last:
        events = snapshot.reader.events(_MOST_EVENTS)
        if not any((one.action, one.subject) == ("timeline reset", prefix.name) for one in events):
            yield f"its date is after {instant.to_iso(last)}, the last date of its timeline: it could be issued again"


def _person_problems(snapshot: _Snapshot, row: Identifier, revisions: Sequence[Revision]) -> Iterator[str]:
    registry, reader = snapshot.registry, snapshot.reader
    first = records.decode(revisions[0].record)
    raw = _stored_uuid(reader, row.key) if first.is_redacted else raw_uuid(registry, first)
    if raw is None:
        yield "it does not contain its inputs"
        return
    if reader.person(str(raw)) != row.key:
        yield "a look-up of its inputs does not find it"
    own = ppid.uuid_to_ppid(raw, ppid.parse_ppid(row.name)["type"])
    if row.key != own and row.key not in successor_names(registry, own):
        yield f"its inputs make {own}, but it is not a successor of that"
    derived = reader.derivations(row.key)
    for revision in revisions:
        record = records.decode(revision.record)
        if record.observation != first.observation:
            yield f"version {revision.version} contains another observation"
        if record.reconstruction is not None:
            named = {poid for version, poid in derived if version == revision.version}
            if any(not poid.startswith("POID-") for poid in named):
                yield f"version {revision.version} derives from something that is not an observation"
            if not named or named != set(record.reconstruction.observation_ids):
                yield f"version {revision.version} does not derive from the observations that it lists"
    yield from _content_problems(snapshot, row, [(one.version, records.decode(one.record)) for one in revisions])


def _stored_uuid(reader: Reader, key: str) -> UUID | None:
    """Return the stored UUID of the inputs of a redacted person. Its record does not hold the inputs any more."""
    raw = reader.input_uuid(key)
    return None if raw is None else UUID(raw)


def _content_problems(snapshot: _Snapshot, row: Identifier, versions: Sequence[tuple[int, Record]]) -> Iterator[str]:
    """Check the content of a person's record, with the rules for new content."""
    for version, record in versions:
        problems = content_problems(row.name, record, snapshot.registry.settings.limits)
        yield from (f"version {version}, {part}: {reason}" for part, reason in problems)
    yield from (reason for _, reason in evidence_problems(snapshot.reader, versions))
    yield from (reason for _, reason in reference_problems(snapshot.reader, row.name, versions[-1][1]))
