"""What bulk work takes in: bodies longer than memory, line by line, in their turn and within bounds."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

from perdure.http.refusals import BodyTooLarge, TookTooLong, UnsupportedBody
from perdure.http.v1.apart import drawn, run_apart
from perdure.http.v1.asking import Asking

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
    """What becomes of the body, which `work` is given in parts, as they come, apart from what serves everybody else.

    A few are worked on at a time in one process: one that waits too long for its turn is sent away.
    """
    patience = asking.service.options.request_seconds
    async with asking.imports.turn(asking.agent.id, patience):
        parts = drawn(asking.request.stream(), asyncio.get_running_loop(), patience)
        try:
            return await run_apart(lambda: work(parts))
        except TimeoutError:
            raise TookTooLong(is_write=True) from None  # to send the next part


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
