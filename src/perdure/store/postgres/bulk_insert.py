"""Inserts of rows: a few with one INSERT, many with COPY."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from psycopg import Cursor as AnyCursor

from perdure.store.postgres.connection import Connection, Row

COPY_THRESHOLD: Final = 8  # rows from which COPY is faster, although it takes more round trips than arrays

Cursor = AnyCursor[Row]


class Table(NamedTuple):
    """A table with its columns and their types, in the order of the rows' values."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]

    @property
    def insert_statement(self) -> str:
        """The INSERT. It skips rows that exist, which shows in the row count."""
        arrays = ", ".join(f"%s::{'text' if kind == 'tsvector' else kind}[]" for kind in self.types)
        values = ", ".join(f"g.{column}::{kind}" for column, kind in zip(self.columns, self.types, strict=True))
        columns = ", ".join(self.columns)
        return (
            f"INSERT INTO {self.name} ({columns}) SELECT {values} FROM unnest({arrays}) AS g ({columns}) "
            "ON CONFLICT DO NOTHING"
        )

    @property
    def copy_statement(self) -> str:
        return f"COPY {self.name} ({', '.join(self.columns)}) FROM STDIN (FORMAT BINARY)"

    @property
    def copy_types(self) -> list[str]:
        """The types for the driver: words are already in the server's binary form, and are passed as bytes."""
        return ["bytea" if kind == "tsvector" else kind for kind in self.types]


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

_INSERT_STATEMENTS: Final = {
    table.name: table.insert_statement
    for table in (IDENTIFIERS, REVISIONS, WORDS, REVERSE, PERSON_INPUTS, PERSON_NAMES, DERIVATIONS, ANSWERS)
}


def insert_rows(connection: Connection, table: Table, rows: Sequence[Row]) -> Cursor:
    """Insert a few rows, with words as text; the cursor's row count leaves out rows that existed."""
    return connection.execute(_INSERT_STATEMENTS[table.name], [list(column) for column in zip(*rows, strict=True)])


def copy_rows(connection: Connection, table: Table, rows: Iterable[Row]) -> None:
    """Insert many rows with COPY, with words in the server's binary form; an existing row is an error."""
    with connection.cursor().copy(table.copy_statement) as copying:
        copying.set_types(table.copy_types)
        for row in rows:
            copying.write_row(row)
