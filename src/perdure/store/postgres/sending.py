"""Statements that go to the server together: their answers are looked at when all of them were sent."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, TypeVar

from perdure.store.postgres.connection import Connection, Row
from perdure.store.postgres.tables import MANY, Cursor, Table, copy, insert

T = TypeVar("T")


def _itself(thing: Any) -> Row:
    return tuple(thing)


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

    def rows(self, table: Table, things: Sequence[T], row: Callable[[T], Row] = _itself) -> None:
        """New rows, one for each of the things."""
        if not things:
            return
        if len(things) < MANY:
            self._gather()
            cursor = insert(self._connection, table, [row(thing) for thing in things])
            self._counted.append((table.name, cursor, len(things)))
        else:
            self._arrive()
            copy(self._connection, table, map(row, things))

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
