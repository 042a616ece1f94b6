"""New items and new versions: staged, hashed, flushed to disk, and published as a whole."""

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from perdure.collections.collection_paths import CollectionPaths
from perdure.collections.durable_tree import sync_path, sync_tree
from perdure.collections.file_names import PathSet, check_path, content_name
from perdure.collections.hashed_copy import ALGORITHMS, HashedContent, HashedCopier, ReadableStream, ReadFailed
from perdure.collections.inventory import (
    CONTENT,
    DECLARATION,
    INVENTORY,
    MOST_FILES,
    MOST_VERSIONS,
    SIDECAR,
    Inventory,
    User,
    VersionEntry,
    encode_inventory,
    encode_sidecar,
    first_inventory,
)
from perdure.collections.item import Agent, ItemVersion, StoredItem
from perdure.collections.media_types import MediaTypes, guess_media_type, name_of_record
from perdure.collections.publication import publish_object, publish_versions
from perdure.collections.repair import Intent, begin_stage, remove_stage
from perdure.collections.source_files import LocalFile, SourceFile
from perdure.collections.work_progress import COPY, FLUSH, PUBLISH, Progress
from perdure.errors import OutOfRange, RefusedFile, quote_text

_READ_ONLY: Final = 0o444


class NewVersion(NamedTuple):
    """What a new version is to be. With `extends`, files of the newest version stay, except those in `removed`."""

    label: str
    agent: Agent
    message: str
    created: datetime
    extends: bool
    removed: frozenset[str]
    most_bytes: int | None


def write_version(
    paths: CollectionPaths,
    item: StoredItem | None,
    new: NewVersion,
    sources: Iterable[SourceFile],
    progress: Progress,
) -> ItemVersion:
    """Write the first version of an item, or the next one. The caller holds the lock of the item.

    If the files and their media types are those of the newest version, nothing is written, and that version returned.
    """
    number = 1 if item is None else item.inventory.newest + 1
    if number > MOST_VERSIONS:
        reason = f"an item has at most {MOST_VERSIONS} versions; store further ones as a new item"
        raise OutOfRange("item", "versions", reason)
    stage = begin_stage(paths, Intent(new.label))
    try:
        draft = _Draft(stage / "object", item, number, new, progress)
        draft.copy(sources)
        if item is not None and draft.is_unchanged(item):
            return item.newest
        inventory = draft.finish()
        progress.begin_phase(FLUSH)
        sync_tree(stage, draft.file_count)
        sync_path(paths.stages)
        progress.begin_phase(PUBLISH)
        if item is None:
            publish_object(paths, new.label, draft.directory, stage)
        else:
            publish_versions(draft.directory, item.directory, [number])
    finally:
        remove_stage(stage)
    return StoredItem(new.label, paths.item(new.label), inventory).newest


