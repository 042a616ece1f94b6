"""Many identifiers at once, as NDJSON, in and out: in constant memory, and apart from what serves everybody else."""

from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import Annotated, Final

from litestar import get, post
from litestar.params import QueryParameter

from perdure import registry as use
from perdure.errors import NotAuthorised
from perdure.exchange import ndjson
from perdure.exchange.entry import Entry, Refused
from perdure.http.v1.answer_lines import AnswerLines
from perdure.http.v1.apart import Apart
from perdure.http.v1.asking import KEY, Asking, FromDoor, problems
from perdure.http.v1.intake import bounded_lines, check_body, in_turn
from perdure.http.v1.showing import import_tally
from perdure.http.v1.streaming import NDJSON, Streamed
from perdure.http.v1.told import ImportProblem
from perdure.registry import Options
from perdure.registry.authority import has_lapsed
from perdure.registry.entities import EVERYWHERE
from perdure.registry.importing.chunk import Problem

NDJSON_TYPES: Final = (NDJSON, "application/ndjson", "application/jsonl")

_MOST_TOLD: Final = 100_000  # problems of one import that are told one by one
_SOURCE: Final = "a request"


@post(
    "/imports",
    status_code=200,
    media_type=NDJSON,
    operation_id="import",
    tags=["bulk"],
    summary="Import",
    security=KEY,
    responses=problems(413, 415),
    response_description="A line for each entry that was refused or passed over, and a last one with the tally.",
)
async def import_identifiers(
    asking: FromDoor,
    dry_run: Annotated[bool, QueryParameter(description="Check every line, and write nothing.")] = False,
    update: Annotated[
        bool, QueryParameter(description="Names that exist get a new version with what the line says.")
    ] = False,
    any_suffix: Annotated[bool, QueryParameter(description="Take names under a PILIN prefix as they come.")] = False,
) -> Streamed:
    """Bring identifiers in, one JSON object a line. Bad lines are reported and left out; the rest is imported.

    It can be sent again: what is there already and says the same is left as it is.
    """
    options = Options(update=update, dry_run=dry_run, any_suffix=any_suffix, source=_SOURCE)
    await _check(asking)
    told = await in_turn(asking, lambda parts: _carried_out(asking, options, parts))
    return Streamed(told.pieces(), asking.service.options.request_seconds)


@get(
    "/exports",
    media_type=NDJSON,
    operation_id="export",
    tags=["bulk"],
    summary="Export",
    security=KEY,
    responses=problems(404),
    response_description="One identifier a line, with all its versions.",
)
async def export_identifiers(
    asking: FromDoor,
    prefix: Annotated[
        str | None, QueryParameter(min_length=1, description="Only what lies under this one; else everything.")
    ] = None,
) -> Streamed:
    """Everything out, complete, for another Perdure to import. Without a prefix the settings come first."""
    registry, agent = asking.registry, asking.agent
    chunks = Apart(lambda: use.export(registry, agent, under=prefix))
    try:
        first = await anext(chunks, None)  # so that what is refused is refused before the answer begins
    except BaseException:
        await chunks.aclose()
        raise
    return Streamed(_exported(b"" if first is None else first[1], chunks), asking.service.options.request_seconds)


async def _exported(first: bytes, chunks: Apart[tuple[int, bytes]]) -> AsyncGenerator[bytes, None]:
    try:
        yield first
        async for _, data in chunks:
            yield data
    finally:
        await chunks.aclose()


async def _check(asking: Asking) -> None:
    """Refuse, before anything is read, a body of another kind, one that is too long, and who may import nowhere."""
    agent = asking.agent
    check_body(asking, *NDJSON_TYPES)
    grants = await asking.registry.store.read(lambda reader: reader.grants(agent.id))
    now = asking.registry.now()
    if not any(one.action in ("import", "admin") and not has_lapsed(one, now) for one in grants):
        raise NotAuthorised(agent.id, "import", EVERYWHERE)


async def _carried_out(asking: Asking, options: Options, parts: Iterable[bytes]) -> AnswerLines:
    """What there is to tell, once everything has been read: a client that still sends would not listen."""
    bounds, told = asking.service.options, AnswerLines(_MOST_TOLD)
    entries = read_entries(parts, bounds.bulk_line_bytes, bounds.bulk_bytes)
    try:
        tally = await use.import_entries(
            asking.registry, asking.agent, entries, options, report=lambda problem: told.add(_told(problem))
        )
        told.end(import_tally(tally, options.dry_run, told.untold))
    except BaseException:
        told.close()
        raise
    return told


def _told(problem: Problem) -> ImportProblem:
    is_refused = isinstance(problem, Refused)
    name = problem.name if isinstance(problem, Refused) else None
    return ImportProblem(line=problem.line, reason=problem.reason, refused=is_refused, name=name)


def read_entries(parts: Iterable[bytes], longest: int, most: int) -> Iterator[Entry]:
    """The entries of a body, however it was cut into parts; a line that is too long is refused, and passed over."""
    for number, line in enumerate(bounded_lines(parts, longest, most), 1):
        if line is None:
            yield Refused(number, f"the line is longer than {longest} bytes")
        else:
            yield from ndjson.read(((number, line),))
