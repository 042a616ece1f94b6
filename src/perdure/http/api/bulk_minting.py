"""Minting of a name for each line of a request, in constant memory, with one response line for each."""

import asyncio
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import Annotated, Final

from litestar import post
from litestar.params import HeaderParameter, QueryParameter

from perdure.errors import InvalidInput, OutOfRange, PerdureError
from perdure.formats.claim_fields import FieldText, parse_pairs
from perdure.formats.minting_table import MintEntry, MintingTable
from perdure.http.api.bulk_request import check_body, decode_lines, process_body, split_lines
from perdure.http.api.bulk_response import CSV, NDJSON, CsvResponse, NdjsonResponse, SpooledLines, SpooledTable
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, InjectedContext, error_responses
from perdure.http.api.schemas.requests import MintLine, parse_body
from perdure.http.api.schemas.responses import MintSummary
from perdure.http.api.views import build_minted_line
from perdure.http.shared.http_errors import MalformedRequest, RequestTimeout
from perdure.http.shared.negotiation import best_media_type
from perdure.registry import Agent, MintRow, Registry, RowAnswers, RowOutcome, Statement, TableAnswers, mint_rows
from perdure.registry.row_answers import TABLE_RETENTION

_MOST_ROWS: Final = 100_000  # of one request
_MOST_REPORTED: Final = 1_000_000  # lines of one response, which may be spooled to a file
_LONGEST: Final = 60.0  # seconds of minting in one request; the dates of names can take longer
_MOST_COLUMNS: Final = 20
_COLUMNS: Final = ("line", "name", "alias", "date", "code", "detail")

NumberedRow = tuple[int, MintRow]


@post(
    "/identifiers/bulk",
    status_code=200,
    media_type=NDJSON,
    operation_id="mintMany",
    tags=["identifiers", "bulk"],
    summary="Mint an identifier for each line",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 409, 413, 415),
    response_description="One line for each line of the request, with its name or an error, then a line with the "
    "totals. With `Accept: text/csv`, a table without the totals.",
)
async def mint_lines(
    context: InjectedContext,
    prefix: Annotated[str, QueryParameter(min_length=1, description="A prefix of this registry.")],
    dry_run: Annotated[bool, QueryParameter(description="Check every line without minting anything.")] = False,
    map: Annotated[
        list[str] | None,
        QueryParameter(
            max_items=_MOST_COLUMNS,
            description="CSV: the column of a field, as FIELD=COLUMN. Default: columns are found by their headings.",
        ),
    ] = None,
    idempotency_key: Annotated[
        str | None,
        HeaderParameter(
            name="Idempotency-Key",
            min_length=1,
            max_length=255,
            pattern=r"^[\x20-\x7e]+$",
            description="For a day, a repeated request with the same key and body returns the same names for the "
            "lines that were minted, and mints the others.",
        ),
    ] = None,
    table: Annotated[
        str | None,
        QueryParameter(
            pattern="^[0-9a-f]{64}$",
            description="Instead of an Idempotency-Key: a digest that identifies a table. The names can be requested "
            f"again for {TABLE_RETENTION.days} days, and no later request mints others for the same digest.",
        ),
    ] = None,
) -> NdjsonResponse:
    """Mint a name for each line: a JSON object with the fields of a mint request, or a CSV row.

    Invalid lines are reported and skipped; the rest is minted. A line without a target and without values is reserved.
    """
    is_table = check_body(context, CSV) == CSV
    if map and not is_table:
        raise InvalidInput("request", "map", "map is only supported for CSV: NDJSON names its fields itself")
    if table is not None and idempotency_key is not None:
        raise InvalidInput("request", "table", "give either table or an Idempotency-Key, not both")
    mapped = parse_pairs(map, "request", "map", "map=", "COLUMN")
    async for _ in mint_rows(context.registry, context.agent, prefix, ()):  # checks the permission before the body
        pass
    media = best_media_type(context.request.header_list(b"accept") or "*/*", (NDJSON, CSV))

    async def work(parts: Iterable[bytes]) -> SpooledLines:
        bounds = context.app.options
        lines = split_lines(parts, bounds.bulk_line_bytes, bounds.bulk_bytes)
        longest = bounds.bulk_line_bytes
        layout, rows = _read_table(lines, longest, mapped) if is_table else (b"", parse_mint_lines(lines, longest))
        digest = sha256(b"\n".join((prefix.encode("utf-8", "surrogatepass"), layout))).digest()
        answers = _stored_answers(context.agent, idempotency_key, table, digest)
        report = SpooledTable(_MOST_REPORTED, _COLUMNS) if media == CSV else SpooledLines(_MOST_REPORTED)
        patience = context.app.patience
        minting = RequestMint(context.registry, context.agent, prefix, rows, answers, dry_run, report, patience)
        try:
            await minting.run()
        except BaseException:
            report.close()
            raise
        return report

    report = await process_body(context, work)
    kind = CsvResponse if media == CSV else NdjsonResponse
    return kind(report.chunks(), context.app.options.request_seconds)


