"""A collection on a medium: the newest files of its items, and pages that find them without a server or a network."""

import asyncio
import csv
import io
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha512
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from perdure.collections.durable_tree import sync_tree
from perdure.collections.hashed_copy import HashedCopier
from perdure.collections.held_items import HeldItem, find_item
from perdure.collections.item import ItemFile, ItemVersion
from perdure.collections.label_path import label_to_path
from perdure.collections.portable_links import ItemLink, parse_item_link, replace_links
from perdure.collections.portable_pages import (
    ASSETS,
    INDEX,
    NAMES,
    ROWS_ON_PAGE,
    PortableItem,
    index_name,
    read_asset,
    relative_url,
    write_index,
    write_item_page,
    write_redirect,
)
from perdure.collections.source_files import LocalFile
from perdure.collections.stoppable_work import run_stoppable
from perdure.collections.storage_root import StorageRoot
from perdure.collections.work_progress import COPY, Progress, Report
from perdure.errors import (
    InvalidInput,
    InvalidName,
    ItemDamaged,
    NoSuchItem,
    NoSuchName,
    PerdureError,
    StoreUnavailable,
)
from perdure.names import ibi
from perdure.names.handle import escape, fold
from perdure.names.resolver_address import ResolverAddress
from perdure.names.upn import SCHEME
from perdure.records.record import About
from perdure.registry.name_keys import label_prefix_key
from perdure.registry.peers.peer_fields import ALL_NAMES
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_LARGEST_PAGE: Final = 16 << 20  # bytes; in a larger file, links stay as they are
_GONE: Final = frozenset({"withdrawn", "merged"})
_ORIGINALS: Final = "originals"
_encode: Final = msgspec.json.Encoder().encode


class PortableExport(NamedTuple):
    """What is on the medium: items, files, their bytes, replaced links; and why some items are missing."""

    items: int
    files: int
    size: int
    links: int
    problems: Sequence[PerdureError]


