"""The settings of a PostgreSQL store: timeouts and numbers of connections."""

from typing import Annotated

import msgspec
from msgspec import Meta

Seconds = Annotated[float, Meta(ge=0.1, le=86_400)]
Number = Annotated[int, Meta(ge=1, le=256)]


class PostgresOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The section [postgresql] of the settings."""

    connections: Annotated[
        Number, Meta(description="Number of connections for reads. Lookups use two more, and writes one more.")
    ] = 4
    search_connections: Annotated[
        Number,
        Meta(description="Number of connections for searching, listing and counting; other reads do not use them."),
    ] = 2
    connect_seconds: Annotated[Seconds, Meta(description="Timeout for opening a connection.")] = 5.0
    statement_seconds: Annotated[Seconds, Meta(description="Timeout for one statement.")] = 30.0
    long_statement_seconds: Annotated[
        Seconds,
        Meta(description="Timeout for a statement that reads the whole database (backup, export, verify, stats)."),
    ] = 21_600.0
    lock_seconds: Annotated[Seconds, Meta(description="Timeout for a lock that another program holds.")] = 10.0
    settle_seconds: Annotated[
        Seconds,
        Meta(description="How long to look for the outcome of a commit after the connection was lost during it."),
    ] = 30.0
    partitions: Annotated[
        Number,
        Meta(description="Number of hash partitions of the tables of names; used only when the database is created."),
    ] = 8
