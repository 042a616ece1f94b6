"""A running server with a collection, an identification subsystem, and an item of two versions."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote

import httpx
from tests.http.live_server import LiveServer, run_server
from tests.http.sample_registry import open_for_writing

from perdure.collections.collection_admin import create_collection
from perdure.collections.deposit import put_item, reserve_name
from perdure.collections.source_files import StreamedFile
from perdure.folder.registry_folder import make_registry
from perdure.registry import add_agent, add_subsystem, grant, new_key

PUBLIC_URL = "http://id.example.org"
COLLECTION = "archive"
HOST = "mtc-m18.sid.inpe.br"
SUBSYSTEM = "sid.inpe.br/mtc-m18"
BIG = bytes(range(256)) * 4_000
FILES = {
    "page.html": b"<script>document.title = document.cookie</script><p>page</p>",
    "maps/amazon basin.tif": BIG,
    "notes/\N{LATIN SMALL LETTER A WITH TILDE}o.txt": b"first notes",
}


class ItemServer(NamedTuple):
    """A server, the path of its item, and the key of an agent who may mint and edit."""

    server: LiveServer
    label: str
    alias: str
    maria: str

    @property
    def item(self) -> str:
        return f"/items/{COLLECTION}/{self.label}/"

    def path_of(self, path: str) -> str:
        return self.item + quote(path)

    def get(self, path: str, **options: object) -> httpx.Response:
        with self.server.client("") as client:
            return client.get(path, **options)  # type: ignore[arg-type]


async def prepare(folder: Path, store: Mapping[str, object] = MappingProxyType({})) -> tuple[str, str, str]:
    """Create the registry, and put the item into a collection."""
    await make_registry(folder, name="Tests", public_url=PUBLIC_URL, **store)  # type: ignore[arg-type]
    async with open_for_writing(folder) as (registry, admin):
        await add_subsystem(registry, admin, HOST, "150.163.34.243", granularity=Fraction(1, 1000))
        await create_collection(
            registry, admin, COLLECTION, folder.parent / "collection", f"{PUBLIC_URL}/items/{COLLECTION}"
        )
        await add_agent(registry, admin, "maria", "Maria Silva", identifier="https://example.org/people/maria")
        await grant(registry, admin, "maria", SUBSYSTEM, ["mint", "edit"])
        _, key = await new_key(registry, admin, "maria")
        name = await reserve_name(registry, admin, COLLECTION, SUBSYSTEM, title="Maps of the Amazon")
        await put_item(registry, admin, COLLECTION, name.name, sources(FILES), message="first")
        more = sources({"notes/\N{LATIN SMALL LETTER A WITH TILDE}o.txt": b"second notes"})
        await put_item(registry, admin, COLLECTION, name.name, more, message="second", extends=True)
        return name.name, name.alias or "", key


def sources(files: Mapping[str, bytes]) -> list[StreamedFile]:
    return [StreamedFile(path, BytesIO(content), len(content)) for path, content in files.items()]


@contextmanager
def item_server(
    folder: Path, *options: str, settings: str = "", store: Mapping[str, object] = MappingProxyType({})
) -> Iterator[ItemServer]:
    label, alias, key = asyncio.run(prepare(folder, store))
    with run_server(folder, *options, settings=settings) as server:
        yield ItemServer(server, label, alias, key)
