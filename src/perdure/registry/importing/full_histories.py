"""Import of identifiers with their whole history, from an export of a registry."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from uuid import UUID

import msgspec

from perdure.errors import Conflict, InvalidInput
from perdure.formats.import_entries import FullHistory, Notice, PastRevision
from perdure.names import handle, ppid
from perdure.records import record as records
from perdure.records.authority_metadata import DESCRIPTIONS, to_seconds
from perdure.records.frozen_struct import FrozenStruct
from perdure.records.record import Record
from perdure.records.target import full_text, plain_target, reverse_entries
from perdure.records.validation import check_about, check_one_line, check_seconds, check_values
from perdure.registry.entities import Agent, Change, Identifier, Revision
from perdure.registry.history_digest import add_digests
from perdure.registry.importing.admission import admit_history
from perdure.registry.importing.history_merge import refuse_different_history
from perdure.registry.importing.import_options import Outcome, one_day_later
from perdure.registry.name_keys import LocatedName, PrefixSource, locate
from perdure.registry.permissions.permissions import require_key_permission
from perdure.registry.persons import raw_uuid, successor_names
from perdure.registry.persons.history_checks import (
    Problem,
    content_problems,
    evidence_problems,
    non_person_problems,
)
from perdure.registry.registry import Registry
from perdure.registry.responsible_parties import check_party
from perdure.registry.revisions import MOST_ALIASES, alias_change, forget_secrets
from perdure.registry.store_interface import Reader, Transaction

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_AT = "2026-11-16T00:00:00.000000Z"


_check_word = lru_cache(maxsize=256)(check_one_line)  # a history repeats few distinct words


class PreparedHistory(FrozenStruct, frozen=True):
    """A history that can be written once its name is known not to exist. `revisions` have no digests yet."""

    located: LocatedName
    changes: tuple[Change, ...]
    revisions: tuple[Revision, ...]
    newest: Record
    aliases: tuple[LocatedName, ...] = ()
    notices: tuple[Notice, ...] = ()


def prepare_history(registry: Registry, prefixes: PrefixSource, entry: FullHistory, at: str) -> PreparedHistory:
    """Check and prepare everything that does not need a transaction."""
    try:
        return _prepare(registry, prefixes, entry, at)
    except InvalidInput:
        admitted, notices = admit_history(entry, registry.settings.limits)
        if not notices:
            raise
        return msgspec.structs.replace(_prepare(registry, prefixes, admitted, at), notices=notices)


def _prepare(registry: Registry, prefixes: PrefixSource, entry: FullHistory, at: str) -> PreparedHistory:
    located = locate(prefixes, entry.name)
    if located.scheme != entry.scheme:
        raise InvalidInput("import", "scheme", f"{entry.name} has the scheme {located.scheme} in this registry")
    for past in entry.revisions:
        _raise_first_problem(located.name, _content_problems(registry, located, past.record))
    revisions = _check_revisions(registry, entry, one_day_later(at))
    newest = entry.revisions[-1].record
    aliases = _locate_aliases(prefixes, located, newest)
    if any(value.verbatim for value in newest.values):  # an address that is not valid elsewhere may be valid here
        newest = records.decode(revisions[-1].record)
    return PreparedHistory(located, _build_changes(located, aliases, newest, revisions, 0), revisions, newest, aliases)


def apply_history(
    registry: Registry, tx: Transaction, by: Agent, entry: FullHistory
) -> tuple[Outcome, tuple[Notice, ...]]:
    """Write all versions unchanged. A history that extends the stored one is appended; a different one is refused."""
    prepared = prepare_history(registry, tx, entry, registry.current_time())
    return _write_history(registry, tx, by, entry, prepared), prepared.notices


def require_history_permission(
    reader: Reader, by: Agent, prepared: PreparedHistory, now: str, stored: Identifier | None = None
) -> None:
    """Refuse keys of administrators, and administrators of a prefix, that an agent may not write in another way.

    `stored` is the identifier, if the history continues that of one. Its own values stay.
    """
    known = () if stored is None else records.decode(stored.record).values
    added = [value for value in prepared.newest.values if value not in known]
    require_key_permission(reader, by, added, prepared.located.prefix.key, now, prepared.located.key)


def _write_history(
    registry: Registry, tx: Transaction, by: Agent, entry: FullHistory, prepared: PreparedHistory
) -> Outcome:
    located, revisions = prepared.located, prepared.revisions
    stored = tx.find(located.key)
    stored_revisions = [] if stored is None else tx.revisions(located.key)
    if stored is not None:
        if _is_builtin_type(registry, stored.key) and len(stored_revisions) == 1:
            return "unchanged"  # every registry describes the types of its metadata itself
        if stored.subject != stored.key:
            raise Conflict(stored.name, "a name of its own", f"an alias of {stored.subject}")
        refuse_different_history(stored.name, stored_revisions, revisions)
        if len(stored_revisions) == len(revisions):
            return "unchanged"
    require_history_permission(tx, by, prepared, registry.current_time(), stored)
    if entry.scheme == "ppid":
        _check_person(registry, tx, located.name, entry, len(stored_revisions))
    if stored_revisions:
        newest, digest = prepared.newest, stored_revisions[-1].digest
        own, *others = _build_changes(located, prepared.aliases, newest, revisions, len(stored_revisions), digest)
        known = tx.find_many([one.identifier.key for one in others])
        for row in known.values():
            if row.subject != located.key:
                raise Conflict(row.name, f"a name of {located.name}", f"a name of {row.subject}")
        tx.update([own, *[one for one in others if one.identifier.key in known]])
        added = [one for one in others if one.identifier.key not in known]
        if added:
            tx.insert(added)
        forget_secrets(tx, located.key, records.decode(stored_revisions[-1].record), newest)
    else:
        tx.insert(prepared.changes)
    if entry.scheme == "ppid":
        _put_person_inputs(tx, located.name, entry, len(stored_revisions))
    return "changed" if stored_revisions else "created"


def _is_builtin_type(registry: Registry, key: str) -> bool:
    return key in {handle.fold(f"{registry.settings.type_prefix}/{kind}") for kind in DESCRIPTIONS}


def _build_changes(
    located: LocatedName,
    aliases: tuple[LocatedName, ...],
    record: Record,
    revisions: tuple[Revision, ...],
    stored_count: int,
    digest: bytes = b"",
) -> tuple[Change, ...]:
    """Build the changes for a history with `stored_count` versions stored already, the last with this digest."""
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
    before = reverse_entries(records.decode(revisions[stored_count - 1].record)) if stored_count else ()
    chained = tuple(add_digests(located.key, revisions[stored_count:], digest))
    change = Change(row, chained, full_text(located.name, record), reverse_entries(record), before)
    return change, *[alias_change(change, alias, record) for alias in aliases]


def _locate_aliases(prefixes: PrefixSource, located: LocatedName, newest: Record) -> tuple[LocatedName, ...]:
    """Return the other names of an IBI. Raise InvalidInput for any other identifier, and for a name that it repeats."""
    names = newest.other_names
    if not names:
        return ()
    if located.scheme != "ibi" or len(names) > MOST_ALIASES:
        raise InvalidInput("import", "alias", f"{located.name} cannot have the other names {', '.join(names)[:200]!a}")
    aliases = tuple([locate(prefixes, name) for name in names])
    if len({located.key, *[one.key for one in aliases]}) <= len(aliases):
        raise InvalidInput("import", "alias", f"{located.name} has the same name twice")
    return aliases


def _check_person(registry: Registry, tx: Transaction, name: str, entry: FullHistory, stored_count: int) -> None:
    """Check that the inputs of a person identifier lead to it here too, and that its sources are here."""
    first = entry.revisions[0].record
    if stored_count == 0:
        raw = _parse_uuid(entry) if first.is_redacted else raw_uuid(registry, first)
        if raw is None or entry.uuid_raw != str(raw):
            raise InvalidInput("import", "uuid_raw", f"{name} was not made from the inputs in its record")
        if tx.person(str(raw)) is not None:
            raise Conflict(name, "inputs that are not used yet", f"inputs of {tx.person(str(raw))}")
        own = ppid.uuid_to_ppid(raw, ppid.parse_ppid(name)["type"])
        if name != own and name not in successor_names(registry, own):
            raise InvalidInput("import", "name", f"its inputs lead to {own}, and {name} is not one of its successors")
    _raise_first_problem(
        name, evidence_problems(tx, [(past.version, past.record) for past in entry.revisions], stored_count + 1)
    )


def _content_problems(registry: Registry, located: LocatedName, record: Record) -> Iterator[Problem]:
    if located.scheme == "ppid":
        return content_problems(located.name, record, registry.settings.limits)
    return non_person_problems(record, registry.settings.limits)


def _parse_uuid(entry: FullHistory) -> UUID | None:
    """Return the UUID in the entry, for a redacted person: its record does not hold the inputs any more."""
    try:
        return UUID(entry.uuid_raw or "")
    except ValueError:
        return None


def _raise_first_problem(name: str, problems: Iterator[Problem]) -> None:
    for part, reason in problems:
        raise InvalidInput("import", part, f"{name}: {reason}")


def _put_person_inputs(tx: Transaction, name: str, entry: FullHistory, stored_count: int) -> None:
    if stored_count == 0 and entry.uuid_raw is not None:
        tx.put_persons({entry.uuid_raw: name})
    for past in entry.revisions[stored_count:]:
        if past.record.reconstruction is not None:
            tx.put_derivations(name, past.version, past.record.reconstruction.observation_ids)


def _check_revisions(registry: Registry, entry: FullHistory, latest: str) -> tuple[Revision, ...]:
    if not entry.revisions:
        raise InvalidInput("import", "revisions", f"{entry.name} has no revisions")
    revisions = tuple(_check_revision(registry, past, latest) for past in entry.revisions)
    if [one.version for one in revisions] != list(range(1, len(revisions) + 1)):
        raise InvalidInput("import", "version", f"the versions of {entry.name} are not numbered 1, 2, 3, …")
    for earlier, later in pairwise(past.record for past in entry.revisions):
        if (earlier.creator, earlier.observation) != (later.creator, later.observation):
            raise InvalidInput(
                "import", "revisions", f"{entry.name} changes its creator or observation, which is not allowed"
            )
        if earlier.created not in (None, later.created):
            raise InvalidInput("import", "created", f"{entry.name} changes its creation date")
    if any(earlier.at > later.at for earlier, later in pairwise(revisions)):
        raise InvalidInput("import", "at", f"the dates of the versions of {entry.name} are not in ascending order")
    return revisions


def _check_revision(registry: Registry, past: PastRevision, latest: str) -> Revision:
    limits = registry.settings.limits
    record = past.record
    if _TIME.fullmatch(past.at) is None:
        raise InvalidInput("import", "at", f"{past.at!a} is not a valid time of a revision, such as {_AT}")
    check_seconds(to_seconds(past.at), "at")
    _check_word(past.agent, "agent", limits.text_characters)
    _check_word(past.action, "action", limits.text_characters)
    if (record.tombstone is not None) != (record.state in ("withdrawn", "merged")):
        raise InvalidInput(
            "import", "state", f"version {past.version} is {record.state}, which does not match its tombstone"
        )
    if (record.state == "active") and record.created is None:
        raise InvalidInput("import", "created", f"version {past.version} is active but has no creation date")
    if record.state == "reserved" and record.created is not None:
        raise InvalidInput("import", "created", f"version {past.version} is reserved but has a creation date")
    if record.created is not None:
        check_seconds(record.created, "created")
    if record.changed is not None:
        check_seconds(record.changed, "changed")
    if max(past.at, record.created or "", record.changed or "") > latest:
        raise InvalidInput("import", "at", f"version {past.version} is in the future")
    for party in (record.creator, *record.owners):
        check_party(party, "creator", limits)
    values, about = check_values(record.values, limits), check_about(record.about, limits)
    if values is not record.values or about is not record.about:
        record = msgspec.structs.replace(record, values=values, about=about)
    return Revision(past.version, past.at, past.agent, past.action, records.encode(record), past.note)
