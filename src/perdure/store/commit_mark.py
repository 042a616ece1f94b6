"""The mark of the last commit: a file beside the store with the last change and event that it acknowledged.

A database that was replaced by an older copy of itself, or that lost its write-ahead log, does not know what it has
acknowledged since. The mark does. It is a small file in the registry's folder for each lineage: a random name that a
database gets once, and that all copies of its file have. Every commit rewrites the mark after the database has the
commit on disk, so the mark is never ahead of a database that lost nothing. It is not flushed to disk at every commit,
because that would double the cost of each. It survives a crash of the process nevertheless; a power cut may set it
back by about a second.

Two slots are written in turn, each with its own checksum: a crash during a write leaves the other slot intact.
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

from perdure.errors import StoreFull, StoreUnavailable, is_full, quote_text
from perdure.names import instant
from perdure.store.event_chain import EventMark
from perdure.store.file_sync import open_as_folder_owner, sync_folder

LINEAGE: Final = "lineage"  # a fact of the store, which the database and its copies have in common

_SLOT_BYTES: Final = 1024  # bytes
_CHECKSUM_CHARACTERS: Final = 64  # characters
_LONGEST_KEY: Final = 100  # characters, so that it fits into a slot however it is escaped
_SECONDS_BETWEEN_FLUSHES: Final = 1.0
_BOOT_ID_FILE: Final = Path("/proc/sys/kernel/random/boot_id")


class ChangeMark(NamedTuple):
    """A change: its number in the order of all changes, the key of its name, and the digest of its revision."""

    number: int = 0
    key: str = ""
    digest: bytes = b""


class CommitMark(msgspec.Struct, frozen=True):
    """The content of a slot. `is_open`: a program that writes is running, or ended without closing the store."""

    sequence: int = 0
    change: ChangeMark = ChangeMark()
    event: EventMark = EventMark()
    is_open: bool = False
    boot: str = ""


class Tip(NamedTuple):
    """The newest change and the newest event in a database."""

    change: ChangeMark = ChangeMark()
    event: EventMark = EventMark()


class DigestSource(Protocol):
    """The queries that compare a database with a mark."""

    def change_digests(self, number: int) -> list[bytes]:
        """Return the digests of the revisions with this change number."""
        ...

    def event_digests(self, number: int) -> list[bytes]: ...
    def tip(self) -> Tip: ...


def find_mark_files(folder: Path) -> list[Path]:
    """Return the mark files in a folder: those of its database and of earlier databases."""
    return list(folder.glob("commits-*.mark"))


class CommitMarkFile:
    """The mark file of a database. One thread of each writing process writes it."""

    def __init__(self, folder: Path, lineage: str | None = None) -> None:
        self._folder = folder
        self.lineage = lineage  # None until the first commit
        self._descriptor: int | None = None
        self._flushed_at = 0.0
        self._is_flushed = True

    def path(self, lineage: str) -> Path:
        return self._folder / f"commits-{lineage[:16]}.mark"

    def read(self, lineage: str) -> CommitMark | None:
        """Return the newest mark in the file; None if there is no file, or if both slots are damaged."""
        try:
            return _newest_mark(self.path(lineage).read_bytes())
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise _unavailable_error(self.path(lineage), problem) from problem

    def create(self, lineage: str) -> None:
        """Ensure, before the first commit, that the file exists on disk."""
        file = self.path(lineage)
        try:
            descriptor = open_as_folder_owner(file, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if os.fstat(descriptor).st_size < 2 * _SLOT_BYTES:
                    os.pwrite(descriptor, _encode_slot(CommitMark()).ljust(2 * _SLOT_BYTES), 0)
                    os.fsync(descriptor)
                    sync_folder(self._folder)
            except BaseException:
                os.close(descriptor)
                raise
        except OSError as problem:
            raise _unavailable_error(file, problem) from problem
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self.lineage = descriptor, lineage

    def record_commit(self, change: ChangeMark, event: EventMark) -> None:
        """Record what was just committed. If the mark cannot be written, the commit holds; a warning follows later."""

        def ahead(mark: CommitMark) -> CommitMark:
            newest = max(mark.change, change), max(mark.event, event)
            return msgspec.structs.replace(mark, change=newest[0], event=newest[1], is_open=True, boot=_boot_id())

        with suppress(OSError, StoreUnavailable):
            if self._descriptor is None and self.lineage is not None:
                self.create(self.lineage)
            was_open = self._rewrite(ahead).is_open
            if not was_open or time.monotonic() - self._flushed_at > _SECONDS_BETWEEN_FLUSHES:
                self._flush()

    def reset(self, lineage: str, change: ChangeMark, event: EventMark) -> None:
        """Set the mark to the state of the database, durably."""
        self.create(lineage)
        try:
            self._rewrite(lambda mark: CommitMark(mark.sequence, change, event, False, _boot_id()))
            self._flush()
        except OSError as problem:
            raise _unavailable_error(self.path(lineage), problem) from problem

    def record_close(self, lineage: str, *, had_log: bool) -> None:
        """Record that the database was closed without a log beside it. A mark whose log was lost stays open."""
        with suppress(OSError, StoreUnavailable):
            mark = self.read(lineage)
            if mark is not None and mark.is_open and not has_lost_log(mark, had_log):
                self.create(lineage)
                self._rewrite(lambda mark: msgspec.structs.replace(mark, is_open=False))
                self._flush()

    def remove(self, lineage: str) -> None:
        """Remove the file, when its database is removed."""
        self.path(lineage).unlink(missing_ok=True)

    def close(self) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                if not self._is_flushed:
                    self._flush()
            os.close(self._descriptor)
            self._descriptor = None

    def _rewrite(self, update: Callable[[CommitMark], CommitMark]) -> CommitMark:
        """Write the older slot; return the mark of the newer one."""
        if self._descriptor is None:
            raise OSError("the mark is closed")
        mark = _newest_mark(os.pread(self._descriptor, 2 * _SLOT_BYTES, 0)) or CommitMark()
        fresh = msgspec.structs.replace(update(mark), sequence=mark.sequence + 1)
        os.pwrite(self._descriptor, _encode_slot(fresh), fresh.sequence % 2 * _SLOT_BYTES)
        self._is_flushed = False
        return mark

    def _flush(self) -> None:
        if self._descriptor is not None:
            os.fsync(self._descriptor)
            self._flushed_at, self._is_flushed = time.monotonic(), True


def find_disagreement(mark: CommitMark, reader: DigestSource) -> tuple[str, ...]:
    """Describe what the mark records and the database lacks; return an empty tuple if nothing is missing."""
    problems = []
    if mark.change.number and mark.change.digest not in reader.change_digests(mark.change.number):
        key = quote_text(mark.change.key)
        problems.append(f"the last acknowledged change, of {key} at {_format_time(mark.change.number)}, is missing")
        tip = reader.tip().change
        newest = f"of {quote_text(tip.key)} at {_format_time(tip.number)}" if tip.number else "no change at all"
        problems.append(f"its newest change is {newest}")
    if mark.event.number and mark.event.digest not in reader.event_digests(mark.event.number):
        problems.append("the last acknowledged event (a change of an agent, a key, a grant or a prefix) is missing")
    return tuple(problems)


def _format_time(number: int) -> str:
    """Write the number of a change as its time. Numbers from before changes had times are small."""
    return instant.to_iso(number // 1_000_000)


def has_lost_log(mark: CommitMark, had_log: bool) -> bool:
    """Return whether the write-ahead log was missing when the store was opened."""
    return mark.is_open and not had_log and has_restarted(mark)


def has_restarted(mark: CommitMark) -> bool:
    """Return whether the machine has restarted since the mark was written. Marks not flushed may then be lost."""
    return mark.boot not in ("", _boot_id())


def _encode_slot(mark: CommitMark) -> bytes:
    key = mark.change.key[:_LONGEST_KEY]
    shortened = msgspec.structs.replace(mark, change=mark.change._replace(key=key))
    content = msgspec.json.encode(shortened)
    return f"{sha256(content).hexdigest()} ".encode() + content.ljust(_SLOT_BYTES - _CHECKSUM_CHARACTERS - 2) + b"\n"


def _newest_mark(slots: bytes) -> CommitMark | None:
    marks = [
        mark for start in (0, _SLOT_BYTES) if (mark := _decode_slot(slots[start : start + _SLOT_BYTES])) is not None
    ]
    return max(marks, key=lambda mark: mark.sequence, default=None)


def _decode_slot(slot: bytes) -> CommitMark | None:
    content = slot[_CHECKSUM_CHARACTERS:].strip()
    if slot[:_CHECKSUM_CHARACTERS] != sha256(content).hexdigest().encode():
        return None
    try:
        return msgspec.json.decode(content, type=CommitMark)
    except msgspec.MsgspecError:
        return None


@cache
def _boot_id() -> str:
    try:
        return _BOOT_ID_FILE.read_text().strip()
    except OSError:
        return ""


def _unavailable_error(file: Path, problem: OSError) -> StoreUnavailable:
    if is_full(problem.errno):
        return StoreFull(f"the disk of the mark of the last commit, {file.name},")
    return StoreUnavailable(
        f"the mark of the last commit, {file.name}, cannot be read or written ({problem.strerror}): nothing was written"
    )
