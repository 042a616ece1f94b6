"""The stored names of rows: a bulk mint that is repeated gets them again, and mints nothing twice.

The names are stored in the transaction that mints them, so no crash can separate the two. They expire. For a table
of the command, a fact remains: its rows are not minted again unless that is requested.
"""

from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from hashlib import sha256
from itertools import count as counting
from typing import Any, Final, NamedTuple

import msgspec

from perdure.errors import InvalidInput, InvalidName, NameTaken, NotAuthorised, OutOfRange, PerdureError
from perdure.records.frozen_struct import FrozenStruct
from perdure.registry.entities import Agent
from perdure.registry.idempotency import RETENTION, check_token, expiry_cutoff, forget_expired, shift_time
from perdure.registry.minters import MintedIdentifier
from perdure.registry.name_keys import require_prefix
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

TABLE_RETENTION: Final = timedelta(days=90)
_EXPIRE_EVERY: Final = 100  # chunks of rows, between two deletions of expired answers
# The errors of one row. Their arguments are plain values, from which they are built again.
_ROW_ERRORS: Final[dict[str, type[PerdureError]]] = {
    kind.code: kind for kind in (InvalidInput, OutOfRange, InvalidName, NameTaken, NotAuthorised)
}


class RowOutcome(NamedTuple):
    """The name of a row, or the error with which it was refused.

    In a dry run, a row that would be minted has neither. `is_new` is false for a name that existed before this run.
    """

    minted: MintedIdentifier | None = None
    error: PerdureError | None = None
    is_new: bool = False


class _StoredError(FrozenStruct, frozen=True, array_like=True):
    code: str
    arguments: tuple[Any, ...]


class _StoredRow(FrozenStruct, frozen=True, array_like=True, omit_defaults=True):
    name: str | None = None
    alias: str | None = None
    date: str | None = None
    error: _StoredError | None = None


class _StoredRows(FrozenStruct, frozen=True):
    rows: tuple[_StoredRow, ...]
    due: str | None


class AnsweredRows(NamedTuple):
    """The outcomes of consecutive rows, and the instant before which they must not be returned."""

    outcomes: list[RowOutcome]
    due: Fraction | None


class MintedTable(FrozenStruct, frozen=True):
    """What an agent has minted for a table: since when, and for how many of its rows. Each generation has new names."""

    generation: int = 1
    begun: str = ""
    rows: int = 0


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_StoredRows).decode
_decode_table: Final = msgspec.json.Decoder(MintedTable).decode
_chunks: Final = counting()


class RowAnswers:
    """The stored outcomes of a request, under its Idempotency-Key.

    `digest` identifies the request, together with the sources of its rows.
    """

    def __init__(self, by: Agent, token: str, digest: bytes) -> None:
        self._agent = by.id
        self._token = check_token(token)
        self._digest = digest

    def find(self, reader: Reader, first: int, sources: Sequence[bytes], at: str) -> AnsweredRows | None:
        """Return the stored outcomes of the rows from number `first`: of all these rows, or of their beginning."""
        found = reader.find_answer(self._agent, self._row_token(reader, first))
        if found is None or found[2] <= expiry_cutoff(at):
            return None
        stored = _decode(found[1])
        if len(sources) < len(stored.rows) or found[0] != self._digest_of(sources[: len(stored.rows)]):
            raise self._other_request_error()
        due = None if stored.due is None else Fraction(stored.due)
        return AnsweredRows([_to_outcome(row) for row in stored.rows], due)

    def store(self, tx: Transaction, first: int, sources: Sequence[bytes], answer: AnsweredRows, at: str) -> None:
        """Store the outcomes of these rows, and sometimes delete what has expired."""
        token, before = self._row_token(tx, first), expiry_cutoff(at)
        has_expired = tx.find_answer(self._agent, token) is not None
        if has_expired or next(_chunks) % _EXPIRE_EVERY == 0:
            forget_expired(tx, before, completely=has_expired)
        due = None if answer.due is None else str(answer.due)
        encoded = _encode(_StoredRows(tuple([_to_stored(one) for one in answer.outcomes]), due))
        tx.put_answer(self._agent, token, self._digest_of(sources), encoded, self._stored_time(at))

    def _row_token(self, reader: Reader, first: int) -> str:
        # A line break cannot be in an Idempotency-Key: this is never the token of another request.
        return f"rows\n{sha256(self._token.encode()).hexdigest()}\n{first}"

    def _stored_time(self, at: str) -> str:
        return at

    def _digest_of(self, sources: Sequence[bytes]) -> bytes:
        digest = sha256(self._digest)
        for source in sources:
            digest.update(b"%d\n" % len(source))
            digest.update(source)
        return digest.digest()

    def _other_request_error(self) -> InvalidInput:
        reason = "this Idempotency-Key was used with another request: use a new one"
        return InvalidInput("mint", "Idempotency-Key", reason)


