"""Speed of the registry on PostgreSQL: `make bench-postgres`.

Every figure is a ratio to a peer, measured in alternating rounds of the same run; the median counts. So other load on
the machine affects both. `target` is the ratio that we aim at; nothing fails if it is not met. The server is the
bench's own, with fsync on a real disk, or the one that PERDURE_TEST_POSTGRES names.
"""

import argparse
import asyncio
import hashlib
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import count as counting
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.table import Table

from bench.postgres_location import BARE, OURS, BenchLocation, open_location
from bench.registry import UUIDS, WHEN, create_registry_on, encode, name_of, open_new, record_of, scratch, url_of
from bench.rounds import OthersShare, Round, Rounds
from perdure.formats import ndjson
from perdure.formats.import_entries import Entry
from perdure.registry import Agent, Registry, Settings, Statement, import_entries, mint, observe, reopen
from perdure.registry.importing.driver import _CHUNK as BATCH
from perdure.registry.store_interface import Store
from perdure.store.postgres import bulk_insert
from perdure.store.postgres.address import parse
from perdure.store.postgres.connection import KEY_LOOKUP_SETTINGS, Connection, connect
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.store.postgres.reader import _COLUMNS as COLUMNS
from perdure.store.postgres.reader import FIND_MANY, to_json_array
from perdure.store.postgres.store import PostgresStore
from perdure.timelines.clock import SystemClock

IDENTIFIERS: Final = 1_000_000
SEGMENTS: Final = 10  # of the load: ours and the bare COPY take turns
ROUNDS: Final = 7
IN_FLIGHT: Final = 64
LOOKUPS_ALONE, LOOKUPS_TOGETHER = 3_000, 600 * IN_FLIGHT
MINTS_ALONE, MINTS_TOGETHER = 150, 30 * IN_FLIGHT
BUSY: Final = 0.15  # of the machine: more than this in others' hands is worth a word

ANY: Final = f"SELECT {COLUMNS} FROM identifiers AS i WHERE i.key = ANY(%s)"  # noqa: S608

console = Console(stderr=True)


class Line(NamedTuple):
    """A row of the result; `target` is None where the figure only informs."""

    what: str
    mine: Rounds
    peer: str
    other: Rounds
    target: float | None = None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.postgres", description=__doc__)
    parser.add_argument("--identifiers", type=int, default=IDENTIFIERS, help="how many there are (%(default)s)")
    parser.add_argument("--keep", type=Path, help="a folder to keep the loaded database in, or to find it in")
    options = parser.parse_args()
    if options.identifiers < SEGMENTS * BATCH or options.identifiers % (SEGMENTS * BATCH):
        parser.error(f"--identifiers must be a multiple of {SEGMENTS * BATCH}")
    if os.getloadavg()[0] > (os.cpu_count() or 1) / 2:
        console.print(f"The load average is {os.getloadavg()[0]:.1f} before anything has begun: wait, or doubt.")
    with open_location(options.keep) as location:
        others = OthersShare(lambda: _sum(location.server_cpu(), time.process_time()))
        lines = asyncio.run(measure_all(location, options.identifiers))
        share = others.read()
    show(lines, options.identifiers)
    if share is not None and share > BUSY:
        Console().print(
            f"Other programs had {share:.0%} of this machine meanwhile: the figures are rougher than usual."
        )


async def measure_all(location: BenchLocation, size: int) -> list[Line]:
    notes = location.notes
    if notes is None or notes["identifiers"] != size:
        location.drop()  # data of an interrupted run, or of another size
        lines = await load(location, size)
    else:
        console.print("loaded already; the figures of the load are those of that run")
        lines = [_load_line(*(_rounds(notes[name]) for name in (OURS, BARE)))]
    store = PostgresStore(location.address(OURS), location.marks(OURS), PostgresOptions())
    registry = await reopen(store, SystemClock(), Settings())
    admin = (await store.read(lambda reader: reader.agents()))[0]
    location.settle(OURS)
    console.print("looking up …")
    lines += await lookups(location, store, size)
    console.print("minting …")
    lines += await mints(location, registry, admin)
    store.close()
    return lines


# Bulk load


async def load(location: BenchLocation, size: int) -> list[Line]:
    """Measure an import, and a bare COPY of its rows into the same tables of another schema."""
    PostgresStore(location.address(BARE), location.marks(BARE), PostgresOptions(), create=True).close()
    store = PostgresStore(location.address(OURS), location.marks(OURS), PostgresOptions(), create=True)
    registry, admin = await create_registry_on(store)
    reading, writing = (connect(parse(location.address(name)), PostgresOptions()) for name in (OURS, BARE))
    ours, bare = Rounds(location.server_cpu), Rounds(location.server_cpu)
    with scratch() as folder:
        file = folder / "identifiers.ndjson"
        console.print("writing the file …")
        write_lines(file, size)
        entries = read_lines(file)
        each = size // SEGMENTS
        for number in range(SEGMENTS):
            console.print(f"loading, part {number + 1} of {SEGMENTS} …")
            last = newest(reading)
            with ours.round(each):
                tally = await import_entries(registry, admin, islice(entries, each), checkpoint=f"bench-{number}")
            assert tally.created == each, tally
            chunks = rows_since(reading, last)
            with bare.round(each):
                copy(writing, chunks)
    reading.close()
    writing.close()
    store.close()
    location.drop(BARE)  # or the server would vacuum it during the next measurement
    location.note({"identifiers": size, OURS: ours.rounds, BARE: bare.rounds})
    return [_load_line(ours, bare)]


