"""Authority metadata in a file: the creator, the owners and the creation date that the source states."""

from collections.abc import Sequence
from typing import Final

import msgspec

from perdure.errors import InvalidInput, InvalidName, NoSuchPrefix, PerdureError
from perdure.formats.import_entries import ImportPut, Notice
from perdure.names import handle
from perdure.records.authority_metadata import CREATION_DATE, CREATOR, OWNER, metadata_types
from perdure.records.derived_values import names_owner, old_administrator
from perdure.records.frozen_struct import FrozenStruct
from perdure.records.record import Record
from perdure.records.validation import Limits, to_iso_seconds
from perdure.records.value import ADMIN, SECRET, Admin, Value
from perdure.registry.name_keys import locate
from perdure.registry.responsible_parties import check_party
from perdure.registry.store_interface import Reader

_LIMITS: Final = Limits()


class SourceMetadata(FrozenStruct, frozen=True):
    """What a file states about the origin of a name, and its other values."""

    values: tuple[Value, ...]
    created: str | None
    creator: str | None
    owners: tuple[str, ...]
    notices: tuple[Notice, ...] = ()


def extract_metadata(entry: ImportPut, type_prefix: str) -> SourceMetadata:
    """Move authority metadata out of the values into its own fields, and drop secrets.

    A party that is no identifier, and a creation date that is no date, stay values. An HS_ADMIN without permissions
    names an owner.
    """
    created, creator = entry.created, entry.creator
    if not entry.values:
        return SourceMetadata((), created, creator, entry.owners)
    metadata = metadata_types(type_prefix)
    values, notices, owners = [], [], list(entry.owners)
    for value in entry.values:
        kind = metadata.get(handle.fold(value.type))
        if kind == CREATION_DATE and value.text and _is_date(value.text):
            created = created or value.text
        elif kind == CREATOR and value.text and (party := _read_party(value.text)) is not None:
            creator = creator or party
        elif kind == OWNER and value.text and (party := _read_party(value.text)) is not None:
            owners.append(party)
        elif isinstance(value.data, Admin) and names_owner(value.data.value):
            owners.append(f"hdl:{value.data.value.handle}")
        elif value.type.upper() == SECRET:
            notices.append(Notice(entry.line, f"the secret in value {value.index} ({SECRET}) was omitted", entry.name))
        else:
            if kind is not None:
                what = f"value {value.index} ({value.type}) is in an unknown form: it stays a value"
                notices.append(Notice(entry.line, what, entry.name))
            # Whether an address is valid is decided here, not by the registry that the file came from.
            values.append(msgspec.structs.replace(value, verbatim=False) if value.verbatim else value)
    return SourceMetadata(tuple(values), created, creator, tuple(owners), tuple(notices))


def parties_in(entries: Sequence[object], type_prefix: str) -> set[str]:
    """Return every creator, owner and replacement that the entries name."""
    parties: set[str] = set()
    for entry in entries:
        if isinstance(entry, ImportPut):
            source = extract_metadata(entry, type_prefix)
            if source.creator is not None:
                parties.add(source.creator)
            if entry.replaced_by is not None:
                parties.add(entry.replaced_by)
            parties.update(source.owners)
    return parties


def absent_party(reader: Reader, text: str, limits: Limits) -> str | None:
    """Return the stored form of a party that does not resolve here, or not yet. None if it is not an identifier."""
    try:
        located = locate(reader, text)
        stored = f"hdl:{located.name}" if located.scheme == "handle" else located.name
    except NoSuchPrefix:
        try:
            stored = f"hdl:{handle.parse(text, joiners=True)}"
        except InvalidName:
            return None
    except PerdureError:
        return None
    try:
        check_party(stored, "creator", limits)
    except PerdureError:
        return None
    return stored


def without_old_admin(record: Record) -> Record:
    """Drop an HS_ADMIN that an export of an earlier release derived: it is not stored beside the metadata."""
    own = [value for value in record.values if value.type == ADMIN]
    if record.created is None or len(own) != 1 or own[0].data != Admin(old_administrator(record)):
        return record
    return msgspec.structs.replace(record, values=tuple(value for value in record.values if value.type != ADMIN))


def _is_date(text: str) -> bool:
    try:
        return bool(to_iso_seconds(text, "created"))
    except InvalidInput:
        return False


def _read_party(text: str) -> str | None:
    """Return the creator that a value names, or None if it is not an identifier that could resolve."""
    party = f"hdl:{text}" if "/" in text and "://" not in text else text
    try:
        check_party(party, "creator", _LIMITS)
    except PerdureError:
        return None
    return party
