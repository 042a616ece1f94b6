"""Names that a file creates or updates."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from perdure.errors import Conflict, InvalidInput, OutOfRange, Withdrawn, quote_text
from perdure.formats.import_entries import ImportPut, Notice
from perdure.records.authority_metadata import to_seconds, with_change_time
from perdure.records.frozen_struct import FrozenStruct
from perdure.records.record import Record, Tombstone
from perdure.records.validation import Limits, check_one_line, check_values, to_iso_seconds
from perdure.records.value import UNSTATED_TTL, Text, Value, equals_ignoring_timestamp, with_stated_ttl
from perdure.registry import revisions
from perdure.registry.entities import Agent, Change
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.importing.admission import (
    admit_all_values,
    admit_description,
    admit_timestamps,
    fit_record,
    has_blank_address,
    note_of,
)
from perdure.registry.importing.aliases import (
    is_equal_except_names,
    locate_aliases,
    with_aliases,
    without_known_names,
)
from perdure.registry.importing.import_options import ImportOptions, Outcome, one_day_later
from perdure.registry.importing.source_metadata import SourceMetadata, extract_metadata, without_old_admin
from perdure.registry.name_keys import LocatedName, PrefixSource, locate
from perdure.registry.new_record import (
    TARGET_INDEX,
    Statement,
    build_values,
    refuse_second_target,
    with_timestamps,
)
from perdure.registry.permissions.permissions import require_change_permission, require_permission
from perdure.registry.prefixes.na_names import refuse_withdrawal
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction

_REASON: Final = "withdrawn before it was imported from"
_TO_MICROSECONDS: Final = ".000000Z"


class PreparedPut(FrozenStruct, frozen=True):
    """A name that can be written once it is known not to exist."""

    located: LocatedName
    record: Record
    changes: tuple[Change, ...]
    notices: tuple[Notice, ...]
    note: str  # of the version
    aliases: tuple[LocatedName, ...] = ()

    @property
    def scopes(self) -> frozenset[str]:
        """Return the keys of the prefixes under which this writes names."""
        return frozenset((self.located.prefix.key, *[alias.prefix.key for alias in self.aliases]))


def prepare_put(
    registry: Registry,
    prefixes: PrefixSource,
    by: Agent,
    entry: ImportPut,
    options: ImportOptions,
    parties: Mapping[str, str],
    at: str,
) -> PreparedPut:
    """Build the record of a new name. This needs no transaction: it runs while another chunk is written.

    `parties` are the creators and owners that were looked up; a KeyError names one that was not.
    """
    located = locate(prefixes, entry.name)
    _refuse_minted_names(located, options)
    limits, type_prefix = registry.settings.limits, registry.settings.type_prefix
    stated, notices = admit_timestamps(entry.values, entry.line, entry.name, one_day_later(at))
    if notices:
        entry = msgspec.structs.replace(entry, values=stated)
    source = extract_metadata(entry, type_prefix)
    notices += source.notices
    when = _source_time(source.values, entry, at) if source.values else at
    if source.created is not None and entry.created is None and _is_in_future(source.created, at):
        what = f"the creation date {quote_text(source.created)} is in the future: it was left out"
        notices = (*notices, Notice(entry.line, what, entry.name, "changed"))
        source = msgspec.structs.replace(source, created=None)
    values: tuple[Value, ...] | None
    try:
        is_doubtful = bool(source.values) and has_blank_address(source.values)
        values = None if is_doubtful else build_values(Statement(entry.target, source.values), limits, max(when, at))
    except InvalidInput:
        values = None
    if values is None:
        values, more = _admit(entry, source.values, limits, options, max(when, at))
        notices += more
    values = tuple(with_stated_ttl(values, located.prefix.ttl))
    if values and entry.state == "reserved":
        raise InvalidInput("import", "state", "a reserved name cannot have a target or values")
    creator_text = source.creator or options.creator
    creator = by.identifier if creator_text is None else parties[creator_text]
    owners = dict.fromkeys([parties[owner] for owner in source.owners])
    is_withdrawn = entry.state == "withdrawn"
    has_tombstone = is_withdrawn or entry.reason is not None or entry.replaced_by is not None
    bound = bool(values) and entry.state == "active"
    about = entry.about
    if about is not None:
        about, more = admit_description(about, entry.line, entry.name, limits)
        notices += more
    record = Record(
        state="active" if bound else "withdrawn" if is_withdrawn else "reserved",
        creator=creator,
        owners=tuple([owner for owner in owners if owner != creator]),
        created=_creation_date(source, values, options, at) if bound or is_withdrawn else None,
        values=values,
        about=about,
        tombstone=_tombstone(entry, parties, limits, options) if has_tombstone else None,
    )
    aliases = locate_aliases(prefixes, located, entry) if entry.aliases else ()
    record = with_aliases(record, aliases) if aliases else record
    if entry.values:
        record = without_old_admin(record)
    record, encoded, more = _encode_record(with_change_time(record, when), entry, limits)
    notices += more
    note = note_of(options.note, notices) if notices else options.note
    new = revisions.first_revision(located.name, located.key, located.scheme, record, by, "import", when, note, encoded)
    if not aliases:
        return PreparedPut(located, record, (new,), notices, note)
    others = [revisions.alias_change(new, alias, record) for alias in aliases]
    return PreparedPut(located, record, (new, *others), notices, note, aliases)


def _admit(
    entry: ImportPut, values: tuple[Value, ...], limits: Limits, options: ImportOptions, at: str
) -> tuple[tuple[Value, ...], tuple[Notice, ...]]:
    """Return the values and the target as they can be stored, without what cannot be stored."""
    if entry.target is not None:
        refuse_second_target(values)
        values = (Value(TARGET_INDEX, "URL", Text(entry.target), to_seconds(at), UNSTATED_TTL), *values)
    values, notices = admit_all_values(values, entry.line, entry.name, limits, mend=options.mend)
    return build_values(Statement(None, values), limits, at), notices


def _encode_record(record: Record, entry: ImportPut, limits: Limits) -> tuple[Record, bytes, tuple[Notice, ...]]:
    """Encode a record. Of one that is too long, the longest values are left out."""
    try:
        return record, revisions.encode_within_limit(record, limits.record_bytes), ()
    except OutOfRange:
        record, notices = fit_record(record, entry.line, entry.name, limits)
        if not record.values and record.state == "active":
            record = msgspec.structs.replace(record, state="reserved", created=None)
        return record, revisions.encode_within_limit(record, limits.record_bytes), notices


def _creation_date(source: SourceMetadata, values: Sequence[Value], options: ImportOptions, at: str) -> str | None:
    """Return the date in the file; else the date for names without one; else the time of the oldest value."""
    if source.created is not None:
        if _is_in_future(source.created, at):
            raise InvalidInput("record", "created", f"the creation date {quote_text(source.created)} is in the future")
        return to_iso_seconds(source.created, "created")
    if options.created is not None and not any(value.timestamp for value in source.values):
        return options.created
    return min([value.timestamp for value in values], default=None)


def _is_in_future(created: str, at: str) -> bool:
    return to_iso_seconds(created, "created") > one_day_later(at)


def _tombstone(
    entry: ImportPut, parties: Mapping[str, str], limits: Limits, options: ImportOptions
) -> Tombstone | None:
    if entry.state != "withdrawn":
        if entry.reason is not None or entry.replaced_by is not None:
            raise InvalidInput("import", "state", "a reason, or a replacement, requires the state withdrawn")
        return None
    reason = check_one_line(entry.reason or f"{_REASON} {options.source}", "reason", limits.text_characters)
    return Tombstone(reason, None if entry.replaced_by is None else parties[entry.replaced_by])


def _source_time(values: Sequence[Value], entry: ImportPut, at: str) -> str:
    """Return the time of the source, if it gives one: a move to another registry is not a change of the record."""
    newest = max(value.timestamp for value in entry.values or values)
    has_source_time = bool(newest) and (entry.target is None or newest > to_seconds(at))
    return newest[:19] + _TO_MICROSECONDS if has_source_time else at


def update_existing(
    registry: Registry,
    tx: Transaction,
    by: Agent,
    prepared: PreparedPut,
    entry: ImportPut,
    options: ImportOptions,
    at: str,
) -> Outcome:
    """Leave an existing name if its content is equal, change it if the options allow updates, and refuse otherwise."""
    identifier, record, prefix = require_identifier(tx, prepared.located.name)
    withdraws = entry.state == "withdrawn" and record.state != "withdrawn"
    _refuse_different_origin(record, prepared.record, entry, registry.settings.type_prefix)
    desired = _merge_records(record, prepared.record, entry)
    if prepared.aliases:
        desired = with_aliases(desired, without_known_names(tx, prepared.aliases))
    if desired == record:
        return "unchanged"
    if is_other_spelling(identifier.name, prepared.located):
        found = f"{identifier.name} with other content: under this prefix, case is ignored, and the first name stays"
        raise Conflict(entry.name, "a name of its own", found)
    if record.tombstone is not None:
        raise Withdrawn(identifier.name, record.tombstone.reason, record.tombstone.replaced_by)
    require_permission(tx, by, "edit", prefix.key, at, record, identifier.key)
    if desired.owners != record.owners:
        require_permission(tx, by, "transfer", prefix.key, at, record, identifier.key)
    if withdraws:
        require_permission(tx, by, "withdraw", prefix.key, at, record, identifier.key)
        refuse_withdrawal(tx, identifier.key, identifier.name)
    require_change_permission(tx, by, record, desired.values, prefix.key, at, identifier.key)
    only_adds_names = entry.joins_names and is_equal_except_names(record, desired)
    if not options.update and not only_adds_names:
        actual = "one with other content, which an import changes only with --update (over HTTP, update=true)"
        raise Conflict(identifier.name, "a new name, or one with equal content", actual)
    if desired.state == "reserved" and desired.values:
        desired = msgspec.structs.replace(desired, state="active", created=prepared.record.created or to_seconds(at))
    values = check_values(with_timestamps(desired.values, at), registry.settings.limits)
    desired = msgspec.structs.replace(desired, values=values)
    act = "withdraw" if withdraws else "import"
    revisions.append_revision(
        tx, identifier, desired, by, act, at, prepared.note, registry.settings.limits.record_bytes
    )
    return "changed"


def is_other_spelling(stored: str, located: LocatedName) -> bool:
    """Return whether a file writes an existing name in another case, under a prefix that ignores case."""
    return stored != located.name and located.scheme == "handle" and not located.prefix.case_sensitive


def _refuse_different_origin(record: Record, imported: Record, entry: ImportPut, type_prefix: str) -> None:
    """Refuse another creator or creation date: these never change, so the file means another identifier."""
    source = extract_metadata(entry, type_prefix)
    if source.creator is not None and imported.creator != record.creator:
        raise Conflict(entry.name, f"the creator {imported.creator}", record.creator)
    if source.created is not None and record.created is not None and imported.created not in (None, record.created):
        raise Conflict(entry.name, f"the creation date {imported.created}", record.created)


def _merge_records(record: Record, imported: Record, entry: ImportPut) -> Record:
    """Return the record with everything that the entry states. The rest stays."""
    old = {value.index: value for value in record.values}
    target = (
        None if entry.target is None else next((one for one in record.values if one.is_url and one.is_public), None)
    )
    for value in imported.values:
        if entry.target is not None and value.index == TARGET_INDEX and target is not None:
            value = msgspec.structs.replace(target, data=value.data, timestamp=value.timestamp, verbatim=value.verbatim)
        before = old.get(value.index)
        if before is None or not equals_ignoring_timestamp(before, value):
            old[value.index] = value
    is_stated = record.state != "withdrawn" or entry.reason is not None or entry.replaced_by is not None
    if imported.tombstone is not None and is_stated and record.state != "merged":
        record = msgspec.structs.replace(record, state="withdrawn", tombstone=imported.tombstone)
    is_same_set = set(imported.owners) == set(record.owners)  # an export does not preserve their order
    states_owners = (entry.owners or imported.owners) and not is_same_set
    return msgspec.structs.replace(
        record,
        values=tuple(old[index] for index in sorted(old)),
        about=imported.about or record.about,
        owners=imported.owners if states_owners else record.owners,
    )


def _refuse_minted_names(located: LocatedName, options: ImportOptions) -> None:
    if located.scheme == "ppid":
        reason = f"{located.name} is computed from its inputs: import it with its history, or observe or reconstruct it"
        raise InvalidInput("import", "name", reason)
    if located.prefix.minter == "pilin" and not options.any_suffix:
        reason = f"the names under {located.prefix.name} are generated by its minter; allow any suffix to import others"
        raise InvalidInput("import", "any_suffix", reason)
