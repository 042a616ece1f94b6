"""Speed of the registry on the embedded store: `make bench-registry`.

Every figure is a ratio to a peer measured in the same run, alternately, the best of several rounds: other load on the
machine affects both. `required` is the goal for the ratio. The folder must be on a real disk: where an fsync costs nothing,
sharing one gains nothing.
"""

import asyncio
import csv
import hashlib
import multiprocessing
import random
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import apsw
import msgspec
from rich.console import Console
from rich.table import Table

from perdure.formats import identifiers_csv, ndjson
from perdure.formats.csv_rows import read_rows
from perdure.formats.import_entries import Entry, FullHistory, PastRevision
from perdure.records import record as records
from perdure.records.record import About, Record
from perdure.records.target import full_text
from perdure.records.value import Text, Value
from perdure.registry import Agent, Registry, Settings, Statement, add_prefix, create_registry, mint, reopen, revisions
from perdure.registry.entities import Change
from perdure.registry.importing import import_entries
from perdure.registry.importing.driver import _CHUNK as BATCH
from perdure.registry.store_interface import Store
from perdure.store.sqlite import SqliteStore
from perdure.store.sqlite.connection import connect
from perdure.store.sqlite.reader import FIND
from perdure.timelines.clock import SystemClock

ROUNDS = 5
WRITERS, MINTS_EACH, MINTS_ALONE = 64, 40, 500
LINES, IMPORT_ROUNDS = 100_000, 3
PROCESSES, CALLERS_EACH, SECONDS = 4, 16, 10.0
LOOKUPS = 20_000

UUIDS, PILIN = "20.500.12345", "20.500.12346"
encode = msgspec.json.encode
WHEN = "2026-01-09T10:30:00Z"
SURNAMES = ("Jansen", "García", "Müller", "Nguyen", "Okafor", "Silva", "Novák", "Tanaka", "Ålund", "Rossi")
SUBJECTS = ("tides", "parish registers", "glaciers", "folk songs", "coinage", "rice genomes", "court rolls", "comets")


class Speed(NamedTuple):
    """Operations per second, and CPU microseconds per operation in this process: the figure that other load affects
    least.
    """

    rate: float
    cpu: float | None = None


class Stopwatch:
    """The best of several rounds, by the clock and by CPU time."""

    def __init__(self) -> None:
        self._rounds: list[Speed] = []

    @contextmanager
    def round(self, count: int) -> Iterator[None]:
        begun, cpu = time.perf_counter(), time.process_time()
        yield
        spent = time.process_time() - cpu
        self._rounds.append(Speed(count / (time.perf_counter() - begun), spent / count * 1e6))

    @property
    def best(self) -> Speed:
        return Speed(max(one.rate for one in self._rounds), min(one.cpu or 0.0 for one in self._rounds))


@contextmanager
def scratch(folder: Path | None = None) -> Iterator[Path]:
    """Create a folder that is removed at the end; on disk, which /tmp often is not."""
    lasting = Path("/var/tmp")  # noqa: S108  (only the parent for mkdtemp)
    parent = folder or (lasting if lasting.is_dir() else None)
    with tempfile.TemporaryDirectory(dir=parent, prefix="perdure-bench-") as made:
        yield Path(made)


def name_of(number: int) -> str:
    """Return a name as scattered as a UUID, but computed from its number."""
    return f"{UUIDS}/{UUID(bytes=hashlib.blake2b(number.to_bytes(8), digest_size=16).digest())}"


def url_of(number: int) -> str:
    return f"https://repository.example.org/items/{number}"


def record_of(number: int, creator: str) -> Record:
    """Return the record of an item. Half the titles contain "report", and one contains the item's accession number."""
    what = f"{'Report' if number % 2 else 'Notes'} on {SUBJECTS[number % 8]}, accession {accession(number)}"
    about = About(who=SURNAMES[number % 10], what=what, when=str(1900 + number % 120), where="Example University Press")
    values = (Value(1, "URL", Text(url_of(number)), WHEN),)
    return Record(state="active", creator=creator, created=WHEN, values=values, about=about)


