"""Items are put into a collection: the name exists, then the bytes are on disk, then the identifier points to them.

A crash in between leaves a reserved name, and perhaps files that no identifier points to. The same call continues:
files that are on disk already are not stored as another version.
"""

import asyncio
from collections.abc import Collection as Paths
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path

from perdure.collections import item_records
from perdure.collections.file_names import check_new_paths
from perdure.collections.held_items import HeldItem, require_collection
from perdure.collections.item import Agent as VersionAgent
from perdure.collections.item import ItemVersion
from perdure.collections.item_content import check_main_file, choose_main_file, summarize_content
from perdure.collections.item_records import PUT, NewContent
from perdure.collections.source_files import SourceFile
from perdure.collections.stoppable_work import run_stoppable
from perdure.collections.storage_root import StorageRoot
from perdure.collections.work_progress import Report
from perdure.errors import InvalidInput, OutOfRange
from perdure.records.record import About
from perdure.records.validation import Limits, check_one_line, check_plain_text
from perdure.registry.entities import Agent
from perdure.registry.holdings import Holding
from perdure.registry.idempotency import mint_once
from perdure.registry.minters import MintedIdentifier
from perdure.registry.minting import EMPTY_STATEMENT, find_mint_target
from perdure.registry.new_record import Statement, first_record
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader
from perdure.timelines.clock import NANOSECONDS


def check_new_item(reader: Reader, registry: Registry, by: Agent, collection: str, prefix: str) -> None:
    """Refuse a new item, before anything is written, that could not be named or could not be stored under its name."""
    require_collection(reader, collection)
    at = registry.current_time()
    record = first_record(reader, by, EMPTY_STATEMENT, (), registry.settings.limits, at)
    for one in find_mint_target(reader, by, prefix, at).prefixes:
        if one.scheme != "ibi":
            reason = f"{one.name} is not an IBI subsystem: items are stored under IBI labels only"
            raise InvalidInput("item", "subsystem", reason)
        require_permission(reader, by, "edit", one.key, at, record)


def check_new_files(root: Path, label: str | None, paths: Sequence[str], main_file: str | None = None) -> None:
    """Refuse files, before they are received, that the next version of an item cannot have beside its other files."""
    collection = StorageRoot(root)
    present: list[str] = []
    if label is not None and collection.has_item(label):
        item = collection.read_item(label)
        present = list(item.inventory.list_files(item.inventory.newest))
    check_new_paths(paths, present)
    if main_file is not None:
        check_main_file(main_file, [*present, *paths])


def check_texts(limits: Limits, title: str | None, message: str | None) -> None:
    """Refuse a title of a new item, or a message of a version, that is too long or has control characters."""
    if title is not None:
        check_one_line(title, "title", limits.text_characters)
    if message:
        check_plain_text(message, "message")
        if len(message) > limits.text_characters:
            raise OutOfRange("record", "message", f"message is longer than {limits.text_characters} characters")


async def check_room(registry: Registry, collection: str, size: int) -> None:
    """Refuse a new item, before its name is reserved, if there is no room for it."""
    path = await registry.store.read(lambda reader: Path(require_collection(reader, collection).path))
    await asyncio.to_thread(lambda: StorageRoot.open(path).check_room(size))


async def reserve_name(
    registry: Registry, by: Agent, collection: str, prefix: str, *, title: str | None = None, token: str | None = None
) -> MintedIdentifier:
    """Mint a name for an item that is about to be put: under a subsystem, or under one that a pool chooses.

    For a day, the same token returns the same name.
    """
    await registry.store.read(lambda reader: check_new_item(reader, registry, by, collection, prefix))
    statement = Statement(about=None if title is None else About(what=title))
    digest = sha256(f"{PUT} {collection} {prefix} {title}".encode()).digest()
    done = await mint_once(registry, by, prefix, statement=statement, token=token, digest=digest)
    return done.minted[0]


async def put_item(
    registry: Registry,
    by: Agent,
    collection: str,
    name: str,
    sources: Iterable[SourceFile],
    *,
    main_file: str | None = None,
    message: str = "",
    source: str = PUT,
    extends: bool = False,
    removed: Paths[str] = (),
    most_bytes: int | None = None,
    expected_version: int | None = None,
    report: Report | None = None,
) -> Holding:
    """Store the files as a new version of an item, and let its identifier point to it.

    With `extends`, the files of the newest version stay, except those in `removed`. Raise Conflict if the newest
    version on disk is not the expected one.
    """
    check_texts(registry.settings.limits, None, message)

    def check(reader: Reader) -> tuple[HeldItem, Path]:
        item = item_records.check_put(reader, registry, by, name, collection)
        return item, Path(require_collection(reader, collection).path)

    item, path = await registry.store.read(check)
    created = datetime.fromtimestamp(registry.clock.now_ns() / NANOSECONDS, timezone.utc)

    def store(report: Report) -> NewContent:
        version = StorageRoot.open(path).put_version(
            item.label,
            sources,
            agent=VersionAgent(by.name, by.identifier),
            message=message,
            created=created,
            extends=extends,
            removed=removed,
            most_bytes=most_bytes,
            expected_version=expected_version,
            report=report,
        )
        return _describe(version, collection, main_file, item.holding_in(collection), source)

    new = await run_stoppable(store, report)
    return await registry.store.write(lambda tx: item_records.record_version(tx, registry, by, name, new))


def _describe(
    version: ItemVersion, collection: str, main_file: str | None, before: Holding | None, source: str
) -> NewContent:
    files = version.files
    content = summarize_content(version.number, files.values())
    main = choose_main_file(content, files, main_file, None if before is None else before.main_file)
    return NewContent(collection, content, main, source)
