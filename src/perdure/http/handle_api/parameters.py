"""The parameters of a request: in its query, or for POST in a body, as a form or as JSON."""

import re
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from perdure.errors import shown
from perdure.exchange.json_text import refuse_duplicate_keys
from perdure.http.message import Request, one_parameter
from perdure.http.refusals import Malformed

JSON: Final = "application/json"

_FORM: Final = "application/x-www-form-urlencoded"
_YES: Final = frozenset({"", "true", "yes", "1", "on"})
_NO: Final = frozenset({"false", "no", "0", "off"})
_NUMBER: Final = re.compile(r"-?[0-9]{1,10}")
_MOST: Final = 4_096


class Parameters:
    """Decoded, in the order in which they came. What we do not know is left alone."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def one(self, name: str) -> str | None:
        return one_parameter(self.pairs, name) if self.pairs else None

    def flag(self, name: str) -> bool | None:
        """Yes or no; a name alone says yes. None, if nothing is said."""
        said = self.one(name)
        if said is None:
            return None
        text = said.lower()
        if text in _YES:
            return True
        if text in _NO:
            return False
        raise Malformed(f"{name} is true or false, not {shown(said)}")

    def natural(self, name: str) -> int | None:
        """A number that is not negative."""
        said = self.one(name)
        if said is None:
            return None
        number = read_number(said, name)
        if number < 0:
            raise Malformed(f"{name} cannot be negative")
        return number


def read_number(text: str, part: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise Malformed(f"{part} is a number, not {shown(text)}")
    return int(text)


def content_type(request: Request) -> str:
    """Of the body, without its parameters; empty if nothing is said."""
    said = request.header(b"content-type")
    return "" if said is None else said.partition(";")[0].strip().lower()


async def parameters_of(request: Request) -> Parameters:
    """Those of the query, and of the body of a request that asks by POST."""
    pairs = request.parameters() if request.query else []
    if request.method == "POST":
        pairs = [*pairs, *await body_parameters(request)]
    return Parameters(pairs)


async def body_parameters(request: Request) -> list[tuple[str, str]]:
    body = await request.body()
    return _from_body(content_type(request), body) if body.strip() else []


def _from_body(kind: str, body: bytes) -> list[tuple[str, str]]:
    if kind == JSON:
        return _from_json(body)
    if kind != _FORM:
        raise Malformed(f"parameters come as {_FORM} or as {JSON}")
    try:
        text = body.decode("ascii")
        return parse_qsl(text, keep_blank_values=True, encoding="utf-8", errors="strict", max_num_fields=_MOST)
    except UnicodeDecodeError:
        raise Malformed("the form is not UTF-8, percent-encoded") from None
    except ValueError:
        raise Malformed(f"the form has more than {_MOST} fields") from None


def _from_json(body: bytes) -> list[tuple[str, str]]:
    """An object of texts, numbers, yes and no, and lists of them."""
    try:
        said = msgspec.json.decode(body, type=dict[str, str | int | bool | list[str | int] | None])
        refuse_duplicate_keys(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Malformed(f"the parameters cannot be read: {problem}") from None
    pairs = [(name, _written(one)) for name, value in said.items() for one in _each(value)]
    if len(pairs) > _MOST:
        raise Malformed(f"there are more than {_MOST} parameters")
    return pairs


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _written(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
