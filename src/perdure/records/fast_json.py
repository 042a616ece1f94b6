"""The JSON of a record for Handle clients, built from the stored bytes without decoding the data of its values.

The resolver serves thousands of records per second. The result equals the JSON of `authority_metadata.handle_values`,
which handles all unusual records.
"""

from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from perdure.names import handle
from perdure.records.authority_metadata import FIRST_ADMIN, FIRST_METADATA, handle_values, metadata_types
from perdure.records.record import Record
from perdure.records.value import ADMIN, DEFAULT_TTL, to_json_value

_BYTES: Final = b'"base64"'  # the JSON of binary data depends on the type of the value
_encode: Final = msgspec.json.Encoder().encode
_INSTANT: Final = "\0"  # a placeholder for the date of creation: no stored text contains it


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


_decode: Final = msgspec.json.Decoder(_Record).decode


def fast_values_json(encoded: bytes, type_prefix: str) -> bytes | None:
    """Return the values of an encoded record as a JSON array, or None if something about them is unusual."""
    if encoded.find(_BYTES) >= 0:
        return None
    try:
        record = _decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError):  # it is not active, or damaged
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
    derived = _derived_json_parts(record.creator, record.owners, type_prefix, names_admin)
    if derived is None:
        return None
    added = record.created.encode().join(derived)
    return b"".join((_encode(record.values)[:-1], b"," if last else b"", added, b"]"))


@lru_cache(maxsize=4096)
def _derived_kind(kind: str, type_prefix: str) -> str:
    """Return the kind of a type of which derived values are added, or an empty text."""
    compared = handle.fold(kind)
    return ADMIN if compared == handle.fold(ADMIN) else metadata_types(type_prefix).get(compared, "")


@lru_cache(maxsize=4096)  # few parties are responsible for many identifiers
def _derived_json_parts(
    creator: str, owners: tuple[str, ...], type_prefix: str, names_admin: bool
) -> list[bytes] | None:
    """Return the JSON of the derived values, split where the date of creation is inserted.

    The date occurs once in each value, and twice in one. Return None if the name of a party contains the placeholder.
    """
    bare = Record(state="active", creator=creator, owners=owners, created=_INSTANT)
    derived = handle_values(bare, type_prefix)[names_admin:]
    parts = _encode([to_json_value(value) for value in derived])[1:-1].split(_encode(_INSTANT)[1:-1])
    return parts if len(parts) == len(derived) + 2 else None
