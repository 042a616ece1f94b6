"""The values in the body of a PUT: three forms of the body, seven formats of the data."""

import json
from codecs import BOM_UTF8
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from perdure.errors import InvalidInput, OutOfRange, quote_text
from perdure.formats.handle_data import from_bytes
from perdure.formats.strict_json import refuse_duplicate_keys
from perdure.http.handle_api.parameters import JSON, parse_number
from perdure.http.shared.http_errors import MalformedRequest
from perdure.http.shared.media_type import body_media_type
from perdure.http.shared.request import Request
from perdure.records import public_key, site
from perdure.records.base64_text import decode_base64
from perdure.records.validation import check_plain_text, to_iso_seconds
from perdure.records.value import (
    ADMIN,
    DEFAULT_PERMISSIONS,
    VALUE_LIST,
    Admin,
    AdminRights,
    Binary,
    Data,
    Reference,
    Text,
    Value,
    ValueList,
    stated_ttl,
)

_STRUCTURED_TYPES: Final = frozenset({ADMIN, VALUE_LIST})


class _Data(msgspec.Struct):
    """Data in a format that it names. A number in it is an integer, or the text of any other number."""

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
    """One value. Its timestamp, and unknown fields, are ignored."""

    index: int | str
    type: str
    data: str | bool | int | float | _Data
    ttl: int | str | None = None
    permissions: str = DEFAULT_PERMISSIONS
    references: list[_Reference] = []


class _Body(msgspec.Struct):
    """An object: a record with its values, or one value."""

    handle: str | UnsetType = UNSET
    values: list[_Value] | UnsetType = UNSET
    index: int | str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    data: str | bool | int | float | _Data | UnsetType = UNSET
    ttl: int | str | None = None
    permissions: str = DEFAULT_PERMISSIONS
    references: list[_Reference] = []


class PutBody(NamedTuple):
    """The values of a PUT, and the handle that the body names for them."""

    values: list[Value]
    handle: str | None = None


_object: Final = msgspec.json.Decoder(_Body, float_hook=str).decode
_list: Final = msgspec.json.Decoder(list[_Value], float_hook=str).decode


async def read_put(request: Request, most: int) -> PutBody:
    """Return the body of a PUT, with at most `most` values."""
    if body_media_type(request) != JSON:
        raise MalformedRequest(f"unsupported media type: values must be sent as {JSON}")
    return read_body(await request.body(), most)


def read_body(body: bytes, most: int) -> PutBody:
    """Parse the body of a PUT."""
    name = None
    body = body.removeprefix(BOM_UTF8)
    try:
        if body.lstrip()[:1] == b"[":
            given = _list(body)
        else:
            whole = _object(body)
            name = None if whole.handle is UNSET else whole.handle
            given = [_single_value(whole)] if whole.values is UNSET else whole.values
        refuse_duplicate_keys(body)
        if any(isinstance(one.data, float) for one in given):
            _restore_numbers(given, body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise MalformedRequest(f"invalid values: {problem}") from None
    except RecursionError:
        raise MalformedRequest("invalid values: nested too deeply") from None
    if len(given) > most:
        raise OutOfRange("record", "values", f"a record holds at most {most} values, not {len(given)}")
    return PutBody([_value(one) for one in given], name)


def _restore_numbers(given: list[_Value], body: bytes) -> None:
    """Replace data that was decoded as a float by its text in the body: `1.50` stays `1.50`."""
    whole = json.loads(body, parse_float=str, parse_int=str)
    written = whole if isinstance(whole, list) else whole.get("values", [whole])
    for one, source in zip(given, written, strict=True):
        if isinstance(one.data, float):
            one.data = source["data"]


def _single_value(whole: _Body) -> _Value:
    index, kind, data = whole.index, whole.type, whole.data
    if index is UNSET or kind is UNSET or data is UNSET:
        raise MalformedRequest("invalid values: neither a list, nor one value with index, type and data")
    return _Value(index, kind, data, whole.ttl, whole.permissions, whole.references)


def _value(given: _Value) -> Value:
    index = _index(given.index)
    where = f"values[{index}]"
    if index < 1:
        raise OutOfRange("record", f"{where}.index", "Value indexes must be positive")
    ttl = stated_ttl(given.ttl)
    if isinstance(ttl, str):
        ttl = int(ttl) if ttl.isascii() and ttl.isdigit() and len(ttl) <= 10 else to_iso_seconds(ttl, f"{where}.ttl")
    data = given.data
    if isinstance(data, str):
        typed = _text(given.type, data)
    elif not isinstance(data, _Data):
        typed = _text(given.type, _scalar_text(data))
    else:
        try:
            typed = _parse_data(given.type, data, where)
        except InvalidInput as problem:  # of a key or a site, whose parsers do not know the index
            raise InvalidInput(problem.scheme, f"{where}.{problem.part}", problem.reason) from None
    references = tuple(Reference(one.handle, _index(one.index)) for one in given.references) if given.references else ()
    return Value(index, given.type, typed, "", ttl, given.permissions, references)


def _parse_data(kind: str, data: _Data, where: str) -> Data:
    """Return the data in the form in which its type is stored, from any format."""
    form = data.format.lower()
    if form == "string":
        return _text(kind, _scalar_text(_convert(data.value, str | bool | int, where)))
    if form == "base64":
        return _bytes(kind, _base64(_convert(data.value, str, where), where))
    if form == "hex":
        return _bytes(kind, _hex(_convert(data.value, str, where), where))
    if form == "admin":
        rights = _convert(data.value, _Rights, where)
        return Admin(AdminRights(rights.handle, _index(rights.index), rights.permissions))
    if form == "vlist":
        listed = _convert(data.value, list[_Reference], where)
        return ValueList(tuple(Reference(one.handle, _index(one.index)) for one in listed))
    if form == "key":
        return Binary(public_key.to_wire(public_key.from_jwk(data.value)))
    if form == "site":
        return Binary(site.to_wire(site.from_json(data.value)))
    known = "string, base64, hex, admin, vlist, site and key"
    raise MalformedRequest(f"{where}.data.format: the formats are {known}, not {quote_text(data.format)}")


def _text(kind: str, text: str) -> Data:
    if text.isprintable() and kind.upper() not in _STRUCTURED_TYPES:
        return Text(text)  # nearly always
    return _bytes(kind, text.encode("utf-8", "surrogatepass"))


def _bytes(kind: str, raw: bytes) -> Data:
    """Return bytes as text if they are text, and as binary data otherwise."""
    if (typed := kind.upper()) in _STRUCTURED_TYPES:
        return from_bytes(typed, raw)
    try:
        return Text(check_plain_text(raw.decode("utf-8"), "data"))
    except (UnicodeDecodeError, InvalidInput):
        return Binary(raw)


def _scalar_text(value: str | bool | int | float) -> str:
    """Return a text unchanged, and a number or a truth value as JSON writes it: clients send them for texts."""
    return value if isinstance(value, str) else str(value).lower()


def _convert(value: Any, type: Any, where: str) -> Any:
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as problem:
        raise MalformedRequest(f"{where}.data.value: {problem}") from None


def _base64(text: str, where: str) -> bytes:
    try:
        return decode_base64(text)
    except ValueError:
        raise MalformedRequest(f"{where}.data.value: invalid base64") from None


def _hex(text: str, where: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise MalformedRequest(f"{where}.data.value: invalid hexadecimal digits") from None


def _index(given: int | str) -> int:
    """Return an index, which some clients write as a string."""
    return given if isinstance(given, int) else parse_number(given, "index")
