"""What bulk work takes in: bodies longer than memory, line by line, in their turn and within bounds."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

from perdure.http.message import Request
from perdure.http.refusals import BodyBelowRate, BodyTooLarge, BodyTooSlow, UnsupportedBody
from perdure.http.v1.apart import drawn, run_apart
from perdure.http.v1.asking import Asking
from perdure.http.v1.turns import Turn

T = TypeVar("T")


def check_body(asking: Asking, *kinds: str) -> str:
    """The media type of the body. Before anything of it is read, one of another kind or too long is refused."""
    request = asking.request
    kind = (request.header(b"content-type") or "").partition(";")[0].strip().lower()
    if kind not in kinds:
        raise UnsupportedBody(kinds[0])
    request.check_encoding()
    length, most = request.header(b"content-length"), asking.service.options.bulk_bytes
    if length is not None and length.isdigit() and int(length) > most:
        raise BodyTooLarge(most)
    return kind


async def in_turn(asking: Asking, work: Callable[[Iterable[bytes]], Coroutine[Any, Any, T]]) -> T:
    """Return what `work` makes of the body, which it is given part by part on a thread of its own.

    A few bodies are worked on at a time in one process. While the next part of a body has not come, another body has
    the turn.
    """
    options = asking.service.options
    with asking.imports.begin(asking.agent.id) as turn:
        source = _parts_in_turn(_steady_parts(asking.request), turn, options.request_seconds)
        patience = options.header_seconds + options.request_seconds
        parts = drawn(source, asyncio.get_running_loop(), patience)
        return await run_apart(lambda: work(parts))


async def _parts_in_turn(parts: AsyncIterator[bytes], turn: Turn, patience: float) -> AsyncIterator[bytes]:
    """Yield each part with the turn held, and hold it after the last one for what is left to do."""
    async for part in parts:
        await turn.take(patience)
        yield part
        turn.leave()
    await turn.take(patience)


async def _steady_parts(request: Request) -> AsyncIterator[bytes]:
    """Yield the parts of a body; BodyBelowRate, if the client sends less than the least rate on average.

    Only the time in which the client is waited for counts: what the server needs for its own work is not its fault.
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


def bounded_lines(parts: Iterable[bytes], longest: int, most: int) -> Iterator[bytes | None]:
    """The lines of a body, however it was cut into parts; None for one that is too long, which is passed over."""
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
