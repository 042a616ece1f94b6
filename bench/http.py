"""Speed of the server over HTTP: `make bench-http`.

nginx and Perdure answer the same requests in the same run, alternately: one worker each, wrk on loopback with one thread
and persistent connections, names drawn uniformly at random. Every ratio is the median over neighbouring rounds, because
the speed of the machine varies, and other programs slow down both. `required` is our goal; missing it is not an error.
A row with a single failed request is invalid, and shows no figures.
"""
# ruff: noqa: A005  (run only as bench.http)

import argparse
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx
from rich.console import Console
from tests.postgres.binaries import binaries
from tests.postgres.shared_server import FOREIGN

from bench import http_servers
from bench.http_report import Round, Row, print_rows, write_docs
from bench.http_servers import (
    Server,
    create_registry,
    missing_programs,
    parse_peer,
    run_command,
    run_nginx,
    run_perdure,
)
from bench.http_wrk import Wrk, WrkResult, result_of
from bench.postgres import BUSY, write_lines
from bench.postgres_location import OURS, BenchLocation, open_location
from bench.registry import UUIDS, name_of, scratch, url_of
from bench.rounds import CpuSeconds, OthersShare
from perdure.store.sqlite.connection import connect

NAMES: Final = 1_000_000
ROUNDS: Final = 7
SECONDS: Final = 5.0
READERS, WRITERS = 32, 64
SAMPLE: Final = 200
BROWSER: Final = "user-agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
CREATED: Final = "20.500.54321"  # prefix of names created over HTTP, with UUID suffixes
DOCS: Final = Path(__file__).parent.parent / "docs" / "explanation"

console = Console(stderr=True)

Measurement = Callable[[], WrkResult]


def main() -> None:
    options = parse_arguments()
    missing = missing_programs()
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)} (apt-get install {' '.join(missing)})")
    if os.getloadavg()[0] > (os.cpu_count() or 1) / 2:
        console.print(
            f"The load average is {os.getloadavg()[0]:.1f} before the start: wait, or the figures are unreliable."
        )
    peers = [parse_peer(text) for text in options.peer]
    with scratch() as temporary:
        folder = options.keep or temporary
        folder.mkdir(parents=True, exist_ok=True)
        rows, share = run_measurements(folder, temporary, options, peers)
    title = f"The server over HTTP, {options.names:,} identifiers (CPU: microseconds per request, all its processes)"
    print_rows(rows, title)
    note = "" if share is None or share <= BUSY else f" Other programs used {share:.0%} of the machine meanwhile."
    if note:
        Console().print(note.strip())
    if options.docs is not None:
        write_docs(rows, describe_run(options, note), options.docs)
    if not all(row.is_valid for row in rows):
        sys.exit(1)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.http", description=__doc__)
    parser.add_argument("--names", type=int, default=NAMES, help="number of identifiers (%(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each measurement (%(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="seconds of each round (%(default)s)")
    parser.add_argument("--keep", type=Path, help="folder for the loaded registries, which later runs use again")
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=URL",
        help="another running resolver with the same names (or --peer-names); {name} in URL is the name",
    )  # fmt: skip
    parser.add_argument("--peer-names", type=Path, help="file with the names to request from peers, one per line")
    parser.add_argument("--no-postgres", action="store_true", help="skip PostgreSQL")
    parser.add_argument(
        "--docs", type=Path, default=DOCS, help="folder of performance.md, to which the figures are written"
    )
    parser.add_argument("--no-docs", dest="docs", action="store_const", const=None, help="only print the figures")
    options = parser.parse_args()
    if min(options.names, options.rounds, options.seconds) < 1:
        parser.error("--names, --rounds and --seconds must be at least 1")
    return options


def run_measurements(
    folder: Path, temporary: Path, options: argparse.Namespace, peers: Sequence[Server]
) -> tuple[list[Row], float | None]:
    console.print("loading …")
    names = folder / f"names-{options.names}.txt"
    lines = folder / f"identifiers-{options.names}.ndjson"
    write_input_files(names, lines, options.names)
    embedded = folder / f"sqlite-{options.names}"
    load_registry(embedded, lines)
    wrk = Wrk(temporary, names, options.seconds)
    with ExitStack() as stack:
        first = stack.enter_context(run_nginx(temporary))
        ours = stack.enter_context(run_perdure(embedded, "Perdure"))
        cpus: list[CpuSeconds] = [first.cpu, ours.cpu, *(one.cpu for one in peers)]
        others = OthersShare(
            lambda: http_servers.sum_or_none(time.process_time(), *_child_cpu_times(), *(cpu() for cpu in cpus))
        )
        rows = measure_reads(wrk, first, ours, options)
        rows += [measure_not_modified(wrk, ours, options), measure_counting(wrk, ours, embedded, options)]
        rows += measure_peers(wrk, first, peers, options)
        if not options.no_postgres and (binaries() is not None or FOREIGN in os.environ):
            with serve_on_postgres(folder, lines, options) as server:
                rows += [measure_row("redirects, on PostgreSQL", wrk, first, server, options, required=0.15)]
        elif not options.no_postgres:
            console.print("PostgreSQL is not installed: its row is skipped")
        rows += measure_creates(wrk, ours, embedded, temporary, options)
        share = others.read()
    return rows, share


