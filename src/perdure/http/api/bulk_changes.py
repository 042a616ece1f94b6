"""Endpoints to change many identifiers as one act, with a preview, and to undo that."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Annotated, Final

import msgspec
from litestar import Response, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from perdure import registry as use
from perdure.http.api.bulk_response import NDJSON, NdjsonResponse
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, ApiContext, InjectedContext, error_responses
from perdure.http.api.schemas.bulk_changes import (
    BulkChangeListResponse,
    BulkChangeRequest,
    BulkChangeResponse,
    BulkExampleLine,
    BulkProblemLine,
)
from perdure.http.api.views import build_from
from perdure.http.shared.threads import ThreadedAsyncIterator
from perdure.registry import BulkChange, BulkStep, NameSource, QuerySource
from perdure.registry.bulk_changes import Source

_MOST_EXAMPLES: Final = 10
_encode: Final = msgspec.json.Encoder().encode

ChangeId = Annotated[str, PathParameter(description="The id of a bulk change.")]
_LINES: Final = (
    "Lines for identifiers that stay as they are (`name`, `reason`) and for examples of a preview (`name`, `before`, "
    "`after`). After each transaction, a line with the state. The last line is the result."
)


@post(
    "/bulk-changes",
    status_code=200,
    media_type=NDJSON,
    operation_id="changeMany",
    tags=["bulk"],
    summary="Change many identifiers",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 409, 413, 415),
    response_description=_LINES,
)
async def change_many(context: InjectedContext, data: JSONBody[BulkChangeRequest]) -> NdjsonResponse:
    """Retarget, withdraw or transfer many identifiers, with permission for each; or return a preview of that.

    The change goes on as long as the client reads. If the connection breaks, send the same request again: it continues
    where it stopped, and changes nothing twice.
    """
    registry, agent, request = context.registry, context.agent, data.to_domain()
    source: Source = NameSource(lambda: data.names) if request.query is None else QuerySource(request.query)
    return await _respond_with_steps(
        context, lambda: use.run_bulk_change(registry, agent, request, source, dry_run=data.dry_run), data.dry_run
    )


@get(
    "/bulk-changes",
    operation_id="listBulkChanges",
    tags=["bulk"],
    summary="List bulk changes",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(),
    response_description="The bulk changes, the newest first.",
)
async def list_bulk_changes(context: InjectedContext) -> Response[BulkChangeListResponse]:
    """List the caller's own bulk changes, and those of other agents that the caller administers."""
    changes = await use.list_bulk_changes(context.registry, context.agent)
    return Response(BulkChangeListResponse(bulk_changes=tuple(_build_change(change) for change in changes)))


@get(
    "/bulk-changes/{id:str}",
    operation_id="showBulkChange",
    tags=["bulk"],
    summary="Show a bulk change",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404),
    response_description="Its state.",
)
async def show_bulk_change(context: InjectedContext, id: ChangeId) -> Response[BulkChangeResponse]:
    """Show how far a bulk change is."""
    return Response(_build_change(await use.find_bulk_change(context.registry, context.agent, id)))


@post(
    "/bulk-changes/{id:str}/undo",
    status_code=200,
    media_type=NDJSON,
    operation_id="undoBulkChange",
    tags=["bulk"],
    summary="Undo a bulk change",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 409),
    response_description=_LINES,
)
async def undo_bulk_change(
    context: InjectedContext,
    id: ChangeId,
    dry_run: Annotated[bool, QueryParameter(description="Return a preview, and restore nothing.")] = False,
) -> NdjsonResponse:
    """Give every identifier the content that it had before, in a new version. One that was changed since is left."""
    registry, agent = context.registry, context.agent
    return await _respond_with_steps(
        context, lambda: use.undo_bulk_change(registry, agent, id, dry_run=dry_run), dry_run
    )


async def _respond_with_steps(
    context: ApiContext, steps: Callable[[], AsyncIterator[BulkStep]], dry_run: bool
) -> NdjsonResponse:
    context.app.deadlines.disarm_current_task()  # the body was read, and a client that does not read is noticed
    parts = _encode_steps(context, steps, dry_run)
    try:
        first = await anext(parts, b"")  # an error must be raised before the response starts
    except BaseException:
        await parts.aclose()
        raise
    return NdjsonResponse(_continue(first, parts), context.app.options.request_seconds)


async def _continue(first: bytes, parts: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(parts):
        yield first
        async for part in parts:
            yield part


async def _encode_steps(
    context: ApiContext, make_steps: Callable[[], AsyncIterator[BulkStep]], dry_run: bool
) -> AsyncGenerator[bytes, None]:
    """Yield the lines of each step, while holding one of the slots for long requests."""
    shown = 0
    with context.bulk_limiter.open_slot(context.agent.id) as slot:
        await slot.acquire(context.app.options.request_seconds)
        async with aclosing(ThreadedAsyncIterator(make_steps)) as steps:
            async for step in steps:
                lines: list[msgspec.Struct] = [
                    BulkProblemLine(name=one.name, reason=one.reason) for one in step.problems
                ]
                if dry_run:
                    examples = step.examples[: _MOST_EXAMPLES - shown]
                    lines += [build_from(BulkExampleLine, example) for example in examples]
                    shown += len(examples)
                lines.append(_build_change(step.change))
                yield b"".join(_encode(line) + b"\n" for line in lines)


def _build_change(change: BulkChange) -> BulkChangeResponse:
    return build_from(BulkChangeResponse, change, kind=change.request.kind)