def accession(number: int) -> str:
    return f"acc{number:09d}"


def change_of(number: int, by: Agent) -> Change:
    name = name_of(number)
    return revisions.first_revision(name, name, "handle", record_of(number, by.identifier), by, "import", WHEN)


async def open_new(file: Path) -> tuple[Registry, Agent, SqliteStore]:
    file.parent.mkdir(parents=True, exist_ok=True)
    store = SqliteStore(file, create=True)
    return *(await create_registry_on(store)), store


async def create_registry_on(store: Store) -> tuple[Registry, Agent]:
    """Create a registry with prefixes to mint under, on a new store."""
    founded = await create_registry(store, SystemClock(), Settings(), name="Bench Library")
    await add_prefix(founded.registry, founded.admin, UUIDS, minter="uuid")
    await add_prefix(founded.registry, founded.admin, PILIN, minter="pilin")
    return founded.registry, founded.admin


def main() -> None:
    table = Table(
        "what", "peer", "per s", "peer's", "ratio", "required", "CPU µs", "peer's", title="The registry, on SQLite"
    )

    def row(what: str, peer: str, mine: Speed, other: Speed, required: float | None) -> None:
        cpu = ("" if one.cpu is None else f"{one.cpu:.1f}" for one in (mine, other))
        shown_ratio = "" if required is None else f"{required:.2f}"
        table.add_row(
            what, peer, f"{mine.rate:,.0f}", f"{other.rate:,.0f}", f"{mine.rate / other.rate:.2f}", shown_ratio, *cpu
        )

    console = Console(stderr=True)
    with scratch() as folder:
        console.print("minting …")
        row(f"mint, {WRITERS} writers", "one writer alone", *asyncio.run(group_commit(folder / "mint")), 4.0)
        for what, bring_in in importers(folder):
            console.print(f"{what} …")
            row(f"{what}, {LINES:,}", "executemany of its rows", *asyncio.run(bulk(folder / "bulk", bring_in)), 0.4)
        console.print("looking up …")
        row("lookup_now", "SELECT", *asyncio.run(lookups(folder / "bulk" / "ours.db")), None)
        for what, each, count in (("one a call", CALLERS_EACH, 1), ("100 a call", 1, 100)):
            console.print(f"PILIN, {what} …")
            rate = pilin(folder / f"pilin-{count}", each, count)
            row(f"PILIN, {PROCESSES} processes, {what}", "the scheme's limit", Speed(rate), Speed(1000.0), 0.99)
    Console().print(table)


async def group_commit(folder: Path) -> tuple[Speed, Speed]:
    """Measure the mints per second of many writers, and of one that commits alone."""
    folder.mkdir()
    registry, admin, store = await open_new(folder / "registry.db")

    async def write(who: int, times: int) -> None:
        for number in range(times):
            await mint(registry, admin, UUIDS, statement=Statement(target=f"https://example.org/{who}/{number}"))

    await write(0, 50)
    together, alone = Stopwatch(), Stopwatch()
    for _ in range(ROUNDS):
        with alone.round(MINTS_ALONE):
            await write(0, MINTS_ALONE)
        with together.round(WRITERS * MINTS_EACH):
            await asyncio.gather(*(write(who, MINTS_EACH) for who in range(WRITERS)))
    store.close()
    return together.best, alone.best


BringIn = Callable[[Registry, Agent, Stopwatch], Awaitable[None]]


