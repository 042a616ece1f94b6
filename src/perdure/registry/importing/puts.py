"""Names that a file wants to exist, and what it says of them."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from perdure.errors import Conflict, InvalidInput, Withdrawn
from perdure.exchange.entry import Notice, Put
from perdure.names import handle
from perdure.records.authority import CREATION_DATE, CREATOR, handle_values, metadata_types, to_seconds
from perdure.records.checks import checked_about, checked_values, iso_seconds
from perdure.records.plain import Plain
from perdure.records.record import Record
from perdure.records.value import Text, Value, same_statement
from perdure.registry import change
from perdure.registry.authority import require, require_changes
from perdure.registry.entities import Agent, Change
from perdure.registry.existing import existing
from perdure.registry.importing.options import Options, Outcome, tomorrow
from perdure.registry.naming import Located, PrefixSource, locate
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry
from perdure.registry.statement import Statement, dated, refuse_the_future, stated_values

_SECRET: Final = "HS_SECKEY"  # noqa: S105  (the name of a type)
_ADMIN: Final = "HS_ADMIN"
_TO_MICROSECONDS: Final = ".000000Z"


class PreparedPut(Plain, frozen=True):
    """A name that can be written as soon as it is known not to exist."""

    located: Located
    record: Record
    changes: tuple[Change, ...]
    notices: tuple[Notice, ...]


def prepare(
    registry: Registry,
    prefixes: PrefixSource,
    by: Agent,
    entry: Put,
    options: Options,
    parties: Mapping[str, str],
    at: str,
) -> PreparedPut:
    """The record of a name that does not exist yet. Needs no transaction: it is made while another chunk is written.

    `parties` are the creators and owners that were looked up; a KeyError tells of one that was not.
    """
    located = locate(prefixes, entry.name)
    _refuse_made_names(located, options)
    limits = registry.settings.limits
    values, created, creator_text, notices = _absorbed(entry, registry.settings.type_prefix)
    when = _told_time(values, entry, at) if values else at
    values = stated_values(Statement(entry.target, values), limits, max(when, at))
    if values and entry.state == "reserved":
        raise InvalidInput("import", "state", "a name that is reserved has no target and no values")
    creator = by.identifier if creator_text is None else parties[creator_text]
    owners = dict.fromkeys([parties[owner] for owner in entry.owners])
    bound = bool(values) and entry.state == "active"
    if created is not None:
        created = iso_seconds(created, "created")
        if created > tomorrow(at):
            raise InvalidInput("record", "created", f"the creation date {created} has not come yet")
    elif bound:
        created = min([value.timestamp for value in values])
    record = Record(
        state="active" if bound else "reserved",
        creator=creator,
        owners=tuple([owner for owner in owners if owner != creator]),
        created=created if bound else None,
        values=values,
        about=checked_about(entry.about, limits),
    )
    if entry.values:
        record = _without_derived_admin(record, registry.settings.type_prefix)
    encoded = change.fitting(record, limits.record_bytes)
    new = change.first(located.name, located.key, located.scheme, record, by, "import", when, options.note, encoded)
    return PreparedPut(located, record, (new,), notices)


def _told_time(values: Sequence[Value], entry: Put, at: str) -> str:
    """The source's own time, where it tells one: moving house is no change of the record."""
    refuse_the_future(values, tomorrow(at))
    newest = max(value.timestamp for value in values)
    is_told = bool(newest) and (entry.target is None or newest > to_seconds(at))
    return newest[:19] + _TO_MICROSECONDS if is_told else at


def put_again(
    registry: Registry, tx: Transaction, by: Agent, wanted: PreparedPut, entry: Put, options: Options, at: str
) -> Outcome:
    """The name exists: leave it if it says the same, change it if that is wanted, refuse otherwise."""
    found, record, prefix = existing(tx, wanted.located.name)
    _refuse_another_origin(record, wanted.record, entry, registry.settings.type_prefix)
    desired = _merged(record, wanted.record, entry)
    if desired == record:
        return "unchanged"
    if record.tombstone is not None:
        raise Withdrawn(found.name, record.tombstone.reason, record.tombstone.replaced_by)
    require(tx, by, "edit", prefix.key, at, record, found.key)
    if desired.owners != record.owners:
        require(tx, by, "transfer", prefix.key, at, record, found.key)
    require_changes(tx, by, record, desired.values, prefix.key, at, found.key)
    if not options.update:
        there = "one that says something else, which only an import that updates changes"
        raise Conflict(found.name, "a new name, or one that says the same", there)
    if record.state == "reserved" and desired.values:
        desired = msgspec.structs.replace(desired, state="active", created=wanted.record.created or to_seconds(at))
    values = checked_values(dated(desired.values, at), registry.settings.limits)
    desired = msgspec.structs.replace(desired, values=values)
    change.revise(tx, found, desired, by, "import", at, options.note, registry.settings.limits.record_bytes)
    return "changed"


