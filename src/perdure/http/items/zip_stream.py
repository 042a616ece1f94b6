"""A zip file of an item, made while it is sent: in constant memory, without compression."""

import io
import zipfile
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from perdure.errors import StoreDamaged
from perdure.http.items.stored_file import open_stored_file
from perdure.http.shared.threads import run_in_thread

MOST_FILES: Final = 65_536  # in one zip file, because its list of files is held in memory
_PIECE: Final = 262_144
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # that a zip file can state
_PLAIN_FILE: Final = 0o100644 << 16

ZipTime = tuple[int, int, int, int, int, int]


class ZipEntry(NamedTuple):
    """A file for a zip file: its name there, its size, and where it lies in the directory of a collection."""

    name: str
    size: int
    root: Path
    content: Path


class _UnsentBytes(io.RawIOBase):
    """The bytes that were written and not sent yet. It cannot be rewound, so the sizes follow each file."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: object) -> int:
        content = bytes(piece)  # type: ignore[call-overload]
        self._pieces.append(content)
        return len(content)

    def take(self) -> bytes:
        """Return what was written since the last call."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


async def stream_zip(entries: Iterable[ZipEntry], modified: ZipTime) -> AsyncGenerator[bytes, None]:
    """Yield a zip file. It ends early if a file cannot be read, so that the client sees that it is not complete."""
    pieces = _write_zip(entries, max(modified, _EARLIEST))
    try:
        while (piece := await run_in_thread(next, pieces, None)) is not None:
            yield piece
    finally:
        with suppress(ValueError):  # a thread still makes the next piece, and its result is not used
            pieces.close()


def _write_zip(entries: Iterable[ZipEntry], modified: ZipTime) -> Generator[bytes, None, None]:
    unsent = _UnsentBytes()
    archive = zipfile.ZipFile(unsent, "w")
    try:
        for entry in entries:
            yield from _write_entry(archive, unsent, entry, modified)
        archive.close()
    finally:
        archive.fp = None  # an incomplete one gets no list of its files
    yield unsent.take()


def _write_entry(
    archive: zipfile.ZipFile, unsent: _UnsentBytes, entry: ZipEntry, modified: ZipTime
) -> Generator[bytes, None, None]:
    member = zipfile.ZipInfo(entry.name, modified)
    member.external_attr = _PLAIN_FILE
    with open_stored_file(entry.root, entry.content) as file:
        if file.size != entry.size:
            raise StoreDamaged("a stored file has another size than it had: verify the collection")
        with archive.open(member, "w", force_zip64=True) as written:
            position = 0
            while piece := file.read(position, _PIECE):
                position += len(piece)
                written.write(piece)
                yield unsent.take()
