"""How patient the registry is with its database, and how many connections it holds."""

from typing import Annotated

import msgspec

Seconds = Annotated[float, msgspec.Meta(ge=0.1, le=86_400)]
Number = Annotated[int, msgspec.Meta(ge=1, le=256)]


class PostgresOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[postgresql]` section of the settings. `partitions` counts when the database is made, and never again."""

    connections: Number = 4  # for reading; two more look names up, and one more writes
    search_connections: Number = 2  # for searching, listing and counting, which other readers never wait for
    connect_seconds: Seconds = 5.0
    statement_seconds: Seconds = 30.0
    long_statement_seconds: Seconds = 21_600.0  # backup, export, verify, stats
    lock_seconds: Seconds = 10.0
    settle_seconds: Seconds = 30.0  # how long to ask what became of a commit whose answer was lost
    partitions: Number = 8
