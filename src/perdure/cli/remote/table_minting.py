"""Names from a remote registry for the rows of a table: some thousand rows with each request.

Each request names its part of the table, so a repeated one gets the same names, also after an interruption.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from fractions import Fraction
from hashlib import sha256
from itertools import islice
from typing import Any, Final

import msgspec

from perdure.cli.remote import api_client
from perdure.cli.remote.api_client import Answer, ServerFailed
from perdure.cli.remote.identifiers import parse_minting_date, statement_fields
from perdure.cli.remote.remote_registry import RemoteRegistry
from perdure.cli.remote.reported_error import build_error
from perdure.errors import InvalidInput
from perdure.registry import MintedIdentifier, MintRow, RowOutcome
from perdure.registry.entities import Agent, Prefix
from perdure.registry.row_answers import MintedTable

# Rows of one request. With other numbers, the names of an interrupted command would not be found again.
_ROWS: Final = 5_000
_SECONDS: Final = 20  # for the dates of one request, where a date comes only so often
_TOO_LONG: Final = "took-too-long"


class _Line(msgspec.Struct):
    """The outcome of one row or, as the last line, the totals."""

    line: int | None = None
    name: str | None = None
    alias: str | None = None
    date: str | None = None
    created: bool = False
    error: dict[str, Any] | None = None
    lines: int | None = None


async def mint_table_rows(
    remote: RemoteRegistry,
    by: Agent,
    prefix: Prefix,
    rows: Iterable[MintRow],
    *,
    table: str | None,
    layout: bytes,
    dry_run: bool = False,
    note: str | None = None,
) -> AsyncGenerator[list[RowOutcome], None]:
    """Mint a name for each row, and yield the outcomes in the order of the rows.

    `table` identifies the content of the table and its prefix. The server compares the rows with those of an earlier
    run, so it needs no `layout`. Without `table`, a dry run does not look for names that its rows have already.
    """
    size, first, iterator = _rows_at_once(prefix), 0, iter(rows)
    while chunk := list(islice(iterator, size)):
        part = None if table is None else sha256(f"{table} {first}".encode()).hexdigest()
        yield _mint_part(remote, {"prefix": prefix.name, "table": part, "dry_run": dry_run}, chunk)
        first += len(chunk)


async def find_table(remote: RemoteRegistry, by: Agent, table: str) -> MintedTable | None:
    """Return None: a server remembers the parts of a table, not the table."""
    return None


async def begin_table_again(remote: RemoteRegistry, by: Agent, prefix: str, table: str) -> None:
    reason = "--again works on the machine of the registry only: a server mints names for the same table only once"
    raise InvalidInput("mint", "again", reason)


def _rows_at_once(prefix: Prefix) -> int:
    """Return the number of rows for which a server has dates in time."""
    subsystem = prefix.subsystem
    return _ROWS if subsystem is None else max(1, min(_ROWS, int(_SECONDS / subsystem.granularity)))


def _mint_part(remote: RemoteRegistry, query: dict[str, object], chunk: Sequence[MintRow]) -> list[RowOutcome]:
    """Mint the names of some rows. If the server has no time for all of them, send the request again."""
    sent = [row for row in chunk if row.error is None]
    body = [msgspec.json.encode(dict(_row_fields(row))) + b"\n" for row in sent]
    outcomes: list[RowOutcome] = []
    new: set[int] = set()
    while sent:
        before = len(new)
        lines = _send(remote, query, body)
        new.update(at for at, line in enumerate(lines) if line.created and line.error is None)
        if any(line.error is not None and line.error.get("code") == _TOO_LONG for line in lines):
            if len(new) == before:
                raise ServerFailed(remote.server.url, "it takes too long to mint: run the same command again later")
            continue
        outcomes = [_to_outcome(line, at in new) for at, line in enumerate(lines)]
        break
    answered = iter(outcomes)
    return [RowOutcome(error=row.error) if row.error is not None else next(answered) for row in chunk]


def _send(remote: RemoteRegistry, query: dict[str, object], body: Sequence[bytes]) -> list[_Line]:
    """Send rows, and send them again if the connection breaks: no name is minted twice."""
    try:
        return _send_once(remote, query, body)
    except ServerFailed as problem:
        if not problem.is_broken:
            raise
        return _send_once(remote, query, body)


def _send_once(remote: RemoteRegistry, query: dict[str, object], body: Sequence[bytes]) -> list[_Line]:
    with api_client.stream_lines(remote.server, "POST", "/identifiers/bulk", query=query, body=body) as lines:
        found = [remote.decode(Answer(200, line), _Line) for line in lines]
    if not found or found[-1].lines is None or len(found) != len(body) + 1:
        raise ServerFailed(remote.server.url, "its report is incomplete: run the same command again")
    return found[:-1]


def _row_fields(row: MintRow) -> Iterator[tuple[str, Any]]:
    yield from statement_fields(row.statement).items()
    if row.suffix is not None:
        yield "suffix", row.suffix
    if row.name is not None:
        yield "name", row.name


def _to_outcome(line: _Line, is_new: bool) -> RowOutcome:
    if line.error is not None:
        return RowOutcome(error=build_error(line.error))
    if line.name is None:
        return RowOutcome(is_new=line.created)
    date: Fraction | None = None if line.date is None else parse_minting_date(line.date)
    return RowOutcome(MintedIdentifier(line.name, line.alias, date), is_new=is_new)