class TableAnswers(RowAnswers):
    """The stored outcomes of a table. `table` identifies its content and its prefix, `digest` how it is read."""

    def __init__(self, by: Agent, table: str, digest: bytes) -> None:
        super().__init__(by, table, digest)
        self._fact = _table_fact(by, table)

    def find(self, reader: Reader, first: int, sources: Sequence[bytes], at: str) -> AnsweredRows | None:
        found = super().find(reader, first, sources, at)
        table = _read_table(reader, self._fact)
        if found is None and table is not None and first < table.rows:
            raise InvalidInput(
                "mint",
                "table",
                f"{table.rows:,} rows of this table were minted from {table.begun[:10]} on, and their names can no "
                f"longer be looked up by row, which is possible for {TABLE_RETENTION.days} days: use the table with "
                "names that was written then",
            )
        return found

    def store(self, tx: Transaction, first: int, sources: Sequence[bytes], answer: AnsweredRows, at: str) -> None:
        super().store(tx, first, sources, answer, at)
        table = _read_table(tx, self._fact) or MintedTable()
        rows = max(table.rows, first + len(sources))
        _put_table(tx, self._fact, MintedTable(table.generation, table.begun or at, rows))

    def _row_token(self, reader: Reader, first: int) -> str:
        table = _read_table(reader, self._fact) or MintedTable()
        return f"table\n{self._token}\n{table.generation}\n{first}"

    def _stored_time(self, at: str) -> str:
        """Return a later time: all answers expire by one rule."""
        return shift_time(at, TABLE_RETENTION - RETENTION)

    def _other_request_error(self) -> InvalidInput:
        reason = (
            "this table was minted before, with other options: use the same ones to get its names again; or give the "
            "names that it has other targets, by an import with --update"
        )
        return InvalidInput("mint", "table", reason)


def find_table(reader: Reader, by: Agent, table: str) -> MintedTable | None:
    """Return what the agent has minted for this table; None if that is nothing."""
    return _read_table(reader, _table_fact(by, table))


async def begin_table_again(registry: Registry, by: Agent, prefix: str, table: str) -> None:
    """Let the agent's next run mint new names for all rows of a table."""

    def work(tx: Transaction) -> None:
        require_permission(tx, by, "mint", require_prefix(tx, prefix).key, registry.current_time())
        known = find_table(tx, by, table)
        if known is not None and known.rows:
            _put_table(tx, _table_fact(by, table), MintedTable(known.generation + 1))

    await registry.store.write(work)


def _table_fact(by: Agent, table: str) -> str:
    return f"mint {by.id} {table}"


def _read_table(reader: Reader, fact: str) -> MintedTable | None:
    stored = reader.fact(fact)
    return None if stored is None else _decode_table(stored)


def _put_table(tx: Transaction, fact: str, table: MintedTable) -> None:
    tx.put_fact(fact, _encode(table).decode())


def _to_stored(outcome: RowOutcome) -> _StoredRow:
    minted, error = outcome.minted, outcome.error
    if error is not None:
        known = _ROW_ERRORS.get(error.code)
        stored = (error.code, error.args) if known is type(error) else ("invalid-input", ("mint", "row", str(error)))
        return _StoredRow(error=_StoredError(*stored))
    if minted is None:
        return _StoredRow()
    return _StoredRow(minted.name, minted.alias, None if minted.date is None else str(minted.date))


def _to_outcome(row: _StoredRow) -> RowOutcome:
    if row.error is not None:
        return RowOutcome(error=_ROW_ERRORS[row.error.code](*row.error.arguments))
    if row.name is None:
        return RowOutcome()
    return RowOutcome(MintedIdentifier(row.name, row.alias, None if row.date is None else Fraction(row.date)))
