"""The inventory of an OCFL object: every version, every file, every digest. Specification: OCFL 1.1, section 3.5."""

import os
import re
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha512
from pathlib import Path
from typing import Final

import msgspec

from perdure.errors import ItemDamaged

DECLARATION: Final = "0=ocfl_object_1.1"
INVENTORY: Final = "inventory.json"
SIDECAR: Final = "inventory.json.sha512"
CONTENT: Final = "content"
MOST_VERSIONS: Final = 1000  # each has a copy of the inventory, so the inventories of n versions grow as n squared
MOST_FILES: Final = 1_000_000  # of a version, so that an inventory fits into memory
_TYPE: Final = "https://ocfl.io/1.1/spec/#inventory"
_VERSION: Final = re.compile(r"v([1-9][0-9]*)")
_READ_ATTEMPTS: Final = 5

Digests = dict[str, list[str]]  # the paths of the files with each digest


class User(msgspec.Struct, frozen=True, omit_defaults=True):
    """The agent that made a version."""

    name: str
    address: str | None = None


class VersionEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A version in the inventory."""

    created: datetime
    state: Digests
    message: str = ""
    user: User | None = None


class Inventory(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """The inventory. Digests are in lower case."""

    id: str
    type: str
    digestAlgorithm: str  # noqa: N815  (the names of the specification)
    head: str
    manifest: Digests
    versions: dict[str, VersionEntry]
    contentDirectory: str = CONTENT  # noqa: N815
    fixity: dict[str, Digests] | None = None

    @property
    def newest(self) -> int:
        return int(self.head[1:])

    def list_files(self, number: int) -> dict[str, str]:
        """Return the digests of the files of a version, by their paths."""
        state = self.versions[f"v{number}"].state
        return {path: digest for digest, paths in state.items() for path in paths}

    def find_digest(self, number: int, path: str) -> str | None:
        """Return the digest of a file of a version, or None if there is no such file."""
        files: dict[str, str] | None = self.__dict__.get("_newest_files")
        if number != self.newest:
            return self.list_files(number).get(path)
        if files is None:
            files = self.__dict__["_newest_files"] = self.list_files(number)
        return files.get(path)

    def with_version(self, entry: VersionEntry, contents: Digests) -> "Inventory":
        """Return the inventory with one more version, and its new contents."""
        head = f"v{self.newest + 1}"
        versions = {**self.versions, head: entry}
        return msgspec.structs.replace(self, head=head, manifest={**self.manifest, **contents}, versions=versions)


def first_inventory(label: str, entry: VersionEntry, contents: Digests) -> Inventory:
    """Return the inventory of an object with one version."""
    return Inventory(label, _TYPE, "sha512", "v1", contents, {"v1": entry})


def encode_inventory(inventory: Inventory) -> bytes:
    """Write an inventory as JSON that people can read."""
    return msgspec.json.format(msgspec.json.encode(inventory), indent=2) + b"\n"


def decode_inventory(content: bytes) -> Inventory:
    """Read an inventory. Raise ValueError, which says what is wrong, if it is not one that this program can use."""
    inventory = msgspec.json.decode(content, type=Inventory)
    if inventory.digestAlgorithm != "sha512":
        raise ValueError(f"its digest algorithm is {inventory.digestAlgorithm!a}, not sha512")
    if inventory.contentDirectory != CONTENT:
        raise ValueError(f"its content directory is {inventory.contentDirectory!a}, not {CONTENT}")
    if _VERSION.fullmatch(inventory.head) is None or set(inventory.versions) != {
        f"v{number}" for number in range(1, inventory.newest + 1)
    }:
        raise ValueError("its versions are not v1, v2, … up to the head")
    _check_paths(inventory)
    return inventory


def _check_paths(inventory: Inventory) -> None:
    """Ensure that every file has content, and that no path of content leads out of its version."""
    for paths in inventory.manifest.values():
        for path in paths:
            parts = path.split("/")
            if len(parts) < 3 or parts[0] not in inventory.versions or parts[1] != CONTENT or _leads_out(parts):
                raise ValueError(f"the manifest has the path {path!a}, which is not in a content directory")
    for number, version in inventory.versions.items():
        if missing := next((digest for digest in version.state if not inventory.manifest.get(digest)), None):
            raise ValueError(f"version {number} needs content with the digest {missing[:16]}…, which it does not list")


def _leads_out(parts: list[str]) -> bool:
    return any(part in ("", ".", "..") or "\x00" in part for part in parts)


def encode_sidecar(content: bytes) -> bytes:
    """Write the digest of an inventory, as the file beside it has it."""
    return f"{sha512(content).hexdigest()} {INVENTORY}\n".encode()


def read_checked(directory: Path) -> bytes | None:
    """Return an inventory file whose digest is that beside it; None if they differ, or if one is missing."""
    try:
        content = (directory / INVENTORY).read_bytes()
        sidecar = (directory / SIDECAR).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return content if sidecar.split() == encode_sidecar(content).split() else None


def read_inventory(directory: Path, label: str) -> Inventory:
    """Read the inventory of the object in a directory.

    A writer replaces the inventory, and then the digest beside it. Between these two steps, or after a crash there, the
    copy in the directory of the newest version counts.
    """
    for _ in range(_READ_ATTEMPTS):
        content = read_checked(directory)
        if content is None:
            content = next(filter(None, map(read_checked, list_versions(directory))), None)
        if content is not None:
            try:
                return decode_inventory(content)
            except (ValueError, msgspec.MsgspecError) as problem:
                raise ItemDamaged(label, f"its inventory cannot be used: {problem}") from problem
    raise ItemDamaged(label, "it has no inventory that matches its digest")


def list_versions(directory: Path) -> Iterator[Path]:
    """Yield the directories of the versions of an object, the newest first."""
    found = (_VERSION.fullmatch(name) for name in os.listdir(directory))
    for number in sorted((int(match[1]) for match in found if match is not None), reverse=True):
        yield directory / f"v{number}"
