"""The parameters of a request: in its query, or for POST in a body, as a form or as JSON."""

import re
from codecs import BOM_UTF8
from typing import Any, Final

import msgspec

from perdure.errors import quote_text
from perdure.formats.strict_json import refuse_duplicate_keys
from perdure.http.shared.http_errors import MalformedRequest
from perdure.http.shared.media_type import FORM_URLENCODED, body_media_type
from perdure.http.shared.query_string import MOST_PARAMETERS, parse_form, single_parameter
from perdure.http.shared.request import Request

JSON: Final = "application/json"

_YES: Final = frozenset({"", "true", "yes", "1", "on"})
_NO: Final = frozenset({"false", "no", "0", "off"})
_NUMBER: Final = re.compile(r"-?[0-9]{1,10}")


class Parameters:
    """The decoded parameters in their order. Unknown ones are ignored."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs

    def all(self, name: str) -> list[str]:
        """Return all values of a parameter."""
        return [value for key, value in self.pairs if key == name]

    def single(self, name: str) -> str | None:
        """Return the value of a parameter that may be given once."""
        return single_parameter(self.pairs, name) if self.pairs else None

    def flag(self, name: str) -> bool | None:
        """Return a parameter as true or false; a name alone is true. None if it is not given."""
        given = self.single(name)
        if given is None:
            return None
        text = given.lower()
        if text in _YES:
            return True
        if text in _NO:
            return False
        raise MalformedRequest(f"{name} must be true or false, not {quote_text(given)}")

    def integer(self, name: str) -> int | None:
        """Return a parameter as a number."""
        given = self.single(name)
        return None if given is None else parse_number(given, name)

    def natural(self, name: str) -> int | None:
        """Return a parameter as a number that is not negative."""
        number = self.integer(name)
        if number is not None and number < 0:
            raise MalformedRequest(f"{name} must not be negative")
        return number


def parse_number(text: str, part: str) -> int:
    """Return a text as a number."""
    if _NUMBER.fullmatch(text) is None:
        raise MalformedRequest(f"{part} must be a number, not {quote_text(text)}")
    return int(text)


async def read_parameters(request: Request) -> Parameters:
    """Return the parameters of the query, and for POST those of the body."""
    pairs = request.parameters() if request.query else []
    if request.method == "POST":
        pairs = [*pairs, *await read_body_parameters(request)]
    return Parameters(pairs)


async def read_body_parameters(request: Request) -> list[tuple[str, str]]:
    """Return the parameters of the body."""
    body = (await request.body()).removeprefix(BOM_UTF8)
    return _parse_body(body_media_type(request), body) if body.strip() else []


def _parse_body(kind: str, body: bytes) -> list[tuple[str, str]]:
    is_json_object = body.lstrip()[:1] == b"{"
    if kind == JSON or (not kind and is_json_object):
        return _parse_json(body)
    if kind not in (FORM_URLENCODED, ""):
        raise MalformedRequest(f"unsupported media type: parameters must be {FORM_URLENCODED} or {JSON}")
    return parse_form(body)


def _parse_json(body: bytes) -> list[tuple[str, str]]:
    """Return the parameters of a JSON object of strings, numbers, booleans, and lists of them."""
    try:
        decoded = msgspec.json.decode(body, type=dict[str, str | int | bool | list[str | int] | None])
        refuse_duplicate_keys(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise MalformedRequest(f"invalid JSON parameters: {problem}") from None
    pairs = [(name, _to_text(one)) for name, value in decoded.items() for one in _as_list(value)]
    if len(pairs) > MOST_PARAMETERS:
        raise MalformedRequest(f"too many parameters: at most {MOST_PARAMETERS} are allowed")
    return pairs


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _to_text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
