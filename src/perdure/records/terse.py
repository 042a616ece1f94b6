"""A record as Handle clients read it, straight from how it is written: what a value says is passed on as it stands.

The resolver is asked for records thousands of times a second. This comes to the same as `authority.handle_values`,
written down; whatever is unusual about a record is left to that.
"""

from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from perdure.names import handle
from perdure.records.authority import FIRST_ADMIN, FIRST_METADATA, handle_values, metadata_types
from perdure.records.record import Record
from perdure.records.value import ADMIN, DEFAULT_TTL, shown_value

_BYTES: Final = b'"base64"'  # they are shown in a form that depends on the type of the value
_encode: Final = msgspec.json.Encoder().encode
_INSTANT: Final = "\0"  # stands where the date of creation goes: no text that is kept has one


class _Value(msgspec.Struct, gc=False):
    """As `ShownValue`; what is stored without a lifetime has the usual one."""

    index: int
    type: str
    data: msgspec.Raw
    ttl: int | str = DEFAULT_TTL
    timestamp: str = ""
    permissions: str | msgspec.UnsetType = msgspec.UNSET
    references: list[Any] | msgspec.UnsetType = msgspec.UNSET


class _Record(msgspec.Struct, gc=False):
    state: Literal["active"]
    creator: str
    created: str
    owners: tuple[str, ...] = ()
    values: list[_Value] = []


_decode: Final = msgspec.json.Decoder(_Record).decode


def terse_values(written: bytes, type_prefix: str) -> bytes | None:
    """The values as a JSON array; None, if something about them is unusual."""
    if written.find(_BYTES) >= 0:
        return None
    try:
        record = _decode(written)
    except (msgspec.DecodeError, UnicodeDecodeError):  # it is not active, or damaged
        return None
    last, names_admin = 0, False
    for value in record.values:
        index, kind = value.index, _derived_kind(value.type, type_prefix)
        if not last < index < FIRST_METADATA or value.permissions is not msgspec.UNSET:
            return None  # not in order, or not for everybody
        names_admin = names_admin or kind == ADMIN
        if kind not in ("", ADMIN) or (index >= FIRST_ADMIN and not names_admin):
            return None  # where something derived would go, or in its place
        last = index
    derived = _derived(record.creator, record.owners, type_prefix, names_admin)
    if derived is None:
        return None
    told = record.created.encode().join(derived)
    return b"".join((_encode(record.values)[:-1], b"," if last else b"", told, b"]"))


@lru_cache(maxsize=4096)
def _derived_kind(kind: str, type_prefix: str) -> str:
    """What a type is, if values of that type are told of records that do not have one."""
    compared = handle.fold(kind)
    return ADMIN if compared == handle.fold(ADMIN) else metadata_types(type_prefix).get(compared, "")


@lru_cache(maxsize=4096)  # few answer for many
def _derived(creator: str, owners: tuple[str, ...], type_prefix: str, names_admin: bool) -> list[bytes] | None:
    """What is told beside the values of a record, taken apart where its date of creation goes.

    It goes behind each of them, and into one. None, if somebody's name reads like it.
    """
    bare = Record(state="active", creator=creator, owners=owners, created=_INSTANT)
    told = handle_values(bare, type_prefix)[names_admin:]
    parts = _encode([shown_value(value) for value in told])[1:-1].split(_encode(_INSTANT)[1:-1])
    return parts if len(parts) == len(told) + 2 else None