class MediumWriter:
    """Writes a medium, one item after the other. Only the titles of a page of the list are in memory."""

    def __init__(
        self,
        registry: Registry,
        collection: str,
        root: StorageRoot,
        directory: Path,
        servers: Mapping[str, str],
        own: tuple[ResolverAddress, ...],
    ) -> None:
        """Begin a medium. `servers` are the addresses of resolvers by prefix, or by `upn:` with a resolver ID."""
        self._registry, self._collection, self._root = registry, collection, root
        self._directory, self._servers, self._own = directory, servers, own
        self._names = (directory / "names.js").open("wb")
        self._manifest = (directory / "manifest-sha512.txt").open("wb")
        self._rows = (directory / ".rows").open("w+b")
        self._prefixes: set[str] = set()
        self._resolvers: set[str] = set()
        self._problems: list[PerdureError] = []
        self._items = self._files = self._size = self._links = 0
        self._names.write(b"perdureNames = {\n")

    async def add_item(self, held: HeldItem, report: Report | None) -> None:
        """Write one item, or remember why it is left out."""
        item = _describe(held, self._collection)
        if _is_withdrawn(held):
            self._problems.append(InvalidInput("collection", "portable", f"{item.label} was withdrawn"))
            return
        try:
            version = await asyncio.to_thread(lambda: self._root.read_item(item.label).newest)
            digests = await run_stoppable(lambda report: self._copy_files(item, version, report), report)
            await self._replace_links(item, version, digests)
        except (ItemDamaged, NoSuchItem, StoreUnavailable) as problem:
            self._problems.append(problem)
            shutil.rmtree(self._directory / item.directory, ignore_errors=True)
            shutil.rmtree(self._directory / _ORIGINALS / item.directory, ignore_errors=True)
            return
        self._add_pages(item, version)
        for path, digest in digests.items():
            self._manifest.write(f"{digest}  {path}\n".encode())

    def finish(self) -> PortableExport:
        """Write the list, the table of prefixes and the assets, and flush everything to disk."""
        self._names.write(b"};\n")
        self._write_lists()
        for name in ASSETS:
            (self._directory / name).write_bytes(read_asset(name))
        (self._directory / "mapping.csv").write_bytes(self._write_mapping())
        self.close()
        (self._directory / ".rows").unlink()
        sync_tree(self._directory, self._files)
        return PortableExport(self._items, self._files, self._size, self._links, self._problems)

    def close(self) -> None:
        """Close the files that are written little by little."""
        for file in (self._names, self._manifest, self._rows):
            file.close()

    def _copy_files(self, item: PortableItem, version: ItemVersion, report: Report) -> dict[str, str]:
        """Copy the files of an item, and return their digests by their paths on the medium."""
        progress, digests = Progress(report), {}
        progress.begin_phase(COPY)
        with HashedCopier(progress.add_bytes) as copier:
            for file in version.files.values():
                progress.begin_file(f"{item.label}/{file.path}")
                path = item.file_path(file.path)
                digests[path] = self._copy_file(item, version, file, self._directory / path, copier)
                progress.end_file()
        return digests

    def _copy_file(
        self, item: PortableItem, version: ItemVersion, file: ItemFile, target: Path, copier: HashedCopier
    ) -> str:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with LocalFile(file.path, version.content_of(file)).open() as stream:
                content = copier.copy(stream, descriptor)
        except FileNotFoundError:
            raise ItemDamaged(item.label, f"{file.path} is missing") from None
        finally:
            os.close(descriptor)
        if content.digests["sha512"] != file.sha512:
            raise ItemDamaged(item.label, f"{file.path} was changed")
        self._files += 1
        self._size += content.size
        return file.sha512

    async def _replace_links(self, item: PortableItem, version: ItemVersion, digests: dict[str, str]) -> None:
        """Replace the links in the pages of an item; keep each unchanged page beside."""
        for file in version.files.values():
            if file.media_type.partition(";")[0] not in _HTML or file.size > _LARGEST_PAGE:
                continue
            path = item.file_path(file.path)
            content = await asyncio.to_thread((self._directory / path).read_bytes)
            links = self._find_links(content)
            targets = await self._find_targets(links.values(), path)
            changed, count = replace_links(
                content,
                lambda text, links=links, targets=targets: targets.get(links[text]) if text in links else None,  # type: ignore[misc]
            )
            if count:
                original = f"{_ORIGINALS}/{path}"
                await asyncio.to_thread(self._write_page, original, content)
                await asyncio.to_thread(self._write_page, path, changed)
                digests[original], digests[path] = file.sha512, sha512(changed).hexdigest()
                self._links += count

    def _write_page(self, path: str, content: bytes) -> None:
        target = self._directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    def _find_links(self, content: bytes) -> dict[str, ItemLink]:
        """Return the links to items in a page, by their texts."""
        found: dict[str, ItemLink] = {}

        def collect(text: str) -> None:
            link = parse_item_link(text, self._own)
            if link is not None:
                found[text] = link

        replace_links(content, collect)
        return found

    async def _find_targets(self, links: Iterable[ItemLink], page: str) -> dict[ItemLink, str]:
        wanted = list(dict.fromkeys(links))
        if not wanted:
            return {}

        def work(reader: Reader) -> list[PortableItem | None]:
            return [_find_linked(reader, link, self._collection) for link in wanted]

        found = await self._registry.store.read(work)
        paths = await asyncio.to_thread(lambda: list(map(self._find_path, wanted, found)))
        targets = {}
        for link, path in zip(wanted, paths, strict=True):
            if path is not None:
                targets[link] = relative_url(path, page) + link.fragment
                if link.resolver_id is not None:
                    self._resolvers.add(link.resolver_id)
            elif link.resolver_id is not None and (server := self._find_server(link.label, link.resolver_id)):
                name = f"{link.label}/{link.path}" if link.path else link.label
                targets[link] = f"{server}/{escape(name)}{link.fragment}"
        return targets

    def _find_server(self, label: str, resolver_id: str) -> str | None:
        """Return the address of the resolver of an item that is not on the medium."""
        prefix = label_prefix_key(ibi.parse_any(ibi.split_document_type(label)[0]))
        keys = (f"{SCHEME}{fold(resolver_id)}", prefix, ALL_NAMES)
        return next((self._servers[key] for key in keys if key in self._servers), None)

    def _find_path(self, link: ItemLink, item: PortableItem | None) -> str | None:
        """Return the path of a linked file on the medium; that of the item's page if it has no such file."""
        if item is None:
            return None
        try:
            version = self._root.read_item(item.label).newest
        except (ItemDamaged, NoSuchItem, StoreUnavailable):
            return None
        has_file = version.inventory.find_digest(version.number, link.path) is not None
        return item.file_path(link.path) if has_file else item.page

    def _add_pages(self, item: PortableItem, version: ItemVersion) -> None:
        self._write_page(item.page, write_item_page(item, version.files.values()))
        for label in item.other_labels:
            page = f"{NAMES}/{label_to_path(label)}/{INDEX}"
            self._write_page(page, write_redirect(item, page))
        for label in (item.label, *item.other_labels):
            parsed = ibi.parse_any(label)
            key = label if isinstance(parsed, ibi.LegacyName) else fold(label)
            self._names.write(_encode(key) + b":" + _encode([item.page, item.directory]) + b",\n")
            self._prefixes.add(label_prefix_key(parsed))
        self._rows.write(_encode([item.label, item.about.what]) + b"\n")
        self._items += 1

    def _write_lists(self) -> None:
        pages = max(1, -(-self._items // ROWS_ON_PAGE))
        self._rows.seek(0)
        for number in range(1, pages + 1):
            rows = [msgspec.json.decode(line) for line in _take(self._rows.readline, ROWS_ON_PAGE)]
            items = [PortableItem(label, (), About(what=title), None) for label, title in rows]
            (self._directory / index_name(number)).write_bytes(write_index(self._collection, items, number, pages))

    def _write_mapping(self) -> bytes:
        """Return the table of prefixes and resolver IDs, with the address that each has now."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(("prefix", "url"))
        for prefix in sorted(self._prefixes):
            table.writerow((prefix, f"{NAMES}/"))
        here = self._prefixes | {f"{SCHEME}{fold(resolver_id)}" for resolver_id in self._resolvers}
        for resolver_id in sorted(here - self._prefixes):
            table.writerow((resolver_id, f"{NAMES}/"))
        table.writerows(row for row in sorted(self._servers.items()) if row[0] not in here)
        return text.getvalue().encode()


def _describe(item: HeldItem, collection: str) -> PortableItem:
    """Return what the medium shows of an item. The description of an identifier is public."""
    record = item.record
    names = [] if record is None or item.identifier is None else [item.identifier.name, *record.other_names]
    others = tuple(dict.fromkeys(name for name in names if fold(name) != fold(item.label) and _is_label(name)))
    about = record.about if record is not None and record.restriction is None else None
    return PortableItem(item.label, others, about or About(), item.require_holding(collection).main_file)


def _is_label(name: str) -> bool:
    try:
        ibi.parse_any(name)
    except InvalidName:
        return False
    return True


def _find_linked(reader: Reader, link: ItemLink, collection: str) -> PortableItem | None:
    """Return the item of a link; None if the collection does not hold it, or it was withdrawn."""
    try:
        item = find_item(reader, link.label)
    except (InvalidInput, InvalidName, NoSuchName):
        return None
    if item.holding_in(collection) is None or _is_withdrawn(item):
        return None
    return _describe(item, collection)


def _is_withdrawn(item: HeldItem) -> bool:
    return item.record is not None and item.record.state in _GONE


def _take(read: Callable[[], bytes], most: int) -> list[bytes]:
    lines: list[bytes] = []
    while len(lines) < most and (line := read()):
        lines.append(line)
    return lines
