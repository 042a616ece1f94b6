"""Import of observations from NDJSON or CSV, with one response line for each, in constant memory."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated, Final

from litestar import post
from litestar.params import QueryParameter

from perdure.errors import InvalidInput, PerdureError
from perdure.formats import observations_csv, observations_json
from perdure.formats.claim_fields import FieldText, parse_pairs
from perdure.formats.csv_rows import read_rows
from perdure.formats.import_entries import RejectedLine
from perdure.formats.observations_csv import Hints
from perdure.formats.observations_json import ObservationRow
from perdure.http.api.bulk_request import check_body, decode_lines, process_body, split_lines
from perdure.http.api.bulk_response import CSV, NDJSON, NdjsonResponse, SpooledLines
from perdure.http.api.person_views import ended_state
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, ApiContext, InjectedContext, error_responses
from perdure.http.api.schemas.person_responses import ObservationLine, ObservationSummary
from perdure.http.shared.problem_json import problem_document
from perdure.registry.persons import Person, observe_many

_CHUNK: Final = 500
_MOST_REPORTED: Final = 1_000_000  # lines of one response, which may be spooled to a file
_MOST_COLUMNS: Final = 200
_NOTE: Final = "imported from a request"
_HINTS: Final = Hints("map=", "set=", "columns are separated by commas, semicolons or tabs, whichever this line has")

Entries = Iterator[ObservationRow | RejectedLine]


@post(
    "/observations",
    status_code=200,
    media_type=NDJSON,
    operation_id="observeMany",
    tags=["persons", "bulk"],
    summary="Create many observations",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(413, 415),
    response_description="One line for each observation, with its POID or an error, then a line with the totals.",
)
async def observe_lines(
    context: InjectedContext,
    dry_run: Annotated[bool, QueryParameter(description="Check every line without writing anything.")] = False,
    map: Annotated[
        list[str] | None,
        QueryParameter(
            max_items=_MOST_COLUMNS,
            description="CSV: the column of a field, as FIELD=COLUMN. Default: columns are matched by their headings.",
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        QueryParameter(
            max_items=_MOST_COLUMNS,
            description="CSV: the default of a field, for rows where it is empty, as FIELD=TEXT.",
        ),
    ] = None,
) -> NdjsonResponse:
    """Create observations, one JSON object per line with the fields of `/poid`, or one CSV row each.

    Invalid lines are reported and skipped; the rest is created. The request can be repeated: the same observation
    is never created twice.
    """
    is_table = check_body(context, CSV) == CSV
    if not is_table and (map or set):
        raise InvalidInput("request", "map", "map and set are only supported for CSV: NDJSON names its fields itself")
    columns = (
        parse_pairs(map, "request", "map", "map=", "COLUMN"),
        parse_pairs(set, "request", "set", "set=", "TEXT"),
    )
    # Check the permission before the body is read.
    await observe_many(context.registry, context.agent, (), dry_run=True)

    async def work(parts: Iterable[bytes]) -> SpooledLines:
        bounds = context.app.options
        lines = split_lines(parts, bounds.bulk_line_bytes, bounds.bulk_bytes)
        longest = bounds.bulk_line_bytes
        entries = _parse_table(lines, longest, columns) if is_table else parse_observations(lines, longest)
        return await _observe_entries(context, entries, dry_run)

    report = await process_body(context, work)
    return NdjsonResponse(report.chunks(), context.app.options.request_seconds)


async def _observe_entries(context: ApiContext, entries: Entries, dry_run: bool) -> SpooledLines:
    """Create the observations and return the report.

    The report is sent once the body has been read: a client that is still sending does not read.
    """
    report, tally = SpooledLines(_MOST_REPORTED), Counter[str]()
    try:
        while chunk := list(islice(entries, _CHUNK)):
            observations = [entry.observation for entry in chunk if isinstance(entry, ObservationRow)]
            outcomes = iter(
                await observe_many(context.registry, context.agent, observations, note=_NOTE, dry_run=dry_run)
            )
            for entry in chunk:
                line = _build_line(
                    entry.line, next(outcomes) if isinstance(entry, ObservationRow) else _to_error(entry)
                )
                tally["refused" if line.created is None else "created" if line.created else "unchanged"] += 1
                report.add(line)
        report.finish(
            ObservationSummary(
                created=tally["created"],
                unchanged=tally["unchanged"],
                refused=tally["refused"],
                lines=tally.total(),
                dry_run=dry_run,
                untold=report.omitted_count,
            )
        )
    except BaseException:
        report.close()
        raise
    return report


def _build_line(number: int, outcome: Person | PerdureError) -> ObservationLine:
    if isinstance(outcome, PerdureError):
        return ObservationLine(line=number, error=problem_document(outcome))
    return ObservationLine(
        line=number,
        ppid=outcome.name,
        uuid_raw=str(outcome.uuid_raw),
        created=outcome.created,
        state=ended_state(outcome),
    )


def _to_error(line: RejectedLine) -> InvalidInput:
    return InvalidInput("person", line.part or "line", line.reason, line.rule)


def parse_observations(lines: Iterable[bytes | None], longest: int) -> Entries:
    """Yield the observations of NDJSON lines. A line that is too long is reported as refused and skipped."""
    for number, line in enumerate(lines, 1):
        if line is None:
            yield RejectedLine(number, f"the line is longer than {longest} bytes")
        else:
            yield from observations_json.read(((number, line),))


def _parse_table(
    lines: Iterable[bytes | None], longest: int, columns: tuple[list[FieldText], list[FieldText]]
) -> Entries:
    mapped, fixed = columns
    _, entries = observations_csv.read(read_rows(decode_lines(lines, longest), delimiter=None), mapped, fixed, _HINTS)
    return entries
