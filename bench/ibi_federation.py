"""Speed of names of other servers: what a look-up at a peer adds to a redirect.

One client, one connection, one request after the other. Each name is requested once only, so that no answer is cached.
The peer is a program that answers in one millisecond, or another Perdure server.
"""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count as counting
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from rich.console import Console
from tests.http.federation.peers import ITEM

from bench.http import load_registry, run_alternately, write_input_files
from bench.http_report import Row
from bench.http_servers import Server, create_registry, run_command, run_perdure
from bench.http_wrk import WrkResult, result_of
from bench.registry import name_of
from bench.rounds import cpu_of_tree
from bench.signed_peer import SECONDS

REQUIRED_ADDED: Final = 3.0  # milliseconds
OWN_PREFIX: Final = "20.500.10"
OWN: Final = f"{OWN_PREFIX}/local"
_CALLS: Final = 500  # in each round
_PEER_PREFIX: Final = "77777"  # which the peer announces
_TIMEOUT: Final = 60.0

console = Console(stderr=True)


def measure_federation(folder: Path, rounds: int) -> list[Row]:
    """Measure redirects to names of other servers, beside those to a name of this server."""
    count = _CALLS * (rounds + 1) + 1  # one for the check
    north, south = folder / "north", folder / "south"
    write_input_files(folder / "north.txt", folder / "north.ndjson", count)
    load_registry(north, folder / "north.ndjson")
    create_registry(south)
    run_command("prefix", "add", OWN_PREFIX, "--minter", "chosen", "--registry", str(south))
    run_command("mint", OWN_PREFIX, "--suffix", "local", ITEM, "--registry", str(south))
    rows = []
    with run_signed_peer() as stub, run_perdure(north, "another Perdure server") as other:
        for name, server in (("stub", stub), ("north", other)):
            run_command("peer", "add", server.root, "--name", name, "--private", "--registry", str(south))
        with run_perdure(south, "Perdure") as ours:
            check_federation(ours)
            for what, names in (
                (f"names of a peer that answers in {SECONDS * 1e3:g} ms", (f"{_PEER_PREFIX}/{n}" for n in counting())),
                ("names of another Perdure server", map(name_of, counting(1))),
            ):
                console.print(f"{what} …")
                mine, local = run_alternately(
                    (lambda names=names: resolve(ours, islice(names, _CALLS)), ours.cpu),  # type: ignore[misc]
                    (lambda: resolve(ours, [OWN] * _CALLS), ours.cpu),
                    rounds,
                )
                rows.append(Row(what, mine, "a name of this server", local, required_added=REQUIRED_ADDED))
    return rows


@contextmanager
def run_signed_peer() -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.signed_peer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        yield Server("a signed peer", f"{url}/{{name}}", lambda: cpu_of_tree(process.pid))
    finally:
        process.communicate(timeout=_TIMEOUT)  # it ends when its input is closed


def check_federation(server: Server) -> None:
    """Check that names of both peers are found there."""
    for name in (f"{_PEER_PREFIX}/check", name_of(0)):
        connection = http.client.HTTPConnection(urlsplit(server.root).netloc)
        connection.request("GET", f"/{name}")
        response = connection.getresponse()
        if response.status != http.client.FOUND or response.getheader("perdure-answer") is None:
            raise SystemExit(f"{name} is not resolved by a peer: {response.status} {response.read().decode()}")
        connection.close()


def resolve(server: Server, names: Iterable[str]) -> WrkResult:
    """Request the names one after the other on one connection."""
    connection = http.client.HTTPConnection(urlsplit(server.root).netloc)
    connection.connect()
    times, refused = [], 0
    for name in names:
        begun = time.perf_counter()
        connection.request("GET", f"/{name}")
        response = connection.getresponse()
        response.read()
        times.append(time.perf_counter() - begun)
        refused += response.status != http.client.FOUND
    connection.close()
    return result_of(times, refused=refused)
