"""Speed of the server over HTTP: `make bench-http`.

nginx and Perdure answer the same requests in the same run, turn by turn: one worker each, wrk on loopback with one
thread and connections that stay open, names drawn uniformly at random. Every ratio is the median over neighbouring
rounds, because the machine's speed varies and what else it does hits both. `asked` is what we hold ourselves to;
nothing fails if it is not met. A row in which a single request went wrong is invalid, and shows no figures.
"""
# ruff: noqa: A005  (it is only ever run as bench.http)

import argparse
import os
import random
import re
import statistics
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
from tests.postgres.shared import FOREIGN

from bench import http_servers
from bench.http_page import Round, Row, show, write
from bench.http_servers import Server, command, made, missing_programs, nginx, peer, perdure
from bench.http_wrk import Taken, Wrk
from bench.postgres import BUSY, write_lines
from bench.postgres_place import OURS, Place, open_place
from bench.registry import UUIDS, name_of, scratch, url_of
from bench.rounds import CpuSeconds, OthersShare
from perdure.store.sqlite.connection import connect

NAMES: Final = 1_000_000
ROUNDS: Final = 7
SECONDS: Final = 5.0
READERS, WRITERS = 32, 64
SAMPLE: Final = 200
CREATED: Final = "20.500.54321"  # the prefix of what the bench creates over HTTP: UUIDs
DOCS: Final = Path(__file__).parent.parent / "docs"

console = Console(stderr=True)

Once = Callable[[], Taken]


def main() -> None:
    options = arguments()
    missing = missing_programs()
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)} (apt-get install {' '.join(missing)})")
    if os.getloadavg()[0] > (os.cpu_count() or 1) / 2:
        console.print(f"The load average is {os.getloadavg()[0]:.1f} before anything has begun: wait, or doubt.")
    peers = [peer(text) for text in options.peer]
    with scratch() as passing:
        folder = options.keep or passing
        folder.mkdir(parents=True, exist_ok=True)
        rows, share = measured(folder, passing, options, peers)
    title = f"The server over HTTP, {options.names:,} identifiers (CPU: microseconds per request, all its processes)"
    show(rows, title)
    note = "" if share is None or share <= BUSY else f" Other programs had {share:.0%} of the machine meanwhile."
    if note:
        Console().print(note.strip())
    if options.docs is not None:
        write(rows, how(options, note), options.docs)
    if not all(row.is_valid for row in rows):
        sys.exit(1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.http", description=__doc__)
    parser.add_argument("--names", type=int, default=NAMES, help="how many identifiers there are (%(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each measurement (%(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that a round takes (%(default)s)")
    parser.add_argument("--keep", type=Path, help="a folder to keep the loaded registries in, or to find them in")
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=URL",
        help="another resolver that is running, and knows the same names (or --peer-names); {name} in URL is the name",
    )  # fmt: skip
    parser.add_argument("--peer-names", type=Path, help="a file with the names that peers are asked for, one a line")
    parser.add_argument("--no-postgres", action="store_true", help="leave PostgreSQL out")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where speed.md lies, to write the figures into")
    parser.add_argument("--no-docs", dest="docs", action="store_const", const=None, help="only print them")
    options = parser.parse_args()
    if min(options.names, options.rounds, options.seconds) < 1:
        parser.error("--names, --rounds and --seconds must be at least 1")
    return options


def measured(
    folder: Path, passing: Path, options: argparse.Namespace, peers: Sequence[Server]
) -> tuple[list[Row], float | None]:
    console.print("loading …")
    names = folder / f"names-{options.names}.txt"
    lines = folder / f"identifiers-{options.names}.ndjson"
    written(names, lines, options.names)
    embedded = folder / f"sqlite-{options.names}"
    load(embedded, lines)
    wrk = Wrk(passing, names, options.seconds)
    with ExitStack() as stack:
        first = stack.enter_context(nginx(passing))
        ours = stack.enter_context(perdure(embedded, "Perdure"))
        cpus: list[CpuSeconds] = [first.cpu, ours.cpu, *(one.cpu for one in peers)]
        others = OthersShare(lambda: http_servers._sum(time.process_time(), *_own_children(), *(cpu() for cpu in cpus)))
        rows = reading(wrk, first, ours, options)
        rows += compared(wrk, first, peers, options)
        if not options.no_postgres and (binaries() is not None or FOREIGN in os.environ):
            with on_postgres(folder, lines, options) as server:
                rows += [row_of("redirects, on PostgreSQL", wrk, first, server, options, asked=0.15)]
        elif not options.no_postgres:
            console.print("PostgreSQL is not installed: its row is left out")
        rows += creating(wrk, ours, embedded, passing, options)
        share = others.told()
    return rows, share


