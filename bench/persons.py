"""Performance of persons over HTTP: `make bench-persons`.

The creation of observations, compared to a bare loop of commits; a reconstruction as Turtle, compared to rdflib, which
writes the same graph from memory; and as JSON-LD by negotiation, compared to nginx with a constant response. Each
alternates with its baseline in one run. A goal is a ratio; the program does not fail if it is not met.
"""

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx
from rdflib import Graph
from rich.console import Console

from bench.http import READERS, WRITERS, BareCommitLoop, run_alternately
from bench.http_report import Row, print_rows, write_docs
from bench.http_servers import missing_programs, run_nginx, run_perdure
from bench.http_wrk import Wrk, WrkResult, result_of
from bench.registry import scratch
from perdure.folder.registry_folder import ADMIN_KEY, make_registry, open_registry
from perdure.records.person import ChosenClaim, Claim, Employment, Link, PersonName, Reconstruction
from perdure.registry import authenticate, observe, reconstruct

PERSONS: Final = 10_000
AT_ONCE: Final = 64
WHEN: Final = "2025-01-09T10:30:00Z"
CURATOR: Final = "https://orcid.org/0000-0002-1825-0097"
DOCS: Final = Path(__file__).parent.parent / "docs" / "explanation"
PAGE: Final = "performance-persons"
OBSERVATION: Final = {
    "source_url": "https://example.org/register/@",
    "retrieval_timestamp": WHEN,
    "content_hash": "0" * 64,
    "source_name": "Register of births",
    "claims": [
        {"type": "name", "value": {"given_name": "Jan", "surname_prefix": "de", "base_surname": "Vries"}},
        {"type": "birth_date", "value": "1895-03~"},
    ],
}

console = Console(stderr=True)


