"""A version of an item as a zip file, written as a stream: nothing is compressed, and nothing is held in memory."""

from collections.abc import Iterator
from hashlib import sha512
from io import RawIOBase
from typing import Any, Final
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from perdure.collections.item import ItemVersion
from perdure.collections.source_files import open_regular
from perdure.errors import ItemDamaged

_CHUNK_BYTES: Final = 1 << 18
_LARGE: Final = (1 << 31) - 1  # bytes, from which an entry gets 64-bit numbers
_FIRST_YEAR: Final = 1980
_MODE: Final = 0o100644 << 16


def stream_zip(version: ItemVersion) -> Iterator[bytes]:
    """Yield a zip file in chunks. Raise ItemDamaged in the middle if a file turns out not to have its digest."""
    written = _ZipOutput()
    buffer = memoryview(bytearray(_CHUNK_BYTES))
    with ZipFile(written, "w", ZIP_STORED, allowZip64=True) as archive:
        for path, file in version.files.items():
            info = ZipInfo(path, _date_of(version))
            info.external_attr = _MODE
            digest = sha512()
            with (
                open_regular(version.content_of(file)) as stream,
                archive.open(info, "w", force_zip64=file.size >= _LARGE) as entry,
            ):
                while count := stream.readinto(buffer):
                    digest.update(buffer[:count])
                    entry.write(buffer[:count])
                    yield from written.take()
            if digest.hexdigest() != file.sha512:
                raise ItemDamaged(version.inventory.id, f"the content of {path} was changed")
            yield from written.take()
    yield from written.take()


class _ZipOutput(RawIOBase):
    """What the zip library has written, until it is taken. It cannot seek, so the library writes a stream."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        return len(part)

    def take(self) -> Iterator[bytes]:
        parts, self._parts = self._parts, []
        if parts:
            yield b"".join(parts)


def _date_of(version: ItemVersion) -> tuple[int, int, int, int, int, int]:
    created = version.created
    if created.year < _FIRST_YEAR:
        return _FIRST_YEAR, 1, 1, 0, 0, 0
    return created.year, created.month, created.day, created.hour, created.minute, created.second
