"""`perdure mint --from`: a name for each row of a table, in a copy of the table."""

import io
import shutil
import tempfile
from collections import Counter, deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, aclosing, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_as_agent
from perdure.cli.exit_codes import SOME_REFUSED
from perdure.cli.import_report import ProblemReport
from perdure.cli.line_input import bounded_lines, text_stream
from perdure.cli.output_file import OutputFile, StandardOutput, check_output
from perdure.cli.progress import byte_progress, open_problems_file, size_of
from perdure.cli.terminal import open_standard_input, print_error, to_json
from perdure.cli.text_encoding import UTF8, Utf8Check, check_encoding
from perdure.errors import InvalidInput, PerdureError
from perdure.formats.claim_fields import FieldText
from perdure.formats.csv_rows import LONGEST_ROW
from perdure.formats.import_entries import RejectedLine
from perdure.formats.minting_table import ALIAS_COLUMN, NAME_COLUMN, MintEntry, MintingTable, TableRow
from perdure.records.value import stated_ttl
from perdure.registry import MintRow, RowOutcome, Statement
from perdure.registry.entities import Agent, Prefix

_CHUNK: Final = 1 << 20
_STANDARD: Final = "-"  # standard input or output
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


_Outcome = tuple[TableRow, RowOutcome | None]


class TableOptions(NamedTuple):
    """The options of a mint from a table."""

    output: Path | None = None
    mapped: tuple[FieldText, ...] = ()
    delimiter: str | None = None
    name_column: str = NAME_COLUMN
    dry_run: bool = False
    strict: bool = False
    overwrite: bool = False
    again: bool = False
    problems: Path | None = None
    json: bool = False
    ttl: int | str | None = None  # of all targets
    encoding: str | None = None  # None: the table must be UTF-8


def mint_table(folder: Path | None, prefix: str, file: Path, options: TableOptions) -> None:
    """Mint a name for each row of a table, and write a copy of the table with the names."""
    if options.encoding is not None:
        check_encoding(options.encoding)
    with ExitStack() as stack:
        stream = stack.enter_context(_open_table(file))
        minting = _TableMint(stream, file, prefix, options)
        if options.problems is not None:
            minting.report.sink = stack.enter_context(open_problems_file(options.problems, stream, "mint"))
        run_as_agent(folder, minting.run)
    minting.print_result()
    if minting.tally["refused"]:
        raise typer.Exit(SOME_REFUSED)


def _open_table(file: Path) -> io.BufferedReader:
    """Open a table. One from a pipe is copied to a file: it is identified by its content before it is read."""
    is_standard = str(file) == _STANDARD
    stream = open_standard_input("a table") if is_standard else file.open("rb")
    if not is_standard and stream.seekable():
        return stream
    copy = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - the caller closes it
    with nullcontext() if is_standard else stream:
        shutil.copyfileobj(stream, copy)
    copy.seek(0)
    return io.BufferedReader(copy)