def importers(folder: Path) -> list[tuple[str, BringIn]]:
    """Return the import formats that are compared with bare SQL, and the store without any format."""
    short, long, table = folder / "short.ndjson", folder / "long.ndjson", folder / "table.csv"
    with short.open("wb") as lines, table.open("w", newline="", encoding="utf-8") as rows:
        sheet = csv.writer(rows)
        sheet.writerow(("name", "target", *About.__struct_fields__))
        for number in range(LINES):
            name, about = name_of(number), record_of(number, "").about
            lines.write(encode({"name": name, "target": url_of(number), "about": about}) + b"\n")
            sheet.writerow((name, url_of(number), *msgspec.structs.astuple(about)))

    def read_table() -> Iterator[Entry]:
        with table.open(newline="", encoding="utf-8") as rows:
            yield from identifiers_csv.read_identifiers(read_rows(rows))

    def read_lines(file: Path) -> Iterator[Entry]:
        with file.open("rb") as lines:
            yield from ndjson.read(enumerate(lines, 1))

    async def with_history(registry: Registry, by: Agent, watch: Stopwatch) -> None:
        with long.open("wb") as lines:  # its creator must be an agent of this registry
            for number in range(LINES):
                past = PastRevision(1, f"{WHEN[:-1]}.000000Z", by.id, "mint", record_of(number, by.identifier))
                lines.write(ndjson.write(FullHistory(name=name_of(number), scheme="handle", revisions=(past,))) + b"\n")
        await import_file(registry, by, watch, read_lines(long))

    return [
        ("import of NDJSON", lambda registry, by, watch: import_file(registry, by, watch, read_lines(short))),
        ("import of NDJSON with history", with_history),
        ("import of CSV", lambda registry, by, watch: import_file(registry, by, watch, read_table())),
        ("store.write of prepared changes", insert_prepared),
    ]


async def import_file(registry: Registry, by: Agent, watch: Stopwatch, entries: Iterator[Entry]) -> None:
    with watch.round(LINES):
        tally = await import_entries(registry, by, entries, checkpoint="bench")
    assert tally.created == LINES, tally


async def insert_prepared(registry: Registry, by: Agent, watch: Stopwatch) -> None:
    batches = [[change_of(number, by) for number in range(first, first + BATCH)] for first in range(0, LINES, BATCH)]
    with watch.round(LINES):
        for changes in batches:
            await registry.store.write(lambda tx, changes=changes: tx.insert(changes))