def _child_cpu_times() -> list[float]:
    """Return the CPU seconds of finished child processes, which are those of wrk."""
    times = os.times()
    return [times.children_user + times.children_system]


# Registries


def write_input_files(names: Path, lines: Path, count: int) -> None:
    """Write the names for wrk and the file to import, unless they exist."""
    if not lines.exists():
        temporary = lines.with_suffix(".part")
        write_lines(temporary, count)
        temporary.rename(lines)
    if not names.exists():
        temporary = names.with_suffix(".part")
        with temporary.open("w") as file:
            file.writelines(f"{name_of(number)}\n" for number in range(count))
        temporary.rename(names)


def load_registry(folder: Path, lines: Path, store: str | None = None) -> None:
    """Create a registry and import the file. An interrupted import is continued."""
    where = ("--registry", str(folder))
    if create_registry(folder, store):
        run_command("prefix", "add", UUIDS, "--minter", "uuid", *where)
        run_command("prefix", "add", CREATED, "--minter", "uuid", *where)
    else:
        run_command("migrate", "--no-backup", *where)
    run_command("import", str(lines), *where)


@contextmanager
def serve_on_postgres(folder: Path, lines: Path, options: argparse.Namespace) -> Iterator[Server]:
    """Run a database server with fsync, and serve a registry on it."""
    keep = folder / "postgres" if options.keep else None
    with open_location(keep) as location:
        registry = location.folder / f"registry-{options.names}"
        console.print("loading PostgreSQL …")
        settings = registry / "perdure.toml"
        if settings.exists():  # a persistent server gets a new port every time
            settings.write_text(re.sub(r"(?m)^store = .*", f'store = "{location.address(OURS)}"', settings.read_text()))
        else:
            location.drop(OURS)  # left by an interrupted run, or by one of another size
        load_registry(registry, lines, location.address(OURS))
        location.settle(OURS)
        with run_perdure(registry, "Perdure on PostgreSQL", _server_cpu(location)) as server:
            yield server


def _server_cpu(location: BenchLocation) -> CpuSeconds:
    return location.server_cpu


# Measuring


def measure_reads(wrk: Wrk, first: Server, ours: Server, options: argparse.Namespace) -> list[Row]:
    """Measure redirects and Handle records. nginx gets exactly the same paths."""
    check_server(ours, options.names)
    record = [server._replace(url=f"{server.root}/api/handles/{{name}}") for server in (first, ours)]
    return [
        measure_row("redirects", wrk, first, ours, options, required=0.5, required_p99=4.0),
        measure_row("records as JSON, Handle API", wrk, record[0], record[1], options, required=0.35),
    ]


def measure_not_modified(wrk: Wrk, ours: Server, options: argparse.Namespace) -> Row:
    """Measure redirects that the client has already, compared with the same redirects in full."""
    speeds = run_alternately(
        (lambda: wrk.run_reads(ours.url, READERS, None, 'if-none-match: "1"'), ours.cpu),
        (lambda: wrk.run_reads(ours.url, READERS), ours.cpu),
        options.rounds,
    )
    return Row("redirects known to the client (304)", speeds[0], "Perdure, 302", speeds[1], required=1.0)


def measure_counting(wrk: Wrk, ours: Server, registry: Path, options: argparse.Namespace) -> Row:
    """Measure redirects that are counted, with the header of a browser, compared with a server that counts none."""
    settings = registry / "perdure.toml"
    before = settings.read_text()
    settings.write_text(before.replace("[http]", "[http]\nstatistics = false", 1))
    try:
        with run_perdure(registry, "Perdure without statistics") as other:
            speeds = run_alternately(
                (lambda: wrk.run_reads(ours.url, READERS, None, BROWSER), ours.cpu),
                (lambda: wrk.run_reads(other.url, READERS, None, BROWSER), other.cpu),
                options.rounds,
            )
    finally:
        settings.write_text(before)
    return Row("redirects that are counted", speeds[0], other.what, speeds[1], required=0.97)


def measure_peers(wrk: Wrk, first: Server, peers: Sequence[Server], options: argparse.Namespace) -> list[Row]:
    for one in peers:
        check_peer(one, options)
    return [measure_row(f"redirects, {one.what}", wrk, first, one, options, names=options.peer_names) for one in peers]


def measure_row(
    what: str,
    wrk: Wrk,
    yardstick: Server,
    server: Server,
    options: argparse.Namespace,
    *,
    required: float | None = None,
    required_p99: float | None = None,
    names: Path | None = None,
) -> Row:
    console.print(f"{what} …")
    speeds = run_alternately(
        (lambda: wrk.run_reads(server.url, READERS, names), server.cpu),
        (lambda: wrk.run_reads(yardstick.url, READERS, names), yardstick.cpu),
        options.rounds,
    )
    return Row(what, speeds[0], yardstick.what, speeds[1], required, required_p99)


