"""The sources of a version: files, directories, and whatever else yields files one after the other."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from perdure.collections.hashed_copy import ReadableStream
from perdure.errors import RefusedFile

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class SourceFile(Protocol):
    """A file to be stored.

    `size` is None if it is unknown. `digests` are those that the content must have, by their algorithm.
    """

    @property
    def path(self) -> str: ...
    @property
    def size(self) -> int | None: ...
    @property
    def media_type(self) -> str | None: ...
    @property
    def digests(self) -> Mapping[str, str]: ...
    def open(self) -> AbstractContextManager[ReadableStream]: ...


class LocalFile(NamedTuple):
    """A file on this machine, which is stored under a path inside the item. It can be read more than once."""

    path: str
    file: str | Path
    size: int | None = None
    media_type: str | None = None
    digests: Mapping[str, str] = {}

    def open(self) -> AbstractContextManager[ReadableStream]:
        try:
            return _UnchangedFile(self.path, open_regular(self.file))
        except ValueError as problem:
            raise RefusedFile(self.path, str(problem)) from None


class _UnchangedFile(AbstractContextManager[ReadableStream]):
    """A file that is refused at the end if another program has written to it meanwhile."""

    def __init__(self, path: str, opened: closing[FileIO]) -> None:
        self._path = path
        self._opened = opened
        self._stream = opened.__enter__()
        self._state = self._read_state()

    def __enter__(self) -> ReadableStream:
        return self._stream

    def __exit__(self, kind: type[BaseException] | None, *details: Any) -> None:
        with self._opened:
            if kind is None and self._read_state() != self._state:
                raise RefusedFile(self._path, "another program has changed it while it was read: try again later")

    def _read_state(self) -> tuple[int, int]:
        status = os.fstat(self._stream.fileno())
        return status.st_mtime_ns, status.st_size


def find_file(file: Path) -> LocalFile:
    """Return a file as a source, under its own name. Refuse a symbolic link, a device, a socket or a pipe."""
    status = file.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise RefusedFile(file.name, f"it is a symbolic link; store the file that it leads to: {file.resolve()}")
    if not stat.S_ISREG(status.st_mode):
        raise RefusedFile(file.name, "it is a device, a socket or a pipe")
    return LocalFile(file.name, file, status.st_size)


def open_regular(file: str | Path) -> closing[FileIO]:
    """Open a file for reading. Raise ValueError if it is a device, a pipe or a directory."""
    descriptor = os.open(file, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        return closing(os.fdopen(descriptor, "rb", buffering=0))
    except BaseException:
        os.close(descriptor)
        raise


class StreamedFile(NamedTuple):
    """A stream that is stored under a path inside the item. It can be read once."""

    path: str
    stream: ReadableStream
    size: int | None = None
    media_type: str | None = None
    digests: Mapping[str, str] = {}

    def open(self) -> AbstractContextManager[ReadableStream]:
        return _BorrowedStream(self.stream)


class _BorrowedStream(AbstractContextManager[ReadableStream]):
    """A stream that its owner closes."""

    def __init__(self, stream: ReadableStream) -> None:
        self._stream = stream

    def __enter__(self) -> ReadableStream:
        return self._stream

    def __exit__(self, *details: Any) -> None:
        return None


def list_directory(directory: Path, report_empty: Callable[[str], None] | None = None) -> Iterator[LocalFile]:
    """Yield all files below a directory, in alphabetical order. Refuse symbolic links, devices, sockets and pipes.

    Empty directories are reported, because an item has none. Memory is used for the names of one directory at each
    depth, not for the whole tree.
    """
    yield from _list_below(os.fspath(directory), "", report_empty)


def _list_below(directory: str, prefix: str, report_empty: Callable[[str], None] | None) -> Iterator[LocalFile]:
    try:
        with os.scandir(directory) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except OSError as problem:
        raise RefusedFile(prefix or directory, f"it cannot be read: {problem.strerror}") from problem
    if not ordered and report_empty is not None:
        report_empty(prefix)
    for entry in ordered:
        path = prefix + entry.name
        if entry.is_symlink():
            raise RefusedFile(path, "it is a symbolic link; store the file that it leads to, or leave it out")
        if entry.is_dir(follow_symlinks=False):
            yield from _list_below(entry.path, f"{path}/", report_empty)
        elif entry.is_file(follow_symlinks=False):
            yield LocalFile(path, entry.path, entry.stat(follow_symlinks=False).st_size)
        else:
            raise RefusedFile(path, "it is a device, a socket or a pipe")