class _TableMint:
    """A mint from a table, and its counts."""

    def __init__(self, stream: io.BufferedReader, file: Path, prefix: str, options: TableOptions) -> None:
        self.report = ProblemReport()
        self.tally = Counter(minted=0, unchanged=0, refused=0)
        self._stream = stream
        self._file = file
        self._prefix_name = prefix
        self._options = options
        self._output = options.output or _default_output(file)

    async def run(self, registry: AnyRegistry, by: Agent) -> None:
        """Check all rows if that is needed, then mint."""
        options = self._options
        self._prefix, _ = await use.show_prefix(registry, self._prefix_name)
        table = self._identify_table(self._prefix)
        known = await use.find_table(registry, by, table)
        if self._writes_file:  # a file that exists may be the copy of this table: it is compared with it later
            self._check_output(is_known=known is not None and not options.again)
        with byte_progress() as bar:
            self.report.screen = bar.console
            task = bar.add_task("checking" if options.dry_run else "minting", total=size_of(self._stream))
            rows = _Rows(self._stream, self._prefix, options)
            self._warn(rows.table)
            if options.dry_run or options.strict:
                before = None if options.again else table
                async for chunk in self._outcomes(registry, by, rows, before, dry_run=True):
                    self._count(chunk, strict=options.strict)
                    bar.advance(task, _size_of_rows(chunk))
                if options.dry_run:
                    return
                self.tally = Counter(minted=0, unchanged=0, refused=0)
                bar.reset(task)
                rows = _Rows(self._stream, self._prefix, options)
            if options.again:
                await use.begin_table_again(registry, by, self._prefix_name, table)
            with self._open_output() as output:
                output.stream.write(rows.first_line)
                async for chunk in self._outcomes(registry, by, rows, table, dry_run=False):
                    output.stream.write(rows.fill(chunk))
                    self._count(chunk)
                    bar.advance(task, _size_of_rows(chunk))
                output.finish()

    def _check_output(self, *, is_known: bool) -> None:
        """Refuse an existing output file. It may have the names of the same table, before that was corrected."""
        if self._output.exists() and not (self._options.overwrite or is_known):
            again = f"perdure mint {self._prefix_name} --from {self._output}"
            reason = (
                f"{self._output} exists already. If it has names of an earlier run, correct that file instead, and "
                f"mint from it ({again}): its rows keep their names. With --overwrite, all rows of a changed table get "
                "new ones"
            )
            raise InvalidInput("mint", "output", reason)
        check_output(self._output, True, "mint")

    def _open_output(self) -> OutputFile | StandardOutput:
        return (
            OutputFile(self._output, overwrite=self._options.overwrite, scheme="mint")
            if self._writes_file
            else StandardOutput()
        )

    async def _outcomes(
        self, registry: AnyRegistry, by: Agent, rows: "_Rows", table: str | None, *, dry_run: bool
    ) -> AsyncGenerator[list[_Outcome], None]:
        """Yield all rows with their outcomes, in their order. A row without any text has none."""
        waiting: deque[TableRow] = deque()

        def iterate_requests() -> Iterator[MintRow]:
            for row in rows.table:
                waiting.append(row)
                if row.entry is not None:
                    yield _build_request(row.entry, self._options.ttl)

        note = None if str(self._file) == _STANDARD else f"minted from {_escape_non_ascii(self._file.name)}"
        outcomes = use.mint_table_rows(
            registry, by, self._prefix, iterate_requests(), table=table, layout=rows.layout, dry_run=dry_run, note=note
        )
        async with aclosing(outcomes):
            async for chunk in outcomes:
                done: list[_Outcome] = []
                for outcome in chunk:
                    while (row := waiting.popleft()).entry is None:
                        done.append((row, None))
                    done.append((row, outcome))
                yield done
        yield [(row, None) for row in waiting]

    def _count(self, chunk: list[_Outcome], *, strict: bool = False) -> None:
        for row, outcome in chunk:
            if outcome is not None and outcome.error is None:
                self.tally["minted" if outcome.is_new else "unchanged"] += 1
            elif outcome is not None and outcome.error is not None:
                self._report_problem(row, outcome.error, strict)

    def _report_problem(self, row: TableRow, problem: PerdureError, strict: bool) -> None:
        reason = problem.reason if isinstance(problem, InvalidInput) else str(problem)
        if strict:
            raise InvalidInput("mint", "line", f"line {row.line}: {reason} (nothing was minted)")
        self.tally["refused"] += 1
        self.report(RejectedLine(row.line, reason, part=getattr(problem, "part", None)))

    @property
    def _writes_file(self) -> bool:
        return not self._options.dry_run and str(self._output) != _STANDARD

    def _identify_table(self, prefix: Prefix) -> str:
        """Return a digest of the content of the table and of the prefix. Refuse a table that is not UTF-8."""
        digest, check = sha256(prefix.key.encode() + b"\n"), Utf8Check()
        while chunk := self._stream.read(_CHUNK):
            digest.update(chunk)
            if self._options.encoding is None:
                check.feed(chunk)
        return digest.hexdigest()

    def _warn(self, table: MintingTable) -> None:
        if "target" not in table.fields:
            print_error("no column is the target, so the names are reserved (see --map)", self.report.screen)
        if table.unused_columns and not self._options.mapped:
            print_error(f"copied, but not read: {', '.join(table.unused_columns)} (see --map)", self.report.screen)

    def print_result(self) -> None:
        """Print the counts: on standard error if the table is on standard output."""
        self.report.print_remaining_count()
        options, tally = self._options, self.tally
        to_stderr = str(self._output) == _STANDARD and not options.dry_run
        if options.json:
            written = None if options.dry_run else str(self._output)
            typer.echo(to_json(dict(tally) | {"dry_run": options.dry_run, "output": written}), err=to_stderr)
            return
        would = "would be " if options.dry_run else ""
        typer.echo(", ".join(f"{count:,} {would}{what}" for what, count in tally.items()), err=to_stderr)
        if self._writes_file:
            typer.echo(f"The names are in {self._output}.")
            if tally["refused"]:
                again = f"perdure mint {self._prefix_name} --from {self._output}"
                typer.echo(f"Correct the refused rows in that file. Then mint their names:  {again}")