def write_lines(file: Path, size: int) -> None:
    with file.open("wb") as lines:
        for number in range(size):
            entry = {"name": name_of(number), "target": url_of(number), "about": record_of(number, "").about}
            lines.write(encode(entry) + b"\n")


def read_lines(file: Path) -> Iterator[Entry]:
    with file.open("rb") as lines:
        yield from ndjson.read(enumerate(lines, 1))


def newest(connection: Connection) -> int:
    row = connection.execute("SELECT coalesce(max(added), 0) FROM words").fetchone()
    assert row is not None
    return int(row[0])


Chunk = list[tuple[bulk_insert.Table, list[tuple[Any, ...]]]]


def rows_since(connection: Connection, last: int) -> list[Chunk]:
    """Return the rows that an import has written, in transactions of the same size and order."""
    keys = connection.execute("SELECT key FROM identifiers WHERE added > %s ORDER BY added", (last,)).fetchall()
    chunk_of = {key: number // BATCH for number, (key,) in enumerate(keys)}
    chunks: list[Chunk] = [[] for _ in range(0, len(keys), BATCH)]
    for table in (bulk_insert.IDENTIFIERS, bulk_insert.REVISIONS, bulk_insert.WORDS, bulk_insert.REVERSE):
        columns = ", ".join(f"t.{column}" for column in table.columns)
        query = f"SELECT {columns} FROM {table.name} AS t JOIN identifiers AS i USING (key) WHERE i.added > %s"  # noqa: S608
        rows = connection.execute(query, (last,), binary=True).fetchall()
        for chunk in chunks:
            chunk.append((table, []))
        position = table.columns.index("key")
        for row in rows:
            chunks[chunk_of[row[position]]][-1][1].append(row)
        for chunk in chunks:
            chunk[-1][1].sort(key=_by_primary_key(table))
    return chunks


def _by_primary_key(table: bulk_insert.Table) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    return (lambda row: row) if table is bulk_insert.REVERSE else (lambda row: row[:2])


def copy(connection: Connection, chunks: Sequence[Chunk]) -> None:
    """Copy the rows into the same tables, in as many transactions: the peer of the import."""
    for chunk in chunks:
        with connection.transaction():
            for table, rows in chunk:
                statement = f"COPY {table.name} ({', '.join(table.columns)}) FROM STDIN (FORMAT BINARY)"
                with connection.cursor().copy(statement) as copying:
                    # The vectors of words were read in the server's own form, and go back in it.
                    copying.set_types(["bytea" if one == "tsvector" else one for one in table.types])
                    for row in rows:
                        copying.write_row(row)


def _load_line(ours: Rounds, bare: Rounds) -> Line:
    return Line("bulk load of NDJSON", ours, "bare COPY of its rows", bare, 0.5)


def _rounds(stored: list[list[float]]) -> Rounds:
    rounds = Rounds()
    rounds.rounds = [Round(*one) for one in stored]
    return rounds


# Look-ups


async def lookups(location: BenchLocation, store: Store, size: int) -> list[Line]:
    """Look up random names: one at a time, many concurrently, and, as the peer, in bare batches of the same size."""
    address = parse(location.address(OURS))
    plain, planned = connect(address, PostgresOptions()), connect(address, PostgresOptions(), KEY_LOOKUP_SETTINGS)
    alone, together, by_any, joined = (Rounds(location.server_cpu) for _ in range(4))
    draw = random.Random(size).randrange

    async def look_up(names: Sequence[str], times: list[float]) -> None:
        for name in names:
            begun = time.perf_counter()
            found = await store.lookup(name)
            times.append(time.perf_counter() - begun)
            assert found is not None

    for number in range(-1, ROUNDS):  # the first only warms up
        if number == 0:
            for rounds in (alone, together, by_any, joined):
                rounds.rounds.clear()
                rounds.times.clear()
        names = [name_of(draw(size)) for _ in range(LOOKUPS_TOGETHER)]
        with alone.round(LOOKUPS_ALONE):
            await look_up(names[:LOOKUPS_ALONE], alone.times)
        with together.round(len(names)):
            await asyncio.gather(*(look_up(names[task::IN_FLIGHT], together.times) for task in range(IN_FLIGHT)))
        for rounds, connection, statement, written in (
            (by_any, plain, ANY, list),
            (joined, planned, FIND_MANY, to_json_array),
        ):
            with rounds.round(len(names)):
                in_batches(connection, statement, written, names)
    plain.close()
    planned.close()
    what = f"look-ups, {IN_FLIGHT} in flight"
    targets = {id(max(by_any, joined, key=lambda one: one.rate)): 0.6}  # the faster of the two is the one that counts
    return [
        Line(what, together, "one at a time", alone, 15.0),
        Line(what, together, f"bare loop, {IN_FLIGHT} a batch, = ANY", by_any, targets.get(id(by_any))),
        Line(what, together, f"bare loop, {IN_FLIGHT} a batch, joined", joined, targets.get(id(joined))),
    ]


def in_batches(
    connection: Connection, statement: str, written: Callable[[list[str]], object], names: Sequence[str]
) -> None:
    with connection.cursor(binary=True) as cursor:
        for first in range(0, len(names), IN_FLIGHT):
            batch = list(names[first : first + IN_FLIGHT])
            rows = cursor.execute(statement, (written(batch),)).fetchall()
            assert len(rows) >= len(set(batch))  # a join returns a repeated key twice


# Mints

Mint = Callable[[], Awaitable[object]]


async def mints(location: BenchLocation, registry: Registry, admin: Agent) -> list[Line]:
    """Mint durably: one at a time and many concurrently; and on the embedded store, for comparison."""
    with scratch() as folder:
        embedded, embedded_admin, embedded_store = await open_new(folder / "registry.db")
        lines = []
        for what, minters in (("mints of UUIDs", uuid_mint), ("observations (PPIDs)", observation)):
            ours = await measure_mints(location, minters(registry, admin))
            its = await measure_mints(None, minters(embedded, embedded_admin))
            lines += [
                Line(f"{what}, {IN_FLIGHT} at once", ours[1], "one at a time", ours[0], 4.0),
                Line(f"{what}, {IN_FLIGHT} at once, SQLite", its[1], "one at a time", its[0]),
            ]
        embedded_store.close()
    return lines


def uuid_mint(registry: Registry, by: Agent) -> Mint:
    numbers = counting()
    return lambda: mint(registry, by, UUIDS, statement=Statement(target=f"https://example.org/{next(numbers)}"))


def observation(registry: Registry, by: Agent) -> Mint:
    run = os.urandom(8).hex()  # a database that is used again must not have them
    numbers = counting()

    def make() -> Awaitable[object]:
        url = f"https://example.org/people/{run}/{next(numbers)}"
        return observe(registry, by, url, WHEN, hashlib.sha256(url.encode()).hexdigest())

    return make


async def measure_mints(location: BenchLocation | None, make: Mint) -> tuple[Rounds, Rounds]:
    alone, together = (Rounds() if location is None else Rounds(location.server_cpu) for _ in range(2))

    async def write(times: int, noted: list[float]) -> None:
        for _ in range(times):
            begun = time.perf_counter()
            await make()
            noted.append(time.perf_counter() - begun)

    await asyncio.gather(*(write(3, []) for _ in range(IN_FLIGHT)))
    await write(20, [])
    for _ in range(ROUNDS):
        with alone.round(MINTS_ALONE):
            await write(MINTS_ALONE, alone.times)
        with together.round(MINTS_TOGETHER):
            each = MINTS_TOGETHER // IN_FLIGHT
            await asyncio.gather(*(write(each, together.times) for _ in range(IN_FLIGHT)))
    return alone, together


# The result


def show(lines: Sequence[Line], size: int) -> None:
    title = f"The registry on PostgreSQL, {size:,} identifiers (CPU: microseconds of each, here + on the server)"
    table = Table("what", "peer", "per s", "peer's", "ratio", "target", "met", "CPU", "peer's", title=title)
    for line in lines:
        ratio = line.mine.ratio_to(line.other)
        target, met = ("", "") if line.target is None else (f"{line.target:g}", "yes" if ratio >= line.target else "NO")
        rates = (f"{rounds.rate:,.0f}" for rounds in (line.mine, line.other))
        table.add_row(line.what, line.peer, *rates, f"{ratio:.2f}", target, met, _cpu(line.mine), _cpu(line.other))
    times = Table("what", "p50 ms", "p99 ms", title="How long a single call took")
    for line in lines:
        for what, rounds in ((line.what, line.mine), (f"{line.what.partition(',')[0]}, {line.peer}", line.other)):
            if rounds.times and what not in times.columns[0].cells:
                times.add_row(what, *(f"{rounds.percentile(percent) * 1e3:.2f}" for percent in (50, 99)))
    wide = Console(width=None if sys.stdout.isatty() else 160)  # in a file nothing need be folded
    wide.print(table, times)


def _cpu(rounds: Rounds) -> str:
    return f"{rounds.client:,.0f}" + ("" if rounds.server is None else f" + {rounds.server:,.0f}")


def _sum(*parts: float | None) -> float | None:
    return None if None in parts else sum(part for part in parts if part is not None)


if __name__ == "__main__":
    main()
