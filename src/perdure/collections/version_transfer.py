"""The versions of an item from one directory to another: each file is compared with its digest on the way."""

from collections.abc import Iterator

from perdure.collections.hashed_copy import HashedCopier
from perdure.collections.item import Agent, ItemVersion, StoredItem
from perdure.collections.item_content import ItemContent, summarize_content
from perdure.collections.source_files import LocalFile, SourceFile
from perdure.collections.storage_root import StorageRoot
from perdure.collections.work_progress import CHECK, Progress, Report
from perdure.errors import Conflict, ItemDamaged, NoSuchItem

_UNKNOWN: Agent = Agent("unknown")


def copy_versions(
    origin: StorageRoot, to: StorageRoot, label: str, newest: int, report: Report | None = None
) -> ItemContent:
    """Copy the versions of an item up to a number. Those that are there already are compared, and not copied again."""
    stored = origin.read_item(label)
    for number in range(1, newest + 1):
        version = stored.version(number)
        if not has_version(to, version, label):
            copied = to.put_version(
                label,
                _list_sources(version),
                agent=version.agent or _UNKNOWN,
                message=version.message,
                created=version.created,
                report=report,
            )
            check_number(label, copied.number, number)
    last = to.read_item(label).version(newest)
    return summarize_content(newest, last.files.values())


def has_version(to: StorageRoot, version: ItemVersion, label: str) -> bool:
    """Return whether a version is there already. Raise Conflict if another one has its number."""
    there = find_stored(to, label)
    if there is None or there.newest.number < version.number:
        return False
    ours, theirs = version.inventory.list_files(version.number), there.inventory.list_files(version.number)
    if ours != theirs:
        raise Conflict(label, f"version {version.number} as it is copied", "other files in its stead")
    return True


def find_stored(root: StorageRoot, label: str) -> StoredItem | None:
    """Return the item of a collection, if it is there."""
    try:
        return root.read_item(label)
    except NoSuchItem:
        return None


def check_number(label: str, found: int, expected: int) -> None:
    """Refuse a copy whose versions do not have the numbers of the original."""
    if found != expected:
        raise Conflict(label, f"version {expected}", f"version {found}: two versions have the same files")


def check_digests(stored: StoredItem, newest: int, progress: Progress) -> None:
    """Read all content up to a version. Raise ItemDamaged if it is not what the inventory says."""
    needed = {digest for number in range(1, newest + 1) for digest in stored.inventory.list_files(number).values()}
    progress.begin_phase(CHECK)
    with HashedCopier(progress.add_bytes) as copier:
        for digest in sorted(needed):
            content = stored.inventory.manifest[digest][0]
            progress.begin_file(content)
            try:
                with LocalFile(content, stored.directory / content).open() as stream:
                    found = copier.copy(stream, None).digests["sha512"]
            except FileNotFoundError:
                raise ItemDamaged(stored.label, f"{content} is missing") from None
            if found != digest:
                raise ItemDamaged(stored.label, f"{content} in {stored.directory} was changed")
            progress.end_file()


def _list_sources(version: ItemVersion) -> Iterator[SourceFile]:
    for file in version.files.values():
        digests = {"sha512": file.sha512}
        yield LocalFile(file.path, version.content_of(file), file.size, file.media_type, digests)
