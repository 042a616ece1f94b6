"""The check of an item: missing, changed, foreign, misplaced and unreadable files, without changing anything."""

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from perdure.collections.hashed_copy import HashedCopier
from perdure.collections.inventory import (
    CONTENT,
    DECLARATION,
    INVENTORY,
    SIDECAR,
    Inventory,
    list_versions,
    read_checked,
    read_inventory,
)
from perdure.collections.item_report import CHANGED, FOREIGN, MISPLACED, MISSING, UNREADABLE, Findings, ItemReport
from perdure.collections.read_rate import ReadRate
from perdure.collections.source_files import open_regular
from perdure.collections.work_progress import CHECK, Progress
from perdure.errors import ItemDamaged, NoSuchItem

_PUBLICATION_SECONDS: Final = 0.2  # after which a version that is being published is in the inventory
_UNCHECKED: Final = ("extensions", "logs")  # OCFL permits any content there


def check_item(directory: Path, path: str, label: str, rate: ReadRate, progress: Progress) -> ItemReport:
    """Read a whole item and compare it with its inventory."""
    progress.continue_phase(CHECK)
    if not directory.is_dir():
        raise NoSuchItem(label)
    findings = Findings()
    try:
        inventory = _read_newest(directory, label)
    except ItemDamaged as problem:
        findings.add(CHANGED, INVENTORY, problem.damage)
        return findings.report(label, path)
    except OSError as problem:
        findings.add(UNREADABLE, INVENTORY, problem.strerror or "")
        return findings.report(label, path)
    with _ItemCheck(directory, inventory, findings, rate, progress) as check:
        try:
            check.compare_descriptions(label)
            check.compare_contents()
        except OSError as problem:
            if not directory.is_dir():
                raise NoSuchItem(label) from problem
            findings.add(UNREADABLE, "", problem.strerror or "")
        return findings.report(label, path, check.files, check.size)


def _read_newest(directory: Path, label: str) -> Inventory:
    """Read the inventory; if a version is just being published, the one that lists it."""
    inventory = read_inventory(directory, label)
    newest = next(list_versions(directory), None)
    if newest is not None and newest.name != inventory.head:
        time.sleep(_PUBLICATION_SECONDS)
        inventory = read_inventory(directory, label)
    return inventory


