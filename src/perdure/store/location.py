"""The interface of a store's location: operations on a store as a whole, before and after it is open.

`perdure.toml` names a location as `sqlite:FILE` or `postgresql://…`; each engine has its own class.
"""

from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, Protocol

from perdure.registry.store_interface import Progress, Store
from perdure.store.high_water import HighWater


class StoreWithMarks(Store, Protocol):
    """A store whose marks are outside the database."""

    high_water: HighWater

    def remove_mark(self) -> None:
        """Remove the mark of the last commit, before the store itself is removed."""
        ...


class DisplacedStore(NamedTuple):
    """A store that is being replaced: its new name, and the last dates of its timelines."""

    name: str
    timelines: dict[str, Fraction]


class StoreLocation(Protocol):
    """The location of a store. A new one is built at a temporary location, and installed in one step when complete."""

    @property
    def display_name(self) -> str:
        """The location for messages, without a password."""
        ...

    @property
    def database(self) -> str:
        """The name of the file in the registry's folder, or the address: for the operator who has just created it."""
        ...

    def is_file(self, file: Path) -> bool:
        """Return whether this file is the store."""
        ...

    def exists(self) -> bool: ...
    def open(self) -> StoreWithMarks: ...
    def create(self) -> StoreWithMarks: ...
    def temporary_location(self, purpose: str) -> "StoreLocation":
        """Return a location for a store that is not finished."""
        ...

    def remove(self) -> None:
        """Delete an unfinished store."""
        ...

    async def restore_backup(self, backup: Path, progress: Progress, digest: str | None = None) -> str | None:
        """Load the rows of a backup into a new store here; refuse a file with another digest.

        Return the settings that the backup encloses, if it was made with them.
        """
        ...

    def install(self, fresh: "StoreLocation") -> None:
        """Move a finished store here. There must be no store here yet."""
        ...

    def replace_with(self, fresh: "StoreLocation", stamp: str) -> AbstractContextManager[DisplacedStore]:
        """Replace the store here by a finished one, when the block ends; the old store gets another name.

        From the beginning of the block on, the old store is not written to.
        """
        ...

    def schema_versions(self) -> tuple[int, int]:
        """Return the schema version of the store, and the one that this program needs."""
        ...

    def dump(self, file: Path) -> None:
        """Write a copy with the engine's own means, whatever the schema version."""
        ...

    def migrate(self) -> None:
        """Bring the schema up to date."""
        ...
