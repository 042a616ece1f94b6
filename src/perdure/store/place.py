"""Where a store is, or is to be: what can be done with it as a whole, before and after it is open.

`perdure.toml` names a place as `sqlite:FILE` or `postgresql://…`; each engine has its own kind of place.
"""

from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, Protocol

from perdure.registry.protocol import Progress, Store
from perdure.store.high_water import HighWater


class MarkedStore(Store, Protocol):
    """A store with its marks outside the database."""

    high_water: HighWater

    def remove_mark(self) -> None:
        """Remove the mark of the last commit, before the store itself is removed."""
        ...


class SetAside(NamedTuple):
    """A store that is about to be replaced: the name it is kept under, and the last dates it knew."""

    name: str
    timelines: dict[str, Fraction]


class Place(Protocol):
    """One place. What is built beside it takes its place in one step, when it is whole."""

    @property
    def shown(self) -> str:
        """For messages: without any password."""
        ...

    @property
    def database(self) -> str:
        """What it is called in the settings' folder, or where else it is: for somebody who has just made it."""
        ...

    def is_file(self, file: Path) -> bool:
        """Whether this very file is the store."""
        ...

    def exists(self) -> bool: ...
    def open(self) -> MarkedStore: ...
    def create(self) -> MarkedStore: ...
    def beside(self, purpose: str) -> "Place":
        """A place for something that is not finished."""
        ...

    def remove(self) -> None:
        """Throw away what is there: only ever something unfinished."""
        ...

    async def fill(self, backup: Path, progress: Progress, digest: str | None = None) -> None:
        """Load the rows of a backup, into a place where nothing is; refuse a file that has another digest."""
        ...

    def take(self, fresh: "Place") -> None:
        """Let what was built beside take this place, where nothing is."""
        ...

    def replaced(self, fresh: "Place", stamp: str) -> AbstractContextManager[SetAside]:
        """When the block ends, what was built beside has taken this place, and what was here another name.

        Nothing is written here from the beginning of the block on.
        """
        ...

    def versions(self) -> tuple[int, int]:
        """The schema that is there, and the one that this program needs."""
        ...

    def save(self, file: Path) -> None:
        """A copy as the engine itself makes one, whatever the schema."""
        ...

    def migrate(self) -> None:
        """Bring the schema up to date."""
        ...
