"""Bodies of bulk requests: read part by part, bounded in size, rate and concurrency."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import Any, Final, TypeVar

from perdure.errors import InvalidInput
from perdure.http.api.bulk_response import NDJSON
from perdure.http.api.request_context import ApiContext
from perdure.http.shared.http_errors import BodyBelowRate, BodyTooLarge, BodyTooSlow, UnsupportedMediaType
from perdure.http.shared.media_type import body_media_type
from perdure.http.shared.request import Request
from perdure.http.shared.semaphore import BulkSlot
from perdure.http.shared.threads import iterate_from_loop, run_coroutine_in_thread

T = TypeVar("T")

_BYTE_ORDER_MARK: Final = "\N{ZERO WIDTH NO-BREAK SPACE}"  # some editors write it at the start of a file


NDJSON_TYPES: Final = (NDJSON, "application/ndjson", "application/jsonl")


def check_body(context: ApiContext, *others: str) -> str:
    """Return the media type of the body: NDJSON, or one of the others.

    Raise an error, before reading, if it is unsupported or the body too long.
    """
    request = context.request
    kind = body_media_type(request)
    if kind not in (*NDJSON_TYPES, *others):
        raise UnsupportedMediaType(" or ".join((NDJSON, *others)))
    request.check_encoding()
    length, most = request.header(b"content-length"), context.app.options.bulk_bytes
    if length is not None and length.isdigit() and int(length) > most:
        raise BodyTooLarge(most)
    return kind


async def process_body(context: ApiContext, work: Callable[[Iterable[bytes]], Coroutine[Any, Any, T]]) -> T:
    """Run `work` on the parts of the body, on a thread of its own, and return its result.

    A process works on a few bodies at a time. While a body waits for its next part, another one is processed.
    """
    options = context.app.options
    with context.bulk_limiter.open_slot(context.agent.id) as slot:
        source = _parts_with_slot(parts_at_least_rate(context.request), slot, options.request_seconds)
        patience = options.header_seconds + options.request_seconds
        parts = iterate_from_loop(source, asyncio.get_running_loop(), patience)
        return await run_coroutine_in_thread(lambda: work(parts))


async def _parts_with_slot(parts: AsyncIterator[bytes], slot: BulkSlot, patience: float) -> AsyncIterator[bytes]:
    """Yield each part while the slot is held. After the last part, hold the slot for the remaining work."""
    async for part in parts:
        await slot.acquire(patience)
        yield part
        slot.release()
    await slot.acquire(patience)


async def parts_at_least_rate(request: Request) -> AsyncIterator[bytes]:
    """Yield the parts of a body. Raise BodyBelowRate if the client sends below the minimum rate on average.

    Only the time spent waiting for the client counts, not the time that the server needs for its own work.
    """
    options, clock = request.options, asyncio.get_running_loop().time
    parts, size, waited = request.stream(), 0, 0.0
    while True:
        allowed = max(options.request_seconds, size / options.bulk_bytes_per_second)
        started = clock()
        try:
            async with asyncio.timeout(allowed - waited):
                part = await anext(parts, None)
        except (TimeoutError, BodyTooSlow):
            raise BodyBelowRate(options.bulk_bytes_per_second) from None
        if part is None:
            return
        waited += clock() - started
        size += len(part)
        yield part


def split_lines(parts: Iterable[bytes], longest: int, most: int) -> Iterator[bytes | None]:
    """Yield the lines of a body, however it is cut into parts. Yield None for a line that is too long."""
    rest = bytearray()
    size = 0
    is_passed_over = False
    for part in parts:
        size += len(part)
        if size > most:
            raise BodyTooLarge(most)
        *whole, tail = part.split(b"\n")
        for piece in whole:
            rest += piece
            yield None if is_passed_over or len(rest) > longest else bytes(rest)
            rest.clear()
            is_passed_over = False
        if not is_passed_over:
            rest += tail
            if len(rest) > longest:
                rest.clear()
                is_passed_over = True
    if rest or is_passed_over:
        yield None if is_passed_over else bytes(rest)


def decode_lines(lines: Iterable[bytes | None], longest: int) -> Iterator[str]:
    """Yield the decoded lines of a CSV table.

    A line that is too long ends the request: the row of the next line would be unknown.
    """
    for number, line in enumerate(lines, 1):
        if line is None:
            raise InvalidInput("import", "line", f"line {number} is longer than {longest} bytes")
        text = line.decode("utf-8", "surrogateescape")
        yield (text.removeprefix(_BYTE_ORDER_MARK) if number == 1 else text) + "\n"
