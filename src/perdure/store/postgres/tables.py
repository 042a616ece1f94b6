"""Rows on their way into a table: a few as one INSERT, many through COPY."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from psycopg import Cursor as AnyCursor

from perdure.store.postgres.connection import Connection

MANY: Final = 12  # from here on the journeys of a COPY are repaid: rows are written faster than arrays

Row = tuple[Any, ...]
Cursor = AnyCursor[Row]


class Table(NamedTuple):
    """A table, its columns and their types, in the order in which rows are given."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]

    @property
    def insert(self) -> str:
        """Rows that are there already are passed over; the count tells."""
        arrays = ", ".join(f"%s::{'text' if one == 'tsvector' else one}[]" for one in self.types)
        given = ", ".join(f"g.{one}::{kind}" for one, kind in zip(self.columns, self.types, strict=True))
        columns = ", ".join(self.columns)
        return (
            f"INSERT INTO {self.name} ({columns}) SELECT {given} FROM unnest({arrays}) AS g ({columns}) "
            "ON CONFLICT DO NOTHING"
        )

    @property
    def copy(self) -> str:
        form = "TEXT" if "tsvector" in self.types else "BINARY"  # a tsvector's binary form is the server's own affair
        return f"COPY {self.name} ({', '.join(self.columns)}) FROM STDIN (FORMAT {form})"


IDENTIFIERS: Final = Table(
    "identifiers",
    ("key", "name", "scheme", "state", "target", "version", "record", "subject", "created", "added"),
    ("text", "text", "text", "text", "text", "int4", "bytea", "text", "text", "int8"),
)
REVISIONS: Final = Table(
    "revisions",
    ("key", "version", "at", "agent", "action", "note", "record"),
    ("text", "int4", "text", "text", "text", "text", "bytea"),
)
WORDS: Final = Table("words", ("key", "added", "lexemes"), ("text", "int8", "tsvector"))
REVERSE: Final = Table("reverse", ("data", "type", "added", "key"), ("bytea", "text", "int8", "text"))
PERSON_INPUTS: Final = Table("person_inputs", ("uuid_raw", "name"), ("text", "text"))
PERSON_NAMES: Final = Table("person_names", ("name", "uuid_raw"), ("text", "text"))
DERIVATIONS: Final = Table("derivations", ("prid", "version", "poid"), ("text", "int4", "text"))

_INSERTS: Final = {
    table.name: table.insert
    for table in (IDENTIFIERS, REVISIONS, WORDS, REVERSE, PERSON_INPUTS, PERSON_NAMES, DERIVATIONS)
}


def put(connection: Connection, table: Table, rows: Sequence[Row]) -> Cursor | None:
    """Write the rows. Of a few, the cursor counts those that were new; of many, one that was there is an error."""
    if len(rows) < MANY:
        return connection.execute(_INSERTS[table.name], [list(column) for column in zip(*rows, strict=True)])
    with connection.cursor().copy(table.copy) as copy:
        if "tsvector" not in table.types:
            copy.set_types(table.types)
        for row in rows:
            copy.write_row(row)
    return None
