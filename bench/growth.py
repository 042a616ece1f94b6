"""Performance of a growing registry: `make bench-growth`.

One registry grows from a thousand identifiers to ten million. At each power of ten the same queries run on it and,
alternating, on a second one that stays at a thousand: other load on the machine affects both, so the ratio of the two
counts. This program writes `performance-growth.md` and `performance-growth.svg` in docs/explanation.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from matplotlib import pyplot
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from bench.registry import UUIDS, accession, change_of, name_of, open_new, scratch, url_of
from perdure.registry import Agent, Registry, Settings, Statement, find_by_value, mint, reopen, search
from perdure.store.sqlite import SqliteStore
from perdure.timelines.clock import SystemClock

SMALLEST, LARGEST = 1000, 10_000_000
BATCH = 5000
LIMIT = 20
COMMON = "report"
FILE = "registry.db"
COMMAND = "python -m bench.growth"
TIMES = {
    "look-up by name": 20_000,
    "mint, durable": 500,
    "search, a rare word": 1000,
    "search, a common word": 1000,
    "look-up by URL": 1000,
}
DOCS = Path(__file__).parent.parent / "docs" / "explanation"
PAGE = "performance-growth"


class Measurement(NamedTuple):
    """Ratios to the registry that stays small, in the median and in the 99th percentile, and the median in seconds."""

    ratio: float
    p99: float
    median: float


Measured = dict[str, Measurement]
Query = Callable[[int], Awaitable[object]]  # given the number of an existing identifier


def main() -> None:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--to", type=int, default=LARGEST, help="the largest size, in identifiers")
    parser.add_argument("--folder", type=Path, help="where to build, on a disk; otherwise a folder that is removed")
    options = parser.parse_args()
    sizes = decades(options.to)
    if not sizes:
        parser.error(f"--to must be at least {SMALLEST}")
    if options.folder is None:
        with scratch() as folder:
            measured = asyncio.run(grow(folder, sizes))
    else:
        options.folder.mkdir(parents=True, exist_ok=True)
        measured = asyncio.run(grow(options.folder, sizes))
    show(measured)
    (DOCS / f"{PAGE}.md").write_text(page(measured, options.to), encoding="utf-8")
    plot(measured, DOCS / f"{PAGE}.svg")


def decades(largest: int) -> list[int]:
    sizes = []
    size = SMALLEST
    while size <= largest:
        sizes.append(size)
        size *= 10
    return sizes


async def grow(folder: Path, sizes: list[int]) -> dict[int, Measured]:
    """Build up to each size, close, reopen as after a restart, and measure."""
    file, notes = folder / FILE, folder / "measured.json"
    small, small_admin, small_store, _ = await open_registry_at(folder / "small" / FILE)
    if small_store.lookup_now(name_of(0)) is None:
        first = [change_of(number, small_admin) for number in range(SMALLEST)]
        await small_store.write(lambda tx: tx.insert(first))
    _, admin, store, there = await open_registry_at(file)
    measured: dict[int, Measured] = {}
    if notes.exists():  # an earlier run came so far
        stored = json.loads(notes.read_text())
        measured = {int(size): {what: Measurement(*one) for what, one in its.items()} for size, its in stored.items()}
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("identifiers", total=sizes[-1])
        for size in (size for size in sizes if size not in measured):
            while there < size:
                count = min(BATCH, size - there)
                changes = [change_of(number, admin) for number in range(there, there + count)]
                await store.write(lambda tx, changes=changes: tx.insert(changes))
                there += count
                progress.update(task, completed=there)
            store.close()
            warm(file)
            store = SqliteStore(file)
            registry = await reopen(store, SystemClock(), Settings())
            progress.update(task, description=f"measuring at {size:,}")
            big_queries = queries_of(registry, store, admin)
            small_queries = queries_of(small, small_store, small_admin)
            measured[size] = {
                what: await measure(big_queries[what], small_queries[what], size, times)
                for what, times in TIMES.items()
            }
            notes.write_text(json.dumps(measured))
            progress.update(task, description="identifiers")
    store.close()
    small_store.close()
    return measured


async def open_registry_at(file: Path) -> tuple[Registry, Agent, SqliteStore, int]:
    """Open or create a registry. Return it with the number of its numbered identifiers."""
    if not file.exists():
        return *(await open_new(file)), 0
    store = SqliteStore(file)
    registry = await reopen(store, SystemClock(), Settings())
    agents = await store.read(lambda reader: reader.agents())
    low, high = 0, LARGEST * 10
    while low < high:  # they are numbered without gaps
        middle = (low + high) // 2
        low, high = (middle + 1, high) if store.lookup_now(name_of(middle)) is not None else (low, middle)
    return registry, agents[0], store, low


def warm(file: Path) -> None:
    """Read the whole file, so that it is in the system's cache as far as memory allows."""
    with file.open("rb") as stream:
        while stream.read(1 << 24):
            pass


