"""The replacement of addresses inside a list of locations (type 10320/loc). The rest of the text stays as it is."""

import re
from collections.abc import Callable
from typing import Any, Final
from xml.parsers import expat
from xml.sax.saxutils import escape

from perdure.records.location_xml import read_list

_ADDRESS: Final = "href"
_LOCATION_LEVEL: Final = 2  # the root is a list, and each of its children a location
_ATTRIBUTE: Final = re.compile(r"""([^\s=/>"']+)(\s*=\s*)("[^"]*"|'[^']*')""")
_QUOTES: Final = {'"': "&quot;", "'": "&apos;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def replace_addresses(text: str, replace: Callable[[str], str | None]) -> str:
    """Return a list with other addresses, where `replace` returns one. A text that is not a list is not changed."""
    if read_list(text) is None:
        return text
    replaced = _find_replacements(text, replace)
    content = text.encode()
    for position, address in reversed(replaced):
        head, tail = content[:position], content[position:].decode()
        content = head + _replace_in_tag(tail, address).encode()
    return content.decode()


def list_addresses(text: str) -> list[str]:
    """Return all addresses of a list."""
    addresses: list[str] = []
    if read_list(text) is not None:
        _find_replacements(text, addresses.append)
    return addresses


def _find_replacements(text: str, replace: Callable[[str], str | None]) -> list[tuple[int, str]]:
    """Return the position of each start tag whose address changes, in bytes, and the new address."""
    parser = expat.ParserCreate()
    found: list[tuple[int, str]] = []
    level = 0

    def start(name: str, attributes: dict[str, Any]) -> None:
        nonlocal level
        level += 1
        if level == _LOCATION_LEVEL and name == "location" and _ADDRESS in attributes:
            address = replace(attributes[_ADDRESS].strip())
            if address is not None:
                found.append((parser.CurrentByteIndex, address))

    def end(name: str) -> None:
        nonlocal level
        level -= 1

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(text, True)
    return found


def _replace_in_tag(text: str, address: str) -> str:
    """Replace the address in the start tag at the beginning of the text."""
    for attribute in _ATTRIBUTE.finditer(text):  # each one as a whole, so that no text inside another one is taken
        if attribute[1] == _ADDRESS:
            written = f'"{escape(address, _QUOTES)}"'
            return f"{text[: attribute.start(3)]}{written}{text[attribute.end(3) :]}"
    return text
