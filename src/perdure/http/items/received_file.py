"""A file that is received over HTTP: in the temporary folder, and compared with the digests that the client sent."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from perdure.collections.source_files import StreamedFile
from perdure.errors import StoreFull, StoreUnavailable, is_full
from perdure.http.shared.threads import run_to_end_in_thread

_BUFFER: Final = 1 << 20  # bytes that are written at a time
_OUTCOME: Final = "nothing was stored; send the file again"


class ReceivedFile:
    """The content of one file. It has no name on disk, so a crash leaves nothing behind."""

    def __init__(self, path: str, media_type: str | None = None) -> None:
        self.path = path
        self.media_type = media_type
        self.size = 0
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  (closed by close())
        self._unwritten = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def add(self, piece: bytes) -> None:
        """Append a part of the content."""
        self.size += len(piece)
        self._unwritten += piece
        if len(self._unwritten) >= _BUFFER:
            await run_to_end_in_thread(self._write)

    async def add_all(self, pieces: AsyncIterator[bytes]) -> None:
        """Append all parts of the content."""
        async for piece in pieces:
            await self.add(piece)

    async def finish(self) -> StreamedFile:
        """Return the file as a source of an item, after its last part."""
        await run_to_end_in_thread(self._write)
        with _translate_errors():
            self._file.seek(0)
        return StreamedFile(self.path, self._file, self.size, self.media_type)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def _write(self) -> None:
        with _translate_errors():
            view = memoryview(bytes(self._unwritten))
            self._unwritten.clear()
            while view:
                view = view[self._file.write(view) :]


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if is_full(problem.errno):
            raise StoreFull("the disk of the temporary folder", _OUTCOME) from problem
        raise StoreUnavailable(f"cannot write to the temporary folder ({problem.strerror}): {_OUTCOME}") from problem
