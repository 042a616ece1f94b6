"""How the registry bears growing: `make bench-growth`.

One registry grows from a thousand identifiers to ten million. At each power of ten the same questions are asked of it
and, turn by turn, of a second one that stays at a thousand: what else the machine does hits both, and the ratio of the
two is what counts. `docs/growth.md` and `docs/growth.svg` are written by this.
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
from perdure.minting.clock import SystemClock
from perdure.registry import Agent, Registry, Settings, Statement, find_by_value, mint, reopen, search
from perdure.store.sqlite import SqliteStore

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
DOCS = Path(__file__).parent.parent / "docs"


class Timing(NamedTuple):
    """Ratios to the registry that stays small, in the median and in the 99th percentile, and the median in seconds."""

    ratio: float
    p99: float
    median: float


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
    file, notes = folder / FILE, folder / "measured.json"
    small, small_admin, small_store, _ = await opened(folder / "small" / FILE)
    if small_store.lookup_now(name_of(0)) is None:
        first = [change_of(number, small_admin) for number in range(SMALLEST)]
        await small_store.write(lambda tx: tx.insert(first))
    _, admin, store, there = await opened(file)
    measured: dict[int, Measured] = {}
    if notes.exists():  # an earlier run came so far
        kept = json.loads(notes.read_text())
        measured = {int(size): {what: Timing(*one) for what, one in its.items()} for size, its in kept.items()}
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
            big_questions = questions_to(registry, store, admin)
            small_questions = questions_to(small, small_store, small_admin)
            measured[size] = {
                what: await timed(big_questions[what], small_questions[what], size, times)
                for what, times in TIMES.items()
            }
            notes.write_text(json.dumps(measured))
            progress.update(task, description="identifiers")
    store.close()
    small_store.close()
    return measured


async def opened(file: Path) -> tuple[Registry, Agent, SqliteStore, int]:
    """A registry that is made, or found, and how many of the numbered identifiers it has."""
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
    """Read the file through, so that it lies in the system's cache as far as memory allows."""
    with file.open("rb") as stream:
        while stream.read(1 << 24):
            pass


def questions_to(registry: Registry, store: SqliteStore, by: Agent) -> dict[str, Question]:
    """What is asked of a registry, given the number of an identifier that is there."""

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

    return dict(zip(TIMES, (look_up, make, find_rare, find_common, find_url), strict=True))


async def timed(big: Question, small: Question, size: int, times: int) -> Timing:
    """Both turn by turn, after a tenth as many calls that only warm up."""
    draw = random.Random(size).randrange
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(-times // 10, times):
        for question, largest, its in ((big, size, taken[0]), (small, SMALLEST, taken[1])):
            number = draw(largest)
            begun = time.perf_counter()
            answer = await question(number)
            seconds = time.perf_counter() - begun
            assert answer, "what was asked for was not found"
            if turn >= 0:
                its.append(seconds)
    medians = [statistics.median(its) for its in taken]
    p99 = [statistics.quantiles(its, n=100)[98] for its in taken]
    return Timing(medians[0] / medians[1], p99[0] / p99[1], medians[0])


def questions(measured: dict[int, Measured]) -> list[str]:
    return list(next(iter(measured.values())))


def power(size: int) -> str:
    digits = str(len(str(size)) - 1)
    return "10" + digits.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def show(measured: dict[int, Measured]) -> None:
    title = "Median, and 99th percentile, as ratios to a registry of 10³ in the same run (median µs)"
    table = Table("what", *(power(size) for size in measured), title=title)
    for what in questions(measured):
        timings = [at[what] for at in measured.values()]
        table.add_row(what, *(f"{one.ratio:.2f}, {one.p99:.2f}\n({one.median * 1e6:,.0f})" for one in timings))
    Console().print(table)


def page(measured: dict[int, Measured], largest: int) -> str:
    sizes = list(measured)
    lines = [
        "# Growth",
        "",
        f"What the registry costs as it grows from {sizes[0]:,} identifiers to {sizes[-1]:,}, on SQLite: the median time, and "
        "the 99th percentile, as ratios",
        f"to a second registry that stays at {SMALLEST:,} and is asked turn by turn in the same run.",
        "",
        "| | " + " | ".join(power(size) for size in sizes) + " |",
        "|---|" + "---|" * len(sizes),
    ]
    for what in questions(measured):
        shown = (f"{at[what].ratio:.2f}, {at[what].p99:.2f}" for at in measured.values())
        lines.append(f"| {what} | " + " | ".join(shown) + " |")
    lines += [
        "",
        "![Each question's median time as a ratio to that at a thousand identifiers](growth.svg)",
        "",
        "One registry was filled with records that have a URL, a creator and a description, closed and opened again at "
        "each size, and asked one question at a",
        f"time about names drawn at random; searches ask for {LIMIT} hits, a rare word stands in one record and a common "
        "one in every second, and a mint is",
        "answered when it is on disk. The file was read through before, so that it lay in the system's cache; where memory is too small for that, a look-up by name "
        "waits for a read or two of the disk besides. To print this again:",
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
