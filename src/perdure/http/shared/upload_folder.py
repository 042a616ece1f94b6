"""Uploads in several parts, on disk: each survives a crash of the server up to the offset that was acknowledged.

uploads/lock            locked while an upload is created, by any worker
uploads/unfinished/ID   an empty file for each upload that is no item yet: these count against quotas
uploads/ID/upload.json  whose it is, its length and what it is for
uploads/ID/content      the bytes so far, and perhaps some that were never acknowledged
uploads/ID/offset       how many of them are on disk for certain
uploads/ID/item.json    the item that the finished upload has become; then there is no content
"""

import fcntl
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from perdure.errors import StoreFull, StoreUnavailable, is_full
from perdure.http.shared.http_errors import NoSuchUpload, TooManyUploads, UploadInUse
from perdure.records.frozen_struct import FrozenStruct
from perdure.store.file_sync import sync_folder, write_atomically

UPLOADS: Final = "uploads"  # the folder in that of the registry
_ID: Final = re.compile(r"[0-9a-f]{32}")
_INFO, _CONTENT, _OFFSET, _ITEM, _LOCK = "upload.json", "content", "offset", "item.json", "lock"
_UNFINISHED: Final = "unfinished"
_DIGITS: Final = 20  # of the offset in its file: it is overwritten as one block
_NEW: Final = ".new"


class Upload(FrozenStruct, frozen=True):
    """What a client has said of a file when it began to upload it. `metadata` is the header that it sent."""

    id: str
    agent: str
    length: int
    created: float
    metadata: str


class UploadedItem(FrozenStruct, frozen=True):
    """The item and the version that an upload has become."""

    label: str
    version: int
    address: str


