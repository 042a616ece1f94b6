"""How the registry bears growing: `make bench-growth`.

One registry grows from a thousand identifiers to ten million; at each power of ten the same questions are asked, and
each answer is compared with its own at a thousand. `docs/growth.md` and `docs/growth.svg` are written by this.
"""

import argparse
import asyncio
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
from perdure.minting.clock import SystemClock
from perdure.registry import Agent, Registry, Settings, Statement, find_by_value, mint, reopen, search
from perdure.store.sqlite import SqliteStore

SMALLEST, LARGEST = 1000, 10_000_000
BATCH = 5000
LIMIT = 20
COMMON = "report"
FILE = "registry.db"
COMMAND = "python -m bench.growth"
DOCS = Path(__file__).parent.parent / "docs"


class Timing(NamedTuple):
    """Seconds."""

    median: float
    p99: float


Measured = dict[str, Timing]
Question = Callable[[int], Awaitable[object]]  # given the number of an identifier that is there


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
        if (options.folder / FILE).exists():
            parser.error(f"there is a {FILE} in that folder already")
        measured = asyncio.run(grow(options.folder, sizes))
    show(measured)
    (DOCS / "growth.md").write_text(page(measured, options.to), encoding="utf-8")
    plot(measured, DOCS / "growth.svg")


def decades(largest: int) -> list[int]:
    sizes = []
    size = SMALLEST
    while size <= largest:
        sizes.append(size)
        size *= 10
    return sizes


async def grow(folder: Path, sizes: list[int]) -> dict[int, Measured]:
    """Build up to each size, close, open again as after a restart, and measure."""
    file = folder / FILE
    _, admin, store = await open_new(file)
    measured: dict[int, Measured] = {}
    there = 0
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("identifiers", total=sizes[-1])
        for size in sizes:
            while there < size:
                count = min(BATCH, size - there)
                changes = [change_of(number, admin) for number in range(there, there + count)]
                await store.write(lambda tx, changes=changes: tx.insert(changes))
                there += count
                progress.update(task, completed=there)
            store.close()
            store = SqliteStore(file)
            registry = await reopen(store, SystemClock(), Settings())
            progress.update(task, description=f"measuring at {size:,}")
            measured[size] = await measure(registry, store, admin, size)
            progress.update(task, description="identifiers")
    store.close()
    return measured


async def measure(registry: Registry, store: SqliteStore, by: Agent, size: int) -> Measured:
    """Each question many times over, about identifiers drawn at random."""

    async def look_up(number: int) -> object:
        return store.lookup_now(name_of(number))

    async def make(number: int) -> object:
        return await mint(registry, by, UUIDS, said=Statement(target=f"https://minted.example.org/{number}"))

    async def find_rare(number: int) -> object:
        return await search(registry, [accession(number)], limit=LIMIT)

    async def find_common(_: int) -> object:
        return await search(registry, [COMMON], limit=LIMIT)

    async def find_url(number: int) -> object:
        return await find_by_value(registry, url_of(number), limit=LIMIT)

    return {
        "look-up by name": await timed(look_up, size, 20_000),
        "mint, durable": await timed(make, size, 500),
        "search, a rare word": await timed(find_rare, size, 1000),
        "search, a common word": await timed(find_common, size, 1000),
        "look-up by URL": await timed(find_url, size, 1000),
    }


async def timed(question: Question, size: int, times: int) -> Timing:
    """Median and 99th percentile, after a tenth as many calls that only warm up."""
    draw = random.Random(size).randrange
    taken = []
    for turn in range(-times // 10, times):
        number = draw(size)
        begun = time.perf_counter()
        answer = await question(number)
        seconds = time.perf_counter() - begun
        assert answer, "what was asked for was not found"
        if turn >= 0:
            taken.append(seconds)
    return Timing(statistics.median(taken), statistics.quantiles(taken, n=100)[98])


def cells(measured: dict[int, Measured], what: str) -> list[tuple[float, Timing]]:
    """At each size: the median as a ratio to the one at the smallest, and the times themselves."""
    first = next(iter(measured.values()))[what].median
    return [(at[what].median / first, at[what]) for at in measured.values()]


def questions(measured: dict[int, Measured]) -> list[str]:
    return list(next(iter(measured.values())))


def power(size: int) -> str:
    digits = str(len(str(size)) - 1)
    return "10" + digits.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def show(measured: dict[int, Measured]) -> None:
    table = Table("what", *(power(size) for size in measured), title="Ratio to 10³ (median µs / p99 µs)")
    for what in questions(measured):
        table.add_row(
            what, *(f"{ratio:.2f}\n{t.median * 1e6:,.0f} / {t.p99 * 1e6:,.0f}" for ratio, t in cells(measured, what))
        )
    Console().print(table)


def page(measured: dict[int, Measured], largest: int) -> str:
    sizes = list(measured)
    lines = [
        "# Growth",
        "",
        f"What the registry costs as it grows from {sizes[0]:,} identifiers to {sizes[-1]:,}, on SQLite. Each figure is the "
        "median time as a ratio to",
        f"that at {sizes[0]:,}, and in brackets the median and the 99th percentile in microseconds.",
        "",
        "| | " + " | ".join(power(size) for size in sizes) + " |",
        "|---|" + "---|" * len(sizes),
    ]
    for what in questions(measured):
        shown = (f"{ratio:.2f} ({t.median * 1e6:,.0f}, {t.p99 * 1e6:,.0f})" for ratio, t in cells(measured, what))
        lines.append(f"| {what} | " + " | ".join(shown) + " |")
    lines += [
        "",
        "![Each question's median time as a ratio to that at a thousand identifiers](growth.svg)",
        "",
        "One registry was filled with records that have a URL, a creator and a description, closed and opened again at "
        "each size, and asked one question at a",
        f"time about names drawn at random; searches ask for {LIMIT} hits, a rare word stands in one record and a common "
        "one in every second, and a mint is",
        "answered when it is on disk. The file system's cache was left as the filling had left it. To print this again:",
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
    for what in questions(measured):
        axes.plot(list(measured), [ratio for ratio, _ in cells(measured, what)], marker="o", label=what)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("identifiers")
    axes.set_ylabel(f"median time, as a ratio to that at {SMALLEST:,}")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    main()
