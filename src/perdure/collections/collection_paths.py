"""The directories of a collection that are not items: for unfinished work, and for locks.

They are in an extension directory of the storage root, where OCFL permits any content.
"""

from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from perdure.collections.label_path import label_to_path

EXTENSION: Final = "perdure-collection"
DECLARATION: Final = "0=ocfl_1.1"
EXTENSIONS: Final = "extensions"


class CollectionPaths(NamedTuple):
    """The paths of a collection."""

    root: Path

    @property
    def extension(self) -> Path:
        return self.root / EXTENSIONS / EXTENSION

    @property
    def stages(self) -> Path:
        """Return the directory of unfinished work, on the same file system as the items."""
        return self.extension / "staging"

    @property
    def locks(self) -> Path:
        return self.extension / "locks"

    @property
    def tree_lock(self) -> Path:
        return self.locks / "directories.lock"

    def item(self, label: str) -> Path:
        """Return the directory of an item."""
        return self.root / label_to_path(label)

    def stage(self, label: str) -> Path:
        """Return the directory for unfinished work on an item."""
        return self.stages / _key(label)

    def lock(self, label: str) -> Path:
        """Return the lock file of an item."""
        return self.locks / f"{_key(label)}.lock"


def _key(label: str) -> str:
    return sha256(label.encode()).hexdigest()[:32]