async def bulk(folder: Path, bring_in: BringIn) -> tuple[Speed, Speed]:
    """Measure the identifiers per second of an import, and of its INSERTs alone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    start, ours, theirs = (folder / name for name in ("start.db", "ours.db", "theirs.db"))
    _, admin, store = await open_new(start)
    store.close()  # which leaves one file, without a log beside it
    mine, other = Stopwatch(), Stopwatch()
    rows: Rows = []
    for _ in range(IMPORT_ROUNDS):
        for file in (ours, theirs):
            shutil.copy(start, file)
        store = SqliteStore(ours)
        await bring_in(await reopen(store, SystemClock(), Settings()), admin, mine)
        store.close()
        rows = rows or rows_since(start, ours)
        executemany(theirs, rows, other)
        assert count_rows(ours) == count_rows(theirs)
    return mine.best, other.best


Rows = list[list[tuple[str, list[tuple[Any, ...]]]]]  # of each transaction: statements, and the rows for each
BY = {"identifiers": "id", "revisions": "identifier", "words": "rowid", "reverse": "identifier"}


def rows_since(start: Path, file: Path) -> Rows:
    """Return the rows of an import, in its order, divided into transactions of the same size."""
    first = count_rows(start)["identifiers"] + 1
    connection = apsw.Connection(str(file))
    batches: Rows = [[] for _ in range(0, LINES, BATCH)]
    for table, column in BY.items():
        if table == "words":  # stored as an index only, so they are computed from the records
            records_query = connection.execute(
                "SELECT id, name, record FROM identifiers WHERE id >= ? ORDER BY id", (first,)
            )
            table_rows = [(row, full_text(name, records.decode(record))) for row, name, record in records_query]
            key_column, statement = 0, "INSERT INTO words (rowid, text) VALUES (?, ?)"
        else:
            query = f"SELECT * FROM {table} WHERE {column} >= ? ORDER BY {column}"  # noqa: S608
            table_rows = connection.execute(query, (first,)).fetchall()
            columns = [column[1] for column in connection.execute(f"PRAGMA table_info({table})")]
            key_column = columns.index(column)
            statement = f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
        for batch in batches:
            batch.append((statement, []))
        for row in table_rows:
            batches[(row[key_column] - first) // BATCH][-1][1].append(row)
    connection.close()
    return batches


def executemany(file: Path, batches: Rows, watch: Stopwatch) -> None:
    """Insert the same rows with the same connection settings, and nothing else. This is the peer."""
    connection = connect(file)
    with watch.round(LINES):
        for batch in batches:
            connection.execute("BEGIN IMMEDIATE")
            for statement, rows in batch:
                connection.executemany(statement, rows)
            connection.execute("COMMIT")
    connection.close()


def count_rows(file: Path) -> dict[str, int]:
    """Count the rows, which must be the same on both sides."""
    connection = apsw.Connection(str(file))
    tables = [table if table != "words" else "words_docsize" for table in BY]
    counts = {table: connection.execute(f"SELECT count(*) FROM {table}").get for table in tables}  # noqa: S608
    connection.close()
    return counts


async def lookups(file: Path) -> tuple[Speed, Speed]:
    """Measure the look-ups per second of random names, and of the bare statement."""
    store, connection = SqliteStore(file), connect(file)
    execute = connection.execute
    names = [name_of(random.randrange(LINES)) for _ in range(LOOKUPS)]
    mine, other = Stopwatch(), Stopwatch()
    for _ in range(ROUNDS):
        with mine.round(LOOKUPS):
            for name in names:
                assert store.lookup_now(name) is not None
        with other.round(LOOKUPS):
            for name in names:
                assert execute(FIND, (name,)).fetchone() is not None
    connection.close()
    store.close()
    return mine.best, other.best


def pilin(folder: Path, callers: int, count: int) -> float:
    """Measure the suffixes per second that several processes acknowledge under one prefix, once all are running."""
    folder.mkdir()
    file = folder / "registry.db"
    admin = asyncio.run(_create_registry(file))
    context = multiprocessing.get_context("spawn")
    begin = time.time() + 3.0
    with context.Pool(PROCESSES) as pool:
        minted = pool.starmap(mint_until, [(file, admin, callers, count, begin, begin + SECONDS)] * PROCESSES)
    names = [name for _, names in minted for name in names]
    assert len(set(names)) == len(names), "a suffix was issued twice"
    return sum(acknowledged for acknowledged, _ in minted) / SECONDS


async def _create_registry(file: Path) -> Agent:
    _, admin, store = await open_new(file)
    store.close()
    return admin


def mint_until(file: Path, by: Agent, callers: int, count: int, begin: float, end: float) -> tuple[int, list[str]]:
    """Mint until the end, in a separate process. Return how many were acknowledged in time, and all the names."""
    return asyncio.run(_mint_until(file, by, callers, count, begin, end))


async def _mint_until(
    file: Path, by: Agent, callers: int, count: int, begin: float, end: float
) -> tuple[int, list[str]]:
    store = SqliteStore(file)
    registry = await reopen(store, SystemClock(), Settings())
    names: list[str] = []
    acknowledged = 0

    async def call() -> None:
        nonlocal acknowledged
        while time.time() < end:
            minted = await mint(registry, by, PILIN, count, statement=Statement(target="https://example.org/"))
            names.extend(one.name for one in minted)
            if begin <= time.time() < end:
                acknowledged += len(minted)

    await asyncio.gather(*(call() for _ in range(callers)))
    store.close()
    return acknowledged, names


if __name__ == "__main__":
    main()
