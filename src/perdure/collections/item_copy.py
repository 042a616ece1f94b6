"""Copies of whole items, with all their versions: into another collection, from a directory or over a network.

A copy can be interrupted at any point and continued. Every file is compared with the inventory twice: when it is read
from its source, and when it is on the disk of the target.
"""

import os
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

from perdure.collections.collection_paths import CollectionPaths
from perdure.collections.durable_tree import sync_path, sync_tree
from perdure.collections.file_names import PathSet, check_content_path, check_path
from perdure.collections.hashed_copy import HashedCopier, ReadableStream, ReadFailed
from perdure.collections.inventory import (
    CONTENT,
    DECLARATION,
    INVENTORY,
    MOST_FILES,
    MOST_VERSIONS,
    SIDECAR,
    Inventory,
    decode_inventory,
    encode_sidecar,
    read_checked,
)
from perdure.collections.item import StoredItem
from perdure.collections.media_types import name_of_record
from perdure.collections.publication import publish_object, publish_versions
from perdure.collections.repair import Intent, begin_stage, remove_stage
from perdure.collections.source_files import open_regular
from perdure.collections.work_progress import CHECK, COPY, FLUSH, PUBLISH, Progress
from perdure.errors import Conflict, ItemDamaged, OutOfRange, is_full

MOST_INVENTORY_BYTES: Final = 1 << 30
_PART_BYTES: Final = 1 << 18
_READ_ONLY: Final = 0o444


class ItemSource(Protocol):
    """The files of an OCFL object: of a directory on this machine, or of another server."""

    def open(self, path: str) -> AbstractContextManager[ReadableStream]:
        """Open a file by its path inside the object. Raise FileNotFoundError if there is none."""
        ...


