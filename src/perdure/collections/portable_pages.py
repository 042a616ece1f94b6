"""The pages of a portable collection: static HTML, which a browser reads from a medium without a server."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Final, NamedTuple
from urllib.parse import quote

from perdure.collections.file_names import content_name
from perdure.collections.item import ItemFile
from perdure.collections.label_path import label_to_path
from perdure.records.record import About

INDEX: Final = "index.html"
ASSETS: Final = ("style.css", "resolve.js")
NAMES: Final = "names"
ITEMS: Final = "items"
ROWS_ON_PAGE: Final = 1000
_SCRIPTS: Final = '<script src="names.js"></script><script src="resolve.js"></script>'
_FORM: Final = (
    '<form id="resolve"><p><input id="link" aria-label="Link or label" placeholder="upn:…:8JMKD3MGP8W/34PGRBS">'
    ' <button>Open</button></p><p id="answer" role="status"></p></form>'
)


class PortableItem(NamedTuple):
    """An item on the medium: its label there, its other labels, its public description, and its main file."""

    label: str
    other_labels: tuple[str, ...]
    about: About
    main_file: str | None

    @property
    def title(self) -> str:
        return self.about.what or self.label

    @property
    def page(self) -> str:
        """Return the path of its page, from the root of the medium."""
        return f"{NAMES}/{label_to_path(self.label)}/{INDEX}"

    @property
    def directory(self) -> str:
        """Return the path of its files, from the root of the medium, with a slash at the end."""
        return f"{ITEMS}/{label_to_path(self.label)}/"

    def file_path(self, path: str) -> str:
        """Return the path of one of its files, from the root of the medium."""
        return self.directory + content_name(path)


def read_asset(name: str) -> bytes:
    """Return a file that every medium has."""
    return files("perdure.collections").joinpath("portable", name).read_bytes()


def relative_url(path: str, page: str) -> str:
    """Return the link from a page to a path, both from the root of the medium.

    >>> relative_url("items/a/b c.pdf", "names/x/index.html")
    '../../items/a/b%20c.pdf'
    """
    return "../" * page.count("/") + quote(path)


def write_index(collection: str, items: Sequence[PortableItem], number: int, pages: int) -> bytes:
    """Write one page of the list of items. The first one has the box that opens a link."""
    rows = "".join(
        f'<li><a href="{quote(item.page)}">{escape(item.title)}</a><br><code>{escape(item.label)}</code></li>'
        for item in items
    )
    others = " ".join(
        f"<b>{one}</b>" if one == number else f'<a href="{index_name(one)}">{one}</a>' for one in range(1, pages + 1)
    )
    body = f"<h1>{escape(collection)}</h1>" + (_FORM if number == 1 else "") + f"<ul>{rows}</ul>"
    body += f"<p>{others}</p>" if pages > 1 else ""
    return _document(collection, "", body + (_SCRIPTS if number == 1 else ""))


def index_name(number: int) -> str:
    """Return the file of one page of the list.

    >>> index_name(1), index_name(2)
    ('index.html', 'index-2.html')
    """
    return INDEX if number == 1 else f"index-{number}.html"


def write_item_page(item: PortableItem, found: Iterable[ItemFile]) -> bytes:
    """Write the page of an item: its description, its labels and its files."""
    about = item.about
    facts = [text for text in (about.who, about.when, about.where) if text]
    labels = "<br>".join(f"<code>{escape(one)}</code>" for one in (item.label, *item.other_labels))
    listed = "".join(_write_row(item, one) for one in found)
    body = (
        f"<h1>{escape(item.title)}</h1>" + "".join(f"<p>{escape(text)}</p>" for text in facts) + f"<p>{labels}</p>"
        f'<ul>{listed}</ul><p><a href="{relative_url(INDEX, item.page)}">All items</a></p>'
    )
    return _document(item.title, relative_url("", item.page), body)


def _write_row(item: PortableItem, file: ItemFile) -> str:
    to = escape(relative_url(item.file_path(file.path), item.page))
    note = " (main file)" if file.path == item.main_file else ""
    facts = f"<small>{file.size:,} bytes, {escape(file.media_type)}</small>"
    return f'<li><a href="{to}">{escape(file.path)}</a> {facts}{note}</li>'


def write_redirect(item: PortableItem, page: str) -> bytes:
    """Write the page of another label of an item, which leads to its own page."""
    to = escape(relative_url(item.page, page))
    body = f'<p><a href="{to}">{escape(item.title)}</a></p>'
    return _document(item.title, relative_url("", page), body, f'<meta http-equiv="refresh" content="0; url={to}">')


def _document(title: str, root: str, body: str, head: str = "") -> bytes:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="{root}style.css">{head}'
        f"</head><body>{body}</body></html>\n"
    ).encode()
