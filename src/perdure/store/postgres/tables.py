"""Rows on their way into a table: a few as one INSERT, many through COPY."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from psycopg import Cursor as AnyCursor

from perdure.store.postgres.connection import Connection, Row

MANY: Final = 8  # from here on the journeys of a COPY are repaid: rows are written faster than arrays

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
        return f"COPY {self.name} ({', '.join(self.columns)}) FROM STDIN (FORMAT BINARY)"

    @property
    def copied_types(self) -> list[str]:
        """What the driver is to write: words are in the server's own form already, which it takes for plain bytes."""
        return ["bytea" if one == "tsvector" else one for one in self.types]


IDENTIFIERS: Final = Table(
    "identifiers",
    ("key", "name", "scheme", "state", "target", "version", "record", "subject", "created", "added"),
    ("text", "text", "text", "text", "text", "int4", "bytea", "text", "text", "int8"),
)
REVISIONS: Final = Table(
    "revisions",
    ("key", "version", "at", "agent", "action", "note", "record", "added", "digest", "original"),
    ("text", "int4", "text", "text", "text", "text", "bytea", "int8", "bytea", "bytea"),
)
WORDS: Final = Table("words", ("key", "added", "lexemes"), ("text", "int8", "tsvector"))
REVERSE: Final = Table("reverse", ("data", "type", "added", "key"), ("bytea", "text", "int8", "text"))
PERSON_INPUTS: Final = Table("person_inputs", ("uuid_raw", "name"), ("text", "text"))
PERSON_NAMES: Final = Table("person_names", ("name", "uuid_raw"), ("text", "text"))
DERIVATIONS: Final = Table("derivations", ("prid", "version", "poid"), ("text", "int4", "text"))
ANSWERS: Final = Table(
    "answers", ("agent", "token", "digest", "answer", "at"), ("text", "text", "bytea", "bytea", "text")
)

_INSERTS: Final = {
    table.name: table.insert
    for table in (IDENTIFIERS, REVISIONS, WORDS, REVERSE, PERSON_INPUTS, PERSON_NAMES, DERIVATIONS, ANSWERS)
}


def insert(connection: Connection, table: Table, rows: Sequence[Row]) -> Cursor:
    """A few rows, words written out; the cursor counts those that were not there already."""
    return connection.execute(_INSERTS[table.name], [list(column) for column in zip(*rows, strict=True)])


def copy(connection: Connection, table: Table, rows: Iterable[Row]) -> None:
    """Many rows, words in the server's own form; one that is there already is an error."""
    with connection.cursor().copy(table.copy) as copying:
        copying.set_types(table.copied_types)
        for row in rows:
            copying.write_row(row)
