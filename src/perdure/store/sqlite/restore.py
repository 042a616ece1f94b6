"""The restore of a backup: its rows are loaded into a new file, whose schema the migrations create.

A backup may come from anywhere. It is copied first, so that the checked file is the one that is loaded. Its catalogue
is compared before anything else is read: an unexpected trigger, view or virtual table is refused.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, cast

import apsw

from perdure.errors import SchemaChanged, StoreDamaged, StoreUnavailable
from perdure.registry.store_interface import Progress
from perdure.store.backup_digest import check_digest, copy_with_digest
from perdure.store.schema_version import check_not_newer
from perdure.store.sqlite import migrations
from perdure.store.sqlite.connection import map_db_errors
from perdure.store.sqlite.schema_check import find_differences, list_tables

_OPEN: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
_CACHE_KIBIBYTES: Final = 262_144
_UNCHANGED: Final = "nothing was changed"

# Limits for reading an untrusted file; the schema and all statements here are far below.
_LIMITS: Final = (
    (apsw.SQLITE_LIMIT_SQL_LENGTH, 100_000),
    (apsw.SQLITE_LIMIT_EXPR_DEPTH, 100),
    (apsw.SQLITE_LIMIT_COMPOUND_SELECT, 10),
    (apsw.SQLITE_LIMIT_TRIGGER_DEPTH, 1),
)


def load_backup(backup: Path, file: Path, progress: Progress, digest: str | None = None) -> None:
    """Load the rows of a backup into an empty file, with the schema of the version that the backup has.

    If a digest is given, a backup with another one is refused.
    """
    copy = file.with_name(f"{file.name}.copy")
    try:
        check_digest(backup, copy_with_digest(backup, copy), digest)
        with _blame(backup), closing(_open_both(copy, file)) as connection:
            _load_rows(connection, progress)
    finally:
        copy.unlink(missing_ok=True)
    with file.open("rb") as stream:
        os.fsync(stream.fileno())


def read_backup_facts(backup: Path, names: Sequence[str]) -> dict[str, str | None]:
    """Return facts of a backup, without loading its rows."""
    with _blame(backup), closing(_open_checked(":memory:")) as connection:
        _attach(connection, backup)
        _check_catalogue(connection)
        return {name: read_fact(connection, name, "backup") for name in names}


def read_fact(connection: apsw.Connection, name: str, database: str = "main") -> str | None:
    """Return a fact of a database whose schema was checked."""
    return cast("str | None", connection.execute(f"SELECT value FROM {database}.facts WHERE name = ?", (name,)).get)


@contextmanager
def _blame(backup: Path) -> Iterator[None]:
    """Name the backup in errors of its content."""
    try:
        with map_db_errors():
            yield
    except SchemaChanged as problem:
        raise SchemaChanged(problem.differences, f"the backup {backup.name}") from None
    except StoreUnavailable as problem:
        if problem.safe_to_retry:  # the disk is full
            raise
        cause = "" if isinstance(problem, StoreDamaged) else f" ({problem})"
        reason = f"{backup.name} is not a backup of Perdure, or is damaged{cause}; {_UNCHANGED}"
        raise StoreUnavailable(reason) from problem


def _open_both(copy: Path, file: Path) -> apsw.Connection:
    """Return a connection to the new file with the backup attached."""
    connection = _open_checked(str(file))
    connection.execute("PRAGMA synchronous = OFF")  # the file is flushed once, at the end
    _attach(connection, copy)
    return connection


def _open_checked(file: str) -> apsw.Connection:
    """Return a connection in which no code of a schema runs."""
    connection = apsw.Connection(file, flags=_OPEN)
    for limit, most in _LIMITS:
        connection.limit(limit, most)
    for pragma in (
        "trusted_schema = OFF",
        "cell_size_check = ON",
        "foreign_keys = OFF",  # rows are loaded table by table; the whole is checked afterwards
        f"cache_size = -{_CACHE_KIBIBYTES}",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _attach(connection: apsw.Connection, backup: Path) -> None:
    connection.execute("ATTACH ? AS backup", (f"{backup.absolute().as_uri()}?immutable=1",))


def _check_catalogue(connection: apsw.Connection) -> int:
    """Return the schema version of the attached backup; refuse one with other parts."""
    version = int(connection.execute("PRAGMA backup.user_version").get)
    check_not_newer(version, len(migrations.MIGRATIONS))
    if version < 1:
        raise StoreUnavailable("it does not have a schema of Perdure")
    differences = find_differences(connection, "backup", version)
    if differences:
        raise SchemaChanged(differences)
    return version


def _load_rows(connection: apsw.Connection, progress: Progress) -> None:
    version = _check_catalogue(connection)
    for (problem,) in connection.execute("PRAGMA backup.integrity_check(1)"):
        if problem != "ok":
            raise StoreUnavailable(problem)
    with connection:
        migrations.run_steps(connection, migrations.MIGRATIONS[:version], 0)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        tables = list_tables(version)
        for number, table in enumerate(tables, 1):
            connection.execute(f"DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM backup.{table}")
            progress(number, len(tables))