def main() -> None:
    options = arguments()
    missing = missing_programs()
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)} (apt-get install {' '.join(missing)})")
    if os.getloadavg()[0] > (os.cpu_count() or 1) / 2:
        console.print(
            f"The load average is {os.getloadavg()[0]:.1f} before the benchmark: wait, or distrust the results."
        )
    with scratch() as folder:
        rows = measure(folder, options)
    print_rows(rows, f"Persons over HTTP, {options.persons:,} reconstructions (CPU: microseconds per request)")
    if options.docs is not None:
        write_docs(rows, describe_run(options), options.docs, PAGE)
    if not all(row.is_valid for row in rows):
        sys.exit(1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.persons", description=__doc__)
    parser.add_argument("--persons", type=int, default=PERSONS, help="number of persons to read (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement (%(default)s)")
    parser.add_argument("--seconds", type=float, default=4.0, help="seconds per round (%(default)s)")
    parser.add_argument("--docs", type=Path, default=DOCS, help=f"the folder of {PAGE}.md, which gets the figures")
    parser.add_argument("--no-docs", dest="docs", action="store_const", const=None, help="only print them")
    return parser.parse_args()


def measure(folder: Path, options: argparse.Namespace) -> list[Row]:
    console.print("loading …")
    registry = folder / "registry"
    names = folder / "names.txt"
    names.write_text("\n".join(asyncio.run(load(registry, options.persons))))
    wrk = Wrk(folder, names, options.seconds)
    key = (registry / ADMIN_KEY).read_text().strip()
    with run_nginx(folder) as first, run_perdure(registry, "Perdure") as ours:
        turtle = "text/turtle"
        graph = Graph().parse(data=fetch_person(ours.root, names, turtle), format="turtle")
        bare = BareCommitLoop(folder / f"bare-{uuid4().hex}.db", options.seconds)

        def read(root: str, accept: str) -> WrkResult:
            return wrk.run_reads(f"{root}/{{name}}", READERS, None, *(() if accept is None else (f"accept: {accept}",)))

        console.print("JSON-LD …")
        json_ld = run_alternately(
            (lambda: read(ours.root, "application/ld+json"), ours.cpu),
            (lambda: read(first.root, "application/ld+json"), first.cpu),
            options.rounds,
        )
        console.print("Turtle, not cached …")
        rewritten = run_alternately(
            (lambda: wrk.run_reads(f"{ours.root}/{{name}}?format=ttl", READERS), ours.cpu),
            (lambda: serialize_repeatedly(graph, options.seconds), time.process_time),
            options.rounds,
        )
        console.print("Turtle …")
        written = run_alternately(
            (lambda: read(ours.root, turtle), ours.cpu),
            (lambda: serialize_repeatedly(graph, options.seconds), time.process_time),
            options.rounds,
        )
        console.print("observations …")
        created = run_alternately(
            (lambda: wrk.run_creates(ours.root, WRITERS, "POST", "/api/v1/poid", key, dict(OBSERVATION)), ours.cpu),
            (bare.run, time.process_time),
            options.rounds,
        )
        bare.close()
    return [
        Row("observations created", created[0], "a bare loop of durable commits, SQLite", created[1], 0.6),
        Row("a PRID as Turtle, over HTTP", written[0], "rdflib, the same graph in memory", written[1], 10),
        Row("the same, without the cache", rewritten[0], "rdflib, the same graph in memory", rewritten[1]),
        Row("a PRID as JSON-LD, negotiated", json_ld[0], "nginx, constant 302", json_ld[1], 0.12),
    ]


async def load(folder: Path, count: int) -> list[str]:
    """Register persons, each from two observations, and return their PRIDs."""
    await make_registry(folder, name="Bench")
    claims = (
        Claim(
            type="name", value=PersonName(given_name="Jan", surname_prefix="de", base_surname="Vries"), language="nl"
        ),
        Claim(type="birth_date", value="1895-03~", confidence=0.8),
        Claim(type="occupation", value="archivaris", language="nl"),
    )
    async with open_registry(folder) as registry:
        by = await authenticate(registry, (folder / ADMIN_KEY).read_text())

        async def person(number: int) -> str:
            observed = [
                await observe(
                    registry,
                    by,
                    f"https://example.org/register/{number}/{part}",
                    WHEN,
                    "0" * 64,
                    source_name="Register of births",
                    claims=claims,
                )
                for part in range(2)
            ]
            chosen = tuple(ChosenClaim(observed[0].name, claim) for claim in (1, 2, 3))
            reconstruction = Reconstruction(
                (),
                "",
                "",
                curator_name="Josiah Carberry",
                claims=chosen,
                links=(Link("exact", "wikidata", f"Q{number + 1}"),),
                employment=(Employment(institution="NL-NH-AMS-M-RM", role="Archivist", start="1920", end="1935"),),
            )
            return (
                await reconstruct(
                    registry, by, [observation.name for observation in observed], CURATOR, WHEN, reconstruction
                )
            ).name

        async def some(part: int) -> list[str]:
            return [await person(number) for number in range(part, count, AT_ONCE)]

        return [name for names in await asyncio.gather(*map(some, range(AT_ONCE))) for name in names]


def fetch_person(root: str, names: Path, accept: str) -> str:
    answer = httpx.get(f"{root}/{names.read_text().partition(chr(10))[0]}", headers={"accept": accept})
    if answer.status_code != 200 or not answer.headers["content-type"].startswith(accept):
        raise SystemExit(f"cannot fetch a person as {accept}: {answer}")
    return answer.text


def serialize_repeatedly(graph: Graph, seconds: float) -> WrkResult:
    """Let rdflib write one graph repeatedly, as the reference for Turtle."""
    times = []
    begun = last = time.perf_counter()
    while last - begun < seconds:
        graph.serialize(format="turtle")
        now = time.perf_counter()
        times.append(now - last)
        last = now
    return result_of(times)


def describe_run(options: argparse.Namespace) -> str:
    return (
        f"{options.persons:,} reconstructions from two observations each; {options.rounds} rounds of {options.seconds:g} s "
        f"of each, alternating with its baseline; {READERS} connections for reading, {WRITERS} for creating; "
        f"{os.cpu_count()} CPUs."
    )


if __name__ == "__main__":
    main()
