"""The body of a download: a file, or ranges of it, read on threads and sent no faster than the client reads."""

import secrets
from collections.abc import AsyncGenerator, Sequence
from typing import Final

from perdure.http.items.ranges import ByteRange
from perdure.http.items.stored_file import StoredFile, shorter_file_error
from perdure.http.shared.request import Headers
from perdure.http.shared.threads import run_in_thread

# Bytes read at a time. More is not faster, and each slow client holds two pieces in memory.
_PIECE: Final = 262_144


async def read_parts(file: StoredFile, first: int, size: int) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a file from a position. Raise StoreDamaged if it ends before that."""
    position, end = first, first + size
    while position < end:
        piece = await run_in_thread(file.read, position, min(_PIECE, end - position))
        if not piece:
            raise shorter_file_error()
        position += len(piece)
        yield piece


class MultipartRanges:
    """Several ranges of a file as one body (RFC 9110, section 14.6), whose size is known before it is sent."""

    def __init__(self, ranges: Sequence[ByteRange], size: int, media_type: bytes) -> None:
        self._ranges = ranges
        boundary = secrets.token_hex(16).encode()
        self._heads = [
            b"\r\n--%b\r\ncontent-type: %b\r\ncontent-range: %b\r\n\r\n"
            % (boundary, media_type, one.content_range(size))
            for one in ranges
        ]
        self._end = b"\r\n--%b--\r\n" % boundary
        self.content_type = b"multipart/byteranges; boundary=%b" % boundary
        self.size = sum(map(len, self._heads)) + sum(one.size for one in ranges) + len(self._end)

    async def read_parts(self, file: StoredFile) -> AsyncGenerator[bytes, None]:
        """Yield the body."""
        for head, one in zip(self._heads, self._ranges, strict=True):
            yield head
            async for piece in read_parts(file, one.first, one.size):
                yield piece
        yield self._end


def length_header(size: int) -> Headers:
    """Return the length of a body that is streamed."""
    return [(b"content-length", b"%d" % size)]