class OpenUpload:
    """An upload that only one request of all workers has open. `offset` counts the bytes that are on disk."""

    def __init__(self, folder: Path, upload: Upload) -> None:
        self.upload = upload
        self.content = folder / _CONTENT
        self._folder = folder
        self.offset = _read_offset(folder)
        self.item = _read_item(folder)
        self._content = -1
        self._written = self.offset

    @property
    def is_complete(self) -> bool:
        """Return whether all bytes are on disk."""
        return self.offset == self.upload.length

    @property
    def end(self) -> int:
        """Return the position behind the last byte that was written, whether or not it is on disk."""
        return self._written

    def write(self, piece: bytes) -> None:
        """Write bytes behind the others. They count once sync() has returned."""
        with _translate_errors():
            if self._content < 0:
                self._content = os.open(self.content, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            view = memoryview(piece)
            while view:
                size = os.pwrite(self._content, view, self._written)
                self._written += size
                view = view[size:]

    def sync(self) -> None:
        """Put all bytes that were written on disk, and then the offset."""
        if self._written == self.offset:
            return
        with _translate_errors():
            os.fdatasync(self._content)
            _write_offset(self._folder / _OFFSET, self._written)
        self.offset = self._written

    def discard(self) -> None:
        """Forget the bytes that are not on disk for certain: the next ones overwrite them."""
        self._written = self.offset

    def finish(self, item: UploadedItem) -> None:
        """Record what the upload has become, and remove its bytes."""
        with _translate_errors():
            write_atomically(self._folder / _ITEM, msgspec.json.encode(item).decode(), 0o600)
        self.item = item
        self.content.unlink(missing_ok=True)
        _marker(self._folder).unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the upload."""
        self.close()
        _remove(self._folder)

    def close(self) -> None:
        """Close the file."""
        if self._content >= 0:
            os.close(self._content)
            self._content = -1


class UploadFolder:
    """All uploads of a registry, for all workers of its server."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._seconds = seconds

    def create(self, agent: str, length: int, metadata: str, *, most: int) -> Upload:
        """Create an upload. Raise TooManyUploads if the agent has `most` unfinished ones already."""
        upload = Upload(secrets.token_hex(16), agent, length, time.time(), metadata)
        with _translate_errors(), self._lock_all():
            for folder in self._unfinished_folders():
                self._remove_if_expired(folder)
            if sum(one.agent == agent for one in self._unfinished_uploads()) >= most:
                raise TooManyUploads(most)
            _write_new(_marker(self._folder / upload.id), b"")
            sync_folder(self._folder / _UNFINISHED)
            building = self._folder / f"{upload.id}{_NEW}"
            building.mkdir(0o700)
            for name, content in (
                (_INFO, msgspec.json.encode(upload)),
                (_OFFSET, _format_offset(0)),
                (_CONTENT, b""),
            ):
                _write_new(building / name, content)
            sync_folder(building)
            building.rename(self._folder / upload.id)
            sync_folder(self._folder)
        return upload

    def reserved_bytes(self, agent: str) -> int:
        """Return the lengths of the unfinished uploads of an agent together."""
        return sum(one.length for one in self._unfinished_uploads() if one.agent == agent)

    def expires_at(self, id: str) -> float:
        """Return when an upload is removed if it does not go on."""
        return (self._path(id) / _OFFSET).stat().st_mtime + self._seconds

    @contextmanager
    def open(self, id: str, agent: str) -> Iterator[OpenUpload]:
        """Open an upload of an agent.

        Raise NoSuchUpload if there is none, also if it belongs to another agent; UploadInUse if another request has it
        open.
        """
        folder = self._path(id)
        upload = _read_upload(folder)
        if upload is None or upload.agent != agent:
            raise NoSuchUpload()
        with _lock_file(folder / _INFO):
            if not (folder / _INFO).exists():
                raise NoSuchUpload()
            opened = OpenUpload(folder, upload)
            try:
                yield opened
            finally:
                opened.close()

    def read(self, id: str, agent: str) -> tuple[Upload, int, UploadedItem | None]:
        """Return an upload of an agent, its offset, and the item that it has become."""
        folder = self._path(id)
        upload = _read_upload(folder)
        if upload is None or upload.agent != agent:
            raise NoSuchUpload()
        return upload, _read_offset(folder), _read_item(folder)

    def remove_expired(self) -> None:
        """Remove the uploads that have not gone on for too long, and what a crash has left of others."""
        if not self._folder.is_dir():
            return
        with _translate_errors():
            with self._lock_all():  # no other worker is creating an upload
                for building in self._folder.glob(f"*{_NEW}"):
                    _remove(building)
                for marker in list((self._folder / _UNFINISHED).iterdir()):
                    if not (self._folder / marker.name).exists():
                        marker.unlink(missing_ok=True)
            for folder in list(self._folder.iterdir()):
                if _ID.fullmatch(folder.name):
                    self._remove_if_expired(folder)

    def _remove_if_expired(self, folder: Path) -> None:
        with suppress(OSError, UploadInUse, NoSuchUpload):
            if not (folder / _INFO).exists():  # a crash has interrupted its removal
                _remove(folder)
            elif (folder / _OFFSET).stat().st_mtime < time.time() - self._seconds:
                with _lock_file(folder / _INFO):
                    _remove(folder)

    def _unfinished_folders(self) -> list[Path]:
        try:
            return [self._folder / name for name in os.listdir(self._folder / _UNFINISHED)]
        except FileNotFoundError:
            return []

    def _unfinished_uploads(self) -> Iterator[Upload]:
        for folder in self._unfinished_folders():
            if not (folder / _ITEM).exists():
                upload = _read_upload(folder)
                if upload is not None:
                    yield upload

    def _path(self, id: str) -> Path:
        if _ID.fullmatch(id) is None:
            raise NoSuchUpload()
        return self._folder / id

    @contextmanager
    def _lock_all(self) -> Iterator[None]:
        self._folder.mkdir(0o700, exist_ok=True)
        (self._folder / _UNFINISHED).mkdir(0o700, exist_ok=True)
        descriptor = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # each holder does no more than list and rename
            yield
        finally:
            os.close(descriptor)


@contextmanager
def _lock_file(file: Path) -> Iterator[None]:
    """Lock a file against other requests of all workers, or raise UploadInUse. The lock ends with the process."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise NoSuchUpload() from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UploadInUse() from None
        yield
    finally:
        os.close(descriptor)


def _marker(folder: Path) -> Path:
    """Return the file that marks an upload as unfinished."""
    return folder.parent / _UNFINISHED / folder.name


def _read_upload(folder: Path) -> Upload | None:
    try:
        return msgspec.json.decode((folder / _INFO).read_bytes(), type=Upload)
    except FileNotFoundError:
        return None


def _read_item(folder: Path) -> UploadedItem | None:
    try:
        return msgspec.json.decode((folder / _ITEM).read_bytes(), type=UploadedItem)
    except FileNotFoundError:
        return None


def _read_offset(folder: Path) -> int:
    try:
        return int((folder / _OFFSET).read_bytes())
    except FileNotFoundError:
        raise NoSuchUpload() from None


def _format_offset(offset: int) -> bytes:
    return b"%0*d\n" % (_DIGITS, offset)


def _write_offset(file: Path, offset: int) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.pwrite(descriptor, _format_offset(offset), 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_new(file: Path, content: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(descriptor)


def _remove(folder: Path) -> None:
    """Remove an upload. What shows that it exists goes first."""
    (folder / _INFO).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    _marker(folder).unlink(missing_ok=True)


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if is_full(problem.errno):
            raise StoreFull("the disk of the uploads", "send the rest again when there is room") from problem
        raise StoreUnavailable(f"cannot write to the folder of the uploads ({problem.strerror})") from problem
