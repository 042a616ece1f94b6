"""Folders: where the names of files are on disk."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """A name that was given or taken in a folder is on disk when the folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
