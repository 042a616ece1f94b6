"""Inserts of many rows with few statements.

Each step of a statement releases the interpreter lock, and then waits for it behind the threads that serve requests. A
statement for many rows is one step.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import apsw

_LARGEST: Final = 64  # rows in one statement; sizes are powers of two, so that few statements are prepared


class MultiInsert:
    """The inserts into some columns of a table.

    >>> MultiInsert("names", "id", "name").statement(2)
    'INSERT INTO names (id, name) VALUES (?, ?), (?, ?)'
    """

    def __init__(self, table: str, *columns: str) -> None:
        self._head = f"INSERT INTO {table} ({', '.join(columns)}) VALUES "
        self._row = f"({', '.join('?' * len(columns))})"
        self._statements: Final = {2**power: self.statement(2**power) for power in range(_LARGEST.bit_length())}

    def statement(self, count: int) -> str:
        return self._head + ", ".join([self._row] * count)

    def insert(self, connection: apsw.Connection, rows: Sequence[Sequence[Any]]) -> None:
        done, size = 0, _LARGEST
        while done < len(rows):
            while size > len(rows) - done:
                size //= 2
            connection.execute(self._statements[size], tuple(chain.from_iterable(rows[done : done + size])))
            done += size
