"""A collection on disk: an OCFL storage root, and the operations on its items."""

import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Final, Self

from perdure.collections.collection_paths import DECLARATION, EXTENSIONS, CollectionPaths
from perdure.collections.durable_tree import sync_path
from perdure.collections.inventory import DECLARATION as OBJECT_DECLARATION
from perdure.collections.inventory import read_inventory
from perdure.collections.item import Agent, ItemFile, ItemVersion, StoredItem
from perdure.collections.item_check import check_item
from perdure.collections.item_copy import ItemSource, ObjectDirectory, copy_versions
from perdure.collections.item_lock import lock_item
from perdure.collections.item_report import ItemReport
from perdure.collections.item_writer import NewVersion, write_version
from perdure.collections.label_path import canonical_label, label_to_path, path_to_label
from perdure.collections.layout_description import CONFIG, DESCRIPTION, DESCRIPTION_NAME, ROOT_DECLARATION
from perdure.collections.publication import withdraw_object
from perdure.collections.read_rate import ReadRate
from perdure.collections.repair import Intent, begin_stage, remove_stage, repair_all, repair_item
from perdure.collections.source_files import SourceFile
from perdure.collections.storage_errors import explain_storage_errors
from perdure.collections.tree_check import check_tree
from perdure.collections.work_progress import Progress, Report
from perdure.errors import Conflict, NoSuchItem, NotACollection, StoreFull, StoreUnavailable

PATIENCE: Final = 10.0  # seconds that a writer waits for another one of the same item


