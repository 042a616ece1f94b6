"""Speed of bulk commands, compared with `perdure import` of as many lines: `make bench-bulk`.

Every command is a process of its own, as an operator runs it, on a copy of the same registry on the same disk. In each
round every command runs once, after an import of the same records. `required` is the goal for the ratio.
"""

import argparse
import csv
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table

from bench.registry import name_of, record_of, scratch, url_of
from perdure.records.record import About

UUIDS, NUMBERS = "20.500.12345", "20.500.12347"
OLD, NEW = "https://repository.example.org/", "https://archive.example.org/"
REQUIRED: Final = 0.9
BASELINE: Final = "import of CSV"


class Task(NamedTuple):
    """A command that is measured: its arguments, and whether the names must be in the registry before."""

    what: str
    arguments: Sequence[str]
    needs_names: bool = False


class Run(NamedTuple):
    """The rate per second of one run of a command, and its CPU microseconds for each row."""

    rate: float
    cpu: float


def tasks() -> list[Task]:
    retarget = ["retarget", "--under", UUIDS, "--yes", "--from"]
    return [
        Task("import of NDJSON", ["import", "../lines.ndjson"]),
        Task("mint --from, UUIDs", ["mint", UUIDS, "--from", "../rows.csv", "--output", "minted.csv"]),
        Task("mint --from, numbers", ["mint", NUMBERS, "--from", "../rows.csv", "--output", "minted.csv"]),
        Task("retarget", [*retarget, OLD, "--to", NEW], needs_names=True),
        Task(
            "retarget --regex", [*retarget, rf"{re.escape(OLD)}(\w+)", "--to", rf"{NEW}\1", "--regex"], needs_names=True
        ),
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=50_000, help="rows of each command (default: %(default)s)")
    options.add_argument("--rounds", type=int, default=3, help="rounds of all commands (default: %(default)s)")
    options.add_argument("--only", metavar="TEXT", default="", help="only commands whose description contains this")
    given = options.parse_args()
    console, measured = Console(stderr=True), [task for task in tasks() if given.only in task.what]
    runs: dict[str, list[Run]] = {BASELINE: [], **{task.what: [] for task in measured}}
    with scratch() as folder:
        write_files(folder, given.rows)
        create_registry(folder / "empty")
        for number in range(given.rounds):
            console.print(f"round {number + 1} of {given.rounds} …")
            import_table = ["import", "../named.csv"]
            runs[BASELINE].append(run_on_copy(folder / "empty", folder / "full", import_table, given.rows))
            for task in measured:
                start = folder / ("full" if task.needs_names else "empty")
                runs[task.what].append(run_on_copy(start, folder / "work", task.arguments, given.rows))
    print_table(runs, given.rows)


def write_files(folder: Path, count: int) -> None:
    """Write the same records as lines, as a table, and as a table without names."""
    heading = ("target", *About.__struct_fields__)
    with (
        (folder / "lines.ndjson").open("wb") as lines,
        (folder / "named.csv").open("w", newline="", encoding="utf-8") as named,
        (folder / "rows.csv").open("w", newline="", encoding="utf-8") as rows,
    ):
        csv.writer(named).writerow(("name", *heading))
        csv.writer(rows).writerow(heading)
        for number in range(count):
            name, about = name_of(number), record_of(number, "").about
            row = (url_of(number), *msgspec.structs.astuple(about))
            lines.write(msgspec.json.encode({"name": name, "target": url_of(number), "about": about}) + b"\n")
            csv.writer(named).writerow((name, *row))
            csv.writer(rows).writerow(row)


def create_registry(folder: Path) -> None:
    perdure(folder.parent, "init", folder.name, "--name", "Bench Library")
    perdure(folder, "prefix", "add", UUIDS, "--minter", "uuid")
    perdure(folder, "prefix", "add", NUMBERS, "--minter", "sequential")


def run_on_copy(start: Path, folder: Path, arguments: Sequence[str], count: int) -> Run:
    """Run a command in a copy of a registry, and return its speed."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(start, folder)
    cpu, begun = child_seconds(), time.perf_counter()
    perdure(folder, *arguments)
    seconds = time.perf_counter() - begun
    return Run(count / seconds, (child_seconds() - cpu) / count * 1e6)


def perdure(folder: Path, *arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "perdure", *arguments], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def child_seconds() -> float:
    """Return the CPU time of all commands so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def print_table(runs: dict[str, list[Run]], count: int) -> None:
    """Print the medians, and the median of the ratios within a round."""
    table = Table("what", "per s", "CPU µs", "ratio", "ratios", "required", title=f"{count:,} rows, on SQLite")
    for what, its in runs.items():
        ratios = [one.rate / peer.rate for one, peer in zip(its, runs[BASELINE], strict=True)]
        required = f"{REQUIRED:.2f}" if what.startswith(("mint", "retarget")) else ""
        table.add_row(
            what,
            f"{statistics.median(one.rate for one in its):,.0f}",
            f"{statistics.median(one.cpu for one in its):.1f}",
            f"{statistics.median(ratios):.2f}",
            ", ".join(f"{ratio:.2f}" for ratio in ratios),
            required,
        )
    Console().print(table)


if __name__ == "__main__":
    main()
