"""A registry with two collections, and items to put into them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.registry_fixture import Office

from perdure.collections.collection_admin import create_collection
from perdure.collections.deposit import put_item, reserve_name
from perdure.collections.source_files import list_directory
from perdure.collections.storage_root import StorageRoot
from perdure.registry import add_subsystem
from perdure.registry.holdings import Holding

HOST: Final = "mtc-m18.sid.inpe.br"
PREFIX: Final = "sid.inpe.br/mtc-m18"
PUBLIC: Final = "https://id.example.org/items"
THESIS: Final = {"thesis.pdf": b"%PDF of a thesis", "data/table.csv": b"a,b\n1,2\n"}


class ItemOffice:
    """An office with the collections `main` and `second`."""

    def __init__(self, office: Office, folder: Path) -> None:
        self.office, self.folder = office, folder
        office.do(add_subsystem, HOST, "150.163.34.243", granularity=1)
        for name in ("main", "second"):
            office.do(create_collection, name, folder / name, f"{PUBLIC}/{name}")

    def write_files(self, files: Mapping[str, bytes]) -> Path:
        folder = self.folder / f"source-{len(list(self.folder.iterdir()))}"
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        return folder

    def reserve(self, collection: str = "main", **options: Any) -> str:
        self.office.clock.step(2)
        return str(self.office.do(reserve_name, collection, PREFIX, **options).name)

    def put(self, files: Mapping[str, bytes] = THESIS, name: str | None = None, **options: Any) -> Holding:
        """Put an item, under a new name if none is given."""
        collection = options.pop("collection", "main")
        label = name or self.reserve(collection)
        return self.office.do(put_item, collection, label, list_directory(self.write_files(files)), **options)

    def root(self, collection: str = "main") -> StorageRoot:
        return StorageRoot.open(self.folder / collection)

    def holdings(self, subject: str) -> list[Holding]:
        return self.office.read(lambda reader: reader.holdings(subject))

    def target(self, subject: str) -> str | None:
        row = self.office.read(lambda reader: reader.find(subject))
        assert row is not None
        return row.target

    def originals(self, subject: str) -> list[str]:
        return [one.collection for one in self.holdings(subject) if one.role == "original"]

    def read_files(self, collection: str, label: str, version: int | None = None) -> dict[str, bytes]:
        stored = self.root(collection).read_item(label).version(version)
        return {path: stored.content_of(file).read_bytes() for path, file in stored.files.items()}