def _refuse_another_origin(record: Record, wanted: Record, entry: Put, type_prefix: str) -> None:
    """Who created an identifier, and when, never changes: a file that says otherwise means another one."""
    _, created, creator, _ = _absorbed(entry, type_prefix)
    if creator is not None and wanted.creator != record.creator:
        raise Conflict(entry.name, f"the creator {wanted.creator}", record.creator)
    if created is not None and record.created is not None and wanted.created not in (None, record.created):
        raise Conflict(entry.name, f"the creation date {wanted.created}", record.created)


def _merged(record: Record, wanted: Record, entry: Put) -> Record:
    """The record with everything in place that the entry says. What it does not speak of stays."""
    old = {value.index: value for value in record.values}
    target = (
        None if entry.target is None else next((one for one in record.values if one.is_url and one.is_public), None)
    )
    for value in wanted.values:
        is_target = entry.target is not None and value.text == entry.target and value.is_url
        if is_target and target is not None:
            value = msgspec.structs.replace(target, data=Text(entry.target or ""), timestamp=value.timestamp)
        before = old.get(value.index)
        if before is None or not same_statement(before, value):
            old[value.index] = value
    return msgspec.structs.replace(
        record,
        values=tuple(old[index] for index in sorted(old)),
        about=wanted.about or record.about,
        owners=wanted.owners if entry.owners else record.owners,
    )


def _refuse_made_names(located: Located, options: Options) -> None:
    if located.scheme == "ppid":
        reason = f"{located.name} is made from its inputs: bring it with its history, or mint it from them"
        raise InvalidInput("import", "name", reason)
    if located.prefix.minter == "pilin" and not options.any_suffix:
        reason = f"the names under {located.prefix.name} are made by its minter, unless any suffix is to be taken"
        raise InvalidInput("import", "name", reason)


def _absorbed(entry: Put, type_prefix: str) -> tuple[tuple[Value, ...], str | None, str | None, tuple[Notice, ...]]:
    """Authority metadata that stands among the values goes where it belongs; secrets go nowhere."""
    created, creator = entry.created, entry.creator
    if not entry.values:
        return (), created, creator, ()
    metadata = metadata_types(type_prefix)
    kept, notices = [], []
    for value in entry.values:
        kind = metadata.get(handle.fold(value.type))
        if kind == CREATION_DATE and value.text:
            created = created or value.text
        elif kind == CREATOR and value.text:
            is_handle = "/" in value.text and "://" not in value.text
            creator = creator or (f"hdl:{value.text}" if is_handle else value.text)
        elif value.type.upper() == _SECRET:
            notices.append(Notice(entry.line, f"the secret in value {value.index} ({_SECRET}) was left out"))
        else:
            kept.append(value)
    return tuple(kept), created, creator, tuple(notices)


def _without_derived_admin(record: Record, type_prefix: str) -> Record:
    """An HS_ADMIN that says just what would be derived is what an export wrote: it is not kept beside the metadata."""
    if record.created is None or not any(value.type == _ADMIN for value in record.values):
        return record
    bare = msgspec.structs.replace(record, values=tuple(value for value in record.values if value.type != _ADMIN))
    if len(bare.values) != len(record.values) - 1:
        return record
    derived = next(value for value in handle_values(bare, type_prefix) if value.type == _ADMIN)
    own = next(value for value in record.values if value.type == _ADMIN)
    return bare if own.data == derived.data else record


def creators_in(entries: Sequence[object], type_prefix: str) -> set[str]:
    """Every creator and owner that the entries name, however they name them."""
    named: set[str] = set()
    for entry in entries:
        if isinstance(entry, Put):
            creator = _absorbed(entry, type_prefix)[2]
            if creator is not None:
                named.add(creator)
            named.update(entry.owners)
    return named
