"""Migrate a store, in a process of its own, with one more step than this program has, when a line comes in.

python -m tests.store.migrator STORE STEP
"""

import os
import sys
from pathlib import Path

from perdure.store.places import place_of
from perdure.store.postgres import migrations as postgres
from perdure.store.postgres.options import PostgresOptions
from perdure.store.sqlite import migrations as sqlite
from perdure.store.sqlite import place as sqlite_place


def add_step(step: str) -> None:
    """As if this program were of tomorrow."""
    for module in (postgres, sqlite):
        module.MIGRATIONS = (*module.MIGRATIONS, step)  # type: ignore[misc]
    sqlite_place.MIGRATIONS = sqlite.MIGRATIONS  # type: ignore[misc]


if __name__ == "__main__":
    store, step = sys.argv[1:]
    place = place_of(store, Path("/"), PostgresOptions())
    add_step(step)
    os.write(1, b"ready\n")
    sys.stdin.readline()
    place.migrate()
