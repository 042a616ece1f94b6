"""Values as clients write them in the body of a PUT: three forms of the whole, seven formats of the data."""

from base64 import b64decode
from binascii import Error as BadBase64
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from perdure.errors import InvalidInput, OutOfRange, shown
from perdure.exchange.handle_data import from_bytes
from perdure.exchange.json_text import refuse_duplicate_keys
from perdure.http.handle_api.parameters import JSON, content_type, read_number
from perdure.http.message import Request
from perdure.http.refusals import Malformed
from perdure.records import public_key, site
from perdure.records.checks import iso_seconds, plain_text
from perdure.records.value import (
    ADMIN,
    DEFAULT_PERMISSIONS,
    DEFAULT_TTL,
    VALUE_LIST,
    Admin,
    AdminRights,
    Binary,
    Data,
    Reference,
    Text,
    Value,
    ValueList,
)

_TYPED: Final = frozenset({ADMIN, VALUE_LIST})
T = TypeVar("T")


class _Data(msgspec.Struct):
    format: str
    value: Any


class _Reference(msgspec.Struct):
    handle: str
    index: int | str


class _Rights(msgspec.Struct):
    handle: str
    index: int | str
    permissions: str


class _Value(msgspec.Struct):
    """One value. Its timestamp, and what else a client may add, is not looked at."""

    index: int | str
    type: str
    data: str | _Data
    ttl: int | str = DEFAULT_TTL
    permissions: str = DEFAULT_PERMISSIONS
    references: list[_Reference] = []


class _Body(msgspec.Struct):
    """An object: a record with its values, or one value by itself."""

    handle: str | UnsetType = UNSET
    values: list[_Value] | UnsetType = UNSET
    index: int | str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    data: str | _Data | UnsetType = UNSET
    ttl: int | str = DEFAULT_TTL
    permissions: str = DEFAULT_PERMISSIONS
    references: list[_Reference] = []


class Put(NamedTuple):
    """What a PUT says: its values, and the name that it says they are for."""

    values: list[Value]
    handle: str | None = None


_object: Final = msgspec.json.Decoder(_Body).decode
_list: Final = msgspec.json.Decoder(list[_Value]).decode


async def read_put(request: Request, most: int) -> Put:
    """The body of a PUT, of at most so many values."""
    if content_type(request) != JSON:
        raise Malformed(f"the Content-Type of values is {JSON}")
    return read_body(await request.body(), most)


def read_body(body: bytes, most: int) -> Put:
    name = None
    try:
        if body.lstrip()[:1] == b"[":
            given = _list(body)
        else:
            whole = _object(body)
            name = None if whole.handle is UNSET else whole.handle
            given = [_single(whole)] if whole.values is UNSET else whole.values
        refuse_duplicate_keys(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Malformed(f"the values cannot be read: {problem}") from None
    except RecursionError:
        raise Malformed("the values cannot be read: they are nested too deeply") from None
    if len(given) > most:
        raise OutOfRange("record", "values", f"a record holds at most {most} values, not {len(given)}")
    return Put([_value(one) for one in given], name)


def _single(whole: _Body) -> _Value:
    index, kind, data = whole.index, whole.type, whole.data
    if index is UNSET or kind is UNSET or data is UNSET:
        raise Malformed("the values cannot be read: neither a list, nor one with index, type and data")
    return _Value(index, kind, data, whole.ttl, whole.permissions, whole.references)


def _value(given: _Value) -> Value:
    index = _index(given.index)
    where = f"values[{index}]"
    if index < 1:
        raise OutOfRange("record", f"{where}.index", "Value indexes must be positive")
    ttl = given.ttl
    if isinstance(ttl, str):
        ttl = int(ttl) if ttl.isascii() and ttl.isdigit() and len(ttl) <= 10 else iso_seconds(ttl, f"{where}.ttl")
    data = given.data
    if isinstance(data, str):
        typed = _text(given.type, data)
    else:
        try:
            typed = _typed(given.type, data, where)
        except InvalidInput as problem:  # of a key or a site, which do not know whose they are
            raise InvalidInput(problem.scheme, f"{where}.{problem.part}", problem.reason) from None
    references = tuple(Reference(one.handle, _index(one.index)) for one in given.references) if given.references else ()
    return Value(index, given.type, typed, "", ttl, given.permissions, references)


def _typed(kind: str, data: _Data, where: str) -> Data:
    """The data in the form in which its type is kept, whatever format it came in."""
    form = data.format.lower()
    if form == "string":
        return _text(kind, _part(data.value, str, where))
    if form == "base64":
        return _bytes(kind, _base64(_part(data.value, str, where), where))
    if form == "hex":
        return _bytes(kind, _hex(_part(data.value, str, where), where))
    if form == "admin":
        rights = _part(data.value, _Rights, where)
        return Admin(AdminRights(rights.handle, _index(rights.index), rights.permissions))
    if form == "vlist":
        listed = _part(data.value, list[_Reference], where)
        return ValueList(tuple(Reference(one.handle, _index(one.index)) for one in listed))
    if form == "key":
        return Binary(public_key.to_wire(public_key.from_jwk(data.value)))
    if form == "site":
        return Binary(site.to_wire(site.from_json(data.value)))
    known = "string, base64, hex, admin, vlist, site and key"
    raise Malformed(f"{where}.data.format: the formats are {known}, not {shown(data.format)}")


def _text(kind: str, text: str) -> Data:
    if text.isprintable() and kind.upper() not in _TYPED:
        return Text(text)  # nearly all
    return _bytes(kind, text.encode("utf-8", "surrogatepass"))


def _bytes(kind: str, raw: bytes) -> Data:
    """What is text is kept as text, and all other bytes as they are."""
    if (typed := kind.upper()) in _TYPED:
        return from_bytes(typed, raw)
    try:
        return Text(plain_text(raw.decode("utf-8"), "data"))
    except (UnicodeDecodeError, InvalidInput):
        return Binary(raw)


def _part(value: Any, type: type[T], where: str) -> T:
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as problem:
        raise Malformed(f"{where}.data.value: {problem}") from None


def _base64(text: str, where: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (BadBase64, ValueError):
        raise Malformed(f"{where}.data.value: this is not base64") from None


def _hex(text: str, where: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise Malformed(f"{where}.data.value: these are not hexadecimal digits") from None


def _index(given: int | str) -> int:
    """Some clients write numbers as texts."""
    return given if isinstance(given, int) else read_number(given, "index")
