"""Folders and files: names that are on disk, and content that only its owner can read."""

import os
from pathlib import Path
from typing import BinaryIO


def sync_folder(folder: Path) -> None:
    """A name that was given or taken in a folder is on disk when the folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, text: str, mode: int) -> None:
    """Replace a file whole: after a crash there is the old one or the new one."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def open_private(file: Path) -> BinaryIO:
    """Open a new file for writing that only its owner can read, in place of one that has its name."""
    file.unlink(missing_ok=True)
    return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
