"""A place that is a file."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain, count
from pathlib import Path

from perdure.registry.protocol import Progress
from perdure.store.commit_mark import LINEAGE
from perdure.store.place import Place, SetAside
from perdure.store.sqlite.backup import copy_file
from perdure.store.sqlite.connection import connect, in_our_words
from perdure.store.sqlite.files import create_private, put_in_place, remove_database, set_aside
from perdure.store.sqlite.migrations import MIGRATIONS, migrate, schema_version
from perdure.store.sqlite.restore import load_backup
from perdure.store.sqlite.store import SqliteStore, check_there


class SqlitePlace:
    """A database file, in a folder that exists."""

    def __init__(self, file: Path) -> None:
        self.file = file

    @property
    def shown(self) -> str:
        return f"sqlite:{self.file.name}"

    @property
    def database(self) -> str:
        return self.file.name

    def is_file(self, file: Path) -> bool:
        return file.exists() and self.file.exists() and file.samefile(self.file)

    def exists(self) -> bool:
        return self.file.exists()

    def open(self) -> SqliteStore:
        return SqliteStore(self.file)

    def create(self) -> SqliteStore:
        return SqliteStore(self.file, create=True)

    def beside(self, purpose: str) -> "SqlitePlace":
        return SqlitePlace(self.file.with_name(f".{self.file.name}.{purpose}"))

    def remove(self) -> None:
        remove_database(self.file)

    async def fill(self, backup: Path, progress: Progress, digest: str | None = None) -> None:
        create_private(self.file)
        load_backup(backup, self.file, progress, digest)
        self.migrate()  # a backup may be older than this program
        self._forget_lineage()

    def _forget_lineage(self) -> None:
        """Part the copy from the database that it was made of: it gets a mark of its own with its first commit."""
        with in_our_words(), closing(connect(self.file)) as connection:
            connection.execute("DELETE FROM facts WHERE name = ?", (LINEAGE,))

    def take(self, fresh: Place) -> None:
        put_in_place(_file(fresh), self.file)

    @contextmanager
    def replaced(self, fresh: Place, stamp: str) -> Iterator[SetAside]:
        """Nobody else has the file open: whoever restores is alone in the folder."""
        stem = f"{self.file.stem}-before-restore-{stamp}"
        names = chain([stem], (f"{stem}-{number}" for number in count(2)))
        aside = next(file for name in names if not (file := self.file.with_name(f"{name}{self.file.suffix}")).exists())
        yield SetAside(aside.name, set_aside(self.file, aside))
        put_in_place(_file(fresh), self.file, replace=True)

    def versions(self) -> tuple[int, int]:
        check_there(self.file)
        with in_our_words(), closing(connect(self.file)) as connection:
            return schema_version(connection), len(MIGRATIONS)

    def save(self, file: Path) -> None:
        with in_our_words(), closing(connect(self.file)) as connection:
            copy_file(connection, file, lambda done, of: None)

    def migrate(self) -> None:
        check_there(self.file)
        with in_our_words(), closing(connect(self.file)) as connection:
            migrate(connection)


def _file(place: Place) -> Path:
    if not isinstance(place, SqlitePlace):
        raise TypeError("only a file takes the place of a file")
    return place.file
