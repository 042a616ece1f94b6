"""A stored item: its versions, and their files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from perdure.collections.inventory import Inventory
from perdure.collections.media_types import MediaTypes
from perdure.errors import NoSuchFile, NoSuchVersion


class Agent(NamedTuple):
    """The agent that made a version. The address is a URI: of a person, a service, a mailbox (`mailto:`)."""

    name: str
    address: str | None = None


class ItemFile(NamedTuple):
    """A file of a version. The size is -1 if the content is missing on disk."""

    path: str
    size: int
    sha512: str
    media_type: str


@dataclass(frozen=True)
class ItemVersion:
    """A version of an item. Its files are read from the disk when they are used."""

    number: int
    created: datetime
    message: str
    agent: Agent | None
    inventory: Inventory
    media_types: MediaTypes
    directory: Path

    @cached_property
    def files(self) -> Mapping[str, ItemFile]:
        """Return the files by their paths, in alphabetical order."""
        digests = self.inventory.list_files(self.number)
        contents = self.inventory.manifest
        return {path: self._describe(path, digest, contents[digest][0]) for path, digest in sorted(digests.items())}

    def find_file(self, path: str) -> tuple[Path, ItemFile]:
        """Return the path of a file's content on disk, and the file. Raise NoSuchFile if the version has none."""
        digest = self.inventory.find_digest(self.number, path)
        if digest is None:
            raise NoSuchFile(self.inventory.id, path)
        content = self.inventory.manifest[digest][0]
        return self.directory / content, self._describe(path, digest, content)

    def content_of(self, file: ItemFile) -> Path:
        """Return the path of a file's content on disk."""
        return self.directory / self.inventory.manifest[file.sha512][0]

    def _describe(self, path: str, digest: str, content: str) -> ItemFile:
        try:
            size = (self.directory / content).stat().st_size
        except FileNotFoundError:
            size = -1
        return ItemFile(path, size, digest, self.media_types.find(path))


@dataclass(frozen=True)
class StoredItem:
    """An item in a collection, with all its versions."""

    label: str
    directory: Path
    inventory: Inventory
    _media_types: dict[int, MediaTypes] = field(default_factory=dict, compare=False, repr=False)

    @property
    def newest(self) -> ItemVersion:
        return self.version(self.inventory.newest)

    @property
    def versions(self) -> tuple[ItemVersion, ...]:
        """Return all versions, the newest first."""
        return tuple(self.version(number) for number in range(self.inventory.newest, 0, -1))

    def version(self, number: int | None = None) -> ItemVersion:
        """Return a version by its number; the newest without one. Raise NoSuchVersion if there is none."""
        number = self.inventory.newest if number is None else number
        entry = self.inventory.versions.get(f"v{number}")
        if entry is None:
            raise NoSuchVersion(self.label, number)
        agent = None if entry.user is None else Agent(entry.user.name, entry.user.address)
        types = self._media_types.get(number)
        if types is None:
            types = self._media_types[number] = MediaTypes.read(self.directory, number)
        return ItemVersion(number, entry.created, entry.message, agent, self.inventory, types, self.directory)
