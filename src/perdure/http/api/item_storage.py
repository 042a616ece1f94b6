"""Storage of received files in items: the checks before the first byte, and the item after the last."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self

from perdure.collections.deposit import check_new_files, check_new_item, check_texts, put_item, reserve_name
from perdure.collections.held_items import find_item, require_collection
from perdure.collections.item_records import check_put
from perdure.collections.source_files import SourceFile
from perdure.errors import InvalidInput
from perdure.http.api.request_context import ApiContext
from perdure.http.items.item_urls import item_url
from perdure.http.shared.threads import run_in_thread
from perdure.registry.holdings import Holding
from perdure.registry.permissions.storage_quota import charge_storage, check_storage, refund_storage
from perdure.registry.store_interface import Reader

SOURCE: Final = "upload"
_WATCHED_STEP: Final = 1 << 20  # bytes between two looks at the quota
_NAME_KEYS: Final = ("filename", "name")  # clients for browsers write the second one


class ItemFields(NamedTuple):
    """Where a file belongs: to the item with a label, or to a new one that gets its name from a subsystem or a pool."""

    collection: str
    label: str | None
    subsystem: str | None
    title: str | None = None
    main: str | None = None
    message: str | None = None

    @classmethod
    def from_fields(cls, fields: Mapping[str, str]) -> Self:
        """Return the fields that a client has sent. Raise InvalidInput for what is missing or given twice."""
        collection, label, subsystem = (fields.get(key) or None for key in ("collection", "label", "subsystem"))
        if collection is None:
            raise InvalidInput("upload", "collection", "the field collection is required: where to store the item")
        if (label is None) is (subsystem is None):
            reason = "give either label, of an existing item, or subsystem, whose next label a new item gets"
            raise InvalidInput("upload", "label", reason)
        title, main, message = (fields.get(key) or None for key in ("title", "main", "message"))
        if label is not None and title is not None:
            reason = "the field title is for a new item: edit the identifier of an existing one"
            raise InvalidInput("upload", "title", reason)
        return cls(collection, label, subsystem, title, main, message)


class StoredUpload(NamedTuple):
    """The item that received files have become a part of."""

    holding: Holding
    url: str


def find_file_name(fields: Mapping[str, str]) -> str:
    """Return the path of a file in its item."""
    for key in _NAME_KEYS:
        if fields.get(key):
            return fields[key]
    raise InvalidInput("upload", "filename", "the field filename is required: the path of the file in its item")


async def check_upload(
    context: ApiContext, fields: ItemFields, size: int, paths: Sequence[str]
) -> tuple[Path, str | None]:
    """Refuse an upload before its first byte: without permission, above the quota, or with files no item can have.

    Return the directory of the collection, and the label of an existing item in it.
    """
    location = await check_files(context, fields, paths)
    await check_quota(context, size)
    return location


async def check_files(context: ApiContext, fields: ItemFields, paths: Sequence[str]) -> tuple[Path, str | None]:
    """Refuse files that the agent may not store in the item, or that the item cannot have, and texts that it cannot.

    Return as check_upload.
    """
    registry, agent = context.registry, context.agent
    check_texts(registry.settings.limits, fields.title, fields.message)

    def work(reader: Reader) -> tuple[Path, str | None]:
        path = Path(require_collection(reader, fields.collection).path)
        if fields.label is not None:
            return path, check_put(reader, registry, agent, fields.label, fields.collection).label
        check_new_item(reader, registry, agent, fields.collection, fields.subsystem or "")
        return path, None

    root, label = await registry.store.read(work)
    await run_in_thread(check_new_files, root, label, paths, fields.main)
    return root, label


async def check_quota(context: ApiContext, size: int) -> None:
    """Raise QuotaExceeded if the agent may not store as many bytes beside those of its unfinished uploads."""
    reserved = await run_in_thread(context.app.uploads.reserved_bytes, context.agent.id)
    await check_storage(context.registry, context.agent, size, reserved)


class QuotaWatch:
    """Refuses a body of unstated length as soon as it is beyond the quota of the caller, not after its last byte."""

    def __init__(self, context: ApiContext) -> None:
        self._context = context
        self._next = _WATCHED_STEP

    async def check(self, size: int) -> None:
        """Raise QuotaExceeded if the agent may not store what has come so far."""
        if size >= self._next:
            self._next = size + _WATCHED_STEP
            await check_quota(self._context, size)


async def store_files(
    context: ApiContext,
    fields: ItemFields,
    sources: Sequence[SourceFile],
    size: int,
    *,
    token: str | None = None,
    expected_version: int | None = None,
) -> StoredUpload:
    """Store files in an item, and let its identifier point to it. With the same token, a new item gets one name."""
    registry, agent = context.registry, context.agent
    await check_files(context, fields, [one.path for one in sources])
    async with _charge_while_storing(context, size):
        name = fields.label
        if name is None:
            minted = await reserve_name(
                registry, agent, fields.collection, fields.subsystem or "", title=fields.title, token=token
            )
            name = minted.name
        stored = name
        before = await registry.store.read(lambda reader: find_item(reader, stored).holding_in(fields.collection))
        holding = await put_item(
            registry,
            agent,
            fields.collection,
            name,
            sources,
            main_file=fields.main,
            source=SOURCE,
            message=fields.message or SOURCE,
            extends=True,
            expected_version=expected_version,
        )
    if before is not None and before.version == holding.version:  # the item had these very files: none was stored
        await refund_storage(registry, agent, size)
    collection = await registry.store.read(lambda reader: require_collection(reader, fields.collection))
    return StoredUpload(holding, item_url(context.request.origin, collection, holding.label))


@asynccontextmanager
async def _charge_while_storing(context: ApiContext, size: int) -> AsyncIterator[None]:
    """Count the bytes against the quota of the caller before they are stored; if they are not stored, no longer."""
    await charge_storage(context.registry, context.agent, size)
    try:
        yield
    except Exception:
        await refund_storage(context.registry, context.agent, size)
        raise
