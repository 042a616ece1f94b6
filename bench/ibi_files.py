"""Speed of `perdure collection put` and `verify`, beside the commands that copy and check the same files.

Each command is a process of its own, as an operator runs it. The files are in the page cache for both sides.
"""

import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from bench.bulk import child_seconds
from bench.http import run_alternately
from bench.http_report import Row
from bench.http_servers import create_registry, run_command
from bench.http_wrk import WrkResult, result_of

SUBSYSTEM: Final = "example.org/items"
PUBLIC_URL: Final = "https://id.example.org/items"
_MEGABYTE: Final = 1_000_000
_SMALLEST, _LARGEST = 1_000, 16_000  # bytes of a small file
_IN_DIRECTORY: Final = 100
_COPY_FILE: Final = 'cp "$1" "$2" && sync && sha256sum "$1"'
_COPY_TREE: Final = 'cp -r "$1" "$2" && sync'
_CHECK: Final = 'find "$1" -type f -print0 | xargs -0 sha256sum'

console = Console(stderr=True)


class Sources:
    """The files that are stored: a large one, and a directory of small ones. All bytes are random."""

    def __init__(self, folder: Path, megabytes: int, files: int) -> None:
        self.large = folder / "large.bin"
        self.small = folder / "small"
        self.megabytes = megabytes
        self.files = files
        folder.mkdir(parents=True)
        with self.large.open("wb") as file:
            for _ in range(megabytes):
                file.write(os.urandom(_MEGABYTE))
        draw = random.Random(files)
        for number in range(files):
            directory = self.small / f"{number // _IN_DIRECTORY:04d}"
            directory.mkdir(parents=True, exist_ok=True)
            (directory / f"{number:06d}.txt").write_bytes(os.urandom(draw.randint(_SMALLEST, _LARGEST)))
        os.sync()


class StoredSource(NamedTuple):
    """A source that was put into a collection: its label there, and the directory of its content."""

    label: str
    directory: Path


class ItemRegistry:
    """A registry with collections, in which items are put with the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "items-registry"
        self._collections = folder / "collections"
        self._collections.mkdir(exist_ok=True)
        if create_registry(self.folder):
            names = ("--host", "items.example.org", "--ip", "150.163.34.200", "--granularity", "0.001")
            self._run("prefix", "add", *names)

    def create(self, name: str) -> Path:
        """Create a collection, and return its directory."""
        path = self._collections / name
        self._run("collection", "create", name, "--path", str(path), "--url", f"{PUBLIC_URL}/{name}")
        return path

    def put(self, collection: str, source: Path) -> str:
        """Put a file or a directory, and return the label."""
        put = ("collection", "put", collection, str(source), "--subsystem", SUBSYSTEM, "--json")
        label: str = json.loads(self._run(*put))["label"]
        return label

    def verify(self, collection: str) -> None:
        self._run("collection", "verify", collection)

    def _run(self, *arguments: str) -> str:
        return run_command(*arguments, "--registry", str(self.folder))


def measure_puts(folder: Path, sources: Sources, rounds: int) -> list[Row]:
    """Measure new items, beside copies of the same files that are flushed to disk."""
    registry, copy = ItemRegistry(folder), folder / "copy"
    names = [f"put-{number}" for number in range(2 * (rounds + 1))]
    collections = [(name, registry.create(name)) for name in names]  # one for each run, so that all are alike

    def put(source: Path, units: int) -> WrkResult:
        name, path = collections.pop()
        os.sync()
        begun = time.perf_counter()
        registry.put(name, source)
        seconds = time.perf_counter() - begun
        check_same_size(source, path)
        shutil.rmtree(path)
        return result_of([seconds], units)

    def copy_with(script: str, source: Path, units: int) -> WrkResult:
        os.sync()
        begun = time.perf_counter()
        run_script(script, source, copy)
        seconds = time.perf_counter() - begun
        check_same_size(source, copy)
        shutil.rmtree(copy) if copy.is_dir() else copy.unlink()
        return result_of([seconds], units)

    rows = []
    for what, baseline, script, source, units, required in (
        (f"put, a file of {sources.megabytes:,} MB (in MB)", "cp + sync + sha256sum", _COPY_FILE, sources.large, sources.megabytes, 0.7),
        (f"put, {sources.files:,} small files (in files)", "cp -r + sync", _COPY_TREE, sources.small, sources.files, 0.5),
    ):  # fmt: skip
        console.print(f"{what} …")
        mine, other = run_alternately(
            (lambda source=source, units=units: put(source, units), child_seconds),  # type: ignore[misc]
            (lambda script=script, source=source, units=units: copy_with(script, source, units), child_seconds),  # type: ignore[misc]
            rounds,
        )
        rows.append(Row(what, mine, baseline, other, required))
    return rows


def measure_verify(folder: Path, sources: Sources, rounds: int) -> list[Row]:
    """Measure the check of stored items, beside the digests of the same files."""
    registry = ItemRegistry(folder)
    rows = []
    for name, what, source, units in (
        ("large", f"verify, a file of {sources.megabytes:,} MB (in MB)", sources.large, sources.megabytes),
        ("small", f"verify, {sources.files:,} small files (in files)", sources.small, sources.files),
    ):
        console.print(f"{what} …")
        path = registry.create(name)
        registry.put(name, source)
        content = next(path.glob("**/v1/content"))

        def verify(name: str = name, units: int = units) -> WrkResult:
            begun = time.perf_counter()
            registry.verify(name)
            return result_of([time.perf_counter() - begun], units)

        def check(content: Path = content, units: int = units) -> WrkResult:
            begun = time.perf_counter()
            run_script(_CHECK, content)
            return result_of([time.perf_counter() - begun], units)

        mine, other = run_alternately((verify, child_seconds), (check, child_seconds), rounds)
        rows.append(Row(what, mine, "sha256sum of the same files", other, 0.7))
        shutil.rmtree(path)
    return rows


def run_script(script: str, *arguments: Path) -> None:
    """Run a shell script. Its output goes to a pipe, as that of the commands of Perdure does."""
    command: Sequence[str | Path] = ["sh", "-c", script, "sh", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{script} failed: {done.stderr}")


def check_same_size(source: Path, copy: Path) -> None:
    """Check that all bytes have been copied. A collection has a few more, which describe them."""
    if total_bytes(copy) < total_bytes(source):
        raise SystemExit(f"{source.name} was not copied completely")


def total_bytes(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())
