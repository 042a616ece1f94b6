"""The handler of items: from the address of an item, or of one of its files, to the response."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from perdure.collections.item import ItemVersion, StoredItem
from perdure.errors import InvalidInput
from perdure.http.app_context import AppContext
from perdure.http.items.content_headers import content_disposition
from perdure.http.items.file_response import empty_body, send_file
from perdure.http.items.item_address import item_path, parse_item_address
from perdure.http.items.item_document import build_item_document, describe_other_holdings, names_of
from perdure.http.items.item_links import file_links, item_links
from perdure.http.items.item_lookup import FoundItem, find_item, find_view, read_file, read_version
from perdure.http.items.item_page import render_item_page
from perdure.http.items.item_request import FORM_OF_ENDING, Form, requested_form, requested_start, requested_version
from perdure.http.items.item_urls import item_url
from perdure.http.items.zip_stream import MOST_FILES, ZipEntry, stream_zip
from perdure.http.shared.conditional import content_etag, digest_etag, is_not_modified
from perdure.http.shared.redirects import redirect_response
from perdure.http.shared.request import Headers, Request, Response
from perdure.http.shared.response_stream import stream_response
from perdure.http.shared.responses import NO_CACHE, VARY_ACCEPT
from perdure.http.shared.threads import run_in_thread
from perdure.http.shared.timeouts import Timeout
from perdure.http.urls import path_of, with_query
from perdure.names import handle

_NO_CACHE: Final = b"no-cache"
_TAG_DIGITS: Final = 32
_encode: Final = msgspec.json.Encoder().encode


async def respond(app: AppContext, request: Request) -> Response | None:
    """Return the response to a request for an item or a file; None if it has been written."""
    request.require_read_method()
    address = parse_item_address(request.rest)
    change = app.file_cache.change_number()
    with Timeout(app.deadlines, app.options.request_seconds):
        found = await find_item(app, address)
        canonical = _canonical_path(found)
        if handle.unescape(request.path) != handle.unescape(canonical):
            return redirect_response(with_query(canonical, request.query), 308, _NO_CACHE)
        if found.reading.ending and found.reading.ending not in FORM_OF_ENDING:
            return _redirect_to_citation(found, found.reading.ending)
        if found.reading.path:
            located = await read_file(app, found, requested_version(request))
        else:
            item, version = await read_version(app, found, requested_version(request))
    url = item_url(request.origin, found.collection, found.label)
    if found.reading.path:
        links = file_links(request, found, url)
        response = await send_file(app, request, Path(found.collection.path), located, links)
        if response is not None:
            app.file_cache.store(request, response, change)
        return response
    form = FORM_OF_ENDING.get(found.reading.ending) or requested_form(request)
    if form is Form.ZIP:
        return await _send_zip(app, request, found, version)
    if isinstance(form, Form):
        return await _describe(app, request, found, item, version, form)
    return _redirect_to_citation(found, form)


def _canonical_path(found: FoundItem) -> str:
    path = item_path(found.collection.name, found.label)
    if found.reading.ending:
        return f"{path.removesuffix('/')}.{found.reading.ending}"
    return path + handle.escape(found.reading.path or "")


def _redirect_to_citation(found: FoundItem, ending: str) -> Response:
    """Return a redirect to the citation of the identifier, which is the same in all collections."""
    return redirect_response(f"{path_of(found.name)}.{ending}", 303, _NO_CACHE)


async def _describe(
    app: AppContext, request: Request, found: FoundItem, item: StoredItem, version: ItemVersion, form: Form
) -> Response:
    """Return the page of an item, or its description as JSON, which always has all versions."""
    view = await find_view(app, found)
    collections = await app.registry.store.read(lambda reader: {one.name: one for one in reader.collections()})
    origin = request.origin
    identifier = f"{origin}{path_of(names_of(found, view)[0])}"
    url = item_url(origin, found.collection, found.label)
    if form is Form.JSON:
        document = await run_in_thread(build_item_document, origin, found, item, view, identifier, collections)
        body = await run_in_thread(_encode, document)
        etag = content_etag(body)
        headers = [VARY_ACCEPT, NO_CACHE, (b"etag", etag.encode()), *item_links(app, request, found, url, view)]
        if is_not_modified(request, etag):
            return Response(304, b"", headers)
        return Response(200, body, [(b"content-type", b"application/json"), *headers])
    headers = [VARY_ACCEPT, NO_CACHE, *item_links(app, request, found, url, view)]
    after = requested_start(request)
    holdings = describe_other_holdings(origin, found, collections)
    return await run_in_thread(render_item_page, app, found, item, version, view, holdings, url, after, headers)


async def _send_zip(app: AppContext, request: Request, found: FoundItem, version: ItemVersion) -> Response | None:
    """Send all files of a version as a zip file, in a folder that is named after the label."""
    count = len(version.inventory.list_files(version.number))
    if count > MOST_FILES:
        reason = f"the item has {count} files, more than {MOST_FILES}: get it with `perdure collection get`"
        raise InvalidInput("item", "zip", reason)
    etag = digest_etag(f"{found.holding.digest[:_TAG_DIGITS]}-{version.number}-zip")
    headers: Headers = [VARY_ACCEPT, NO_CACHE, (b"etag", etag.encode())]
    if is_not_modified(request, etag):
        return Response(304, b"", headers)
    name = found.label.replace("/", "_")
    headers += [
        (b"content-type", Form.ZIP.value.encode()),
        (b"content-disposition", content_disposition(f"{name}.zip", is_shown=False).encode()),
    ]
    entries = _iterate_files(Path(found.collection.path), name, version)
    assert request.send is not None  # noqa: S101  (the application sets it)
    moment = version.created.timetuple()[:6]
    parts = empty_body() if request.method == "HEAD" else stream_zip(entries, moment)
    await stream_response(parts, headers, request.receive, request.send, app.options.stall_seconds)
    return None


def _iterate_files(root: Path, folder: str, version: ItemVersion) -> Iterator[ZipEntry]:
    for path in sorted(version.inventory.list_files(version.number)):
        content, file = version.find_file(path)
        yield ZipEntry(f"{folder}/{path}", file.size, root, content)
