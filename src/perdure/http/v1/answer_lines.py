"""The lines of a bulk answer: kept, in memory or in a file, until the client has sent everything and listens."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from tempfile import SpooledTemporaryFile
from typing import Final

import msgspec

from perdure.errors import StoreFull, StoreUnavailable, is_full

_IN_MEMORY: Final = 1 << 20
_PIECE: Final = 1 << 16
_OUTCOME: Final = "what came before may have been written, and is left as it is if it is sent again"
_encode: Final = msgspec.json.Encoder().encode


class AnswerLines:
    """At most `most` lines, and a last one; how many there were besides is counted."""

    def __init__(self, most: int) -> None:
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  (it is closed when it has been sent)
        self._most = most
        self._count = 0

    def add(self, line: msgspec.Struct) -> None:
        self._count += 1
        if self._count <= self._most:
            self._write(line)

    @property
    def untold(self) -> int:
        return max(0, self._count - self._most)

    def end(self, last: msgspec.Struct) -> None:
        self._write(last)
        with _translate_errors():
            self._file.seek(0)  # which writes what is buffered

    def close(self) -> None:
        with suppress(OSError):  # lines that did not fit are not needed any more
            self._file.close()

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """What is sent, once it has ended."""
        try:
            while piece := self._file.read(_PIECE):
                yield piece
        finally:
            self.close()

    def _write(self, line: msgspec.Struct) -> None:
        with _translate_errors():
            self._file.write(_encode(line) + b"\n")


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if is_full(problem.errno):
            raise StoreFull("the disk of the temporary folder", _OUTCOME) from problem
        raise StoreUnavailable(f"the temporary folder cannot be written ({problem.strerror}): {_OUTCOME}") from problem
