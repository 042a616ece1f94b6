"""Many identifiers at once, as NDJSON, in and out: in constant memory, and apart from what serves everybody else."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import Annotated, Final

import msgspec
from litestar import get, post
from litestar.params import QueryParameter

from perdure import registry as use
from perdure.errors import NotAuthorised
from perdure.exchange import ndjson
from perdure.exchange.entry import Entry, Refused
from perdure.http.refusals import BodyTooLarge, TookTooLong, UnsupportedBody
from perdure.http.v1.apart import Apart, drawn, run_apart
from perdure.http.v1.asking import KEY, Asking, FromDoor, problems
from perdure.http.v1.showing import import_tally
from perdure.http.v1.streaming import NDJSON, Streamed
from perdure.http.v1.told import ImportProblem
from perdure.registry import Options, Tally
from perdure.registry.authority import has_lapsed
from perdure.registry.entities import EVERYWHERE
from perdure.registry.importing.chunk import Problem

NDJSON_TYPES: Final = (NDJSON, "application/ndjson", "application/jsonl")

_IN_MEMORY: Final = 1 << 20
_PIECE: Final = 1 << 16
_MOST_TOLD: Final = 100_000  # problems of one import that are told one by one
_SOURCE: Final = "a request"
_encode: Final = msgspec.json.Encoder().encode


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
    told = await _in_turn(asking, options)
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
    request, agent = asking.request, asking.agent
    kind = (request.header(b"content-type") or "").partition(";")[0].strip().lower()
    if kind not in NDJSON_TYPES:
        raise UnsupportedBody(NDJSON)
    length, most = request.header(b"content-length"), asking.service.options.bulk_bytes
    if length is not None and length.isdigit() and int(length) > most:
        raise BodyTooLarge(most)
    grants = await asking.registry.store.read(lambda reader: reader.grants(agent.id))
    now = asking.registry.now()
    if not any(one.action in ("import", "admin") and not has_lapsed(one, now) for one in grants):
        raise NotAuthorised(agent.id, "import", EVERYWHERE)


async def _in_turn(asking: Asking, options: Options) -> "_Told":
    """A few imports of one process at a time: one that waits too long for its turn is sent away."""
    patience = asking.service.options.request_seconds
    async with asking.imports.turn(asking.agent.id, patience):
        try:
            return await _carried_out(asking, options, patience)
        except TimeoutError:
            raise TookTooLong(is_write=True) from None  # to send the next part


async def _carried_out(asking: Asking, options: Options, patience: float) -> "_Told":
    """What there is to tell, once everything has been read: a client that still sends would not listen."""
    bounds, told = asking.service.options, _Told()
    parts = drawn(asking.request.stream(), asyncio.get_running_loop(), patience)
    entries = read_entries(parts, bounds.bulk_line_bytes, bounds.bulk_bytes)
    try:
        tally = await run_apart(
            lambda: use.import_entries(asking.registry, asking.agent, entries, options, report=told)
        )
    except BaseException:
        told.close()
        raise
    told.end(tally, options.dry_run)
    return told


class _Told:
    """The lines of an answer, in memory or in a file; of very many problems only the first."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  (it is closed when it has been sent)
        self._problems = 0

    def __call__(self, problem: Problem) -> None:
        self._problems += 1
        if self._problems <= _MOST_TOLD:
            is_refused = isinstance(problem, Refused)
            name = problem.name if isinstance(problem, Refused) else None
            self._write(ImportProblem(line=problem.line, reason=problem.reason, refused=is_refused, name=name))

    def end(self, tally: Tally, dry_run: bool) -> None:
        self._write(import_tally(tally, dry_run, max(0, self._problems - _MOST_TOLD)))
        self._file.seek(0)

    def close(self) -> None:
        self._file.close()

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        try:
            while piece := self._file.read(_PIECE):
                yield piece
        finally:
            self.close()

    def _write(self, line: msgspec.Struct) -> None:
        self._file.write(_encode(line) + b"\n")


def read_entries(parts: Iterable[bytes], longest: int, most: int) -> Iterator[Entry]:
    """The entries of a body, however it was cut into parts; a line that is too long is refused, and passed over."""
    for number, line in enumerate(_lines(parts, longest, most), 1):
        if line is None:
            yield Refused(number, f"the line is longer than {longest} bytes")
        else:
            yield from ndjson.read(((number, line),))


def _lines(parts: Iterable[bytes], longest: int, most: int) -> Iterator[bytes | None]:
    rest = bytearray()
    size = 0
    is_passed_over = False
    for part in parts:
        size += len(part)
        if size > most:
            raise BodyTooLarge(most)
        *whole, tail = part.split(b"\n")
        for piece in whole:
            rest += piece
            yield None if is_passed_over or len(rest) > longest else bytes(rest)
            rest.clear()
            is_passed_over = False
        if not is_passed_over:
            rest += tail
            if len(rest) > longest:
                rest.clear()
                is_passed_over = True
    if rest or is_passed_over:
        yield None if is_passed_over else bytes(rest)
