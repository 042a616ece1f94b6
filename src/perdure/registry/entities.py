"""What a store keeps, as the registry sees it: plain values that know nothing of any database."""

from fractions import Fraction
from typing import Final, Literal

import msgspec

from perdure.records.plain import Plain

Scheme = Literal["handle", "ibi", "ppid"]
Minter = Literal["pilin", "uuid", "sequential", "chosen", "ibi", "ppid"]
HANDLE_MINTERS: Final[tuple[Minter, ...]] = ("pilin", "uuid", "sequential", "chosen")

Action = Literal["mint", "edit", "withdraw", "transfer", "derive", "import", "admin"]
ACTIONS: Final[tuple[Action, ...]] = ("mint", "edit", "withdraw", "transfer", "derive", "import", "admin")
EVERYWHERE: Final = "*"


class Identifier(Plain, frozen=True):
    """One name's row. Two names of one thing (an IBI pair) have a row each, and one `subject`: the key of the first."""

    key: str
    name: str
    scheme: Scheme
    state: str
    target: str | None
    version: int
    record: bytes
    subject: str
    created: str | None


class Revision(Plain, frozen=True):
    """One version of one record: when, by whom, by what act, and the whole of what was said from then on.

    `digest` chains it to the version before (`history_digest`); `original` is the digest of a content that a redaction
    has taken away.
    """

    version: int
    at: str
    agent: str
    action: str
    record: bytes
    note: str | None = None
    digest: bytes = b""
    original: bytes | None = None


class Act(Plain, frozen=True):
    """A revision without what was said: when, by whom, and by what act. However long records are, this is short."""

    version: int
    at: str
    agent: str
    action: str
    note: str | None = None


class Changed(Plain, frozen=True):
    """A revision in the order in which the store got to know of it, which `number` tells: the state is today's."""

    number: int
    name: str
    scheme: Scheme
    state: str
    version: int
    at: str
    agent: str
    action: str


class NewestChange(Plain, frozen=True):
    """The change that came last: its number, the key of its name, and the revision."""

    number: int
    key: str
    revision: Revision


class History(Plain, frozen=True):
    """Everything that is kept of one name: its row, all its revisions, and the inputs of a person's.

    `added` puts names in the order in which they came to the store; the number itself means nothing.
    """

    identifier: Identifier
    added: int
    revisions: tuple[Revision, ...]
    uuid_raw: str | None = None


class Change(Plain, frozen=True):
    """What is written for one name: its row, its new revisions, and where search and reverse look-up find it.

    `added` is for names that come from another store, and keeps the order that they had there. `indexed` are the words
    as the store's own index takes them, if it made that ready beforehand (`Store.ready`).
    """

    identifier: Identifier
    revisions: tuple[Revision, ...]
    words: str
    reverse: tuple[tuple[str, str], ...] = ()
    reverse_before: tuple[tuple[str, str], ...] = ()
    added: int | None = None
    indexed: bytes | None = None


class Subsystem(msgspec.Struct, frozen=True):
    """Where an IBI subsystem is: two addresses, each of which belongs to no other timeline."""

    host: str
    port: int
    ip: str
    ip_port: int
    granularity: Fraction
    private: bool = False


class Prefix(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace that this registry keeps. `key` compares it; `case_sensitive` is fixed for life."""

    key: str
    name: str
    scheme: Scheme
    minter: Minter
    case_sensitive: bool = True
    parent: str | None = None
    policy: str = ""
    pattern: str | None = None
    opaque: str | None = None  # the key of the other prefix of an IBI subsystem
    subsystem: Subsystem | None = None
    created: str = ""
    pass_through: bool = False  # a longer name than one that is registered leads where that does, the rest appended


COUNTER: Final = "/#"  # no key of a prefix ends so


def unknown_count(number: int) -> Fraction:
    """Write the last number of a counter that may have gone further: below zero, so that nothing goes on from it."""
    return Fraction(-1 - number)


def known_count(last: Fraction) -> int:
    """Return how far a counter is known to have gone."""
    return int(last) if last >= 0 else -1 - int(last)


def counter(prefix: Prefix) -> str:
    """The timeline of the numbers under a prefix, apart from that of its dates."""
    return f"{prefix.key}{COUNTER}"


class Agent(msgspec.Struct, frozen=True):
    """A person or a program. `id` is a short name that is never used again; `identifier` resolves to who it is."""

    id: str
    name: str
    identifier: str
    created: str
    kind: Literal["person", "program"] = "person"


class TemporaryAgent(Agent, frozen=True, kw_only=True):
    """An agent who acts by a key that ends; it is made for one request and never stored."""

    key_expires: str


class HandleIdentity(Agent, frozen=True, kw_only=True):
    """Who proved to hold the key that one value of a handle names, as clients of Handle servers do.

    It is made for one request and never stored; a colon in its `id` tells it from everybody who is.
    """

    index: int


class Key(msgspec.Struct, frozen=True):
    """A key of an agent: its digest only."""

    id: str
    agent: str
    digest: bytes
    created: str
    expires: str | None = None
    revoked: str | None = None
    label: str = ""


class Grant(msgspec.Struct, frozen=True):
    """Who may do what under which prefix. `own`: only to identifiers that the agent answers for."""

    agent: str
    scope: str
    action: Action
    own: bool = False
    until: str | None = None
    given_by: str = ""
    given_at: str = ""


class Event(msgspec.Struct, frozen=True):
    """An act upon the registry itself: its agents, grants, prefixes and timelines.

    The store chains it to the event before by its `digest`.
    """

    at: str
    agent: str
    action: str
    subject: str
    detail: str = ""
    digest: bytes = b""


class Found(Plain, frozen=True):
    """A hit of a search."""

    name: str
    state: str
    target: str | None