def _own_children() -> list[float]:
    """What wrk has used, which was waited for."""
    times = os.times()
    return [times.children_user + times.children_system]


# What is served


def written(names: Path, lines: Path, count: int) -> None:
    """The names for wrk, and the file to import; kept ones are used again."""
    if not lines.exists():
        passing = lines.with_suffix(".part")
        write_lines(passing, count)
        passing.rename(lines)
    if not names.exists():
        passing = names.with_suffix(".part")
        with passing.open("w") as file:
            file.writelines(f"{name_of(number)}\n" for number in range(count))
        passing.rename(names)


def load(folder: Path, lines: Path, store: str | None = None) -> None:
    """A registry with everything that is in the file; an interrupted load goes on where it stopped."""
    where = ("--registry", str(folder))
    if made(folder, store):
        command("prefix", "add", UUIDS, "--minter", "uuid", *where)
        command("prefix", "add", CREATED, "--minter", "uuid", *where)
    else:
        command("migrate", "--no-backup", *where)
    command("import", str(lines), *where)


@contextmanager
def on_postgres(folder: Path, lines: Path, options: argparse.Namespace) -> Iterator[Server]:
    """A database server of the bench's own, with fsync on, and a registry on it."""
    keep = folder / "postgres" if options.keep else None
    with open_place(keep) as place:
        registry = place.folder / f"registry-{options.names}"
        console.print("loading PostgreSQL …")
        settings = registry / "perdure.toml"
        if settings.exists():  # the server that is kept listens on another port every time
            settings.write_text(re.sub(r"(?m)^store = .*", f'store = "{place.address(OURS)}"', settings.read_text()))
        else:
            place.drop(OURS)  # what an interrupted run, or one of another size, has left
        load(registry, lines, place.address(OURS))
        place.settle(OURS)
        with perdure(registry, "Perdure on PostgreSQL", _cpu_of(place)) as server:
            yield server


def _cpu_of(place: Place) -> CpuSeconds:
    return place.server_cpu


# Measuring


def reading(wrk: Wrk, first: Server, ours: Server, options: argparse.Namespace) -> list[Row]:
    """Redirects, and records as Handle clients read them; nginx is asked for exactly the same paths."""
    check(ours, options.names)
    record = [server._replace(url=f"{server.root}/api/handles/{{name}}") for server in (first, ours)]
    return [
        row_of("redirects", wrk, first, ours, options, asked=0.5, asked_p99=4.0),
        row_of("records as JSON, Handle API", wrk, record[0], record[1], options, asked=0.35),
    ]


def compared(wrk: Wrk, first: Server, peers: Sequence[Server], options: argparse.Namespace) -> list[Row]:
    for one in peers:
        check_peer(one, options)
    return [row_of(f"redirects, {one.what}", wrk, first, one, options, names=options.peer_names) for one in peers]


def row_of(
    what: str,
    wrk: Wrk,
    yardstick: Server,
    server: Server,
    options: argparse.Namespace,
    *,
    asked: float | None = None,
    asked_p99: float | None = None,
    names: Path | None = None,
) -> Row:
    console.print(f"{what} …")
    turns = turn_by_turn(
        (lambda: wrk.ask(server.url, READERS, names), server.cpu),
        (lambda: wrk.ask(yardstick.url, READERS, names), yardstick.cpu),
        options.rounds,
    )
    return Row(what, turns[0], yardstick.what, turns[1], asked, asked_p99)


def turn_by_turn(
    mine: tuple[Once, CpuSeconds], other: tuple[Once, CpuSeconds], rounds: int
) -> tuple[list[Round], list[Round]]:
    """Both alternately, and once before to warm up."""
    results: tuple[list[Round], list[Round]] = ([], [])
    for number in range(-1, rounds):
        for (once, cpu), its in zip((mine, other), results, strict=True):
            before, taken, after = cpu(), once(), cpu()
            spent = None if before is None or after is None else (after - before) / max(taken.requests, 1) * 1e6
            if number >= 0:
                its.append(Round(taken, spent))
    return results


