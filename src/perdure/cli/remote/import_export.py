"""Import into a remote registry, and export from it, line by line in constant memory."""

from array import array
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from perdure.cli.remote import api_client
from perdure.cli.remote.api_client import Answer, ServerFailed
from perdure.cli.remote.identifiers import value_fields
from perdure.cli.remote.remote_registry import RemoteRegistry
from perdure.errors import InvalidInput
from perdure.formats import ndjson
from perdure.formats.import_entries import (
    Entry,
    FullHistory,
    ImportEdit,
    ImportPut,
    Notice,
    NoticeKind,
    RegistryPart,
    RejectedLine,
)
from perdure.registry import ImportOptions, Tally
from perdure.registry.entities import Agent
from perdure.registry.exports import Format, OmissionCallback
from perdure.registry.importing.chunk import Problem

_DEFAULTS: Final = ImportOptions()
_CHUNK: Final = 1 << 16
_LINES_AT_ONCE: Final = 1_000
_COUNTS: Final = (
    "created",
    "changed",
    "unchanged",
    "refused",
    "notices",
    "entries",
    "verbatim",
    "mended",
    "left_out",
)


class _ReportedLine(msgspec.Struct):
    """A problem with a line or, as the last line, the totals."""

    line: int | None = None
    reason: str = ""
    refused: Any = False  # whether the line was refused; in the totals, a number
    name: str | None = None
    code: str | None = None
    kind: NoticeKind | None = None
    before: str | None = None
    after: str | None = None
    verbatim: int = 0
    mended: int = 0
    left_out: int = 0
    created: int = 0
    changed: int = 0
    unchanged: int = 0
    notices: int = 0
    entries: int | None = None
    untold: int = 0


class _Upload:
    """The entries of a file as lines for the API. What the API cannot take is reported here."""

    def __init__(self, entries: Iterable[Entry], report: Callable[[Problem], None]) -> None:
        self._entries = entries
        self._report = report
        self.tally = Tally()
        self.numbers = array("Q")  # of the lines of the file, for each line of the body

    def lines(self) -> Iterator[bytes]:
        """Yield the body, in parts."""
        part = bytearray()
        for entry in self._entries:
            line = self._encode(entry)
            if line is None:
                continue
            self.numbers.append(entry.line)
            part += line + b"\n"
            if len(part) >= _CHUNK:
                yield bytes(part)
                part.clear()
        yield bytes(part)

    def _encode(self, entry: Entry) -> bytes | None:
        match entry:
            case ImportPut() if entry.aliases or entry.is_label:
                reason = "IBI labels and their aliases are imported on the machine of the registry only"
                self._refuse(RejectedLine(entry.line, reason, entry.name))
            case ImportPut():
                return msgspec.json.encode(_put_fields(entry))
            case FullHistory():
                return ndjson.write(entry)
            case RegistryPart():
                return ndjson.write_registry_part(entry.kind, entry.fields)
            case ImportEdit():
                reason = f"an import into a remote registry cannot {entry.act} values or names: use the other commands"
                self._refuse(RejectedLine(entry.line, reason, entry.name))
            case RejectedLine():
                self._refuse(entry)
            case Notice():
                self.tally.entries += 1
                self.tally.notices += 1
                self.tally.left_out += entry.kind == "left-out"
                self._report(entry)
        return None

    def _refuse(self, line: RejectedLine) -> None:
        self.tally.entries += 1
        self.tally.refused += 1
        self._report(line)


def _put_fields(entry: ImportPut) -> dict[str, Any]:
    fields = msgspec.structs.asdict(entry)
    for field in ("line", "aliases", "is_label", "joins_names"):
        del fields[field]
    if entry.about is not None:
        fields["about"] = msgspec.to_builtins(entry.about)
    fields["values"] = [value_fields(value) for value in entry.values]
    return {field: value for field, value in fields.items() if value is not None}


async def read_checkpoint(remote: RemoteRegistry, by: Agent, checkpoint: str) -> Tally:
    """Return no progress: a server does not remember files. Lines that it has imported before stay unchanged."""
    return Tally()


async def forget_checkpoint(remote: RemoteRegistry, by: Agent, checkpoint: str) -> None:
    pass


async def import_entries(
    remote: RemoteRegistry,
    by: Agent,
    entries: Iterable[Entry],
    options: ImportOptions = _DEFAULTS,
    *,
    checkpoint: str | None = None,
    report: Callable[[Problem], None] = lambda problem: None,
    watch: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Import the entries of a file with one request. The server reports when it has read all of them."""
    if options.strict:
        reason = "--strict works on the machine of the registry only: use --dry-run first"
        raise InvalidInput("import", "strict", reason)
    if options.new_prefixes is not None:
        reason = "--new-prefixes works on the machine of the registry only: add them first, with perdure prefix add"
        raise InvalidInput("import", "new_prefixes", reason)
    query = {
        "dry_run": options.dry_run,
        "update": options.update,
        "any_suffix": options.any_suffix,
        "mend": options.mend,
        "creator": options.creator,
        "created": options.created,
    }
    # Without lines: check the key, its permissions and the options before a long file is sent.
    with api_client.stream_lines(remote.server, "POST", "/imports", query=query | {"dry_run": True}, body=()):
        pass
    upload = _Upload(entries, report)
    tally, last = upload.tally, None
    with api_client.stream_lines(remote.server, "POST", "/imports", query=query, body=upload.lines()) as lines:
        for line in lines:
            last = remote.decode(Answer(200, line), _ReportedLine)
            if last.entries is None:
                report(_to_problem(last, upload.numbers))
    if last is None or last.entries is None:
        raise ServerFailed(remote.server.url, "its report of the import is incomplete: run the same command again")
    for field in _COUNTS:
        setattr(tally, field, getattr(tally, field) + getattr(last, field))
    tally.line = upload.numbers[-1] if upload.numbers else 0
    tally.finished = True
    return tally


def _to_problem(line: _ReportedLine, numbers: "array[int]") -> Problem:
    """Return a problem with the number that the line has in the file."""
    sent = line.line or 0
    number = numbers[sent - 1] if 1 <= sent <= len(numbers) else sent
    if line.refused:
        return RejectedLine(number, line.reason, line.name, code=line.code)
    return Notice(number, line.reason, line.name, line.kind, line.before, line.after)


async def export(
    remote: RemoteRegistry,
    by: Agent,
    format: Format = "ndjson",
    *,
    under: str | None = None,
    left_out: OmissionCallback = lambda what: None,
    for_spreadsheet: bool = False,
) -> AsyncIterator[tuple[int, bytes]]:
    """Yield the lines of an export, and how many of them are identifiers."""
    if format != "ndjson" or for_spreadsheet:
        reason = f"a remote registry exports ndjson only, not {format}: add --format ndjson"
        raise InvalidInput("export", "format", reason)
    with api_client.stream_lines(remote.server, "GET", "/exports", query={"prefix": under}) as lines:
        chunk: list[bytes] = []
        for line in lines:
            chunk.append(line)
            if len(chunk) == _LINES_AT_ONCE:
                yield _count_identifiers(chunk), b"".join(chunk)
                chunk = []
        yield _count_identifiers(chunk), b"".join(chunk)


def _count_identifiers(lines: list[bytes]) -> int:
    """Count the lines that are identifiers, not parts of the registry."""
    return sum(b'"revisions"' in line for line in lines)
