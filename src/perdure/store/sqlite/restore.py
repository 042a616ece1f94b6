"""The restore of a backup: its rows are loaded into a new file, whose schema the migrations create.

A backup may come from anywhere. It is copied first, so that the checked file is the one that is loaded. Its catalogue
is compared before anything else is read: an unexpected trigger, view or virtual table is refused.
"""

import os
from contextlib import closing
from pathlib import Path
from typing import Final

import apsw

from perdure.errors import SchemaChanged, StoreDamaged, StoreUnavailable
from perdure.registry.store_interface import Progress
from perdure.store.backup_digest import copy_with_digest
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
        actual = copy_with_digest(backup, copy)
        if digest not in (None, actual):
            reason = f"digest mismatch: {backup.name} has {actual}, expected {digest}; {_UNCHANGED}"
            raise StoreUnavailable(reason)
        try:
            with map_db_errors(), closing(_open_both(copy, file)) as connection:
                _load_rows(connection, progress)
        except SchemaChanged as problem:
            raise SchemaChanged(problem.differences, f"the backup {backup.name}") from None
        except StoreUnavailable as problem:
            if problem.safe_to_retry:  # the disk is full
                raise
            cause = "" if isinstance(problem, StoreDamaged) else f" ({problem})"
            reason = f"{backup.name} is not a backup of Perdure, or is damaged{cause}; {_UNCHANGED}"
            raise StoreUnavailable(reason) from problem
    finally:
        copy.unlink(missing_ok=True)
    with file.open("rb") as stream:
        os.fsync(stream.fileno())


def _open_both(copy: Path, file: Path) -> apsw.Connection:
    """Return a connection to the new file with the backup attached, in which no code of a schema runs."""
    connection = apsw.Connection(str(file), flags=_OPEN)
    for limit, most in _LIMITS:
        connection.limit(limit, most)
    for pragma in (
        "trusted_schema = OFF",
        "cell_size_check = ON",
        "foreign_keys = OFF",  # rows are loaded table by table; the whole is checked afterwards
        "synchronous = OFF",  # the file is flushed once, at the end
        f"cache_size = -{_CACHE_KIBIBYTES}",
    ):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("ATTACH ? AS backup", (f"{copy.absolute().as_uri()}?immutable=1",))
    return connection


def _load_rows(connection: apsw.Connection, progress: Progress) -> None:
    version = int(connection.execute("PRAGMA backup.user_version").get)
    check_not_newer(version, len(migrations.MIGRATIONS))
    if version < 1:
        raise StoreUnavailable("it does not have a schema of Perdure")
    differences = find_differences(connection, "backup", version)
    if differences:
        raise SchemaChanged(differences)
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