class _Rows:
    """The rows of a table as text, and its copy as bytes."""

    def __init__(self, stream: io.BufferedReader, prefix: Prefix, options: TableOptions) -> None:
        stream.seek(0)
        self._mark = _BYTE_ORDER_MARK if stream.peek(3).startswith(_BYTE_ORDER_MARK) else b""
        names = (options.name_column, ALIAS_COLUMN)[: 2 if prefix.scheme == "ibi" else 1]
        self._encoding = options.encoding or UTF8
        lines = _decode_lines(text_stream(stream, lambda count: None), self._encoding)
        self.table = MintingTable(lines, names, options.mapped, options.delimiter)
        self._width = len(names)
        self._ttl = options.ttl

    @property
    def layout(self) -> bytes:
        """The digest of how the table is read, and of what the options add to it."""
        return sha256(f"{self.table.layout}{self._ttl}{self._encoding}".encode("utf-8", "surrogateescape")).digest()

    @property
    def first_line(self) -> bytes:
        return self._mark + self.table.heading.encode(self._encoding, "surrogateescape")

    def fill(self, rows: list[_Outcome]) -> bytes:
        """Return the text of rows with their names."""
        fill, none = self.table.fill, ("",) * self._width
        text = "".join(
            [
                fill(row, none)
                if outcome is None or (minted := outcome.minted) is None
                else fill(row, (minted.name, minted.alias or "")[: self._width])
                for row, outcome in rows
            ]
        )
        return text.encode(self._encoding, "surrogateescape")


def _size_of_rows(chunk: list[_Outcome]) -> int:
    """Return the size of rows in bytes, or a little less: the progress need not be exact."""
    return sum([len(row.text) for row, _ in chunk])


def _decode_lines(stream: io.BufferedReader, encoding: str) -> Iterator[str]:
    for number, line in bounded_lines(stream, 4 * LONGEST_ROW):
        if len(line) >= 4 * LONGEST_ROW:
            reason = f"line {number} is longer than {4 * LONGEST_ROW:,} bytes: the table cannot be copied"
            raise InvalidInput("mint", "table", reason)
        yield line.decode(encoding, "surrogateescape")


def _build_request(entry: MintEntry | InvalidInput, ttl: int | str | None) -> MintRow:
    if isinstance(entry, PerdureError):
        return MintRow(error=entry)
    statement = Statement(entry.target, (), entry.about, entry.creator, entry.owners, stated_ttl(ttl))
    return MintRow(statement, entry.suffix, entry.name)


def _default_output(file: Path) -> Path:
    return file if str(file) == _STANDARD else file.with_name(f"{file.stem}-minted{file.suffix}")


def _escape_non_ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode()
