"""The location of a store that is a database file."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain, count
from pathlib import Path

from perdure.registry.store_interface import Progress
from perdure.store.commit_mark import LINEAGE
from perdure.store.file_sync import create_private
from perdure.store.location import DisplacedStore, StoreLocation
from perdure.store.sqlite.backup import ENCLOSED_SETTINGS, copy_file
from perdure.store.sqlite.connection import connect, map_db_errors
from perdure.store.sqlite.database_files import displace_database, install_database, remove_database
from perdure.store.sqlite.migrations import MIGRATIONS, migrate, schema_version
from perdure.store.sqlite.restore import load_backup, read_fact
from perdure.store.sqlite.store import SqliteStore, check_file_exists


class SqliteLocation:
    """A database file, in a folder that exists."""

    def __init__(self, file: Path) -> None:
        self.file = file

    @property
    def display_name(self) -> str:
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

    def temporary_location(self, purpose: str) -> "SqliteLocation":
        return SqliteLocation(self.file.with_name(f".{self.file.name}.{purpose}"))

    def remove(self) -> None:
        remove_database(self.file)

    async def restore_backup(self, backup: Path, progress: Progress, digest: str | None = None) -> str | None:
        create_private(self.file)
        load_backup(backup, self.file, progress, digest)
        self.migrate()  # a backup may have an older schema
        return self._remove_backup_facts()

    def _remove_backup_facts(self) -> str | None:
        """Separate the copy from the original database: its first commit creates a mark of its own.

        Return the enclosed settings, which a database does not have.
        """
        with map_db_errors(), closing(connect(self.file)) as connection:
            settings = read_fact(connection, ENCLOSED_SETTINGS)
            connection.execute("DELETE FROM facts WHERE name IN (?, ?)", (LINEAGE, ENCLOSED_SETTINGS))
        return settings

    def install(self, fresh: StoreLocation) -> None:
        install_database(_require_file(fresh), self.file)

    @contextmanager
    def replace_with(self, fresh: StoreLocation, stamp: str) -> Iterator[DisplacedStore]:
        """Rename two files. No other program has the file open, because a restore has the folder's exclusive lock."""
        stem = f"{self.file.stem}-before-restore-{stamp}"
        names = chain([stem], (f"{stem}-{number}" for number in count(2)))
        new_name = next(
            file for name in names if not (file := self.file.with_name(f"{name}{self.file.suffix}")).exists()
        )
        yield DisplacedStore(new_name.name, displace_database(self.file, new_name))
        install_database(_require_file(fresh), self.file, replace=True)

    def schema_versions(self) -> tuple[int, int]:
        check_file_exists(self.file)
        with map_db_errors(), closing(connect(self.file)) as connection:
            return schema_version(connection), len(MIGRATIONS)

    def dump(self, file: Path) -> None:
        with map_db_errors(), closing(connect(self.file)) as connection:
            copy_file(connection, file, lambda done, of: None)

    def migrate(self) -> None:
        check_file_exists(self.file)
        with map_db_errors(), closing(connect(self.file)) as connection:
            migrate(connection)


def _require_file(location: StoreLocation) -> Path:
    if not isinstance(location, SqliteLocation):
        raise TypeError("a database file can only be replaced by a file")
    return location.file
