"""Statements that are sent together in one pipeline; their results are checked when all of them were sent."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, TypeVar

from perdure.store.postgres.bulk_insert import COPY_THRESHOLD, Cursor, Table, copy_rows, insert_rows
from perdure.store.postgres.connection import Connection, Row

T = TypeVar("T")


def _to_row(item: Any) -> Row:
    return tuple(item)


class Pipeline:
    """One round trip for all small statements. A COPY takes its own, after the statements before it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stack = ExitStack()
        self._counted: list[tuple[str, Cursor, int]] = []
        self._is_pipeline = False
        self.conflicting_table: str | None = None  # a table in which a row existed that was to be inserted

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, problem, trace)
        if kind is None:
            self.conflicting_table = next(
                (name for name, cursor, number in self._counted if cursor.rowcount != number), None
            )

    def send_rows(self, table: Table, items: Sequence[T], to_row: Callable[[T], Row] = _to_row) -> None:
        """Insert a row for each item."""
        if not items:
            return
        if len(items) < COPY_THRESHOLD:
            self._enter_pipeline()
            cursor = insert_rows(self._connection, table, [to_row(item) for item in items])
            self._counted.append((table.name, cursor, len(items)))
        else:
            self._end_pipeline()
            copy_rows(self._connection, table, map(to_row, items))

    def execute(self, statement: str, parameters: Sequence[Any]) -> None:
        self._enter_pipeline()
        self._connection.execute(statement, parameters)

    def execute_now(self, statement: str, parameters: Sequence[Any]) -> int:
        """Run a statement at once, and return its row count."""
        self._end_pipeline()
        return self._connection.execute(statement, parameters).rowcount

    def _enter_pipeline(self) -> None:
        if not self._is_pipeline:
            self._stack.enter_context(self._connection.pipeline())
            self._is_pipeline = True

    def _end_pipeline(self) -> None:
        self._stack.close()
        self._is_pipeline = False
