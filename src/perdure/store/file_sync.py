"""Helpers for files and folders: durable names, atomic replacement, owners, and private files."""

import os
from pathlib import Path
from typing import BinaryIO


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, and with it the names that were added or removed in it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_as_folder_owner(file: Path, flags: int, mode: int) -> int:
    """Open a file in a registry's folder. If root has created it, give it to the owner of the folder.

    Otherwise one command that an operator runs as root would leave a file that the server cannot read.
    """
    descriptor = os.open(file, flags, mode)
    if os.geteuid() == 0:
        owner = file.parent.stat()
        if os.fstat(descriptor).st_uid == 0 and owner.st_uid != 0:
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def write_atomically(path: Path, text: str, mode: int) -> None:
    """Replace a file atomically and durably: after a crash it is the old one or the new one."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = open_as_folder_owner(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def create_private(file: Path) -> None:
    """Create an empty file that only its owner can read, because records contain values that are not public."""
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def open_private(file: Path) -> BinaryIO:
    """Open a new file for writing that only its owner can read; a file of this name is replaced."""
    file.unlink(missing_ok=True)
    return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
