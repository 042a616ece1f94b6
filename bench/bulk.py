"""Speed of bulk commands, compared with `perdure import` of as many lines: `make bench-bulk`.

Every command is a process of its own, as an operator runs it, on a copy of the same registry on the same disk. In each
round every command runs once. New names are compared with an import of the same records, and new targets with an import
of the same targets (`--update`), which is the other way to change them. `required` is the goal for the ratio.
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
IMPORT, UPDATE = "import of CSV", "import --update of CSV"


class Task(NamedTuple):
    """A command that is measured: its arguments, the command it is compared with, and the goal for the ratio.

    `needs_names` is set if the names must be in the registry before.
    """

    what: str
    arguments: Sequence[str]
    peer: str
    required: float | None = None
    needs_names: bool = False


class Run(NamedTuple):
    """The rate per second of one run of a command, and its CPU microseconds for each row."""

    rate: float
    cpu: float


def tasks() -> list[Task]:
    """Return the commands, each one after its peer."""
    mint = ["--from", "../rows.csv", "--output", "minted.csv"]
    retarget = ["retarget", "--under", UUIDS, "--yes"]
    pattern = ["--from", rf"{re.escape(OLD)}(\w+)", "--to", rf"{NEW}\1", "--regex"]
    return [
        Task(IMPORT, ["import", "../named.csv"], IMPORT),
        Task("import of NDJSON", ["import", "../lines.ndjson"], IMPORT),
        Task("mint --from, UUIDs", ["mint", UUIDS, *mint], IMPORT, REQUIRED),
        Task("mint --from, numbers", ["mint", NUMBERS, *mint], IMPORT, REQUIRED),
        Task(UPDATE, ["import", "--update", "../moved.csv"], IMPORT, needs_names=True),
        Task("retarget", [*retarget, "--from", OLD, "--to", NEW], UPDATE, REQUIRED, needs_names=True),
        Task("retarget --regex", [*retarget, *pattern], UPDATE, REQUIRED, needs_names=True),
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=50_000, help="rows of each command (default: %(default)s)")
    options.add_argument("--rounds", type=int, default=3, help="rounds of all commands (default: %(default)s)")
    given = options.parse_args()
    console = Console(stderr=True)
    runs: dict[str, list[Run]] = {task.what: [] for task in tasks()}
    with scratch() as folder:
        write_files(folder, given.rows)
        create_registry(folder / "empty")
        run_on_copy(folder / "empty", folder / "full", ["import", "../named.csv"], given.rows)
        for number in range(given.rounds):
            console.print(f"round {number + 1} of {given.rounds} …")
            for task in tasks():
                start = folder / ("full" if task.needs_names else "empty")
                runs[task.what].append(run_on_copy(start, folder / "work", task.arguments, given.rows))
    print_table(runs, given.rows)


def write_files(folder: Path, count: int) -> None:
    """Write the same records as lines, as a table, and as a table without names; and a table of new targets."""
    heading = ("target", *About.__struct_fields__)
    with (
        (folder / "lines.ndjson").open("wb") as lines,
        (folder / "named.csv").open("w", newline="", encoding="utf-8") as named,
        (folder / "rows.csv").open("w", newline="", encoding="utf-8") as rows,
        (folder / "moved.csv").open("w", newline="", encoding="utf-8") as moved,
    ):
        csv.writer(moved).writerow(("name", "target"))
        csv.writer(named).writerow(("name", *heading))
        csv.writer(rows).writerow(heading)
        for number in range(count):
            name, about = name_of(number), record_of(number, "").about
            row = (url_of(number), *msgspec.structs.astuple(about))
            lines.write(msgspec.json.encode({"name": name, "target": url_of(number), "about": about}) + b"\n")
            csv.writer(named).writerow((name, *row))
            csv.writer(rows).writerow(row)
            csv.writer(moved).writerow((name, url_of(number).replace(OLD, NEW)))


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
    table = Table(
        "what", "peer", "per s", "CPU µs", "ratio", "range", "CPU ratio", "required", title=f"{count:,} rows, on SQLite"
    )
    for task in tasks():
        its, peers = runs[task.what], runs[task.peer]
        ratios = [one.rate / peer.rate for one, peer in zip(its, peers, strict=True)]
        cpu = [peer.cpu / one.cpu for one, peer in zip(its, peers, strict=True)]
        table.add_row(
            task.what,
            task.peer,
            f"{statistics.median(one.rate for one in its):,.0f}",
            f"{statistics.median(one.cpu for one in its):.1f}",
            f"{statistics.median(ratios):.2f}",
            f"{min(ratios):.2f}–{max(ratios):.2f}",
            f"{statistics.median(cpu):.2f}",
            "" if task.required is None else f"{task.required:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