class ObjectDirectory:
    """An OCFL object in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(self, path: str) -> AbstractContextManager[ReadableStream]:
        return open_regular(self._directory / path)


def copy_versions(
    paths: CollectionPaths, item: StoredItem | None, label: str, source: ItemSource, progress: Progress
) -> None:
    """Copy the versions that the target does not have. The caller holds the lock of the item, in the target.

    Raise Conflict if the target has versions that the source does not have.
    """
    copy = _Copy(paths, item, label, source, progress)
    if copy.is_complete:
        remove_stage(paths.stage(label))
        return
    stage = begin_stage(paths, Intent(label, True))
    for interrupted in stage.glob("above-*"):
        shutil.rmtree(interrupted)
    try:
        copy.stage(stage / "object")
        progress.begin_phase(FLUSH)
        sync_tree(stage, copy.file_count)
        sync_path(paths.stages)
    except OSError as problem:
        if is_full(problem.errno):  # half a copy would take the room that others need
            remove_stage(stage)
        raise
    copy.check(stage / "object")
    progress.begin_phase(PUBLISH)
    if item is None:
        publish_object(paths, label, stage / "object", stage)
    else:
        publish_versions(stage / "object", item.directory, copy.numbers)
    remove_stage(stage)


class _Copy:
    """A copy that is going on."""

    def __init__(
        self, paths: CollectionPaths, item: StoredItem | None, label: str, source: ItemSource, progress: Progress
    ) -> None:
        self._item = item
        self._label = label
        self._source = source
        self._progress = progress
        self._content = self._read(INVENTORY, MOST_INVENTORY_BYTES)
        self._inventory = self._decode(self._content, self._read(SIDECAR, _PART_BYTES))
        present = 0 if item is None else item.inventory.newest
        self.numbers = range(present + 1, self._inventory.newest + 1)
        self._versions = {number: self._read_version(number) for number in self.numbers}
        self._files = {
            path: digest
            for digest, contents in self._inventory.manifest.items()
            for path in contents
            if int(path[1 : path.index("/")]) in self.numbers
        }
        if item is not None:
            self._compare_histories(item)

    @property
    def is_complete(self) -> bool:
        """Return whether the target has all versions of the source."""
        return not self.numbers

    @property
    def file_count(self) -> int:
        return len(self._files)

    def stage(self, built: Path) -> None:
        """Copy all new versions to a directory. Files that an earlier attempt has copied are only read."""
        self._progress.begin_phase(COPY)
        built.mkdir(exist_ok=True)
        self._remove_others(built)
        with HashedCopier(self._progress.add_bytes) as copier:
            for path, digest in self._files.items():
                self._progress.begin_file(path)
                self._copy_file(built / path, path, digest, copier)
                self._progress.end_file()
        self._write(built)

    def check(self, built: Path) -> None:
        """Read the copies from the disk, and compare them with the inventory."""
        self._progress.begin_phase(CHECK)
        with HashedCopier(self._progress.add_bytes) as copier:
            for path, digest in self._files.items():
                self._progress.begin_file(path)
                with open_regular(built / path) as stream:
                    os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                    found = copier.copy(stream, None).digests["sha512"]
                if found != digest:
                    (built / path).unlink()
                    raise ItemDamaged(self._label, f"the copy of {path} was changed on its way to the disk: try again")
                self._progress.end_file()

    def _copy_file(self, target: Path, path: str, digest: str, copier: HashedCopier) -> None:
        if target.exists():
            with open_regular(target) as stream:
                if copier.copy(stream, None).digests["sha512"] == digest:
                    return
            target.unlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._source.open(path) as stream:
                descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _READ_ONLY)
                try:
                    found = copier.copy(stream, descriptor).digests["sha512"]
                finally:
                    os.close(descriptor)
        except FileNotFoundError as problem:
            raise ItemDamaged(self._label, f"its source does not have {path}") from problem
        except ReadFailed as problem:
            raise ItemDamaged(self._label, f"{path} cannot be read from its source: {problem.strerror}") from problem
        if found != digest:
            target.unlink()
            raise ItemDamaged(self._label, f"{path} does not have the digest that the inventory of its source says")

    def _remove_others(self, built: Path) -> None:
        """Remove what an earlier attempt has left and this one does not need."""
        for parent, directories, files in os.walk(built, topdown=False):
            for name in files:
                if os.path.relpath(os.path.join(parent, name), built) not in self._files:
                    os.unlink(os.path.join(parent, name))
            for name in directories:
                if not os.listdir(os.path.join(parent, name)):
                    os.rmdir(os.path.join(parent, name))

    def _write(self, built: Path) -> None:
        """Write the inventories, the declaration and the media types."""
        for number, content in self._versions.items():
            _write_inventory(built / f"v{number}", content)
            record = self._read_optional(name_of_record(number))
            if record is not None:
                (built / name_of_record(number)).parent.mkdir(parents=True, exist_ok=True)
                (built / name_of_record(number)).write_bytes(record)
        _write_inventory(built, self._content)
        if self._item is None:
            (built / DECLARATION).write_text(f"{DECLARATION.removeprefix('0=')}\n")

    def _compare_histories(self, item: StoredItem) -> None:
        """Ensure that the versions of the target are the first ones of the source."""
        newest = min(item.inventory.newest, self._inventory.newest)
        own = read_checked(item.directory / f"v{newest}")
        if item.inventory.newest > self._inventory.newest or own != self._read_version(newest):
            expected = f"versions 1 to {item.inventory.newest} of the copy that is here"
            raise Conflict(
                self._label, expected, f"a source with another history, of {self._inventory.newest} versions"
            )

    def _read_version(self, number: int) -> bytes:
        if number == self._inventory.newest:
            return self._content
        content = self._read(f"v{number}/{INVENTORY}", MOST_INVENTORY_BYTES)
        if self._decode(content, self._read(f"v{number}/{SIDECAR}", _PART_BYTES)).newest != number:
            raise ItemDamaged(self._label, f"the inventory of version {number} of its source is that of another one")
        return content

    def _decode(self, content: bytes, sidecar: bytes) -> Inventory:
        """Decode an inventory, which may come from a server that is not trusted."""
        if sidecar.split() != encode_sidecar(content).split():
            raise ItemDamaged(self._label, "an inventory of its source does not have the digest beside it: try again")
        try:
            inventory = decode_inventory(content)
        except ValueError as problem:
            raise ItemDamaged(self._label, f"an inventory of its source cannot be used: {problem}") from problem
        if inventory.id != self._label:
            raise ItemDamaged(self._label, f"its source says that it is {inventory.id!a}")
        if inventory.newest > MOST_VERSIONS or len(inventory.manifest) > MOST_FILES * 2:
            raise OutOfRange("item", "versions", f"an item has at most {MOST_VERSIONS} versions and {MOST_FILES} files")
        _check_names(inventory)
        return inventory

    def _read(self, path: str, most: int) -> bytes:
        content = self._read_optional(path, most)
        if content is None:
            raise ItemDamaged(self._label, f"its source does not have {path}")
        return content

    def _read_optional(self, path: str, most: int = MOST_INVENTORY_BYTES) -> bytes | None:
        content = bytearray()
        part = memoryview(bytearray(_PART_BYTES))
        try:
            with self._source.open(path) as stream:
                while count := stream.readinto(part):
                    content += part[:count]
                    if len(content) > most:
                        raise ItemDamaged(self._label, f"{path} of its source has more than {most} bytes")
        except FileNotFoundError:
            return None
        return bytes(content)


def _check_names(inventory: Inventory) -> None:
    """Refuse an inventory with paths that are not safe on every system."""
    for entry in inventory.versions.values():
        names = PathSet()
        for paths in entry.state.values():
            for path in paths:
                names.add(check_path(path))
    contents = PathSet()
    for paths in inventory.manifest.values():
        for path in paths:
            contents.add(check_content_path(path))
            if path.split("/")[1] != CONTENT:
                raise ItemDamaged(inventory.id, f"the manifest of its source has the path {path!a}")


def _write_inventory(directory: Path, content: bytes) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / INVENTORY).write_bytes(content)
    (directory / SIDECAR).write_bytes(encode_sidecar(content))
