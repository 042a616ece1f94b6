"""A program that migrates a store, with one more step than this version has, when it reads a line.

python -m tests.store.migration_process STORE STEP
"""

import os
import sys
from pathlib import Path

from perdure.store.open_location import parse_location
from perdure.store.postgres import migrations as postgres
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.store.sqlite import location as sqlite_location
from perdure.store.sqlite import migrations as sqlite


def add_step(step: str) -> None:
    """Add a migration, as a newer program would have."""
    for module in (postgres, sqlite):
        module.MIGRATIONS = (*module.MIGRATIONS, step)  # type: ignore[misc]
    sqlite_location.MIGRATIONS = sqlite.MIGRATIONS  # type: ignore[misc]


if __name__ == "__main__":
    store, step = sys.argv[1:]
    location = parse_location(store, Path("/"), PostgresOptions())
    add_step(step)
    os.write(1, b"ready\n")
    sys.stdin.readline()
    location.migrate()
