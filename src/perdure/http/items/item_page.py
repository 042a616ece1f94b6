"""The page of an item: its files, its versions, and where it comes from."""

from typing import Final, NamedTuple

from perdure.collections.addresses import file_address
from perdure.collections.item import ItemVersion, StoredItem
from perdure.http import pages
from perdure.http.app_context import AppContext
from perdure.http.items.item_document import HoldingDescription, format_time, names_of
from perdure.http.items.item_lookup import FoundItem
from perdure.http.items.item_urls import description_url
from perdure.http.shared.request import Headers, Response
from perdure.http.urls import link_to, path_of
from perdure.registry.identifier_view import View

_MOST_FILES: Final = 500  # on one page
_MOST_VERSIONS: Final = 200
_UNITS: Final = ("kB", "MB", "GB", "TB")
_SHOWN_DIGITS: Final = 16
_NEXT_UNIT: Final = 999.95  # this would be rounded to 1000.0


class FileRow(NamedTuple):
    """A file on the page."""

    path: str
    href: str
    size: str
    digest: str
    short_digest: str
    media_type: str
    is_main: bool  # the identifier leads to it


class VersionRow(NamedTuple):
    """A version on the page."""

    number: int
    href: str
    created: str
    message: str
    by: str


def render_item_page(
    app: AppContext,
    found: FoundItem,
    item: StoredItem,
    version: ItemVersion,
    view: View | None,
    holdings: tuple[HoldingDescription, ...],
    url: str,
    after: str,
    headers: Headers,
) -> Response:
    """Return the page of a version of an item."""
    is_newest = version.number == item.newest.number
    number = None if is_newest else version.number
    paths = [path for path in version.inventory.list_files(version.number) if path > after]
    shown = sorted(paths)[:_MOST_FILES]
    main_file = found.holding.main_file if is_newest else None
    rows = [_build_file_row(url, version, path, number, main_file) for path in shown]
    newest = item.newest.number
    oldest = max(1, newest - _MOST_VERSIONS + 1)
    return pages.render_page(
        "item.html",
        200,
        headers,
        contact=app.options.contact,
        label=found.label,
        title=(view.about.what if view is not None and view.about is not None else None) or found.label,
        holding=found.holding,
        holdings=holdings,
        view=view,
        names=names_of(found, view),
        identifier=path_of(found.name),
        link=lambda identifier: link_to(app, identifier),
        version=version,
        is_newest=is_newest,
        created=format_time(version.created),
        rows=rows,
        next_after=shown[-1] if len(shown) < len(paths) else None,
        versions=[_build_version_row(url, item.version(one)) for one in range(newest, oldest - 1, -1)],
        has_older_versions=oldest > 1,
        url=url,
        json_url=description_url(url, "json"),
        zip_url=description_url(url, "zip") + ("" if is_newest else f"?version={version.number}"),
    )


def _build_file_row(url: str, version: ItemVersion, path: str, number: int | None, main_file: str | None) -> FileRow:
    _, file = version.find_file(path)
    return FileRow(
        path,
        file_address(url, path, number),
        format_size(file.size),
        file.sha512,
        file.sha512[:_SHOWN_DIGITS],
        file.media_type,
        path == main_file,
    )


def _build_version_row(url: str, version: ItemVersion) -> VersionRow:
    by = "" if version.agent is None else version.agent.name
    return VersionRow(
        version.number, f"{url}?version={version.number}", format_time(version.created), version.message, by
    )


def format_size(size: int) -> str:
    """Return a number of bytes for readers.

    >>> format_size(999), format_size(1_536_000), format_size(-1)
    ('999 bytes', '1.5 MB', 'missing')
    """
    if size < 0:
        return "missing"
    if size < 1000:
        return "1 byte" if size == 1 else f"{size} bytes"
    amount = size / 1000
    for unit in _UNITS:
        if amount < _NEXT_UNIT:
            return f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} PB"
