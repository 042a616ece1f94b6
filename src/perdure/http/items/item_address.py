"""The address of an item in a collection, and of a file in it.

>>> address = parse_item_address("/archive/8JMKD3MGP8W/34PGRBS/doc/a.pdf")
>>> address.collection, address.readings
('archive', (ItemReading(label='8JMKD3MGP8W/34PGRBS', path='doc/a.pdf', ending=''),))
>>> parse_item_address("/archive/sid.inpe.br/mtc-m18/2009/02.16.17.46.json").readings
(ItemReading(label='sid.inpe.br/mtc-m18/2009/02.16.17.46', path=None, ending='json'),)
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from perdure.errors import InvalidName
from perdure.http.shared.api_roots import ITEMS_ROOT
from perdure.http.shared.http_errors import NotFound
from perdure.names import handle, ibi

ENDINGS: Final = ("csl.json", "json", "bib", "ris", "zip")  # after the label; a longer one before its own end
_LABEL_LENGTHS: Final = (4, 2)  # segments of a repository name, and of an IBIp


class ItemReading(NamedTuple):
    """A label, and a file of its item: `path` is empty for the item itself, and None without the slash behind it."""

    label: str
    path: str | None
    ending: str


class ItemAddress(NamedTuple):
    """A collection, and what the rest of the address can mean: it is possible to write two labels with one text."""

    collection: str
    readings: tuple[ItemReading, ...]


def parse_item_address(escaped: str) -> ItemAddress:
    """Return the parts of a path below the root of all items. Raise NotFound if it has no label."""
    collection, _, rest = handle.unescape(escaped).removeprefix("/").partition("/")
    readings = tuple(read_label(rest))
    if not readings:
        raise NotFound()
    return ItemAddress(collection, readings)


def read_label(rest: str) -> Iterator[ItemReading]:
    """Yield what a text can mean that begins with a label."""
    parts = rest.split("/")
    for length in _LABEL_LENGTHS:
        label = "/".join(parts[:length])
        if _is_label(label, length):
            yield ItemReading(label, "/".join(parts[length:]) if len(parts) > length else None, "")
    if len(parts) in _LABEL_LENGTHS:
        for ending in ENDINGS:
            label = rest.removesuffix(f".{ending}")
            if label != rest and _is_label(label, len(parts)):
                yield ItemReading(label, None, ending)
                return


def _is_label(text: str, segments: int) -> bool:
    try:
        ibi.parse_any(text)
    except InvalidName:
        return False
    return text.count("/") == segments - 1


def item_path(collection: str, label: str) -> str:
    """Return the path of an item at this server. It ends with a slash: its files are below it."""
    return f"{ITEMS_ROOT}/{handle.escape(collection)}/{handle.escape(label)}/"
