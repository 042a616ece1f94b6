"""Names that a file creates or updates."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from perdure.errors import Conflict, InvalidInput, Withdrawn
from perdure.formats.import_entries import ImportPut, Notice
from perdure.names import handle
from perdure.records.authority_metadata import (
    CREATION_DATE,
    CREATOR,
    OWNER,
    metadata_types,
    to_seconds,
    with_change_time,
)
from perdure.records.derived_values import names_owner, old_administrator
from perdure.records.frozen_struct import FrozenStruct
from perdure.records.record import Record
from perdure.records.validation import check_about, check_values, to_iso_seconds
from perdure.records.value import ADMIN, SECRET, Admin, Text, Value, equals_ignoring_timestamp, with_stated_ttl
from perdure.registry import revisions
from perdure.registry.entities import Agent, Change
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.importing.import_options import ImportOptions, Outcome, one_day_later
from perdure.registry.name_keys import LocatedName, PrefixSource, locate
from perdure.registry.new_record import Statement, build_values, refuse_future_timestamps, with_timestamps
from perdure.registry.permissions.permissions import require_change_permission, require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction

_TO_MICROSECONDS: Final = ".000000Z"


class _EntryMetadata(NamedTuple):
    """An entry with the authority metadata in its values moved out of them, and without secrets."""

    values: tuple[Value, ...]
    created: str | None
    creator: str | None
    owners: tuple[str, ...]
    notices: tuple[Notice, ...]


class PreparedPut(FrozenStruct, frozen=True):
    """A name that can be written once it is known not to exist."""

    located: LocatedName
    record: Record
    changes: tuple[Change, ...]
    notices: tuple[Notice, ...]


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
    limits = registry.settings.limits
    values, created, creator_text, owner_texts, notices = _extract_metadata(entry, registry.settings.type_prefix)
    when = _source_time(values, entry, at) if values else at
    values = build_values(Statement(entry.target, values), limits, max(when, at))
    values = tuple(with_stated_ttl(values, located.prefix.ttl))
    if values and entry.state == "reserved":
        raise InvalidInput("import", "state", "a reserved name cannot have a target or values")
    creator = by.identifier if creator_text is None else parties[creator_text]
    owners = dict.fromkeys([parties[owner] for owner in owner_texts])
    bound = bool(values) and entry.state == "active"
    if created is not None:
        created = to_iso_seconds(created, "created")
        if created > one_day_later(at):
            raise InvalidInput("record", "created", f"the creation date {created} is in the future")
    elif bound:
        created = min([value.timestamp for value in values])
    record = Record(
        state="active" if bound else "reserved",
        creator=creator,
        owners=tuple([owner for owner in owners if owner != creator]),
        created=created if bound else None,
        values=values,
        about=check_about(entry.about, limits),
    )
    if entry.values:
        record = with_change_time(_without_old_admin(record), when)
    encoded = revisions.encode_within_limit(record, limits.record_bytes)
    new = revisions.first_revision(
        located.name, located.key, located.scheme, record, by, "import", when, options.note, encoded
    )
    return PreparedPut(located, record, (new,), notices)


def _source_time(values: Sequence[Value], entry: ImportPut, at: str) -> str:
    """Return the time of the source, if it gives one: a move to another registry is not a change of the record."""
    refuse_future_timestamps(values, one_day_later(at))
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
    _refuse_different_origin(record, prepared.record, entry, registry.settings.type_prefix)
    desired = _merge_records(record, prepared.record, entry)
    if desired == record:
        return "unchanged"
    if record.tombstone is not None:
        raise Withdrawn(identifier.name, record.tombstone.reason, record.tombstone.replaced_by)
    require_permission(tx, by, "edit", prefix.key, at, record, identifier.key)
    if desired.owners != record.owners:
        require_permission(tx, by, "transfer", prefix.key, at, record, identifier.key)
    require_change_permission(tx, by, record, desired.values, prefix.key, at, identifier.key)
    if not options.update:
        actual = "one with other content, which only an import with update changes"
        raise Conflict(identifier.name, "a new name, or one with equal content", actual)
    if record.state == "reserved" and desired.values:
        desired = msgspec.structs.replace(desired, state="active", created=prepared.record.created or to_seconds(at))
    values = check_values(with_timestamps(desired.values, at), registry.settings.limits)
    desired = msgspec.structs.replace(desired, values=values)
    revisions.append_revision(
        tx, identifier, desired, by, "import", at, options.note, registry.settings.limits.record_bytes
    )
    return "changed"


def _refuse_different_origin(record: Record, imported: Record, entry: ImportPut, type_prefix: str) -> None:
    """Refuse another creator or creation date: these never change, so the file means another identifier."""
    _, created, creator, _, _ = _extract_metadata(entry, type_prefix)
    if creator is not None and imported.creator != record.creator:
        raise Conflict(entry.name, f"the creator {imported.creator}", record.creator)
    if created is not None and record.created is not None and imported.created not in (None, record.created):
        raise Conflict(entry.name, f"the creation date {imported.created}", record.created)


def _merge_records(record: Record, imported: Record, entry: ImportPut) -> Record:
    """Return the record with everything that the entry states. The rest stays."""
    old = {value.index: value for value in record.values}
    target = (
        None if entry.target is None else next((one for one in record.values if one.is_url and one.is_public), None)
    )
    for value in imported.values:
        is_target = entry.target is not None and value.text == entry.target and value.is_url
        if is_target and target is not None:
            value = msgspec.structs.replace(target, data=Text(entry.target or ""), timestamp=value.timestamp)
        before = old.get(value.index)
        if before is None or not equals_ignoring_timestamp(before, value):
            old[value.index] = value
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
        raise InvalidInput("import", "name", reason)


def _extract_metadata(entry: ImportPut, type_prefix: str) -> _EntryMetadata:
    created, creator = entry.created, entry.creator
    if not entry.values:
        return _EntryMetadata((), created, creator, entry.owners, ())
    metadata = metadata_types(type_prefix)
    values, notices, owners = [], [], list(entry.owners)
    for value in entry.values:
        kind = metadata.get(handle.fold(value.type))
        if kind == CREATION_DATE and value.text:
            created = created or value.text
        elif kind == CREATOR and value.text:
            is_handle = "/" in value.text and "://" not in value.text
            creator = creator or (f"hdl:{value.text}" if is_handle else value.text)
        elif kind == OWNER and value.text:
            owners.append(value.text)
        elif isinstance(value.data, Admin) and names_owner(value.data.value):
            owners.append(f"hdl:{value.data.value.handle}")
        elif value.type.upper() == SECRET:
            notices.append(Notice(entry.line, f"the secret in value {value.index} ({SECRET}) was omitted"))
        else:
            values.append(value)
    return _EntryMetadata(tuple(values), created, creator, tuple(owners), tuple(notices))


def _without_old_admin(record: Record) -> Record:
    """Drop an HS_ADMIN that an export of an earlier release derived: it is not stored beside the metadata."""
    own = [value for value in record.values if value.type == ADMIN]
    if record.created is None or len(own) != 1 or own[0].data != Admin(old_administrator(record)):
        return record
    return msgspec.structs.replace(record, values=tuple(value for value in record.values if value.type != ADMIN))


def parties_in(entries: Sequence[object], type_prefix: str) -> set[str]:
    """Return every creator and owner that the entries name."""
    parties: set[str] = set()
    for entry in entries:
        if isinstance(entry, ImportPut):
            extracted = _extract_metadata(entry, type_prefix)
            if extracted.creator is not None:
                parties.add(extracted.creator)
            parties.update(extracted.owners)
    return parties
