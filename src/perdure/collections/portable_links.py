"""Links in HTML files to stored items: found and replaced, while every other byte stays as it is.

>>> replace_links(b'<a class="x" href="./upn:4CR88AP:8JMKD3MGP8W/34PGRBS/a.pdf">it</a>', lambda link: "../a.pdf")
(b'<a class="x" href="../a.pdf">it</a>', 1)
"""

import re
from collections.abc import Callable
from html import escape, unescape
from typing import Final, NamedTuple

from perdure.errors import InvalidName
from perdure.names import handle, ibi, recognise, upn, urlib_address
from perdure.names.resolver_address import ResolverAddress, find_name

# An unclosed quotation mark quotes all the rest, as in a browser, so that no text is matched twice.
_TAG: Final = re.compile(rb"""<[a-zA-Z](?:[^>"']++|"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))*+>?""")
_LINK: Final = re.compile(
    rb"""(?P<before>\s(?:href|src)\s*=\s*)(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"'>=<`]+))""",
    re.IGNORECASE,
)
_UPN_PATH: Final = re.compile(r"(?:.*/)?(?P<link>upn:[A-Za-z0-9]+-?:.+)", re.IGNORECASE)
_LONGEST: Final = 4096  # characters of a link


class ItemLink(NamedTuple):
    """A link to an item, or to a file of it. `fragment` is what follows `#`, with it."""

    label: str
    path: str
    resolver_id: str | None = None
    fragment: str = ""


def replace_links(content: bytes, find_target: Callable[[str], str | None]) -> tuple[bytes, int]:
    """Return a file with other targets for its links, and how many were replaced. None leaves a link as it is.

    The encoding of the file does not matter, because only ASCII is replaced and written.
    """
    count = 0

    def replace_link(match: re.Match[bytes]) -> bytes:
        nonlocal count
        raw = next(part for part in (match["double"], match["single"], match["bare"]) if part is not None)
        target = find_target(unescape(raw.decode("latin-1")).strip()) if raw.isascii() else None
        if target is None:
            return match[0]
        count += 1
        return match["before"] + b'"' + escape(target).encode("ascii", "xmlcharrefreplace") + b'"'

    return _TAG.sub(lambda tag: _LINK.sub(replace_link, tag[0]), content), count


def parse_item_link(text: str, own: tuple[ResolverAddress, ...]) -> ItemLink | None:
    """Return the item to which a link leads: `upn:`, an old address of URLib, or an address of a resolver.

    >>> parse_item_link("../upn:4CR88AP-:8JMKD3MGP8W/34PGRBS/doc/a%20b.html#top", ())
    ItemLink(label='8JMKD3MGP8W/34PGRBS', path='doc/a b.html', resolver_id='4CR88AP', fragment='#top')
    >>> parse_item_link("http://urlib.net/rep/8JMKD3MGP8W/34PGRBS", ()).label
    '8JMKD3MGP8W/34PGRBS'
    """
    if len(text) > _LONGEST:
        return None
    address, mark, fragment = text.partition("#")
    try:
        found = _parse(address, own)
    except InvalidName:
        return None
    return None if found is None else found._replace(fragment=mark + fragment)


def _parse(address: str, own: tuple[ResolverAddress, ...]) -> ItemLink | None:
    match = None if "://" in address else _UPN_PATH.fullmatch(address.partition("?")[0])
    if match is not None:
        link = upn.parse(handle.unescape(match["link"]))
        return ItemLink(link.label, link.path, link.resolver_id)
    if not handle.is_web_address(address):
        return None
    old = urlib_address.read_url(address)
    if old is not None:
        return ItemLink(old.label, old.file)
    name = find_name(address, own)
    found = None if name is None else ibi.split_label_path(name)
    if found is not None:
        return ItemLink(*found)
    recognised = recognise(address)
    if recognised.scheme == "ibi" and recognised.valid and recognised.canonical is not None:
        return ItemLink(recognised.canonical, str(recognised.details.get("file", "")))
    return None
