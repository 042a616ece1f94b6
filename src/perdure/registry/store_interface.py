"""The interface of a store, which each engine implements. It exposes nothing that is specific to an engine.

A use case hands the store a plain function, its *work*, which is given a `Reader` or a `Transaction` and returns a
value. The store runs it where it likes (a writer thread, a pooled connection), possibly together with the work of other
callers in one durable commit, and returns the value once that commit is on disk. So work must be quick, must not wait
for anything, and must do nothing but read and write through what it is given: an engine may have to run it again. Work
runs in the context (`contextvars`) of its caller.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeVar

from perdure.registry.entities import (
    Act,
    Agent,
    Change,
    Event,
    FeedEntry,
    Grant,
    History,
    Identifier,
    Key,
    KeyChange,
    NewestChange,
    Peer,
    Pool,
    Prefix,
    ResolutionCount,
    Revision,
    SearchHit,
)
from perdure.registry.holdings import Collection, CollectionTotals, Holding

UNSCRUBBED: Final = "unscrubbed"  # a store's fact: redacted content may still be in unused parts of its file

T = TypeVar("T")
Progress = Callable[[int, int], None]  # done, of how many
Redirect = tuple[str, int]  # the target of a name, and the version that has it
StoredRecord = tuple[int, bytes]  # the version, and the record
ResultCallback = Callable[[Sequence[T | None]], None]


class TimelineState(NamedTuple):
    """The last date of a timeline, and whether this transaction holds it: no other one can move it then."""

    last: Fraction | None
    is_held: bool


class Prefetch(NamedTuple):
    """A person that a work will look up before creating it: by the UUID of the inputs, and by the name for these."""

    uuid_raw: str
    name: str


class Reader(Protocol):
    """Queries, inside a transaction and outside. Lists are in the order of their keys, by code point."""

    def find(self, key: str) -> Identifier | None: ...
    def find_many(self, keys: Sequence[str]) -> dict[str, Identifier]: ...
    def revisions(self, subject: str) -> list[Revision]: ...
    def revision(self, subject: str, version: int) -> Revision | None: ...
    def newest_revision(self, subject: str) -> Revision | None: ...
    def acts(self, subject: str, after: int, limit: int) -> list[Act]:
        """Return what was done in the versions that follow `after`, without their records, which may be large."""
        ...

    def newest_act(self, subject: str, actions: Sequence[str] = ()) -> Act | None:
        """Return what was done last; with `actions`, the last that is one of these."""
        ...

    def identifiers_after(self, key: str, limit: int, under: str | None = None) -> list[Identifier]:
        """Return the identifiers whose keys follow `key`, in order; `under` limits them to keys that begin with it."""
        ...

    def identifiers_before(self, key: str, limit: int, under: str) -> list[Identifier]:
        """Return the identifiers whose keys precede `key` and begin with `under`, the nearest first."""
        ...

    def histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        """Return full histories in the order of `identifiers_after`, in as few queries as possible."""
        ...

    def newest_histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        """Return histories with the newest revision alone: the cost does not depend on the number of versions."""
        ...

    def newest_histories_of(self, keys: Sequence[str]) -> dict[str, History]:
        """Return the histories of these names, by their keys, with the newest revision alone."""
        ...

    def search(self, words: Sequence[str], limit: int, behind: str | None = None) -> list[SearchHit]:
        """Return the names that contain all these words, the newest first.

        A word that ends in `*` matches the beginning of one.

        `behind`, the key of a name, skips that name and all before it. The position of a name never changes, so pages
        follow each other. After a name that is not in the store, there is nothing.
        """
        ...

    def find_by_value(self, data: str, type: str | None, limit: int) -> list[SearchHit]:
        """Return the names with exactly this value, the newest first."""
        ...

    def prefix(self, key: str) -> Prefix | None: ...
    def prefixes(self) -> list[Prefix]: ...
    def timeline(self, key: str) -> Fraction | None: ...
    def timelines(self) -> dict[str, Fraction]: ...
    def pool(self, name: str) -> Pool | None: ...
    def pools(self) -> list[Pool]: ...

    def person(self, uuid_raw: str) -> str | None: ...
    def persons(self, uuid_raws: Sequence[str]) -> dict[str, str]: ...
    def count_persons(self) -> int: ...

    def active_names(self, key: str, limit: int, under: str) -> list[tuple[str, str]]:
        """Return the keys that follow `key` and begin with `under`, in order, each with its name: active ones only."""
        ...

    def count_active(self, under: str) -> int: ...
    def active_key(self, number: int, under: str) -> str | None:
        """Return the key of the active name with this number, counted from 1 in the order of keys."""
        ...

    def input_uuid(self, name: str) -> str | None: ...
    def derivations(self, subject: str) -> list[tuple[int, str]]: ...
    def changes(self, after: int, limit: int) -> list[FeedEntry]:
        """Return the changes after a number, in order.

        Numbers are microseconds since 1970, and none appears later than a higher one.

        There may be a few more than `limit`, if they have the same number.
        """
        ...

    def key_changes(self, after: int, limit: int) -> list[KeyChange]:
        """Return the keys of changed names, in the order of `changes` and as many, but without reading revisions."""
        ...

    def change_number(self, subject: str, version: int, near: int) -> int | None:
        """Return the number of the change that stored a version. It is found at once if it is `near` its time."""
        ...

    def newest_change(self) -> NewestChange | None:
        """Return the change with the highest number."""
        ...

    def derived_from(self, poid: str) -> list[str]:
        """Return the reconstructions that are based on an observation, in their newest or in an older version."""
        ...

    def agent(self, id: str) -> Agent | None: ...
    def agents(self) -> list[Agent]: ...
    def key(self, id: str) -> Key | None: ...
    def keys(self, agent: str) -> list[Key]: ...
    def grants(self, agent: str) -> list[Grant]: ...
    def events(self, limit: int) -> list[Event]: ...
    def peer(self, name: str) -> Peer | None: ...
    def peers(self) -> list[Peer]: ...

    def secret(self, key: str, index: int) -> bytes | None:
        """Return the sealed secret of one value of a name; `secret_box.open_secret` opens it."""
        ...

    def secrets(self) -> list[tuple[str, int, bytes]]:
        """Return all secrets, sealed: key, index, bytes. For copies of the whole registry, never for exports."""
        ...

    def find_answer(self, agent: str, token: str) -> tuple[bytes, bytes, str] | None:
        """Return the answer to an agent's request with this token: the request's digest, the answer, and the time."""
        ...

    def resolutions(self, key: str, since: str, until: str) -> list[ResolutionCount]:
        """Return the resolutions of one name from one day to another, both included."""
        ...

    def resolutions_by_day(self, under: str, since: str, until: str) -> list[ResolutionCount]:
        """Return the sums for all names whose keys begin with `under`, one for each day and kind of client."""
        ...

    def most_resolved(self, under: str, since: str, until: str, limit: int) -> list[tuple[str, int]]:
        """Return the names whose keys begin with `under` that were resolved most often, not by robots."""
        ...

    def resolutions_after(self, last: tuple[str, str, str], limit: int) -> list[ResolutionCount]:
        """Return all counts after one, in the order of key, day and client. For copies of the whole registry."""
        ...

    def collection(self, name: str) -> Collection | None: ...
    def collections(self) -> list[Collection]: ...
    def holdings(self, subject: str) -> list[Holding]:
        """Return where the item of a name lies: the original first, then copies in the order of their collections."""
        ...

    def holdings_of(self, subjects: Sequence[str]) -> dict[str, list[Holding]]:
        """Return the holdings of several names, by their subjects, each in the order of `holdings`."""
        ...

    def holdings_after(self, collection: str, key: str, limit: int) -> list[Holding]:
        """Return the holdings of a collection whose subjects follow `key`, in order."""
        ...

    def held_subject(self, name: str) -> str | None:
        """Return the subject of a held item of another server, from the key of one of its labels."""
        ...

    def held_names_after(self, after: str, limit: int, under: str | None = None) -> list[tuple[str, str]]:
        """Return the labels of held items of other servers that follow `after`, in order, each with its subject."""
        ...

    def unverified_holdings(self, collection: str, before: str, limit: int) -> list[Holding]:
        """Return the holdings that were not verified since a time, those first that were not for the longest time."""
        ...

    def collection_totals(self, collection: str) -> CollectionTotals: ...

    def fact(self, name: str) -> str | None:
        """Return a fact about the registry itself: its identity, its namespace."""
        ...

    def facts(self) -> dict[str, str]: ...

    def counts(self) -> dict[str, int]: ...
    def contradictions(self) -> Iterable[str]:
        """Yield the errors that the engine finds in its data: damage, missing rows, an inconsistent search index."""
        ...


class Transaction(Reader, Protocol):
    """Writes. Either all writes of one work are stored, or none.

    A timeline or a fact that was read here cannot be changed by others until the transaction ends.
    """

    def attempt(self) -> AbstractContextManager[None]:
        """Undo the writes inside this context if it raises; earlier writes stay."""
        ...

    def insert(self, changes: Sequence[Change]) -> None:
        """Insert new names. Raise NameTaken, and write nothing, if one exists."""
        ...

    def update(self, changes: Sequence[Change]) -> None: ...
    def redact(self, subject: str, records: Mapping[int, bytes]) -> None:
        """Replace the content of some versions, each of which must be marked as redacted.

        Nothing else can be changed.
        """
        ...

    def put_prefix(self, prefix: Prefix) -> None:
        """Store a prefix with its label periods. Periods are never removed, and the end of one is set only once."""
        ...

    def reread_prefix(self, key: str) -> Prefix | None:
        """Return a prefix as it is now.

        After the transaction has locked its timeline (`timeline`), the addresses of a subsystem cannot be changed by
        others until it ends. A prefix that was read before may have older ones.
        """
        ...

    def put_timeline(self, key: str, last: Fraction, ahead: Fraction) -> None:
        """Store the last date, and a mark outside the store that is `ahead` of it.

        So a restored copy cannot repeat dates.
        """
        ...

    def peek_timelines(self, keys: Sequence[str]) -> dict[str, TimelineState]:
        """Return the last dates of timelines without locking any. Others may move those that are not held."""
        ...

    def try_timeline(self, key: str) -> bool:
        """Lock a timeline, unless another transaction holds it. Return whether this one holds it."""
        ...

    def put_pool(self, pool: Pool) -> None: ...
    def remove_pool(self, name: str) -> None: ...
    def put_persons(self, names: Mapping[str, str]) -> None:
        """Store the names of persons by their uuid_raw."""
        ...

    def put_derivations(self, subject: str, version: int, observations: Sequence[str]) -> None: ...
    def put_agent(self, agent: Agent) -> None: ...
    def put_key(self, key: Key) -> None: ...
    def put_grant(self, grant: Grant) -> None: ...
    def remove_grant(self, agent: str, scope: str, action: str) -> None: ...
    def put_peer(self, peer: Peer) -> None:
        """Store another server, by its name."""
        ...

    def remove_peer(self, name: str) -> None: ...
    def put_event(self, event: Event) -> None: ...
    def put_fact(self, name: str, value: str) -> None: ...
    def put_secret(self, key: str, index: int, sealed: bytes | None) -> None:
        """Store the sealed secret of one value of a name; None removes it.

        Use `secret_box.store_secret` to seal one.
        """
        ...

    def put_answer(self, agent: str, token: str, digest: bytes, answer: bytes, at: str) -> None:
        """Store an answer, in the transaction that it reports. Raise Conflict if there is one for that token already.

        A work that calls `find_answer` first never gets that Conflict: of two concurrent works, one is stored. The
        store runs the other one again, and that run finds the answer of the first.
        """
        ...

    def forget_answers(self, before: str) -> int:
        """Delete the answers from before a time, the oldest first and at most a thousand.

        Return how many were deleted.
        """
        ...

    def put_collection(self, collection: Collection) -> None:
        """Store a collection, or another path or address of it. Neither may belong to another collection."""
        ...

    def put_holding(self, holding: Holding) -> None:
        """Store what a collection holds. A work that makes an original makes the other one a copy before."""
        ...

    def remove_holding(self, subject: str, collection: str) -> None: ...

    def add_resolutions(self, counts: Sequence[ResolutionCount]) -> None:
        """Add counts to those that are stored."""
        ...


class BatchLookup(Protocol):
    """The fastest look-up of several keys. The results are passed to a callback in their order, at once or later.

    None means that a name does not exist. If the store has an error, all results are None: any other query reports
    it.
    """

    def find_redirects(self, keys: Sequence[str], give: ResultCallback[Redirect]) -> None:
        """Find redirects. None also means that the answer of a name is more than a redirect."""
        ...

    def find_records(self, keys: Sequence[str], give: ResultCallback[StoredRecord]) -> None: ...


class Store(Protocol):
    """An open store."""

    async def lookup(self, key: str) -> Identifier | None:
        """Look up one name, as fast as possible."""
        ...

    def batch_lookup(self) -> BatchLookup:
        """Return a batch look-up for the running event loop. It may be used on that loop's thread only."""
        ...

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Run work that only reads. It sees one consistent state, including every write acknowledged before it."""
        ...

    async def scan(self, work: Callable[[Reader], T]) -> T:
        """Run work that searches, lists or counts, on the few readers for that: other reads never wait for it."""
        ...

    async def read_quick(self, work: Callable[[Reader], T]) -> T:
        """Run work of one or two look-ups, immediately where the engine can do that."""
        ...

    def precompute(self, change: Change) -> Change:
        """Return the change with everything that can be computed outside of a transaction, which is shorter then."""
        ...

    async def write(self, work: Callable[[Transaction], T], prefetch: Prefetch | None = None) -> T:
        """Run work in a transaction, and return when that is durable.

        The data that `prefetch` names can be looked up beforehand, for many works at once; it changes nothing else.
        """
        ...

    async def backup(self, file: Path, progress: Progress, settings: str | None = None) -> str:
        """Write a consistent copy while writes continue: a file of the embedded store, whatever the engine.

        The settings of the registry, if they are given, are enclosed as a fact that only the copy has. Return the
        SHA-256 digest of that file.
        """
        ...

    async def compact(self) -> tuple[int, int]:
        """Rewrite the store's file without its unused space. Return the number of bytes before and after.

        Refused where a database server manages its own files.
        """
        ...

    async def seal(self, reason: str | None) -> None:
        """Refuse every write from now on, of every process, with this reason; None allows writes again.

        When this returns, each write in progress is either stored or refused. Reads continue.
        """
        ...

    async def seal_reason(self) -> str | None:
        """Return why the store refuses writes; None if it does not."""
        ...

    async def find_disagreement(self) -> tuple[str, ...]:
        """Return how the store and the marks beside it disagree; empty if they agree.

        They disagree after the store was replaced by an older copy of itself, or has lost acknowledged writes.
        """
        ...

    async def reset_marks(self) -> None:
        """Set the marks to the state of the store, after the operator has given a reason for the disagreement."""
        ...

    async def schema_differences(self) -> list[str]:
        """Return the tables, indexes, triggers and other parts that differ from those that the store creates."""
        ...

    def change_number(self) -> int | None:
        """Return a number that differs after every change by any program; None if the engine cannot tell at once.

        Numbers can be compared only if they were returned on the same thread.
        """
        ...

    def log_bytes(self) -> int:
        """Return the size of the write-ahead log that is not yet in the main file, if this program manages that."""
        ...

    def close(self) -> None: ...
