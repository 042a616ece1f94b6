"""Directories on disk: everything below one is flushed before it is published, and names are flushed after that."""

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MOST_SINGLE_SYNCS: Final = 16  # with more files, one flush of the file system is faster than one for each file


def sync_tree(directory: Path, files: int) -> None:
    """Flush a directory with everything below it to disk. `files` is about how many files it has."""
    if files > _MOST_SINGLE_SYNCS and _sync_file_system(directory):
        return
    for path in _walk(directory):
        sync_path(path)


def sync_path(path: str | Path) -> None:
    """Flush a file, or the names in a directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _walk(directory: Path) -> Iterator[str]:
    for parent, _, files in os.walk(directory, topdown=False):
        yield from (os.path.join(parent, name) for name in files)
        yield parent


def _sync_file_system(directory: Path) -> bool:
    """Flush the whole file system of a directory, as Linux can; return False elsewhere."""
    if _SYNCFS is None:
        return False
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _SYNCFS(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), os.fspath(directory))
    finally:
        os.close(descriptor)
    return True


def _find_syncfs() -> "ctypes._FuncPointer | None":
    try:
        return ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError, TypeError):
        return None


_SYNCFS: Final = _find_syncfs()