def run_alternately(
    mine: tuple[Measurement, CpuSeconds], other: tuple[Measurement, CpuSeconds], rounds: int
) -> tuple[list[Round], list[Round]]:
    """Run both alternately, after one round to warm up."""
    results: tuple[list[Round], list[Round]] = ([], [])
    for number in range(-1, rounds):
        for (once, cpu), its in zip((mine, other), results, strict=True):
            before, taken, after = cpu(), once(), cpu()
            spent = None if before is None or after is None else (after - before) / max(taken.requests, 1) * 1e6
            if number >= 0:
                its.append(Round(taken, spent))
    return results


def check_server(server: Server, count: int) -> None:
    """Check the targets of a sample of names, because wrk checks only for error statuses."""
    draw = random.Random(count).randrange
    with httpx.Client(base_url=server.root, follow_redirects=False) as client:
        for number in {draw(count) for _ in range(SAMPLE)}:
            response, record = client.get(f"/{name_of(number)}"), client.get(f"/api/handles/{name_of(number)}")
            if (response.status_code, response.headers.get("location")) != (302, url_of(number)):
                raise SystemExit(f"{name_of(number)} does not resolve to {url_of(number)}: {response}")
            if record.status_code != 200 or url_of(number) not in record.text:
                raise SystemExit(f"the record of {name_of(number)} is missing: {record}")


def check_peer(server: Server, options: argparse.Namespace) -> None:
    """Check that a peer redirects a sample of names. Other responses would not be comparable."""
    if options.peer_names is None:
        names = [name_of(random.randrange(options.names)) for _ in range(SAMPLE)]
    else:
        names = random.choices(options.peer_names.read_text().split("\n")[:-1], k=SAMPLE)
    with httpx.Client(follow_redirects=False) as client:
        for name in names:
            response = client.get(server.url.replace("{name}", name))
            if not response.has_redirect_location:
                raise SystemExit(f"{server.what} does not redirect {name}, but answers {response.status_code}")


# Creating


def measure_creates(wrk: Wrk, ours: Server, registry: Path, temporary: Path, options: argparse.Namespace) -> list[Row]:
    """Measure durable creates over HTTP, beside a bare loop of commits on the same disk."""
    key = (registry / "admin.key").read_text().strip()
    value = {"index": 1, "type": "URL", "data": {"format": "string", "value": "https://example.org/@"}}
    methods: list[tuple[str, str, str, dict[str, object], float | None]] = [
        ("creates, HTTP API (POST)", "POST", "/api/v1/identifiers", {"prefix": CREATED, "target": "https://example.org/@"}, 0.6),
        ("creates, Handle API (PUT)", "PUT", f"/api/handles/{CREATED}/@", {"values": [value]}, 0.6),
    ]  # fmt: skip
    bare = BareCommitLoop(registry.parent / f"bare-{uuid4().hex}.db", options.seconds)
    rows = []
    for what, method, path, body, required in methods:
        console.print(f"{what} …")

        def create(method: str = method, path: str = path, body: dict[str, object] = body) -> WrkResult:
            return wrk.run_creates(ours.root, WRITERS, method, path, key, body)

        mine, other = run_alternately((create, ours.cpu), (bare.run, time.process_time), options.rounds)
        rows.append(Row(what, mine, "a bare loop of durable commits, SQLite", other, required))
    bare.close()
    return rows


class BareCommitLoop:
    """The yardstick for creates: a loop of durable transactions, one row each."""

    def __init__(self, file: Path, seconds: float) -> None:
        self._file = file
        self._seconds = seconds
        self._connection = connect(file, create=True)  # with synchronous = FULL
        self._connection.execute("CREATE TABLE names (name TEXT PRIMARY KEY, target TEXT NOT NULL) STRICT")

    def run(self) -> WrkResult:
        times = []
        execute, clock = self._connection.execute, time.perf_counter
        started = last = clock()
        while last - started < self._seconds:
            name = str(uuid4())
            execute("INSERT INTO names VALUES (?, ?)", (f"{CREATED}/{name}", f"https://example.org/{name}"))
            now = clock()
            times.append(now - last)
            last = now
        return result_of(times)

    def close(self) -> None:
        self._connection.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._file}{suffix}").unlink(missing_ok=True)


def describe_run(options: argparse.Namespace, note: str) -> str:
    """Return the caption of the table."""
    return (
        f"{options.names:,} identifiers; {options.rounds} rounds of {options.seconds:g} s of each, alternating with its "
        f"baseline; {READERS} connections for reading, {WRITERS} for creating; {os.cpu_count()} CPUs.{note}"
    )


if __name__ == "__main__":
    main()
