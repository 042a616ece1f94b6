"""Import and export of identifiers as NDJSON, in constant memory and on threads of their own."""

from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import Annotated, Final

from litestar import get, post
from litestar.params import QueryParameter

from perdure import registry as use
from perdure.errors import NotAuthorised
from perdure.formats import ndjson
from perdure.formats.import_entries import Entry, RejectedLine
from perdure.http.api.bulk_request import check_body, process_body, split_lines
from perdure.http.api.bulk_response import NDJSON, NdjsonResponse, SpooledLines
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, ApiContext, InjectedContext, error_responses
from perdure.http.api.schemas.responses import ImportProblem
from perdure.http.api.views import build_import_summary
from perdure.http.shared.threads import ThreadedAsyncIterator
from perdure.registry import ImportOptions
from perdure.registry.entities import WHOLE_REGISTRY
from perdure.registry.importing.chunk import Problem
from perdure.registry.permissions.permissions import has_expired

_MOST_REPORTED: Final = 100_000  # problems of one import that are reported one by one
_SOURCE: Final = "a request"


@post(
    "/imports",
    status_code=200,
    media_type=NDJSON,
    operation_id="import",
    tags=["bulk"],
    summary="Import identifiers",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(413, 415),
    response_description="One line for each entry that was refused or skipped, then a line with the totals.",
)
async def import_identifiers(
    context: InjectedContext,
    dry_run: Annotated[bool, QueryParameter(description="Check every line without writing anything.")] = False,
    update: Annotated[
        bool, QueryParameter(description="Give each name that exists a new version with the content of the line.")
    ] = False,
    any_suffix: Annotated[
        bool, QueryParameter(description="Accept suffixes under a PILIN prefix that are not PILIN suffixes.")
    ] = False,
    mend: Annotated[
        bool, QueryParameter(description="Repair addresses that are not valid, if there is one sure repair.")
    ] = False,
    creator: Annotated[
        str | None, QueryParameter(min_length=1, description="The creator of names whose line states none.")
    ] = None,
    created: Annotated[
        str | None, QueryParameter(min_length=1, description="The creation date of names whose line states no date.")
    ] = None,
) -> NdjsonResponse:
    """Import identifiers, one JSON object per line. Invalid lines are reported and skipped; the rest is imported.

    The request can be repeated: identifiers that already have the same content are left unchanged. An address that is
    not valid is stored verbatim, and leads nowhere until it is replaced.
    """
    options = ImportOptions(
        update=update,
        dry_run=dry_run,
        any_suffix=any_suffix,
        source=_SOURCE,
        mend=mend,
        creator=creator,
        created=created,
    )
    await _check_request(context)
    report = await process_body(context, lambda parts: _run_import(context, options, parts))
    return NdjsonResponse(report.chunks(), context.app.options.request_seconds)


@get(
    "/exports",
    media_type=NDJSON,
    operation_id="export",
    tags=["bulk"],
    summary="Export identifiers",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404),
    response_description="One identifier per line, with all its versions.",
)
async def export_identifiers(
    context: InjectedContext,
    prefix: Annotated[
        str | None, QueryParameter(min_length=1, description="Export only this prefix. Default: everything.")
    ] = None,
) -> NdjsonResponse:
    """Export identifiers with all their versions, for another Perdure to import.

    Without a prefix, the registry, its prefixes, agents and grants come first.
    """
    registry, agent = context.registry, context.agent
    chunks = ThreadedAsyncIterator(lambda: use.export(registry, agent, under=prefix))
    try:
        first = await anext(chunks, None)  # an error must be raised before the response starts
    except BaseException:
        await chunks.aclose()
        raise
    return NdjsonResponse(
        _stream_export(b"" if first is None else first[1], chunks), context.app.options.request_seconds
    )


async def _stream_export(first: bytes, chunks: ThreadedAsyncIterator[tuple[int, bytes]]) -> AsyncGenerator[bytes, None]:
    try:
        yield first
        async for _, data in chunks:
            yield data
    finally:
        await chunks.aclose()


async def _check_request(context: ApiContext) -> None:
    """Check media type, length and permission before the body is read."""
    agent = context.agent
    check_body(context)
    grants = await context.registry.store.read(lambda reader: reader.grants(agent.id))
    now = context.registry.current_time()
    if not any(grant.action in ("import", "admin") and not has_expired(grant, now) for grant in grants):
        raise NotAuthorised(agent.id, "import", WHOLE_REGISTRY)


async def _run_import(context: ApiContext, options: ImportOptions, parts: Iterable[bytes]) -> SpooledLines:
    """Import the entries and return the report.

    The report is sent once the body has been read: a client that is still sending does not read.
    """
    bounds, report = context.app.options, SpooledLines(_MOST_REPORTED)
    entries = parse_entries(parts, bounds.bulk_line_bytes, bounds.bulk_bytes)
    try:
        tally = await use.import_entries(
            context.registry,
            context.agent,
            entries,
            options,
            report=lambda problem: report.add(_build_problem(problem)),
        )
        report.finish(build_import_summary(tally, options.dry_run, report.omitted_count))
    except BaseException:
        report.close()
        raise
    return report


def _build_problem(problem: Problem) -> ImportProblem:
    if isinstance(problem, RejectedLine):
        return ImportProblem(
            line=problem.line, reason=problem.reason, refused=True, name=problem.name, code=problem.code
        )
    return ImportProblem(
        line=problem.line,
        reason=problem.reason,
        refused=False,
        name=problem.name,
        kind=problem.kind,
        before=problem.before,
        after=problem.after,
    )


def parse_entries(parts: Iterable[bytes], longest: int, most: int) -> Iterator[Entry]:
    """Yield the entries of a body. A line that is too long is reported as refused and skipped."""
    for number, line in enumerate(split_lines(parts, longest, most), 1):
        if line is None:
            yield RejectedLine(number, f"the line is longer than {longest} bytes")
        else:
            yield from ndjson.read(((number, line),))
