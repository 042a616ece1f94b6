"""The values of a record as rows of a page: each as text, with a link only where one may be followed."""

import base64
from collections.abc import Iterable
from typing import Final

import msgspec

from perdure.http.app_context import AppContext
from perdure.http.urls import link_to, target_link
from perdure.records.value import ALIAS, Admin, Binary, Text, Value

_VERBATIM_NOTE: Final = "imported as it was; not a valid address"
_LONGEST: Final = 2_000  # characters of one value on a page; its record has all of them
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


class Row(msgspec.Struct, frozen=True):
    """One value. `note` names the encoding of the text, if it is not plain."""

    index: int
    type: str
    text: str
    href: str | None
    note: str
    is_cut: bool
    lifetime: str
    timestamp: str


def build_rows(app: AppContext, values: Iterable[Value]) -> list[Row]:
    """Return a row for each value."""
    return [_build_row(app, value) for value in values]


def _build_row(app: AppContext, value: Value) -> Row:
    text, note = _text(value)
    if value.verbatim:
        note = ", ".join(filter(None, (note, _VERBATIM_NOTE)))
    return Row(
        value.index,
        value.type,
        text[:_LONGEST],
        _href(app, value, text),
        note,
        len(text) > _LONGEST,
        _format_ttl(value.ttl),
        value.timestamp,
    )


def _text(value: Value) -> tuple[str, str]:
    data = value.data
    if isinstance(data, Text):
        return data.value, ""
    if isinstance(data, Binary):
        return base64.b64encode(data.value).decode(), f"{len(data.value)} bytes, in Base64"
    if isinstance(data, Admin):
        return f"{data.value.index}:{data.value.handle}", f"permissions {data.value.permissions}"
    return "\n".join(f"{one.index}:{one.handle}" for one in data.value), "list of references"


def _href(app: AppContext, value: Value, text: str) -> str | None:
    if isinstance(value.data, Admin):
        return link_to(app, value.data.value.handle)
    if value.kind == ALIAS:
        return link_to(app, text)
    if value.verbatim or not isinstance(value.data, Text) or ":" not in text[:32]:
        return None
    return target_link(text, app.registry.settings.limits, allows_blanks=value.is_url)


def _format_ttl(ttl: int | str) -> str:
    if isinstance(ttl, str):
        return f"until {ttl}"
    size, unit = next(((size, unit) for size, unit in _UNITS if ttl and ttl % size == 0), (1, "second"))
    number = ttl // size
    return f"{number} {unit}{'' if number == 1 else 's'}"
