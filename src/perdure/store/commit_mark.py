"""The mark of the last commit: what a store has acknowledged, written beside it as well.

A database that was replaced by an older copy of itself, or has lost its write-ahead log, does not know what it has
acknowledged since. The mark does. It is one small file in the registry's folder for each lineage, a random name that a
database is given once and that all copies of its file carry. Every commit rewrites the mark after the database has the
commit on disk, so the mark is never ahead of a database that lost nothing. It is not flushed to disk at every commit:
that would double the cost of each. It survives the death of the process all the same; a power cut may set it back by
about a second.

Two slots are written in turn, each with its own checksum: a crash while one is written leaves the other.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from perdure.errors import StoreFull, StoreUnavailable, is_full, shown
from perdure.names import instant
from perdure.store.event_chain import EventMark
from perdure.store.folders import sync_folder

LINEAGE: Final = "lineage"  # a store's fact, which stays with the database and its copies

_SLOT: Final = 1024  # bytes
_CHECKSUM: Final = 64  # characters
_LONGEST_KEY: Final = 100  # characters, so that a slot holds it however it is escaped
_SECONDS_BETWEEN_FLUSHES: Final = 1.0
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


class ChangeMark(NamedTuple):
    """A change: its number in the order of all changes, the key of its name, and the digest of its revision."""

    number: int = 0
    key: str = ""
    digest: bytes = b""


class CommitMark(msgspec.Struct, frozen=True):
    """What the file says. `is_open`: a program that writes has not ended yet, or ended without closing the store."""

    sequence: int = 0
    change: ChangeMark = ChangeMark()
    event: EventMark = EventMark()
    is_open: bool = False
    boot: str = ""


class Tip(NamedTuple):
    """The newest change and the newest event that a database has."""

    change: ChangeMark = ChangeMark()
    event: EventMark = EventMark()


class DigestSource(Protocol):
    """What a mark is compared with."""

    def change_digests(self, number: int) -> list[bytes]:
        """The digests of the revisions that came with this number."""
        ...

    def event_digests(self, number: int) -> list[bytes]: ...
    def tip(self) -> Tip: ...


def find_mark_files(folder: Path) -> list[Path]:
    """Return the marks in a folder: that of its database, and of databases that were there before."""
    return list(folder.glob("commits-*.mark"))


class CommitMarkFile:
    """The mark of one database. One thread writes it; other processes write it too."""

    def __init__(self, folder: Path, lineage: str | None = None) -> None:
        self._folder = folder
        self.lineage = lineage  # None: known from the first commit on
        self._descriptor: int | None = None
        self._flushed_at = 0.0
        self._is_flushed = True

    def path(self, lineage: str) -> Path:
        return self._folder / f"commits-{lineage[:16]}.mark"

    def read(self, lineage: str) -> CommitMark | None:
        """Return what the file says; None if there is no file, or nothing in it can be read."""
        try:
            return _newest(self.path(lineage).read_bytes())
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise _unavailable(self.path(lineage), problem) from problem

    def create(self, lineage: str) -> None:
        """Make sure, before the first commit, that the file is there and on disk."""
        file = self.path(lineage)
        try:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if os.fstat(descriptor).st_size < 2 * _SLOT:
                    os.pwrite(descriptor, _written(CommitMark()).ljust(2 * _SLOT), 0)
                    os.fsync(descriptor)
                    sync_folder(self._folder)
            except BaseException:
                os.close(descriptor)
                raise
        except OSError as problem:
            raise _unavailable(file, problem) from problem
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self.lineage = descriptor, lineage

    def reach(self, change: ChangeMark, event: EventMark) -> None:
        """Record what was just committed. A mark that cannot be written costs a warning later, and no commit now."""

        def ahead(mark: CommitMark) -> CommitMark:
            newest = max(mark.change, change), max(mark.event, event)
            return msgspec.structs.replace(mark, change=newest[0], event=newest[1], is_open=True, boot=_boot())

        with suppress(OSError, StoreUnavailable):
            if self._descriptor is None and self.lineage is not None:
                self.create(self.lineage)
            was_open = self._rewrite(ahead).is_open
            if not was_open or time.monotonic() - self._flushed_at > _SECONDS_BETWEEN_FLUSHES:
                self._flush()

    def reset(self, lineage: str, change: ChangeMark, event: EventMark) -> None:
        """Let the file say what the database says, on disk when this returns."""
        self.create(lineage)
        try:
            self._rewrite(lambda mark: CommitMark(mark.sequence, change, event, False, _boot()))
            self._flush()
        except OSError as problem:
            raise _unavailable(self.path(lineage), problem) from problem

    def end(self, lineage: str, *, had_log: bool) -> None:
        """Record that the database was closed, with nothing left beside it. A mark whose log was lost stays open."""
        with suppress(OSError, StoreUnavailable):
            mark = self.read(lineage)
            if mark is not None and mark.is_open and not has_lost_log(mark, had_log):
                self.create(lineage)
                self._rewrite(lambda mark: msgspec.structs.replace(mark, is_open=False))
                self._flush()

    def remove(self, lineage: str) -> None:
        """Remove the file, with the database that it belongs to."""
        self.path(lineage).unlink(missing_ok=True)

    def close(self) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                if not self._is_flushed:
                    self._flush()
            os.close(self._descriptor)
            self._descriptor = None

    def _rewrite(self, changed: Callable[[CommitMark], CommitMark]) -> CommitMark:
        """Write the slot that is not the newest; return what the newest said."""
        if self._descriptor is None:
            raise OSError("the mark is closed")
        mark = _newest(os.pread(self._descriptor, 2 * _SLOT, 0)) or CommitMark()
        fresh = msgspec.structs.replace(changed(mark), sequence=mark.sequence + 1)
        os.pwrite(self._descriptor, _written(fresh), fresh.sequence % 2 * _SLOT)
        self._is_flushed = False
        return mark

    def _flush(self) -> None:
        if self._descriptor is not None:
            os.fsync(self._descriptor)
            self._flushed_at, self._is_flushed = time.monotonic(), True


def find_disagreement(mark: CommitMark, reader: DigestSource) -> tuple[str, ...]:
    """Say what the mark knows of and the database does not; nothing, if the database has all of it."""
    found = []
    if mark.change.number and mark.change.digest not in reader.change_digests(mark.change.number):
        key = shown(mark.change.key)
        found.append(f"the last change that was acknowledged, of {key} at {_time(mark.change.number)}, is not in it")
        tip = reader.tip().change
        newest = f"of {shown(tip.key)} at {_time(tip.number)}" if tip.number else "no change at all"
        found.append(f"its newest change is {newest}")
    if mark.event.number and mark.event.digest not in reader.event_digests(mark.event.number):
        found.append("the last event that was acknowledged (an agent, a key, a grant, a prefix) is not in it")
    return tuple(found)


def _time(number: int) -> str:
    """A number of a change as the time that it stands for; those from before changes had times are small."""
    return instant.to_iso(number // 1_000_000)


def has_lost_log(mark: CommitMark, had_log: bool) -> bool:
    """Return whether a write-ahead log had to be there when the store was opened, and was not."""
    return mark.is_open and not had_log and has_restarted(mark)


def has_restarted(mark: CommitMark) -> bool:
    """Return whether the machine has restarted since the mark was written. Marks not flushed may then be lost."""
    return mark.boot not in ("", _boot())


def _written(mark: CommitMark) -> bytes:
    key = mark.change.key[:_LONGEST_KEY]
    shortened = msgspec.structs.replace(mark, change=mark.change._replace(key=key))
    said = msgspec.json.encode(shortened)
    return f"{sha256(said).hexdigest()} ".encode() + said.ljust(_SLOT - _CHECKSUM - 2) + b"\n"


def _newest(slots: bytes) -> CommitMark | None:
    marks = [mark for start in (0, _SLOT) if (mark := _read(slots[start : start + _SLOT])) is not None]
    return max(marks, key=lambda mark: mark.sequence, default=None)


def _read(slot: bytes) -> CommitMark | None:
    said = slot[_CHECKSUM:].strip()
    if slot[:_CHECKSUM] != sha256(said).hexdigest().encode():
        return None
    try:
        return msgspec.json.decode(said, type=CommitMark)
    except msgspec.MsgspecError:
        return None


@cache
def _boot() -> str:
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""


def _unavailable(file: Path, problem: OSError) -> StoreUnavailable:
    if is_full(problem.errno):
        return StoreFull(f"the disk of the mark of the last commit, {file.name},")
    return StoreUnavailable(
        f"the mark of the last commit, {file.name}, cannot be used ({problem.strerror}): nothing was written"
    )
