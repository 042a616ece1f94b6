"""A stored file, opened without following any symbolic link below its collection."""

import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

from perdure.errors import StoreDamaged

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # opening a pipe must not wait


class StoredFile:
    """An open file. Its bytes are those of the file that was opened, also if its name is replaced meanwhile."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        found = os.fstat(descriptor)
        self.size, self.modified = found.st_size, int(found.st_mtime)

    def read(self, position: int, size: int) -> bytes:
        """Return the bytes at a position; fewer only at the end."""
        return os.pread(self._descriptor, size, position)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def __enter__(self) -> "StoredFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class FileContent(NamedTuple):
    """The whole content of a small file, and when it was changed."""

    content: bytes
    modified: int


def read_small_file(root: Path, path: Path, most: int) -> FileContent | None:
    """Read a whole file below the directory of a collection; None if it has more than `most` bytes.

    Raise StoreDamaged if it cannot be opened safely.
    """
    with open_stored_file(root, path) as file:
        if file.size > most:
            return None
        content = file.read(0, file.size)
        if len(content) < file.size:
            raise shorter_file_error()
        return FileContent(content, file.modified)


def shorter_file_error() -> StoreDamaged:
    return StoreDamaged("a stored file is shorter than it was: verify the collection")


def open_stored_file(root: Path, path: Path) -> StoredFile:
    """Open a file below the directory of a collection.

    Raise StoreDamaged if it is missing, not a plain file, or reached through a symbolic link: a collection contains
    none, so one that is there was put there by another program.
    """
    *folders, name = path.relative_to(root).parts
    if ".." in (*folders, name):
        raise StoreDamaged(f"the path of a stored file leaves its collection: {path.name}")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folders:
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError as problem:
        raise StoreDamaged(f"a stored file cannot be opened ({problem.strerror}): verify the collection") from problem
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreDamaged("a stored file is not a plain file: verify the collection")
    return StoredFile(descriptor)
