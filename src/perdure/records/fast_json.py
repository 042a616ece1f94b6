"""The JSON of a record for Handle clients, built from the stored bytes without decoding the data of its values.

The resolver serves thousands of records per second. The result equals the JSON of `derived_values.handle_values`,
which handles all unusual records.
"""

from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from perdure.names import handle
from perdure.records.authority_metadata import metadata_types
from perdure.records.derived_values import FIRST_ADMIN, FIRST_METADATA, handle_values
from perdure.records.record import Record
from perdure.records.value import ADMIN, DEFAULT_TTL, Text, Value, to_json_value

_BYTES: Final = b'"base64"'  # the JSON of binary data depends on the type of the value
_encode: Final = msgspec.json.Encoder().encode
# Placeholders for the creation date and the time of the newest change: no stored text contains them.
_CREATED: Final = "\0"
_CHANGED: Final = "\1"  # it is later than the other, as in a record
_CREATED_JSON, _CHANGED_JSON = (_encode(placeholder)[1:-1] for placeholder in (_CREATED, _CHANGED))


class _Value(msgspec.Struct, gc=False):
    """A value, like `JsonValue`. One that is stored without a TTL has the default."""

    index: int
    type: str
    data: msgspec.Raw
    ttl: int | str = DEFAULT_TTL
    timestamp: str = ""
    permissions: str | msgspec.UnsetType = msgspec.UNSET
    references: list[Any] | msgspec.UnsetType = msgspec.UNSET


class _Record(msgspec.Struct, gc=False):
    """The fields of an active record that Handle clients see."""

    state: Literal["active"]
    creator: str
    created: str
    owners: tuple[str, ...] = ()
    values: list[_Value] = []
    changed: str | None = None


_decode: Final = msgspec.json.Decoder(_Record).decode


def fast_values_json(encoded: bytes, version: int, type_prefix: str) -> bytes | None:
    """Return the values of an encoded record as a JSON array, or None if something about them is unusual.

    A changed record of an earlier release is unusual: only its history knows when it was changed.
    """
    if encoded.find(_BYTES) >= 0:
        return None
    try:
        record = _decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError):  # it is not active, or damaged
        return None
    changed = record.changed
    if changed is None and version > 1:
        return None
    last, names_admin = 0, False
    for value in record.values:
        index, kind = value.index, _derived_kind(value.type, type_prefix)
        if not last < index < FIRST_METADATA or value.permissions is not msgspec.UNSET:
            return None  # not in order, or not public
        names_admin = names_admin or kind == ADMIN
        if kind not in ("", ADMIN) or (index >= FIRST_ADMIN and not names_admin):
            return None  # at the index of a derived value, or instead of one
        last = index
    derived = _derived_json_parts(record.creator, record.owners, type_prefix, names_admin, changed is not None)
    if derived is None:
        return None
    added = record.created.encode().join(derived)
    if changed is not None:
        added = added.replace(_CHANGED_JSON, max(record.created, changed).encode())
    return b"".join((_encode(record.values)[:-1], b"," if last else b"", added, b"]"))


@lru_cache(maxsize=4096)
def _derived_kind(kind: str, type_prefix: str) -> str:
    """Return the kind of a type of which derived values are added, or an empty text."""
    compared = handle.fold(kind)
    return ADMIN if compared == handle.fold(ADMIN) else metadata_types(type_prefix).get(compared, "")


@lru_cache(maxsize=4096)  # few parties are responsible for many identifiers
def _derived_json_parts(
    creator: str, owners: tuple[str, ...], type_prefix: str, names_admin: bool, is_changed: bool
) -> list[bytes] | None:
    """Return the JSON of the derived values, split where the creation date is inserted.

    Return None if a placeholder occurs in the name of a party, or if one of the owners may be an administrator already.
    """
    if names_admin and owners:
        return None
    own = (Value(1, ADMIN, Text("")),) if names_admin else ()
    changed = _CHANGED if is_changed else None
    bare = Record(state="active", creator=creator, owners=owners, created=_CREATED, values=own, changed=changed)
    derived = handle_values(bare, type_prefix)[names_admin:]
    written = _encode([to_json_value(value) for value in derived])[1:-1]
    shown = [value.timestamp for value in derived]
    is_clear = (written.count(_CREATED_JSON), written.count(_CHANGED_JSON)) == (
        shown.count(_CREATED) + 1,  # it is also the data of one value
        shown.count(_CHANGED),
    )
    return written.split(_CREATED_JSON) if is_clear else None
