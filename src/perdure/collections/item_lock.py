"""Locks: one for each item, held by its writer, and one for the directories above all items, held very briefly."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from perdure.errors import ItemBusy

_PAUSE: Final = 0.02  # seconds between two attempts
_TREE_PATIENCE: Final = 60.0  # seconds; the lock of the directories is held for a rename


@contextmanager
def lock_item(file: Path, label: str, patience: float) -> Iterator[None]:
    """Hold the lock of an item. Raise ItemBusy if another process or thread holds it for longer than the patience.

    The file exists only while it is in use, so a collection of a million items does not have a million of them.
    """
    descriptor = _acquire(file, label, time.monotonic() + patience)
    try:
        yield
    finally:
        with suppress(OSError):
            file.unlink()
        os.close(descriptor)


@contextmanager
def lock_tree(file: Path) -> Iterator[None]:
    """Hold the lock of the directories above all items, so that none is removed while an item is put into it."""
    descriptor = _open_locked(file, "the directories of the collection", time.monotonic() + _TREE_PATIENCE)
    try:
        yield
    finally:
        os.close(descriptor)


def _acquire(file: Path, label: str, until: float) -> int:
    while True:
        descriptor = _open_locked(file, label, until)
        # The previous holder may have removed the file between our opening and our locking it.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), file.stat()):
                return descriptor
        os.close(descriptor)


def _open_locked(file: Path, label: str, until: float) -> int:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(descriptor)
                raise ItemBusy(label) from None
            time.sleep(_PAUSE)
        else:
            return descriptor
