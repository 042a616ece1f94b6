"""What the registry asks of a store. Each engine implements this; nothing of an engine shows through it.

A use case hands the store a plain function, its *work*, which is given a `Reader` or a `Transaction` and returns a
value. The store runs it where it likes (a writer thread, a pooled connection), possibly together with the work of
other callers in one durable commit, and gives the value back once that commit is on disk. So work must be quick,
must not wait for anything, and must do nothing but read and write through what it is given: an engine may have to
run it again.
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
    Changed,
    Event,
    Found,
    Grant,
    History,
    Identifier,
    Key,
    NewestChange,
    Prefix,
    Revision,
)

UNSCRUBBED: Final = "unscrubbed"  # a store's fact: what was redacted may still lie in unused parts of its file

T = TypeVar("T")
Progress = Callable[[int, int], None]  # done, of how many
Redirect = tuple[str, int]  # where a name leads, and the version that says so
Written = tuple[int, bytes]  # the version, and the record
Give = Callable[[Sequence[T | None]], None]


class Foreseen(NamedTuple):
    """Whom a work will ask for before it makes them: a person by the UUID of the inputs, and the name for these."""

    uuid_raw: str
    name: str


class Reader(Protocol):
    """What can be asked, inside a transaction and outside. Lists come in the order of their keys, by code point."""

    def find(self, key: str) -> Identifier | None: ...
    def find_many(self, keys: Sequence[str]) -> dict[str, Identifier]: ...
    def revisions(self, subject: str) -> list[Revision]: ...
    def revision(self, subject: str, version: int) -> Revision | None: ...
    def newest_revision(self, subject: str) -> Revision | None: ...
    def acts(self, subject: str, after: int, limit: int) -> list[Act]:
        """What was done in the versions that follow `after`, without their records, which may be large."""
        ...

    def newest_act(self, subject: str, actions: Sequence[str] = ()) -> Act | None:
        """What was done last; with `actions`, the last that is one of these."""
        ...

    def after(self, key: str, limit: int, under: str | None = None) -> list[Identifier]:
        """The identifiers whose keys follow `key`, in order; `under` keeps to keys that begin so."""
        ...

    def histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        """As `after`, with everything that is kept of each: what bulk work asks, in as few questions as can be."""
        ...

    def newest_histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        """As `histories`, of each with the newest revision alone: however often it was changed, it takes no more."""
        ...

    def search(self, words: Sequence[str], limit: int, behind: str | None = None) -> list[Found]:
        """What holds all these words, the newest first; a word that ends in `*` is the beginning of one.

        `behind`, the key of a name, leaves out what comes before it in that order, and itself: the place of a name
        stays, whatever is said of it later, so that page follows page. There is nothing behind a name that is not here.
        """
        ...

    def reverse(self, data: str, type: str | None, limit: int) -> list[Found]:
        """Who says exactly this, the newest first."""
        ...

    def prefix(self, key: str) -> Prefix | None: ...
    def prefixes(self) -> list[Prefix]: ...
    def timeline(self, key: str) -> Fraction | None: ...
    def timelines(self) -> dict[str, Fraction]: ...

    def person(self, uuid_raw: str) -> str | None: ...
    def persons(self, uuid_raws: Sequence[str]) -> dict[str, str]: ...
    def number_of_persons(self) -> int: ...

    def active_names(self, key: str, limit: int, under: str) -> list[tuple[str, str]]:
        """Return the keys that follow `key` and begin with `under`, in order, each with its name: active ones only."""
        ...

    def number_of_active(self, under: str) -> int: ...
    def active_key(self, number: int, under: str) -> str | None:
        """Return the key of the active name with this number, counted from 1 in the order of keys."""
        ...

    def input_of(self, name: str) -> str | None: ...
    def derivations(self, subject: str) -> list[tuple[int, str]]: ...
    def changes(self, after: int, limit: int) -> list[Changed]:
        """What came behind a number, in its order. Numbers are microseconds since 1970, and never come too late.

        There may be a few more than `limit`, if they have the same number.
        """
        ...

    def newest_change(self) -> NewestChange | None:
        """The change with the highest number."""
        ...

    def derived_from(self, poid: str) -> list[str]:
        """The reconstructions that stand upon an observation, or did in some version."""
        ...

    def agent(self, id: str) -> Agent | None: ...
    def agents(self) -> list[Agent]: ...
    def key(self, id: str) -> Key | None: ...
    def keys(self, agent: str) -> list[Key]: ...
    def grants(self, agent: str) -> list[Grant]: ...
    def events(self, limit: int) -> list[Event]: ...

    def secret(self, key: str, index: int) -> bytes | None:
        """The sealed secret of one value of a name; `registry.sealing` opens it."""
        ...

    def secrets(self) -> list[tuple[str, int, bytes]]:
        """All of them, sealed: key, index, bytes. For copies of the whole registry, never for exports."""
        ...

    def answered(self, agent: str, token: str) -> tuple[bytes, bytes, str] | None:
        """What an agent's request with this token was answered: the request's digest, the answer, and when."""
        ...

    def fact(self, name: str) -> str | None:
        """Something the registry knows of itself: its identity, its namespace."""
        ...

    def facts(self) -> dict[str, str]: ...

    def counts(self) -> dict[str, int]: ...
    def contradictions(self) -> Iterable[str]:
        """What the engine itself can find wrong with what it keeps: damage, missing rows, search out of step."""
        ...


class Transaction(Reader, Protocol):
    """What can be written. Everything or nothing of one work is kept.

    A timeline or a fact that is asked for here cannot be changed by anybody else until the transaction ends.
    """

    def attempt(self) -> AbstractContextManager[None]:
        """What is written inside is undone if it raises; what was written before stays."""
        ...

    def insert(self, changes: Sequence[Change]) -> None:
        """New names; NameTaken, and nothing written, if one exists."""
        ...

    def update(self, changes: Sequence[Change]) -> None: ...
    def redact(self, subject: str, records: Mapping[int, bytes]) -> None:
        """Other content for some versions, each of which says that it was redacted: nothing else can be changed."""
        ...

    def put_prefix(self, prefix: Prefix) -> None: ...
    def put_timeline(self, key: str, last: Fraction, ahead: Fraction) -> None:
        """The last date, kept beside the store as well, `ahead` of itself, so that a restored copy cannot repeat it."""
        ...

    def put_persons(self, names: Mapping[str, str]) -> None:
        """uuid_raw → name."""
        ...

    def put_derivations(self, subject: str, version: int, observations: Sequence[str]) -> None: ...
    def put_agent(self, agent: Agent) -> None: ...
    def put_key(self, key: Key) -> None: ...
    def put_grant(self, grant: Grant) -> None: ...
    def remove_grant(self, agent: str, scope: str, action: str) -> None: ...
    def put_event(self, event: Event) -> None: ...
    def put_fact(self, name: str, value: str) -> None: ...
    def put_secret(self, key: str, index: int, sealed: bytes | None) -> None:
        """The sealed secret of one value of a name; None removes it. `sealing.keep_secret` is the way to seal one."""
        ...

    def put_answer(self, agent: str, token: str, digest: bytes, answer: bytes, at: str) -> None:
        """Remember an answer, in the transaction that it tells of. Conflict if there is one for that token already.

        A work that asks `answered` first never meets that: of two that run at once, one is kept, and the other is run
        again by the store, and is told then what the first was answered.
        """
        ...

    def forget_answers(self, before: str) -> int:
        """Forget what was answered before then, the oldest first and at most a thousand; says how many it forgot."""
        ...


class Finder(Protocol):
    """The quickest way to look several keys up: what is found is handed over in their order, at once or when it comes.

    None stands for what is not there; and for all of them, where something is wrong with the store: whoever asks in
    any other way is told what.
    """

    def redirects(self, keys: Sequence[str], give: Give[Redirect]) -> None:
        """None as well where a redirect with the usual lifetime is not the whole answer."""
        ...

    def records(self, keys: Sequence[str], give: Give[Written]) -> None: ...


class Store(Protocol):
    """An open store."""

    async def lookup(self, key: str) -> Identifier | None:
        """One name, the quickest way there is."""
        ...

    def finder(self) -> Finder:
        """For the running event loop, and on its thread alone."""
        ...

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Run work that only reads; it sees one consistent state, and every write acknowledged before it."""
        ...

    async def scan(self, work: Callable[[Reader], T]) -> T:
        """As `read`, on the few readers for work that searches, lists or counts: other reads never wait for it."""
        ...

    async def glance(self, work: Callable[[Reader], T]) -> T:
        """As `read`, for work of a look-up or two, where an engine can do that at once."""
        ...

    def ready(self, change: Change) -> Change:
        """The same, with what can be made of it outside of a transaction: whoever waits for that waits less."""
        ...

    async def write(self, work: Callable[[Transaction], T], foreseen: Foreseen | None = None) -> T:
        """Run work in a transaction, and return when that is durable.

        What is foreseen can be looked for beforehand, for many works at once; it changes nothing else.
        """
        ...

    async def backup(self, file: Path, progress: Progress) -> str:
        """A consistent copy, while writes go on: a file of the embedded store, whatever the engine.

        Return the SHA-256 digest of that file.
        """
        ...

    async def compact(self) -> tuple[int, int]:
        """Write the store's file anew, without what was let go of: how many bytes it was, and is.

        Refused where a server sees to its own files.
        """
        ...

    async def seal(self, reason: str | None) -> None:
        """From now on every write, of every process, is refused with this reason; None lets them in again.

        When this returns, everything that was being written is either there or refused. Reads go on.
        """
        ...

    async def sealed(self) -> str | None:
        """Why nothing can be written, if it cannot."""
        ...

    async def find_disagreement(self) -> tuple[str, ...]:
        """Say how the store and the marks beside it disagree; nothing, where they agree.

        They do after the store was replaced by an older copy of itself, or has lost what was acknowledged.
        """
        ...

    async def reset_marks(self) -> None:
        """Let the marks say what the store says, after the operator has said why they disagree."""
        ...

    async def schema_differences(self) -> list[str]:
        """Return which tables, indexes, triggers and other parts are not those that the store makes."""
        ...

    def log_bytes(self) -> int:
        """How much the store has on disk that it has yet to put in its place, where this program sees to that."""
        ...

    def close(self) -> None: ...
