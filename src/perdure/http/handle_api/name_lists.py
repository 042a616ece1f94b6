"""Lists of names: one page as a whole, and long or complete lists as a stream in constant memory."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final, NamedTuple

import msgspec

from perdure.http.handle_api.request_context import HandleContext
from perdure.http.shared.response_stream import stream_response
from perdure.http.shared.responses import HANDLE_JSON, NO_STORE, SUCCESS
from perdure.registry.handles.listing import MOST_LISTED

_ALL: Final = -1  # the size of the page in a response with all names
_CHUNK: Final = 1_000
_encode: Final = msgspec.json.Encoder().encode

Parts = AsyncGenerator[list[str], None]


class PageRequest(NamedTuple):
    """The requested page. Without a size, all names are requested."""

    number: int
    size: int | None

    @property
    def is_short(self) -> bool:
        """Return whether the page is small enough to be held in memory."""
        return self.size is not None and self.size <= MOST_LISTED

    @property
    def first(self) -> int:
        """Return the number of names before the page."""
        return self.number * (self.size or 0)

    def describe(self, total: int) -> dict[str, Any]:
        """Return the fields of a response that describe the page."""
        return {"totalCount": str(total), "page": self.number, "pageSize": _ALL if self.size is None else self.size}


def read_page_request(context: HandleContext) -> PageRequest:
    """Return the requested page. Size 0 counts only; all names are listed if the page or its size is not given."""
    page, size = context.parameters.integer("page"), context.parameters.integer("pageSize")
    if size == 0:
        return PageRequest(max(0, page or 0), 0)
    if page is None or size is None or page < 0 or size < 0:
        return PageRequest(0, None)
    return PageRequest(page, size)


async def stream_names(context: HandleContext, fields: dict[str, Any], name: str, parts: Parts) -> None:
    """Send an object with these fields and a list of names, which is read while it is sent."""
    request, app = context.request, context.app
    assert request.send is not None  # noqa: S101  (the application sets it)
    app.deadlines.disarm_current_task()  # a long list takes longer than other requests, so each part is timed
    if request.method == "HEAD":  # nothing of the list is sent, so nothing is read
        await parts.aclose()
        parts = split_names([])
    is_pretty = bool(context.parameters.flag("pretty"))
    document = _write_list({"responseCode": SUCCESS, **fields}, name, parts, is_pretty=is_pretty)
    headers = [(b"content-type", HANDLE_JSON), NO_STORE]
    await stream_response(document, headers, request.receive, request.send, app.options.request_seconds)


async def split_names(names: list[str]) -> Parts:
    """Yield names that are in memory in parts."""
    for at in range(0, len(names), _CHUNK):
        yield names[at : at + _CHUNK]


async def _write_list(
    fields: dict[str, Any], name: str, parts: Parts, *, is_pretty: bool
) -> AsyncGenerator[bytes, None]:
    """Yield a JSON object in parts, indented or not. The list is its last field."""
    whole = _encode({**fields, name: []})
    if is_pretty:
        whole = msgspec.json.format(whole, indent=2)
    end = whole.rindex(b"]")
    before, between, after = (b"\n    ", b",\n    ", b"\n  ") if is_pretty else (b"", b",", b"")
    yield whole[:end]
    is_empty = True
    async with aclosing(parts):
        async for names in parts:
            yield (before if is_empty else between) + between.join([_encode(one) for one in names])
            is_empty = False
    yield (b"" if is_empty else after) + whole[end:]