class _Draft:
    """A version that is being written."""

    def __init__(
        self, directory: Path, item: StoredItem | None, number: int, new: NewVersion, progress: Progress
    ) -> None:
        self.directory = directory
        self._item = item
        self._number = number
        self._new = new
        self._progress = progress
        self._content = f"v{number}/{CONTENT}"
        self._state: dict[str, str] = {}  # the digests of the files, by their paths
        self._types: dict[str, str] = {}
        self._contents: dict[str, list[str]] = {}
        self._directories: set[str] = set()
        self._known_sizes: frozenset[int] = frozenset() if item is None else _list_sizes(item)
        self._paths = PathSet()
        self._size = 0
        (directory / f"v{number}").mkdir(parents=True)

    @property
    def file_count(self) -> int:
        """Return how many files are new on disk."""
        return len(self._contents)

    def copy(self, sources: Iterable[SourceFile]) -> None:
        """Copy and hash all files of the sources, and add those that stay from the newest version."""
        self._progress.begin_phase(COPY)
        with HashedCopier(self._progress.add_bytes) as copier:
            for source in sources:
                self._progress.begin_file(source.path)
                self._add(source, copier)
                self._progress.end_file()
        if self._item is not None and self._new.extends:
            self._retain(self._item)
        if not self._state:
            raise RefusedFile("", "the item would have no files; an item has at least one")

    def is_unchanged(self, item: StoredItem) -> bool:
        """Return whether the newest version has exactly these files."""
        newest = item.inventory.newest
        return self._types == item.newest.media_types.exceptions and self._state == item.inventory.list_files(newest)

    def finish(self) -> Inventory:
        """Write the files that describe the version, and return its inventory."""
        state: dict[str, list[str]] = {}
        for path, digest in self._state.items():
            state.setdefault(digest, []).append(path)
        entry = VersionEntry(self._new.created, state, self._new.message, User(*self._new.agent))
        if self._item is None:
            inventory = first_inventory(self._new.label, entry, self._contents)
            (self.directory / DECLARATION).write_text(f"{DECLARATION.removeprefix('0=')}\n")
        else:
            inventory = self._item.inventory.with_version(entry, self._contents)
        content = encode_inventory(inventory)
        for directory in (self.directory, self.directory / f"v{self._number}"):
            (directory / INVENTORY).write_bytes(content)
            (directory / SIDECAR).write_bytes(encode_sidecar(content))
        if self._types:
            record = self.directory / name_of_record(self._number)
            record.parent.mkdir(parents=True)
            record.write_bytes(MediaTypes(self._types).encode())
        return inventory

    def _retain(self, item: StoredItem) -> None:
        newest, types = item.newest, item.newest.media_types.exceptions
        for path, digest in item.inventory.list_files(newest.number).items():
            if path not in self._new.removed and path not in self._state:
                self._paths.add(path)
                self._state[path] = digest
                if path in types:
                    self._types[path] = types[path]

    def _add(self, source: SourceFile, copier: HashedCopier) -> None:
        path = check_path(source.path)
        self._paths.add(path)
        if len(self._state) >= MOST_FILES:
            raise OutOfRange("item", "files", f"an item has at most {MOST_FILES} files; store more as several items")
        try:
            content = self._store(source, copier)
        except ReadFailed as problem:
            raise RefusedFile(path, f"it cannot be read: {problem.strerror}") from problem
        self._size += content.size
        self._check_size(path)
        self._state[path] = content.digests["sha512"]
        if source.media_type is not None and source.media_type != guess_media_type(path):
            self._types[path] = source.media_type

    def _store(self, source: SourceFile, copier: HashedCopier) -> HashedContent:
        """Store the content of a file, unless the item has it already."""
        algorithms = [name for name in source.digests if name in ALGORITHMS]
        if isinstance(source, LocalFile) and source.size in self._known_sizes:
            with _open(source) as stream:  # it is probably unchanged: read it first, and write it only if it is not
                content = copier.copy(stream, None, algorithms)
            if self._is_stored(content.digests["sha512"]):
                compare_content(source, content)
                return content
        location = f"{self._content}/{content_name(source.path)}"
        file = os.path.join(self.directory, location)
        self._create_directory(os.path.dirname(file))
        with _open(source) as stream:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _READ_ONLY)
            try:
                content = copier.copy(stream, descriptor, algorithms, self._most_left())
            finally:
                os.close(descriptor)
        compare_content(source, content)
        digest = content.digests["sha512"]
        if self._is_stored(digest):
            os.unlink(file)
            self._remove_empty_directories(os.path.dirname(file))
        else:
            self._contents[digest] = [location]
        return content

    def _is_stored(self, digest: str) -> bool:
        return digest in self._contents or (self._item is not None and digest in self._item.inventory.manifest)

    def _create_directory(self, directory: str) -> None:
        if directory not in self._directories:
            os.makedirs(directory, exist_ok=True)
            self._directories.add(directory)

    def _remove_empty_directories(self, directory: str) -> None:
        """Remove the directories of a file that turned out to be stored already: OCFL permits no empty ones."""
        version = os.path.join(self.directory, f"v{self._number}")
        while directory != version and not os.listdir(directory):
            os.rmdir(directory)
            self._directories.discard(directory)
            directory = os.path.dirname(directory)

    def _most_left(self) -> int | None:
        return None if self._new.most_bytes is None else self._new.most_bytes - self._size

    def _check_size(self, path: str) -> None:
        if self._new.most_bytes is not None and self._size > self._new.most_bytes:
            reason = f"with the file {quote_text(path)}, there are more than {self._new.most_bytes} bytes"
            raise OutOfRange("item", "bytes", reason)


def _list_sizes(item: StoredItem) -> frozenset[int]:
    """Return the sizes of all contents of an item, to guess which files are unchanged."""
    contents = (item.directory / paths[0] for paths in item.inventory.manifest.values())
    return frozenset(content.stat().st_size for content in contents if content.exists())


def _open(source: SourceFile) -> AbstractContextManager[ReadableStream]:
    try:
        return source.open()
    except OSError as problem:
        raise RefusedFile(source.path, f"it cannot be read: {problem.strerror}") from problem


def compare_content(source: SourceFile, content: HashedContent) -> None:
    """Compare what was read with what the source promised. Raise RefusedFile if it differs."""
    for name, expected in source.digests.items():
        if name in content.digests and content.digests[name] != expected.lower():
            raise RefusedFile(source.path, f"its {name} is not {expected.lower()[:16]}…, as its source says")
    if source.size is not None and source.size != content.size:
        reason = f"it has {content.size} bytes instead of {source.size}: it is incomplete, or was changed meanwhile"
        raise RefusedFile(source.path, reason)
