"""Many observations at once: NDJSON or a table in, a line for each out, in constant memory."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Final

from litestar import post
from litestar.params import QueryParameter

from perdure.errors import InvalidInput, PerdureError, shown
from perdure.exchange import observation_tables, observations
from perdure.exchange.claim_fields import Said, taken_apart
from perdure.exchange.entry import Refused
from perdure.exchange.observation_tables import Hints
from perdure.exchange.observations import Seen
from perdure.http.problems import document
from perdure.http.v1.answer_lines import AnswerLines
from perdure.http.v1.asking import KEY, Asking, FromDoor, problems
from perdure.http.v1.bulk import NDJSON_TYPES
from perdure.http.v1.intake import bounded_lines, check_body, in_turn
from perdure.http.v1.person_told import ObservedLine, ObservedTally
from perdure.http.v1.streaming import CSV, NDJSON, Streamed
from perdure.registry.persons import Person, observe_many

_CHUNK: Final = 500
_MOST_TOLD: Final = 1_000_000  # lines of one answer, which may have to be kept in a file
_MOST_COLUMNS: Final = 200
_MARK: Final = "\N{ZERO WIDTH NO-BREAK SPACE}"  # some editors put it first
_NOTE: Final = "imported from a request"
_HINTS: Final = Hints("map=", "set=", "columns are separated by commas, semicolons or tabs, whichever this line has")

Entries = Iterator[Seen | Refused]


@post(
    "/observations",
    status_code=200,
    media_type=NDJSON,
    operation_id="observeMany",
    tags=["persons", "bulk"],
    summary="Observe many",
    security=KEY,
    responses=problems(413, 415),
    response_description="A line for each observation, with its POID or why it was refused, and a last one with the "
    "tally.",
)
async def observe_lines(
    asking: FromDoor,
    dry_run: Annotated[bool, QueryParameter(description="Check every line, and write nothing.")] = False,
    map: Annotated[
        list[str] | None,
        QueryParameter(
            max_items=_MOST_COLUMNS,
            description="CSV: which column brings a field, as FIELD=COLUMN. Without any: by the headings.",
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        QueryParameter(
            max_items=_MOST_COLUMNS,
            description="CSV: what holds for every row that says nothing of it, as FIELD=TEXT.",
        ),
    ] = None,
) -> Streamed:
    """Observe, one JSON object a line, with the fields of `/poid`; or one row of a table.

    Bad lines are reported and left out; the rest is made. It can be sent again: the same observation is never made
    twice.
    """
    is_table = check_body(asking, *NDJSON_TYPES, CSV) == CSV
    if not is_table and (map or set):
        raise InvalidInput("request", "map", "map and set are for CSV: NDJSON names its fields itself")
    columns = _pairs(map, "map", "COLUMN"), _pairs(set, "set", "TEXT")
    await observe_many(asking.registry, asking.agent, (), dry_run=True)  # refuses who may not, before anything is read

    async def work(parts: Iterable[bytes]) -> AnswerLines:
        bounds = asking.service.options
        lines = bounded_lines(parts, bounds.bulk_line_bytes, bounds.bulk_bytes)
        longest = bounds.bulk_line_bytes
        entries = _rows(lines, longest, columns) if is_table else read_observations(lines, longest)
        return await _made(asking, entries, dry_run)

    told = await in_turn(asking, work)
    return Streamed(told.pieces(), asking.service.options.request_seconds)


async def _made(asking: Asking, entries: Entries, dry_run: bool) -> AnswerLines:
    """What there is to tell, once everything has been read: a client that still sends would not listen."""
    told, tally = AnswerLines(_MOST_TOLD), Counter[str]()
    try:
        while chunk := list(islice(entries, _CHUNK)):
            seen = [one.observation for one in chunk if isinstance(one, Seen)]
            outcomes = iter(await observe_many(asking.registry, asking.agent, seen, note=_NOTE, dry_run=dry_run))
            for one in chunk:
                line = _line(one.line, next(outcomes) if isinstance(one, Seen) else _problem(one))
                tally["refused" if line.created is None else "created" if line.created else "unchanged"] += 1
                told.add(line)
        told.end(
            ObservedTally(
                created=tally["created"],
                unchanged=tally["unchanged"],
                refused=tally["refused"],
                lines=tally.total(),
                dry_run=dry_run,
                untold=told.untold,
            )
        )
    except BaseException:
        told.close()
        raise
    return told


def _line(number: int, outcome: Person | PerdureError) -> ObservedLine:
    if isinstance(outcome, PerdureError):
        return ObservedLine(line=number, error=document(outcome))
    return ObservedLine(line=number, ppid=outcome.name, uuid_raw=str(outcome.uuid_raw), created=outcome.created)


def _problem(line: Refused) -> InvalidInput:
    return InvalidInput("person", line.part or "line", line.reason, line.rule)


def read_observations(lines: Iterable[bytes | None], longest: int) -> Entries:
    """The observations of NDJSON; a line that is too long is refused, and the rest goes on."""
    for number, line in enumerate(lines, 1):
        if line is None:
            yield Refused(number, f"the line is longer than {longest} bytes")
        else:
            yield from observations.read(((number, line),))


def _rows(lines: Iterable[bytes | None], longest: int, columns: tuple[list[Said], list[Said]]) -> Entries:
    mapped, fixed = columns
    _, entries = observation_tables.read(observation_tables.rows(_text(lines, longest)), mapped, fixed, _HINTS)
    return entries


def _text(lines: Iterable[bytes | None], longest: int) -> Iterator[str]:
    """The lines of a table. One that is too long ends it: nobody knows which row the next one belongs to."""
    for number, line in enumerate(lines, 1):
        if line is None:
            raise InvalidInput("import", "line", f"line {number} is longer than {longest} bytes")
        text = line.decode("utf-8", "surrogateescape")
        yield (text.removeprefix(_MARK) if number == 1 else text) + "\n"


def _pairs(texts: Sequence[str] | None, parameter: str, right: str) -> list[Said]:
    found = []
    for text in texts or ():
        pair = taken_apart(text)
        if pair is None:
            raise InvalidInput("request", parameter, f"{parameter}={shown(text)}: write it as FIELD={right}")
        found.append(pair)
    return found
