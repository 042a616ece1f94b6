"""Zip files as sources of items: everything that their directory says is checked before anything is unpacked."""

import errno
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipExtFile, ZipFile, ZipInfo

from perdure.collections.file_names import PathSet, check_path
from perdure.collections.hashed_copy import ReadableStream, ReadFailed
from perdure.errors import RefusedFile

MOST_ENTRIES: Final = 100_000  # the directory of a zip file is read as a whole
MOST_DIRECTORY_BYTES: Final = 1 << 24
MOST_RATIO: Final = 200  # unpacked to packed bytes
_FREE_BYTES: Final = 1 << 24  # that a small zip file may always have
_END: Final = b"PK\x05\x06"
_LOCATOR_64: Final = b"PK\x06\x07"
_RECORD_64: Final = b"PK\x06\x06"
_END_BYTES: Final = 22
_LOCATOR_BYTES: Final = 20
_RECORD_BYTES: Final = 56
_LONGEST_COMMENT: Final = 65_535
_UNKNOWN: Final = 0xFFFF_FFFF
_BAG_DECLARATION: Final = "bagit.txt"
_ENCRYPTED: Final = 0x1
_TOO_MANY: Final = f"it has more than {MOST_ENTRIES} files; unpack it, and store the directory"


class ZipEntry(NamedTuple):
    """A file in a zip file."""

    path: str
    archive: ZipFile
    info: ZipInfo
    media_type: str | None = None

    @property
    def size(self) -> int:
        return self.info.file_size

    @property
    def digests(self) -> Mapping[str, str]:
        return {}

    @contextmanager
    def _open(self) -> Iterator[ReadableStream]:
        with _explain_damage(self.path, "it cannot be unpacked"):
            stream = self.archive.open(self.info)
        with stream:
            yield _EntryStream(cast(ZipExtFile, stream))

    def open(self) -> AbstractContextManager[ReadableStream]:
        return self._open()


class _EntryStream:
    """The content of an entry. Damage is raised as a failed read."""

    def __init__(self, stream: ZipExtFile) -> None:
        self._stream = stream

    def readinto(self, buffer: memoryview, /) -> int | None:
        try:
            return self._stream.readinto(buffer)
        except (BadZipFile, zlib.error, EOFError) as problem:
            raise ReadFailed(0, f"it is damaged: {problem}") from problem


def list_zip(file: Path) -> Iterator[ZipEntry]:
    """Yield the files of a zip file, which is open meanwhile. Refuse a bag: its manifests would not be compared."""
    with open_zip(file) as entries:
        for entry in entries:
            if entry.path.count("/") <= 1 and entry.path.rpartition("/")[2] == _BAG_DECLARATION:
                reason = "it makes this a bag: unpack it, and put its directory, so that its manifests are compared"
                raise RefusedFile(entry.path, reason)
        yield from entries


@contextmanager
def open_zip(file: Path) -> Iterator[list[ZipEntry]]:
    """Open a zip file and yield its files. Raise RefusedFile, which names the entry, for anything that is not safe."""
    _check_directory_size(file)
    with _explain_damage(file.name, "it is not a zip file that can be read"):
        archive = ZipFile(file)
    with archive:
        with _explain_damage(file.name, "it is not a zip file that can be read"):
            entries = _list_entries(archive, file)
        yield entries


@contextmanager
def _explain_damage(path: str, reason: str) -> Iterator[None]:
    """Raise RefusedFile for what the library raises, which depends on the byte that is wrong."""
    try:
        yield
    except RefusedFile:
        raise
    except (BadZipFile, EOFError, IndexError, RuntimeError, ValueError, struct.error, zlib.error) as problem:
        raise RefusedFile(path, f"{reason}: {problem}") from problem
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # a position before the beginning
            raise
        raise RefusedFile(path, f"{reason}: it is damaged") from problem


def _list_entries(archive: ZipFile, file: Path) -> list[ZipEntry]:
    paths, entries, size = PathSet(), [], 0
    infos = archive.infolist()
    if len(infos) > MOST_ENTRIES:
        raise RefusedFile(file.name, _TOO_MANY)
    for info in infos:
        if info.is_dir():
            continue
        path = check_path(info.orig_filename)  # ZipInfo.filename is cut at a null character
        paths.add(path)
        _check_entry(path, info)
        size += info.file_size
        entries.append(ZipEntry(path, archive, info))
    packed = file.stat().st_size
    if size > _FREE_BYTES + MOST_RATIO * packed:
        raise RefusedFile(file.name, f"it unpacks to {size} bytes, more than {MOST_RATIO} times its size")
    return entries


def _check_entry(path: str, info: ZipInfo) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise RefusedFile(path, "it is a symbolic link, a device or a pipe")
    if info.flag_bits & _ENCRYPTED:
        raise RefusedFile(path, "it is encrypted")
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise RefusedFile(path, "its compression is neither none nor deflate")


def _check_directory_size(file: Path) -> None:
    """Refuse a directory that would use too much memory, from the numbers at the end of the file."""
    with file.open("rb") as stream:
        size = stream.seek(0, 2)
        start = stream.seek(max(0, size - _END_BYTES - _LONGEST_COMMENT - _LOCATOR_BYTES))
        tail = stream.read()
        at = tail.rfind(_END)
        if at < 0 or len(tail) - at < _END_BYTES:
            raise RefusedFile(file.name, "it is not a zip file")
        entries, directory = struct.unpack_from("<HI", tail, at + 10)
        numbers = [(entries, directory)]
        locator = at - _LOCATOR_BYTES
        if locator >= 0 and tail.startswith(_LOCATOR_64, locator):
            # Some readers take the record at the stated offset, others the one before the locator: both count.
            stated = struct.unpack_from("<Q", tail, locator + 8)[0]
            records = [_read_end_64(stream, offset) for offset in (stated, start + locator - _RECORD_BYTES)]
            if any(records) and directory == _UNKNOWN:
                numbers = []
            numbers += filter(None, records)
    if any(entries > MOST_ENTRIES or directory > MOST_DIRECTORY_BYTES for entries, directory in numbers):
        raise RefusedFile(file.name, _TOO_MANY)


def _read_end_64(stream: BinaryIO, offset: int) -> tuple[int, int] | None:
    """Return how many entries a large zip file has, and the size of its directory; None if no record is there."""
    if not 0 <= offset < stream.seek(0, 2):
        return None
    stream.seek(offset)
    record = stream.read(_RECORD_BYTES)
    if len(record) < _RECORD_BYTES or not record.startswith(_RECORD_64):
        return None
    entries, directory = struct.unpack_from("<QQ", record, 32)
    return entries, directory