class StorageRoot:
    """A collection. Any number of processes may read and write it; writers of one item wait for each other."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self._paths = CollectionPaths(self.path)

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Create a collection in a new or empty directory."""
        root = cls(path)
        with explain_storage_errors(str(root.path)):
            root._create()
        return root

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a collection, and put right what a crash has left behind."""
        root = cls(path)
        with explain_storage_errors(str(root.path)):
            root._check_declaration()
            if os.access(root._paths.stages, os.W_OK):
                repair_all(root._paths)
        return root

    def check_room(self, size: int) -> None:
        """Raise StoreFull or StoreUnavailable if a new item of this size cannot be written."""
        if not os.access(self._paths.stages, os.W_OK):
            reason = f"the collection {self.path} cannot be written: it is read-only, or belongs to another user"
            raise StoreUnavailable(reason)
        with explain_storage_errors(str(self.path)):
            free = shutil.disk_usage(self.path).free
        if size > free:
            raise StoreFull(f"the disk of the collection {self.path} (it has {free} bytes, and {size} are needed)")

    def has_item(self, label: str) -> bool:
        """Return whether the collection holds the item."""
        return (self._paths.item(canonical_label(label)) / OBJECT_DECLARATION).exists()

    def read_item(self, label: str) -> StoredItem:
        """Read an item. Raise NoSuchItem if the collection does not hold it."""
        label = canonical_label(label)
        item = self._find(label)
        if item is None:
            raise NoSuchItem(label)
        return item

    def open_file(self, label: str, path: str, version: int | None = None) -> tuple[Path, ItemFile]:
        """Return the path of a file's content on disk, and the file; of the newest version, if none is given."""
        return self.read_item(label).version(version).find_file(path)

    def put_version(
        self,
        label: str,
        sources: Iterable[SourceFile],
        *,
        agent: Agent,
        message: str = "",
        created: datetime | None = None,
        extends: bool = False,
        removed: Collection[str] = (),
        most_bytes: int | None = None,
        expected_version: int | None = None,
        report: Report | None = None,
        patience: float = PATIENCE,
    ) -> ItemVersion:
        """Store a new item, or a new version of one, with exactly the files of the sources.

        With `extends`, the files of the newest version stay, except those in `removed`; sources replace files with the
        same path. When this returns, the version is on disk. If the newest version is the same already, it is returned
        and nothing is written. If it raises, nothing has changed. Raise Conflict if the newest version is not the
        expected one; 0 is for an item that does not exist yet.
        """
        label = canonical_label(label)
        created = (created or datetime.now(timezone.utc)).astimezone(timezone.utc)
        new = NewVersion(label, agent, message, created, extends, frozenset(removed), most_bytes)
        with explain_storage_errors(str(self.path)), lock_item(self._paths.lock(label), label, patience):
            repair_item(self._paths, label)
            item = self._find(label)
            newest = 0 if item is None else item.inventory.newest
            if expected_version is not None and newest != expected_version:
                raise Conflict(label, f"version {expected_version}", f"version {newest}")
            return write_version(self._paths, item, new, sources, Progress(report))

    def copy_item(
        self,
        label: str,
        source: "StorageRoot | ItemSource",
        *,
        report: Report | None = None,
        patience: float = PATIENCE,
    ) -> StoredItem:
        """Copy an item with all its versions from another collection, or from another source of an OCFL object.

        If the item is here already, the versions that are missing are added. Raise Conflict if the two histories
        differ. A copy that was interrupted is continued. When this returns, the digests of all new files have been
        checked on both sides, and the copy is on disk.
        """
        label = canonical_label(label)
        origin = ObjectDirectory(source.read_item(label).directory) if isinstance(source, StorageRoot) else source
        with explain_storage_errors(str(self.path)), lock_item(self._paths.lock(label), label, patience):
            repair_item(self._paths, label, is_copy=True)
            copy_versions(self._paths, self._find(label), label, origin, Progress(report))
        return self.read_item(label)

    def remove_item(self, label: str, *, patience: float = PATIENCE) -> None:
        """Remove an item with all its versions, for example after it was moved to another collection."""
        label = canonical_label(label)
        with explain_storage_errors(str(self.path)), lock_item(self._paths.lock(label), label, patience):
            repair_item(self._paths, label)
            if not self._paths.item(label).exists():
                raise NoSuchItem(label)
            stage = begin_stage(self._paths, Intent(label))
            withdraw_object(self._paths, label, stage / "removed")
            remove_stage(stage)

    def items(self) -> Iterator[str]:
        """Yield the labels of all items, in no particular order. Memory does not grow with their number."""
        yield from self._list_below("")

    def verify_item(self, label: str, *, report: Report | None = None) -> ItemReport:
        """Read a whole item and compare it with its inventory."""
        return self.build_check(report=report)(label)

    def build_check(self, *, rate: float | None = None, report: Report | None = None) -> Callable[[str], ItemReport]:
        """Return a function that checks an item by its label.

        `rate` limits the bytes per second, and the report counts the files and bytes, of all items together.
        """
        limit, progress = ReadRate(rate), Progress(report)

        def check(label: str) -> ItemReport:
            label = canonical_label(label)
            return check_item(self._paths.item(label), label_to_path(label), label, limit, progress)

        return check

    def verify(self, *, rate: float | None = None, report: Report | None = None) -> Iterator[ItemReport]:
        """Check all items and the directories between them. A report without a label is about a directory."""
        limit, progress = ReadRate(rate), Progress(report)

        def check(directory: Path, path: str, label: str) -> ItemReport:
            try:
                return check_item(directory, path, label, limit, progress)
            except NoSuchItem:  # it was removed meanwhile
                return ItemReport(label, path, 0, 0, (), 0)

        yield from check_tree(self.path, check)

    def _list_below(self, path: str) -> Iterator[str]:
        with explain_storage_errors(str(self.path)), os.scandir(self.path / path) as entries:
            for entry in entries:
                below = f"{path}/{entry.name}" if path else entry.name
                if below == EXTENSIONS or not entry.is_dir(follow_symlinks=False):
                    continue
                if os.path.exists(os.path.join(entry.path, OBJECT_DECLARATION)):
                    label = path_to_label(below)
                    if label is not None:
                        yield label
                else:
                    yield from self._list_below(below)

    def _find(self, label: str) -> StoredItem | None:
        directory = self._paths.item(label)
        with explain_storage_errors(str(self.path)):
            if not (directory / OBJECT_DECLARATION).exists():
                return None
            return StoredItem(label, directory, read_inventory(directory, label))

    def _create(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        if not self._is_empty_or_unfinished():
            raise NotACollection(str(self.path), "a new collection needs a directory that does not exist, or is empty")
        for directory in (self._paths.stages, self._paths.locks):
            directory.mkdir(parents=True, exist_ok=True)
        config, description = self._paths.extension / "config.json", self.path / DESCRIPTION_NAME
        declaration = self._paths.stages / DECLARATION
        config.write_bytes(CONFIG)
        description.write_text(DESCRIPTION, encoding="utf-8")
        declaration.write_text(ROOT_DECLARATION)
        for path in (config, self._paths.extension, self._paths.extension.parent, description, declaration):
            sync_path(path)
        declaration.rename(self.path / DECLARATION)  # from here on, it is a collection
        for path in (self.path, self.path.parent):
            sync_path(path)

    def _is_empty_or_unfinished(self) -> bool:
        """Return whether the directory contains nothing, or only what a creation that was interrupted has left."""
        extension = self._paths.extension
        parts = {
            extension.parent,
            extension,
            extension / "config.json",
            self._paths.locks,
            self._paths.stages,
            self._paths.stages / DECLARATION,
            self.path / DESCRIPTION_NAME,
        }
        return all(path in parts and not path.is_symlink() for path in self.path.rglob("*"))

    def _check_declaration(self) -> None:
        try:
            declaration = (self.path / DECLARATION).read_text()
        except FileNotFoundError:
            raise NotACollection(str(self.path), f"it has no file {DECLARATION}") from None
        if declaration != ROOT_DECLARATION or not self._paths.stages.is_dir():
            raise NotACollection(str(self.path), "it was not created by perdure collection create")
