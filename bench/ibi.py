"""Speed of what IBI describes: minting, stored items, and names of other servers. `make bench-ibi`.

Each measurement alternates with its baseline in one run, so that other load on the machine affects both. Every ratio is
the median over neighbouring rounds. `required` is our goal; missing it is not an error. A row with a single failed
request is invalid, and shows no figures.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx
from rich.console import Console

from bench.bulk import child_seconds
from bench.http import DOCS, WRITERS, BareCommitLoop, run_alternately
from bench.http_report import Row, print_rows, write_docs
from bench.http_servers import Server, create_registry, missing_programs, run_command, run_perdure
from bench.http_wrk import Wrk, WrkResult
from bench.ibi_downloads import measure_downloads
from bench.ibi_federation import measure_federation
from bench.ibi_files import Sources, measure_puts, measure_verify
from bench.postgres import BUSY
from bench.registry import scratch
from bench.rounds import OthersShare
from perdure.folder.registry_folder import ADMIN_KEY

ROUNDS: Final = 7
SECONDS: Final = 5.0
MEGABYTES: Final = 1000
FILES: Final = 10_000
GRANULARITY: Final = "0.000001"
SUBSYSTEMS: Final = 4
POOL: Final = "all"
PAGE: Final = "performance-ibi"
PARTS: Final = ("mint", "put", "verify", "download", "federation")

console = Console(stderr=True)


def main() -> None:
    options = parse_arguments()
    missing = missing_programs()
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)} (apt-get install {' '.join(missing)})")
    if os.getloadavg()[0] > (os.cpu_count() or 1) / 2:
        console.print(
            f"The load average is {os.getloadavg()[0]:.1f} before the start: wait, or the figures are unreliable."
        )
    others = OthersShare(lambda: time.process_time() + child_seconds())
    with scratch(options.folder) as folder:
        rows = measure(folder, options)
    share = others.read()
    note = "" if share is None or share <= BUSY else f" Other programs used {share:.0%} of the machine meanwhile."
    print_rows(rows, "Minting, items and other servers (CPU: microseconds per request, MB or file)")
    if note:
        Console().print(note.strip())
    if options.docs is not None:
        write_docs(rows, describe_run(options, note), options.docs, PAGE)
    if not all(row.is_valid for row in rows):
        sys.exit(1)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.ibi", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each measurement (%(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="seconds of each round over HTTP (%(default)s)")
    parser.add_argument(
        "--size", type=int, default=MEGABYTES, metavar="MB", help="size of the large file (%(default)s)"
    )
    parser.add_argument("--files", type=int, default=FILES, help="number of small files (%(default)s)")
    parser.add_argument(
        "--only", choices=PARTS, action="append", default=None, help="measure only this; may be repeated"
    )
    parser.add_argument("--folder", type=Path, help="measure on the disk of this folder (default: /var/tmp)")
    parser.add_argument("--docs", type=Path, default=DOCS, help=f"the folder of {PAGE}.md, which gets the figures")
    parser.add_argument("--no-docs", dest="docs", action="store_const", const=None, help="only print the figures")
    options = parser.parse_args()
    if min(options.rounds, options.seconds, options.size, options.files) < 1:
        parser.error("--rounds, --seconds, --size and --files must be at least 1")
    if options.only is not None:
        options.docs = None  # a part of the table is no table
    return options


def measure(folder: Path, options: argparse.Namespace) -> list[Row]:
    parts = options.only or PARTS
    rows: list[Row] = []
    if "mint" in parts:
        rows += measure_minting(folder, options)
    if {"put", "verify", "download"} & set(parts):
        console.print("writing files …")
        sources = Sources(folder / "sources", options.size, options.files)
        if "put" in parts:
            rows += measure_puts(folder, sources, options.rounds)
        if "verify" in parts:
            rows += measure_verify(folder, sources, options.rounds)
        if "download" in parts:
            rows += measure_downloads(folder, sources, options.rounds, options.seconds)
    if "federation" in parts:
        rows += measure_federation(folder, options.rounds)
    return rows


def measure_minting(folder: Path, options: argparse.Namespace) -> list[Row]:
    """Measure labels minted over HTTP, of one subsystem and of a pool, beside a bare loop of commits."""
    registry = folder / "minting"
    create_registry(registry)
    names = [f"example.org/s{number}" for number in range(SUBSYSTEMS)]
    for number in range(SUBSYSTEMS):
        address = ("--host", f"s{number}.example.org", "--ip", f"150.163.34.{number + 1}")
        run_command("prefix", "add", *address, "--granularity", GRANULARITY, "--registry", str(registry))
    run_command("pool", "add", POOL, *names, "--registry", str(registry))
    key = (registry / ADMIN_KEY).read_text().strip()
    wrk = Wrk(folder, folder / "no-names", options.seconds)
    bare = BareCommitLoop(folder / f"bare-{uuid4().hex}.db", options.seconds)
    with run_perdure(registry, "Perdure") as ours:
        check_pool(ours, key)

        def mint(target: str) -> WrkResult:
            path = f"/api/v1/ibi/{target}"
            return wrk.run_creates(ours.root, WRITERS, "POST", path, key, {"target": "https://example.org/@"})

        rows = []
        for what, target in (("one subsystem", names[0]), (f"a pool of {SUBSYSTEMS}", POOL)):
            console.print(f"minting, {what} …")
            mine, other = run_alternately(
                (lambda target=target: mint(target), ours.cpu),  # type: ignore[misc]
                (bare.run, time.process_time),
                options.rounds,
            )
            rows.append(Row(f"IBI labels, {what}", mine, "a bare loop of durable commits, SQLite", other, 0.6))
        console.print("minting, the pool beside one subsystem …")
        pooled, single = run_alternately(
            (lambda: mint(POOL), ours.cpu), (lambda: mint(names[0]), ours.cpu), options.rounds
        )
        rows.append(Row(f"IBI labels, a pool of {SUBSYSTEMS}", pooled, "one subsystem", single, 1.0))
    bare.close()
    return rows


def check_pool(server: Server, key: str) -> None:
    """Check that names of the pool come from all its subsystems. Otherwise its rows would say nothing."""
    headers = {"authorization": f"Bearer {key}"}
    with httpx.Client(base_url=server.root, headers=headers) as client:
        answers = [client.post(f"/api/v1/ibi/{POOL}", json={}) for _ in range(4 * SUBSYSTEMS)]
    prefixes = {one.json()["identifiers"][0]["name"][: len("example.org/s0")] for one in answers}
    if len(prefixes) != SUBSYSTEMS:
        raise SystemExit(f"the pool used {len(prefixes)} of its {SUBSYSTEMS} subsystems")


def describe_run(options: argparse.Namespace, note: str) -> str:
    """Return the caption of the table."""
    return (
        f"{options.rounds} rounds of each, alternating with its baseline, over HTTP of {options.seconds:g} s; a large file "
        f"of {options.size:,} MB and {options.files:,} small ones; {WRITERS} connections for minting; "
        f"{os.cpu_count()} CPUs.{note}"
    )


if __name__ == "__main__":
    main()
