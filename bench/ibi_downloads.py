"""Speed of downloads of stored files over HTTP, beside nginx, which serves the same files from the same directory."""

import http.client
import random
import time
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import httpx
from rich.console import Console

from bench.http import READERS, SAMPLE, run_alternately
from bench.http_report import Row
from bench.http_servers import Server, run_nginx, run_perdure
from bench.http_wrk import Wrk, WrkResult, result_of
from bench.ibi_files import ItemRegistry, Sources
from perdure.collections.storage_root import StorageRoot

REQUIRED: Final = 0.5
COLLECTION: Final = "downloads"
YARDSTICK: Final = "nginx, the same files"
_ITEMS: Final = 20  # with one small file each
_BUFFER: Final = 1 << 20

console = Console(stderr=True)


class StoredFiles(NamedTuple):
    """Stored files, by their paths at Perdure and at nginx, as wrk reads them: one on each line, in the same order."""

    ours: Path
    nginx: Path


def measure_downloads(folder: Path, sources: Sources, rounds: int, seconds: float) -> list[Row]:
    """Measure downloads of a large file on one connection, and of small files on many."""
    console.print("storing files …")
    registry = ItemRegistry(folder)
    collection = registry.create(COLLECTION)
    small = sorted(sources.small.rglob("*.txt"))
    large = list_files(folder / "large", registry, collection, [sources.large])
    alone = list_files(folder / "alone", registry, collection, small[:_ITEMS])
    together = list_files(folder / "together", registry, collection, [sources.small])
    rows = []
    with run_nginx(folder, collection) as nginx, run_perdure(registry.folder, "Perdure") as ours:
        check_downloads(ours, nginx, [large, alone, together])
        console.print("download, large …")
        size = sources.large.stat().st_size
        mine, other = run_alternately(
            (lambda: download(ours, large.ours.read_text().strip(), size, sources.megabytes), ours.cpu),
            (lambda: download(nginx, large.nginx.read_text().strip(), size, sources.megabytes), nginx.cpu),
            rounds,
        )
        rows.append(Row(f"download, a file of {sources.megabytes:,} MB (in MB)", mine, YARDSTICK, other, REQUIRED))
        wrk = Wrk(folder, alone.ours, seconds)
        for what, files in (
            ("download, small files of small items", alone),
            (f"download, small files of an item with {len(small):,}", together),
        ):
            console.print(f"{what} …")
            mine, other = run_alternately(
                (lambda files=files: read_repeatedly(wrk, ours, files.ours), ours.cpu),  # type: ignore[misc]
                (lambda files=files: read_repeatedly(wrk, nginx, files.nginx), nginx.cpu),  # type: ignore[misc]
                rounds,
            )
            rows.append(Row(what, mine, YARDSTICK, other, REQUIRED))
    return rows


def list_files(lists: Path, registry: ItemRegistry, collection: Path, sources: list[Path]) -> StoredFiles:
    """Put each of the sources, and write the lists of the stored files."""
    root = StorageRoot(collection)
    lists.mkdir()
    files = StoredFiles(lists / "ours.txt", lists / "nginx.txt")
    with files.ours.open("w") as ours, files.nginx.open("w") as nginx:
        for source in sources:
            label = registry.put(COLLECTION, source)
            version = root.read_item(label).newest
            for path in version.inventory.list_files(version.number):
                ours.write(f"items/{COLLECTION}/{label}/{path}\n")
                nginx.write(f"files/{version.find_file(path)[0].relative_to(collection)}\n")
    return files


def check_downloads(ours: Server, nginx: Server, lists: list[StoredFiles]) -> None:
    """Check that both servers send the same bytes, for a sample of the files. The time of a large file is not measured."""
    with httpx.Client() as client:
        for files in lists:
            pairs = list(zip(files.ours.read_text().split(), files.nginx.read_text().split(), strict=True))
            for mine, its in random.sample(pairs, min(SAMPLE, len(pairs))):
                headers = {"range": "bytes=0-65535"}
                answers = [
                    client.get(f"{ours.root}/{mine}", headers=headers),
                    client.get(f"{nginx.root}/{its}", headers=headers),
                ]
                if any(one.status_code != http.client.PARTIAL_CONTENT for one in answers):
                    raise SystemExit(f"{mine} cannot be downloaded: {answers}")
                if answers[0].content != answers[1].content:
                    raise SystemExit(f"{mine} is not {its}")


def download(server: Server, path: str, size: int, units: int) -> WrkResult:
    """Download a file once on a new connection, and throw it away."""
    buffer = memoryview(bytearray(_BUFFER))
    connection = http.client.HTTPConnection(urlsplit(server.root).netloc)
    begun, received = time.perf_counter(), 0
    connection.request("GET", f"/{path}")
    response = connection.getresponse()
    while count := response.readinto(buffer):
        received += count
    seconds = time.perf_counter() - begun
    connection.close()
    is_complete = response.status == http.client.OK and received == size
    return result_of([seconds], units, refused=0 if is_complete else 1)


def read_repeatedly(wrk: Wrk, server: Server, files: Path) -> WrkResult:
    return wrk.run_reads(f"{server.root}/{{name}}", READERS, files)
