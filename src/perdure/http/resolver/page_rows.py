"""The values of a record as rows of a page: each as text, with a link only where one may be followed."""

import base64
import re
from collections.abc import Iterable
from typing import Final

import msgspec

from perdure.http.app_context import AppContext
from perdure.http.urls import link_to, path_of, target_link
from perdure.records.value import ALIAS, Admin, Binary, Text, Value
from perdure.registry.value_types import find_defined_types

_VERBATIM_NOTE: Final = "imported as it was; not a valid address"
_LONGEST: Final = 2_000  # characters of one value on a page; its record has all of them
_MOST_TYPES: Final = 200  # looked up for one page
_HANDLE: Final = re.compile(r"[0-9][^/]*/.")  # the prefixes of the Handle System begin with a digit
_HANDLE_SYSTEM: Final = "HS_"
_HANDLE_SYSTEM_TYPES: Final = frozenset({"URL", "EMAIL", "DESC"})
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


TypeLinks = dict[str, str | None]


class Row(msgspec.Struct, frozen=True):
    """One value. `note` names the encoding of the text, if it is not plain. Its type may link to its handle."""

    index: int
    type: str
    type_href: str | None
    is_registered: bool
    text: str
    href: str | None
    note: str
    is_cut: bool
    lifetime: str
    timestamp: str


async def find_type_links(app: AppContext, values: Iterable[Value]) -> TypeLinks:
    """Return the links of the types of these values, without those that are not registered.

    A type that is a handle has a link. A type of the Handle System, or one too many to look up, has none.
    """
    all_types = list(dict.fromkeys(value.type for value in values))
    types = all_types[:_MOST_TYPES]
    defined = await app.registry.store.read(lambda reader: find_defined_types(app.registry, reader, types))
    links: TypeLinks = dict.fromkeys(all_types[_MOST_TYPES:])
    for kind in types:
        if kind in defined:
            links[kind] = path_of(defined[kind])
        elif kind.upper().startswith(_HANDLE_SYSTEM) or kind.upper() in _HANDLE_SYSTEM_TYPES:
            links[kind] = None
        elif _HANDLE.match(kind) and (link := link_to(app, kind)) is not None and not link.startswith("/"):
            links[kind] = link
    return links


def build_rows(app: AppContext, values: Iterable[Value], links: TypeLinks) -> list[Row]:
    """Return a row for each value."""
    return [_build_row(app, value, links) for value in values]


def _build_row(app: AppContext, value: Value, links: TypeLinks) -> Row:
    text, note = _text(value)
    if value.verbatim:
        note = ", ".join(filter(None, (note, _VERBATIM_NOTE)))
    return Row(
        value.index,
        value.type,
        links.get(value.type),
        value.type in links,
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
        given = data.value.permissions
        return f"{data.value.index}:{data.value.handle}", f"permissions {given}" if "1" in given else "no permissions"
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
