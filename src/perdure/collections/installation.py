"""The installation of items from other servers: a copy with all versions, each file compared with its digest."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from perdure.collections import item_records
from perdure.collections.collection_paths import CollectionPaths
from perdure.collections.held_items import (
    HeldItem,
    choose_label,
    find_foreign_item,
    find_item,
    is_registered,
    require_collection,
)
from perdure.collections.item import Agent as VersionAgent
from perdure.collections.item import StoredItem
from perdure.collections.item_client import ItemClient, RemoteItem, RemoteVersion
from perdure.collections.item_content import ItemContent, summarize_content
from perdure.collections.item_records import NewContent
from perdure.collections.label_path import canonical_label
from perdure.collections.source_files import LocalFile, SourceFile
from perdure.collections.stoppable_work import run_stoppable
from perdure.collections.storage_root import StorageRoot
from perdure.collections.work_progress import Report
from perdure.errors import Conflict, InvalidName, NoSuchItem, StoreUnavailable
from perdure.registry.entities import Agent
from perdure.registry.holdings import Holding
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

_DOWNLOADS = "downloads"


class _InstalledItem(NamedTuple):
    """What another server said of an item, and what was stored of it."""

    address: str
    label: str
    names: tuple[str, ...]
    main_file: str | None
    content: ItemContent


async def install_item(
    registry: Registry, by: Agent, label: str, collection: str, server: str, report: Report | None = None
) -> Holding:
    """Copy an item from another server into a collection, or the versions that a copy lacks.

    `server` is its address, or that of a collection there. After an interruption, the same call continues.
    """

    def check(reader: Reader) -> tuple[str, Path]:
        item = _find(reader, label)
        item.require_permission(reader, by, "edit", registry.current_time())
        return choose_label([label]), Path(require_collection(reader, collection).path)

    wanted, path = await registry.store.read(check)
    done = await run_stoppable(lambda report: _install(path, wanted, server, report), report)
    new = NewContent(collection, done.content, done.main_file, done.address, done.names)

    def record(tx: Transaction) -> Holding:
        item = _find(tx, done.label)
        item.require_permission(tx, by, "edit", registry.current_time())
        _compare_with_original(item, done.content)
        return item_records.record_copy(tx, registry, by, item, new)

    return await registry.store.write(record)


def _find(reader: Reader, label: str) -> HeldItem:
    return find_item(reader, label) if is_registered(reader, label) else find_foreign_item(reader, label)


def _compare_with_original(item: HeldItem, content: ItemContent) -> None:
    """Refuse files that differ from those of the original, if this registry has it."""
    original = item.original
    if original is not None and original.version == content.version and original.digest != content.digest:
        raise Conflict(item.name, f"version {content.version} as in {original.collection}", "other files")


def _install(path: Path, label: str, server: str, report: Report) -> _InstalledItem:
    root = StorageRoot.open(path)
    downloads = CollectionPaths(root.path).extension / _DOWNLOADS
    downloads.mkdir(mode=0o700, exist_ok=True)
    with ItemClient(downloads, report) as client:
        address = client.find_item(server, label)
        remote = client.describe(address)
        names = _check_names(remote, label, address)
        stored_label = names[0]
        versions = sorted(remote.versions, key=lambda one: one.version)
        for version in versions:
            if not _has_version(root, version, stored_label):
                _store_version(root, client, address, stored_label, version, report)
        newest = versions[-1]
        content = summarize_content(newest.version, root.read_item(stored_label).version(newest.version).files.values())
        main = remote.main_file if any(file.path == remote.main_file for file in newest.files) else None
        return _InstalledItem(address, stored_label, names, main, content)


def _check_names(remote: RemoteItem, label: str, address: str) -> tuple[str, ...]:
    """Return all labels of the item, that under which it is stored first. The label that was wanted must be one."""
    try:
        stored = canonical_label(remote.label)
    except InvalidName:
        raise StoreUnavailable(
            f"the description of the item at {address} has a name that is not an IBI label"
        ) from None
    names = tuple(dict.fromkeys([stored, *_list_labels(remote.names)]))
    if label not in names:
        raise Conflict(label, f"this item at {address}", f"the item {stored}")
    return names


def _list_labels(names: Iterable[str]) -> Iterator[str]:
    """Yield the names that are IBI labels. An item may have handles, too."""
    for name in names:
        with suppress(InvalidName):
            yield canonical_label(name)


def _has_version(root: StorageRoot, version: RemoteVersion, label: str) -> bool:
    stored = _find_stored(root, label)
    if stored is None or stored.newest.number < version.version:
        return False
    if stored.inventory.list_files(version.version) != {file.path: file.sha512 for file in version.files}:
        raise Conflict(label, f"version {version.version} as the server has it", "other files in its stead")
    return True


def _store_version(
    root: StorageRoot, client: ItemClient, address: str, label: str, version: RemoteVersion, report: Report
) -> None:
    try:
        created = datetime.fromisoformat(version.created)
    except ValueError:
        created = None
    if created is None or created.tzinfo is None:
        raise StoreUnavailable(f"the description of the item at {address} has a date that cannot be read")
    agent = version.agent
    put = root.put_version(
        label,
        _list_sources(client, address, version, _find_stored(root, label)),
        agent=VersionAgent("unknown") if agent is None else VersionAgent(agent.name, agent.address),
        message=version.message,
        created=created,
        report=report,
    )
    if put.number != version.version:
        raise Conflict(label, f"version {version.version}", f"version {put.number}: two versions have the same files")
    for file in version.files:
        client.forget(file)


def _list_sources(
    client: ItemClient, address: str, version: RemoteVersion, stored: StoredItem | None
) -> Iterator[SourceFile]:
    """Yield the files of a version. What an earlier version has already is not downloaded again."""
    contents = {} if stored is None else stored.inventory.manifest
    for file in version.files:
        if stored is not None and file.sha512 in contents:
            content = stored.directory / contents[file.sha512][0]
            yield LocalFile(file.path, content, file.size, file.media_type, {"sha512": file.sha512})
        else:
            yield client.source(address, version.version, file)


def _find_stored(root: StorageRoot, label: str) -> StoredItem | None:
    try:
        return root.read_item(label)
    except NoSuchItem:
        return None
