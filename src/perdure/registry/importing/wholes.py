"""Identifiers that come with their whole history, from an export of a registry."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from uuid import UUID

import msgspec

from perdure.errors import Conflict, InvalidInput
from perdure.exchange.entry import Notice, PastRevision, Whole
from perdure.names import handle, ppid
from perdure.records import record as records
from perdure.records.authority import DESCRIPTIONS, to_seconds
from perdure.records.checks import check_seconds, checked_about, checked_values, one_line
from perdure.records.plain import Plain
from perdure.records.record import Record
from perdure.records.target import plain_target, reverse_entries, words
from perdure.registry import change
from perdure.registry.entities import Change, Identifier, Revision
from perdure.registry.history_digest import add_digests
from perdure.registry.importing.continuing import refuse_another_history
from perdure.registry.importing.options import Outcome, tomorrow
from perdure.registry.naming import Located, PrefixSource, locate
from perdure.registry.parties import check_party
from perdure.registry.persons import raw_uuid, successors
from perdure.registry.persons.proving import Problem, ground_problems, no_person_problems, saying_problems
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_AT = "2026-11-16T00:00:00.000000Z"


_check_word = lru_cache(maxsize=256)(one_line)  # a history has many of few


class PreparedWhole(Plain, frozen=True):
    """A history that can be written as soon as its name is known not to exist. `revisions` have no digests yet."""

    located: Located
    changes: tuple[Change, ...]
    revisions: tuple[Revision, ...]
    notices: tuple[Notice, ...] = ()


def prepare_whole(registry: Registry, prefixes: PrefixSource, entry: Whole, at: str) -> PreparedWhole:
    """Everything that can be checked and made ready without the store."""
    located = locate(prefixes, entry.name)
    if located.scheme != entry.scheme:
        raise InvalidInput("import", "scheme", f"{entry.name} is a name of the scheme {located.scheme} here")
    for past in entry.revisions:
        _refuse(located.name, _said_problems(registry, located, past.record))
    revisions = _checked(registry, entry, tomorrow(at))
    alias = entry.revisions[-1].record.alias
    if alias is not None and (located.scheme != "ibi" or locate(prefixes, alias).prefix.key != located.prefix.key):
        raise InvalidInput("import", "alias", f"{alias!a} is no other label of {entry.name}")
    return PreparedWhole(located, _changes(located, entry.revisions[-1].record, revisions, 0), revisions)


def apply_whole(registry: Registry, tx: Transaction, entry: Whole) -> Outcome:
    """All versions as they were. A history that goes on from the one here is continued; any other is refused."""
    prepared = prepare_whole(registry, tx, entry, registry.now())
    located, revisions = prepared.located, prepared.revisions
    known = tx.find(located.key)
    kept = [] if known is None else tx.revisions(located.key)
    if known is not None:
        if _is_founding_type(registry, known.key) and len(kept) == 1:
            return "unchanged"  # every registry describes the types of its metadata by itself
        if known.subject != known.key:
            raise Conflict(known.name, "a name of its own", f"an alias of {known.subject}")
        refuse_another_history(known.name, kept, revisions)
        if len(kept) == len(revisions):
            return "unchanged"
    if entry.scheme == "ppid":
        _check_person(registry, tx, located.name, entry, len(kept))
    if kept:
        newest = entry.revisions[-1].record
        tx.update(_changes(located, newest, revisions, len(kept), kept[-1].digest))
        change.forget_secrets(tx, located.key, records.decode(kept[-1].record), newest)
    else:
        tx.insert(prepared.changes)
    if entry.scheme == "ppid":
        _link(tx, located.name, entry, len(kept))
    return "changed" if kept else "created"


def _is_founding_type(registry: Registry, key: str) -> bool:
    return key in {handle.fold(f"{registry.settings.type_prefix}/{kind}") for kind in DESCRIPTIONS}


def _changes(
    located: Located, record: Record, revisions: tuple[Revision, ...], kept: int, digest: bytes = b""
) -> tuple[Change, ...]:
    """What is to be written for a history of which so many versions are kept already, the last with this digest."""
    row = Identifier(
        located.key,
        located.name,
        located.scheme,
        record.state,
        plain_target(record),
        revisions[-1].version,
        revisions[-1].record,
        located.key,
        record.created,
    )
    before = reverse_entries(records.decode(revisions[kept - 1].record)) if kept else ()
    chained = tuple(add_digests(located.key, revisions[kept:], digest))
    one = Change(row, chained, words(located.name, record), reverse_entries(record), before)
    if record.alias is None:
        return (one,)
    return one, change.alias(one, record.alias, handle.fold(record.alias), record)


def _check_person(registry: Registry, tx: Transaction, name: str, entry: Whole, kept: int) -> None:
    """What a person identifier was made from must lead to it, here too, and what it derives from must be here."""
    first = entry.revisions[0].record
    if kept == 0:
        raw = _told_uuid(entry) if first.is_redacted else raw_uuid(registry, first)
        if raw is None or entry.uuid_raw != str(raw):
            raise InvalidInput("import", "uuid_raw", f"{name} was not made from the inputs that its record names")
        if tx.person(str(raw)) is not None:
            raise Conflict(name, "inputs that lead nowhere yet", f"inputs of {tx.person(str(raw))}")
        own = ppid.uuid_to_ppid(raw, ppid.parse_ppid(name)["type"])
        if name != own and name not in successors(registry, own):
            raise InvalidInput("import", "name", f"its inputs lead to {own}, and {name} is not one of its successors")
    _refuse(name, ground_problems(tx, [(past.version, past.record) for past in entry.revisions], kept + 1))


def _said_problems(registry: Registry, located: Located, record: Record) -> Iterator[Problem]:
    if located.scheme == "ppid":
        return saying_problems(located.name, record, registry.settings.limits)
    return no_person_problems(record, registry.settings.limits)


def _told_uuid(entry: Whole) -> UUID | None:
    """Of a person that was redacted: its record does not tell any more."""
    try:
        return UUID(entry.uuid_raw or "")
    except ValueError:
        return None


def _refuse(name: str, problems: Iterator[Problem]) -> None:
    for part, reason in problems:
        raise InvalidInput("import", part, f"{name}: {reason}")


def _link(tx: Transaction, name: str, entry: Whole, kept: int) -> None:
    if kept == 0 and entry.uuid_raw is not None:
        tx.put_persons({entry.uuid_raw: name})
    for past in entry.revisions[kept:]:
        if past.record.reconstruction is not None:
            tx.put_derivations(name, past.version, past.record.reconstruction.observation_ids)


def _checked(registry: Registry, entry: Whole, latest: str) -> tuple[Revision, ...]:
    if not entry.revisions:
        raise InvalidInput("import", "revisions", f"{entry.name} has no revisions")
    revisions = tuple(_revision(registry, past, latest) for past in entry.revisions)
    if [one.version for one in revisions] != list(range(1, len(revisions) + 1)):
        raise InvalidInput("import", "version", f"the versions of {entry.name} do not count 1, 2, 3, …")
    for earlier, later in pairwise(past.record for past in entry.revisions):
        if (earlier.creator, earlier.observation) != (later.creator, later.observation):
            raise InvalidInput(
                "import", "revisions", f"{entry.name} changes its creator or observation, which never change"
            )
        if earlier.created not in (None, later.created):
            raise InvalidInput("import", "created", f"{entry.name} changes its creation date")
    if any(earlier.at > later.at for earlier, later in pairwise(revisions)):
        raise InvalidInput("import", "at", f"the history of {entry.name} runs backwards")
    return revisions


def _revision(registry: Registry, past: PastRevision, latest: str) -> Revision:
    limits = registry.settings.limits
    record = past.record
    if _TIME.fullmatch(past.at) is None:
        raise InvalidInput("import", "at", f"{past.at!a} is not a time as revisions have it, like {_AT}")
    check_seconds(to_seconds(past.at), "at")
    _check_word(past.agent, "agent", limits.text_characters)
    _check_word(past.action, "action", limits.text_characters)
    if (record.tombstone is not None) != (record.state in ("withdrawn", "merged")):
        raise InvalidInput(
            "import", "state", f"version {past.version} is {record.state}, and its tombstone says otherwise"
        )
    if (record.state == "active") and record.created is None:
        raise InvalidInput("import", "created", f"version {past.version} is active and has no creation date")
    if record.state == "reserved" and record.created is not None:
        raise InvalidInput("import", "created", f"version {past.version} is reserved and has a creation date")
    if record.created is not None:
        check_seconds(record.created, "created")
    if max(past.at, record.created or "") > latest:
        raise InvalidInput("import", "at", f"version {past.version} has not come yet")
    for party in (record.creator, *record.owners):
        check_party(party, "creator", limits)
    values, about = checked_values(record.values, limits), checked_about(record.about, limits)
    if values is not record.values or about is not record.about:
        record = msgspec.structs.replace(record, values=values, about=about)
    return Revision(past.version, past.at, past.agent, past.action, records.encode(record), past.note)
