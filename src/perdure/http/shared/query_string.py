"""Query strings and form bodies (application/x-www-form-urlencoded): decoded strictly, and bounded."""

from typing import Final
from urllib.parse import parse_qsl

from perdure.errors import InvalidInput
from perdure.http.shared.http_errors import MalformedRequest

MOST_PARAMETERS: Final = 4_096

Parameters = list[tuple[str, str]]


def parse_query(text: str) -> Parameters:
    """Return the parameters of a query in their order.

    >>> parse_query("a=1&a=%C3%A9&b")
    [('a', '1'), ('a', 'é'), ('b', '')]
    """
    return _parse(text, "query", MOST_PARAMETERS)


def parse_proxy_query(text: str) -> Parameters:
    """Return the parameters of a query in which `;` separates as `&` does, as proxies of the Handle System take it."""
    return _parse(text.replace(";", "&"), "query", MOST_PARAMETERS)


def parse_form(body: bytes, most: int = MOST_PARAMETERS) -> Parameters:
    """Return the fields of a form in their order."""
    try:
        text = body.decode("ascii")
    except UnicodeDecodeError:
        raise MalformedRequest("the form is not percent-encoded UTF-8") from None
    return _parse(text, "form", most)


def single_parameter(parameters: Parameters, name: str) -> str | None:
    """Return a parameter that may be given once; None if it is not given."""
    values = [value for key, value in parameters if key == name]
    if len(values) > 1:
        raise InvalidInput("request", name, f"the parameter {name} is given {len(values)} times; give it once")
    return values[0] if values else None


def _parse(text: str, part: str, most: int) -> Parameters:
    try:
        return parse_qsl(text, keep_blank_values=True, encoding="utf-8", errors="strict", max_num_fields=most)
    except UnicodeDecodeError:
        raise MalformedRequest(f"the {part} is not percent-encoded UTF-8") from None
    except ValueError:
        raise MalformedRequest(f"the {part} has more than {most} parameters") from None