def check(server: Server, count: int) -> None:
    """Some of the names lead where they should: wrk itself looks only at whether a status is an error."""
    draw = random.Random(count).randrange
    with httpx.Client(base_url=server.root, follow_redirects=False) as client:
        for number in {draw(count) for _ in range(SAMPLE)}:
            answer, record = client.get(f"/{name_of(number)}"), client.get(f"/api/handles/{name_of(number)}")
            if (answer.status_code, answer.headers.get("location")) != (302, url_of(number)):
                raise SystemExit(f"{name_of(number)} does not lead to {url_of(number)}: {answer}")
            if record.status_code != 200 or url_of(number) not in record.text:
                raise SystemExit(f"the record of {name_of(number)} is not given: {record}")


def check_peer(server: Server, options: argparse.Namespace) -> None:
    """A peer redirects what it is asked for: a page that says something else would be no comparison."""
    if options.peer_names is None:
        names = [name_of(random.randrange(options.names)) for _ in range(SAMPLE)]
    else:
        names = random.choices(options.peer_names.read_text().split("\n")[:-1], k=SAMPLE)
    with httpx.Client(follow_redirects=False) as client:
        for name in names:
            answer = client.get(server.url.replace("{name}", name))
            if not answer.has_redirect_location:
                raise SystemExit(f"{server.what} does not redirect {name}, but answers {answer.status_code}")


# Creating


def creating(wrk: Wrk, ours: Server, registry: Path, passing: Path, options: argparse.Namespace) -> list[Row]:
    """Names that are durable when they are acknowledged, and the bare loop on the same disk."""
    key = (registry / "admin.key").read_text().strip()
    value = {"index": 1, "type": "URL", "data": {"format": "string", "value": "https://example.org/@"}}
    ways: list[tuple[str, str, str, dict[str, object], float | None]] = [
        ("creates, own API (POST)", "POST", "/api/v1/identifiers", {"prefix": CREATED, "target": "https://example.org/@"}, 0.6),
        ("creates, Handle API (PUT)", "PUT", f"/api/handles/{CREATED}/@", {"values": [value]}, 0.6),
    ]  # fmt: skip
    bare = Bare(registry.parent / f"bare-{uuid4().hex}.db", options.seconds)
    rows = []
    for what, method, path, body, asked in ways:
        console.print(f"{what} …")

        def create(method: str = method, path: str = path, body: dict[str, object] = body) -> Taken:
            return wrk.create(ours.root, WRITERS, method, path, key, body)

        mine, other = turn_by_turn((create, ours.cpu), (bare.once, time.process_time), options.rounds)
        rows.append(Row(what, mine, "a bare loop of durable commits, SQLite", other, asked))
    bare.close()
    return rows


class Bare:
    """The yardstick of creating: one row after the other, each in a transaction that is on disk when it ends."""

    def __init__(self, file: Path, seconds: float) -> None:
        self._file = file
        self._seconds = seconds
        self._connection = connect(file, create=True)  # with synchronous = FULL
        self._connection.execute("CREATE TABLE names (name TEXT PRIMARY KEY, target TEXT NOT NULL) STRICT")

    def once(self) -> Taken:
        times = []
        execute, clock = self._connection.execute, time.perf_counter
        begun = last = clock()
        while last - begun < self._seconds:
            name = str(uuid4())
            execute("INSERT INTO names VALUES (?, ?)", (f"{CREATED}/{name}", f"https://example.org/{name}"))
            now = clock()
            times.append(now - last)
            last = now
        p50, p99 = statistics.median(times) * 1e6, statistics.quantiles([*times, times[-1]], n=100)[98] * 1e6
        return Taken(len(times) / (last - begun), p50, p99, len(times), 0, 0)

    def close(self) -> None:
        self._connection.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._file}{suffix}").unlink(missing_ok=True)


def how(options: argparse.Namespace, note: str) -> str:
    """Beneath the table: what was run."""
    return (
        f"{options.names:,} identifiers; {options.rounds} rounds of {options.seconds:g} s of each, by turns with its "
        f"yardstick; {READERS} connections for reading, {WRITERS} for creating; {os.cpu_count()} CPUs.{note}"
    )


if __name__ == "__main__":
    main()
