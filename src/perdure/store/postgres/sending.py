"""Statements that go to the server together: their answers are looked at when all of them were sent."""

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from perdure.store.postgres.connection import Connection, Row
from perdure.store.postgres.tables import MANY, Cursor, Table, put


class Sending:
    """One journey for all that is small; a COPY is a journey of its own, and waits for those before it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stack = ExitStack()
        self._counted: list[tuple[str, Cursor, int]] = []
        self._is_pipeline = False
        self.missed: str | None = None  # a table in which something was already that was to be new

    def __enter__(self) -> "Sending":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, problem, trace)
        if kind is None:
            self.missed = next((name for name, cursor, number in self._counted if cursor.rowcount != number), None)

    def rows(self, table: Table, rows: Sequence[Row]) -> None:
        """New rows."""
        if not rows:
            return
        if len(rows) < MANY:
            self._gather()
        else:
            self._arrive()
        cursor = put(self._connection, table, rows)
        if cursor is not None:
            self._counted.append((table.name, cursor, len(rows)))

    def statement(self, statement: str, parameters: Sequence[Any]) -> None:
        self._gather()
        self._connection.execute(statement, parameters)

    def counted(self, statement: str, parameters: Sequence[Any]) -> int:
        """One whose answer is needed at once."""
        self._arrive()
        return self._connection.execute(statement, parameters).rowcount

    def _gather(self) -> None:
        if not self._is_pipeline:
            self._stack.enter_context(self._connection.pipeline())
            self._is_pipeline = True

    def _arrive(self) -> None:
        self._stack.close()
        self._is_pipeline = False