def _stored_answers(agent: Agent, idempotency_key: str | None, table: str | None, digest: bytes) -> RowAnswers | None:
    if table is not None:
        return TableAnswers(agent, table, digest)
    return None if idempotency_key is None else RowAnswers(agent, idempotency_key, digest)


class RequestMint:
    """The mint of one request. Its report is sent once the body has been read."""

    def __init__(
        self,
        registry: Registry,
        agent: Agent,
        prefix: str,
        rows: Iterator[NumberedRow],
        answers: RowAnswers | None,
        dry_run: bool,
        report: SpooledLines,
        patience: Fraction,
    ) -> None:
        self._mint = partial(mint_rows, registry, agent, prefix, answers=answers, dry_run=dry_run, patience=patience)
        self._rows = rows
        self._dry_run = dry_run
        self._report = report
        self._waiting: deque[int] = deque()  # the lines of rows without an outcome
        self._tally = Counter[str]()
        self._taken = 0
        self._body_problem: BaseException | None = None

    async def run(self) -> None:
        """Mint as much as one request may. The lines after that are refused, and can be sent again."""
        failure: PerdureError = OutOfRange(
            "mint", "rows", f"one request can have {_MOST_ROWS:,} rows: send the others in another one"
        )
        try:
            async with aclosing(self._mint(self._iterate_requests())) as outcomes:
                deadline = asyncio.get_running_loop().time() + _LONGEST
                async for chunk in outcomes:
                    for outcome in chunk:
                        self._add(self._waiting.popleft(), outcome)
                    if asyncio.get_running_loop().time() > deadline:
                        failure = RequestTimeout()
                        break
        except PerdureError as problem:
            if self._body_problem is not None or not self._tally["minted"]:
                raise
            failure = problem  # the names that were minted must reach the client
        for number in chain(self._waiting, (number for number, _ in self._rows)):
            self._add(number, RowOutcome(error=failure))
        tally = self._tally
        self._report.finish(
            MintSummary(
                minted=tally["minted"],
                unchanged=tally["unchanged"],
                refused=tally["refused"],
                lines=tally.total(),
                dry_run=self._dry_run,
                untold=self._report.omitted_count,
            )
        )

    def _iterate_requests(self) -> Iterator[MintRow]:
        try:
            while self._taken < _MOST_ROWS and (numbered := next(self._rows, None)) is not None:
                self._taken += 1
                self._waiting.append(numbered[0])
                yield numbered[1]
        except Exception as problem:
            self._body_problem = problem
            raise

    def _add(self, number: int, outcome: RowOutcome) -> None:
        self._tally["refused" if outcome.error else "minted" if outcome.is_new else "unchanged"] += 1
        self._report.add(build_minted_line(number, outcome))


def parse_mint_lines(lines: Iterable[bytes | None], longest: int) -> Iterator[NumberedRow]:
    """Yield the rows of NDJSON lines. A line that is too long is refused."""
    for number, line in enumerate(lines, 1):
        if line is None:
            yield number, MintRow(error=InvalidInput("mint", "line", f"the line is longer than {longest} bytes"))
        elif line and not line.isspace():
            yield number, _parse_line(line)


def _parse_line(line: bytes) -> MintRow:
    try:
        parsed: MintLine = parse_body(MintLine, line)
        return MintRow(parsed.to_statement(parsed.creator), parsed.suffix, parsed.name, source=line)
    except MalformedRequest as problem:
        return MintRow(error=InvalidInput("mint", "line", str(problem)), source=line)
    except PerdureError as problem:
        return MintRow(error=problem, source=line)


def _read_table(
    lines: Iterable[bytes | None], longest: int, mapped: Sequence[FieldText]
) -> tuple[bytes, Iterator[NumberedRow]]:
    """Return how the columns of a table are read, and its rows."""
    table = MintingTable(decode_lines(lines, longest), mapped=mapped)
    return table.layout.encode("utf-8", "surrogateescape"), _table_rows(table)


def _table_rows(table: MintingTable) -> Iterator[NumberedRow]:
    for row in table:
        source = row.text.encode("utf-8", "surrogateescape")
        if isinstance(row.entry, MintEntry):
            entry = row.entry
            statement = Statement(entry.target, (), entry.about, entry.creator, entry.owners)
            yield row.line, MintRow(statement, entry.suffix, entry.name, source=source)
        elif row.entry is not None:
            yield row.line, MintRow(error=row.entry, source=source)