class _ItemCheck(HashedCopier):
    """A check that is going on."""

    def __init__(
        self, directory: Path, inventory: Inventory, findings: Findings, rate: ReadRate, progress: Progress
    ) -> None:
        super().__init__(self._advance_check)
        self._directory = directory
        self._inventory = inventory
        self._findings = findings
        self._rate = rate
        self._progress = progress
        self.files = self.size = 0

    def _advance_check(self, count: int) -> None:
        self.size += count
        self._progress.add_bytes(count)
        self._rate.spend(count)

    def compare_descriptions(self, label: str) -> None:
        """Check the declaration, the inventories, and that the item lies where it belongs."""
        if self._inventory.id != label:
            self._findings.add(MISPLACED, "", f"its inventory says that it is {self._inventory.id}")
        self._compare_declaration()
        newest = self._read_description("")
        for number in range(1, self._inventory.newest + 1):
            content = self._read_description(f"v{number}/")
            if f"v{number}" == self._inventory.head and content != newest and None not in (content, newest):
                self._findings.add(CHANGED, INVENTORY, f"it differs from that of version {number}, the newest")

    def compare_contents(self) -> None:
        """Check all content. A foreign file that is the same as a missing one is reported as misplaced."""
        unseen = {path: digest for digest, paths in self._inventory.manifest.items() for path in paths}
        foreign = []
        for path in self._walk():
            expected = unseen.pop(path, None)
            if expected is None:
                foreign.append(path)
            else:
                self._compare(path, expected)
        missing = {digest: path for path, digest in unseen.items()}
        for path in foreign:
            digest = self._read(path) if missing and _is_regular(self._directory / path) else None
            if digest in missing:
                unseen.pop(missing[digest], None)
                self._findings.add(MISPLACED, path, f"it belongs at {missing[digest]}")
            else:
                self._findings.add(FOREIGN, path, "the inventory does not list it")
        for path in unseen:
            self._findings.add(MISSING, path)

    def _walk(self) -> Iterator[str]:
        """Yield all paths that are not descriptions, relative to the item."""
        versions = {f"v{number}" for number in range(1, self._inventory.newest + 1)}
        for entry in os.scandir(self._directory):
            if entry.name in versions and entry.is_dir(follow_symlinks=False):
                yield from self._walk_version(entry.name)
            elif entry.name not in (DECLARATION, INVENTORY, SIDECAR, *_UNCHECKED):
                yield entry.name

    def _walk_version(self, version: str) -> Iterator[str]:
        for entry in os.scandir(self._directory / version):
            if entry.name == CONTENT and entry.is_dir(follow_symlinks=False):
                yield from self._walk_content(f"{version}/{CONTENT}")
            elif entry.name not in (INVENTORY, SIDECAR):
                yield f"{version}/{entry.name}"

    def _walk_content(self, path: str) -> Iterator[str]:
        is_empty = True
        try:
            with os.scandir(self._directory / path) as entries:
                for entry in entries:
                    is_empty = False
                    if entry.is_dir(follow_symlinks=False):
                        yield from self._walk_content(f"{path}/{entry.name}")
                    else:
                        yield f"{path}/{entry.name}"
        except OSError as problem:
            self._findings.add(UNREADABLE, path, problem.strerror or "")
        else:
            if is_empty:
                yield path

    def _compare(self, path: str, expected: str) -> None:
        self._progress.begin_file(path)
        found = self._read(path)
        if found is not None and found != expected:
            # Perhaps the disk or the memory failed just now: only what is wrong twice has been changed.
            again = self._read(path, from_disk=True)
            if again == expected:
                self._findings.add(UNREADABLE, path, "two reads gave different bytes: check the disk and the memory")
            elif again is not None:
                self._findings.add(CHANGED, path, f"its SHA-512 is {again[:16]}…, not {expected[:16]}…")
        self.files += 1
        self._progress.end_file()

    def _read(self, path: str, *, from_disk: bool = False) -> str | None:
        """Return the digest of a file; None if it cannot be read, which is reported."""
        try:
            with open_regular(self._directory / path) as stream:
                if from_disk:
                    os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                return self.copy(stream, None).digests["sha512"]
        except OSError as problem:
            self._findings.add(UNREADABLE, path, problem.strerror or type(problem).__name__)
        except ValueError as problem:  # it is no regular file
            self._findings.add(CHANGED, path, str(problem))
        return None

    def _compare_declaration(self) -> None:
        try:
            content = (self._directory / DECLARATION).read_text("utf-8", "replace")
        except FileNotFoundError:
            self._findings.add(MISSING, DECLARATION)
        except OSError as problem:
            self._findings.add(UNREADABLE, DECLARATION, problem.strerror or "")
        else:
            if content != f"{DECLARATION.removeprefix('0=')}\n":
                self._findings.add(CHANGED, DECLARATION)

    def _read_description(self, folder: str) -> bytes | None:
        try:
            content = read_checked(self._directory / folder)
        except OSError as problem:
            self._findings.add(UNREADABLE, f"{folder}{INVENTORY}", problem.strerror or "")
            return None
        if content is None:
            names = (f"{folder}{name}" for name in (INVENTORY, SIDECAR))
            missing = [name for name in names if not (self._directory / name).exists()]
            for name in missing:
                self._findings.add(MISSING, name)
            if not missing:
                self._findings.add(CHANGED, f"{folder}{INVENTORY}", "it does not have the digest that is beside it")
        return content


def _is_regular(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except OSError:
        return False