def queries_of(registry: Registry, store: SqliteStore, by: Agent) -> dict[str, Query]:
    """Return the queries of a registry, given the number of an existing identifier."""

    async def look_up(number: int) -> object:
        return store.lookup_now(name_of(number))

    async def make(number: int) -> object:
        return await mint(registry, by, UUIDS, statement=Statement(target=f"https://minted.example.org/{number}"))

    async def find_rare(number: int) -> object:
        return await search(registry, [accession(number)], limit=LIMIT)

    async def find_common(_: int) -> object:
        return await search(registry, [COMMON], limit=LIMIT)

    async def find_url(number: int) -> object:
        return await find_by_value(registry, url_of(number), limit=LIMIT)

    return dict(zip(TIMES, (look_up, make, find_rare, find_common, find_url), strict=True))


async def measure(big: Query, small: Query, size: int, times: int) -> Measurement:
    """Measure both alternately, after a warm-up of a tenth as many calls."""
    draw = random.Random(size).randrange
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(-times // 10, times):
        for query, largest, its in ((big, size, taken[0]), (small, SMALLEST, taken[1])):
            number = draw(largest)
            begun = time.perf_counter()
            answer = await query(number)
            seconds = time.perf_counter() - begun
            assert answer, "an existing identifier was not found"
            if turn >= 0:
                its.append(seconds)
    medians = [statistics.median(its) for its in taken]
    p99 = [statistics.quantiles(its, n=100)[98] for its in taken]
    return Measurement(medians[0] / medians[1], p99[0] / p99[1], medians[0])


def query_names(measured: dict[int, Measured]) -> list[str]:
    return list(next(iter(measured.values())))


def power(size: int) -> str:
    digits = str(len(str(size)) - 1)
    return "10" + digits.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def show(measured: dict[int, Measured]) -> None:
    title = "Median, and 99th percentile, as ratios to a registry of 10³ in the same run (median µs)"
    table = Table("what", *(power(size) for size in measured), title=title)
    for what in query_names(measured):
        timings = [at[what] for at in measured.values()]
        table.add_row(what, *(f"{one.ratio:.2f}, {one.p99:.2f}\n({one.median * 1e6:,.0f})" for one in timings))
    Console().print(table)


def page(measured: dict[int, Measured], largest: int) -> str:
    sizes = list(measured)
    lines = [
        "# Performance of a growing registry",
        "",
        f"The cost of operations while a registry on SQLite grows from {sizes[0]:,} to {sizes[-1]:,} identifiers. Each cell has "
        "the median time and the",
        f"99th percentile, as ratios to a second registry that stays at {SMALLEST:,} identifiers. Both registries are "
        "measured alternately in the same run.",
        "",
        "| operation | " + " | ".join(power(size) for size in sizes) + " |",
        "|---|" + "---|" * len(sizes),
    ]
    for what in query_names(measured):
        shown = (f"{at[what].ratio:.2f}, {at[what].p99:.2f}" for at in measured.values())
        lines.append(f"| {what} | " + " | ".join(shown) + " |")
    lines += [
        "",
        f"![The median time of each operation, as a ratio to a registry of a thousand identifiers]({PAGE}.svg)",
        "",
        "How it was measured:",
        "",
        "- Each record has a URL, a creator and a description.",
        "- At each size the registry is closed and opened again. Operations run one at a time, on names drawn at random.",
        f"- A search asks for {LIMIT} hits. A rare word is in one record, a common word in every second one.",
        "- A mint ends when the name is on disk.",
        "- The file is read once before, so that it is in the cache of the operating system. With less memory, a look-up by "
        "name also waits for one or two reads of the disk.",
        "",
        "To repeat the measurement:",
        "",
        "```",
        COMMAND if largest == LARGEST else f"{COMMAND} --to {largest}",
        "```",
        "",
    ]
    return "\n".join(lines)


def plot(measured: dict[int, Measured], file: Path) -> None:
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "perdure", "font.family": "sans-serif"})
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for what in query_names(measured):
        axes.plot(list(measured), [at[what].ratio for at in measured.values()], marker="o", label=what)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("identifiers")
    axes.set_ylabel(f"median time, as a ratio to {SMALLEST:,} identifiers")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    main()
