"""Bulk changes in a remote registry: run them with a preview, list them, undo them."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import msgspec

from perdure.cli.remote import api_client
from perdure.cli.remote.api_client import Answer, ServerFailed
from perdure.cli.remote.remote_registry import RemoteRegistry, path_to
from perdure.errors import InvalidInput
from perdure.registry import BulkChange, BulkRequest, BulkStep
from perdure.registry.bulk_changes import BulkProblem, Example, NameSource, Source
from perdure.registry.entities import Agent

_MOST_NAMES: Final = 10_000  # in one request


class _Changes(msgspec.Struct):
    bulk_changes: tuple[BulkChange, ...]


class _Me(msgspec.Struct):
    id: str


async def run_bulk_change(
    remote: RemoteRegistry, by: Agent, request: BulkRequest, source: Source, *, dry_run: bool = False
) -> AsyncIterator[BulkStep]:
    """Run a change and yield its progress. The server stops if this stops reading; the same request continues it."""
    body = {"kind": request.kind, "dry_run": dry_run} | dict(_request_fields(request, source))
    for step in _read_steps(remote, "/bulk-changes", body, {}):
        yield step


async def undo_bulk_change(
    remote: RemoteRegistry, by: Agent, id: str, *, dry_run: bool = False
) -> AsyncIterator[BulkStep]:
    for step in _read_steps(remote, f"{path_to('bulk-changes', id)}/undo", None, {"dry_run": dry_run}):
        yield step


async def list_bulk_changes(remote: RemoteRegistry, by: Agent) -> list[BulkChange]:
    return list(remote.get("/bulk-changes", _Changes).bulk_changes)


async def find_bulk_change(remote: RemoteRegistry, by: Agent, id: str) -> BulkChange:
    return remote.get(path_to("bulk-changes", id), BulkChange)


async def find_unfinished(remote: RemoteRegistry, by: Agent, request: BulkRequest) -> BulkChange | None:
    me = remote.get("/agents/me", _Me).id
    for change in remote.get("/bulk-changes", _Changes).bulk_changes:
        if change.state == "applying" and change.agent == me and change.request == request:
            return change
    return None


def _request_fields(request: BulkRequest, source: Source) -> Iterator[tuple[str, Any]]:
    if isinstance(source, NameSource):
        names = source.first_names(_MOST_NAMES + 1)
        if len(names) > _MOST_NAMES:
            reason = f"one bulk change in a remote registry can have {_MOST_NAMES:,} names: split the list"
            raise InvalidInput("bulk", "names", reason)
        yield "names", names
    if request.query is not None:
        yield "query", msgspec.to_builtins(request.query)
    fields = {"from": request.old, "to": request.new, "agent": request.receiver, "reason": request.reason}
    yield from ((field, text) for field, text in fields.items() if text is not None)
    if request.is_pattern:
        yield "regex", True


def _read_steps(
    remote: RemoteRegistry, path: str, body: dict[str, Any] | None, query: dict[str, object]
) -> Iterator[BulkStep]:
    """Yield a step for each state, with the problems and the examples in the lines before it."""
    problems: list[BulkProblem] = []
    examples: list[Example] = []
    with api_client.stream_lines(remote.server, "POST", path, query=query, document=body) as lines:
        is_whole = False
        for line in lines:
            kind = _kind_of_line(remote, line)
            is_whole = kind is BulkChange
            if kind is BulkProblem:
                problems.append(remote.decode(Answer(200, line), BulkProblem))
            elif kind is Example:
                examples.append(remote.decode(Answer(200, line), Example))
            else:
                yield BulkStep(remote.decode(Answer(200, line), BulkChange), tuple(problems), tuple(examples))
                problems, examples = [], []
        if not is_whole:
            raise ServerFailed(remote.server.url, "its report is incomplete: run the same command again")


def _kind_of_line(remote: RemoteRegistry, line: bytes) -> type[BulkProblem] | type[Example] | type[BulkChange]:
    fields = remote.decode(Answer(200, line), dict[str, msgspec.Raw])
    if "started" in fields:
        return BulkChange
    return Example if "before" in fields else BulkProblem
