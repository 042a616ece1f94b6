"""The download of a stored file, whole or in ranges."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

from perdure.collections.item import ItemFile
from perdure.http.app_context import AppContext
from perdure.http.items.content_headers import browser_headers, digest_field, safe_media_type, with_charset
from perdure.http.items.download_conditions import Freshness, check_preconditions, file_etag, requested_ranges
from perdure.http.items.file_body import MultipartRanges, length_header, read_parts
from perdure.http.items.item_lookup import LocatedFile
from perdure.http.items.stored_file import StoredFile, open_stored_file
from perdure.http.shared.request import Headers, Request, Response
from perdure.http.shared.response_stream import stream_response
from perdure.http.shared.responses import NO_CACHE, http_date
from perdure.http.shared.threads import run_in_thread

_DIGEST: Final = "sha-512"
_BEGINNING: Final = 65_536  # bytes that show the encoding of a text


async def send_file(
    app: AppContext, request: Request, root: Path, located: LocatedFile, links: Headers
) -> Response | None:
    """Send a file, or the ranges of it that the client requests; None if the response has been written."""
    file = located.file
    etag = file_etag(file)
    if located.content is not None and request.header_list(b"range") is None:
        content, modified = located.content
        validators = _validators(etag, modified, links)
        if check_preconditions(request, etag, modified) is Freshness.NOT_MODIFIED:
            return Response(304, b"", validators)
        media_type = with_charset(safe_media_type(file.media_type), content, is_whole=True)
        return Response(200, content, [*_describe(file, media_type, validators), _content_digest(file)])
    opened = await run_in_thread(open_stored_file, root, located.path)
    with opened:
        validators = _validators(etag, opened.modified, links)
        if check_preconditions(request, etag, opened.modified) is Freshness.NOT_MODIFIED:
            return Response(304, b"", validators)
        media_type = await run_in_thread(_read_media_type, opened, file)
        headers = _describe(file, media_type, validators)
        ranges = requested_ranges(request, etag, opened.modified, opened.size)
        if ranges is None:
            body = read_parts(opened, 0, opened.size)
            await _stream(app, request, body, [*headers, _content_digest(file), *length_header(opened.size)])
        elif len(ranges) == 1:
            part = ranges[0]
            partial: Headers = [*headers, (b"content-range", part.content_range(opened.size))]
            body = read_parts(opened, part.first, part.size)
            await _stream(app, request, body, [*partial, *length_header(part.size)], 206)
        else:
            await _stream_ranges(app, request, opened, MultipartRanges(ranges, opened.size, _type(headers)), headers)
    return None


def _validators(etag: str, modified: int, links: Headers) -> Headers:
    """Return the headers of a file that is sent, or that the client has already."""
    return [(b"etag", etag.encode()), (b"last-modified", http_date(modified)), NO_CACHE, *links]


def _describe(file: ItemFile, media_type: str, validators: Headers) -> Headers:
    """Return the headers of a file, or of a part of it."""
    filename = file.path.rpartition("/")[2]
    return [
        *validators,
        (b"accept-ranges", b"bytes"),
        (b"repr-digest", digest_field(_DIGEST, file.sha512)),
        *browser_headers(media_type, filename),
    ]


def _content_digest(file: ItemFile) -> tuple[bytes, bytes]:
    return b"content-digest", digest_field(_DIGEST, file.sha512)


async def _stream_ranges(
    app: AppContext, request: Request, opened: StoredFile, parts: MultipartRanges, headers: Headers
) -> None:
    others = [header for header in headers if header[0] != b"content-type"]
    typed: Headers = [*others, (b"content-type", parts.content_type), *length_header(parts.size)]
    await _stream(app, request, parts.read_parts(opened), typed, 206)


def _read_media_type(opened: StoredFile, file: ItemFile) -> str:
    media_type = safe_media_type(file.media_type)
    if not media_type.startswith("text/"):
        return media_type
    return with_charset(media_type, opened.read(0, _BEGINNING), is_whole=opened.size <= _BEGINNING)


def _type(headers: Headers) -> bytes:
    return next(value for name, value in headers if name == b"content-type")


async def _stream(
    app: AppContext, request: Request, body: AsyncGenerator[bytes, None], headers: Headers, status: int = 200
) -> None:
    assert request.send is not None  # noqa: S101  (the application sets it)
    parts = empty_body() if request.method == "HEAD" else body
    await stream_response(parts, headers, request.receive, request.send, app.options.stall_seconds, status)


async def empty_body() -> AsyncGenerator[bytes, None]:
    """Yield nothing, but as a body that is streamed: then the length in the headers is that of the file."""
    yield b""
