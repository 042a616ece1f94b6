"""The entities that a store holds, as plain values without any knowledge of a database."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final, Literal

import msgspec

from perdure.records.frozen_struct import FrozenStruct

Scheme = Literal["handle", "ibi", "ppid"]
Minter = Literal["pilin", "uuid", "sequential", "chosen", "ibi", "ppid"]
HANDLE_MINTERS: Final[tuple[Minter, ...]] = ("pilin", "uuid", "sequential", "chosen")

Action = Literal["mint", "edit", "withdraw", "transfer", "derive", "import", "admin"]
ACTIONS: Final[tuple[Action, ...]] = ("mint", "edit", "withdraw", "transfer", "derive", "import", "admin")
WHOLE_REGISTRY: Final = "*"


class Identifier(FrozenStruct, frozen=True):
    """The row of one name.

    Two names of one object (an IBI pair) have a row each and a common `subject`: the first one's key.
    """

    key: str
    name: str
    scheme: Scheme
    state: str
    target: str | None
    version: int
    record: bytes
    subject: str
    created: str | None


class Revision(FrozenStruct, frozen=True):
    """One version of a record: time, agent, action and the full record as of then.

    `digest` chains it to the version before (`history_digest`). `original` is the digest of content that was redacted.
    """

    version: int
    at: str
    agent: str
    action: str
    record: bytes
    note: str | None = None
    digest: bytes = b""
    original: bytes | None = None


class Act(FrozenStruct, frozen=True):
    """A revision without its record: time, agent and action. It is short, however long the record is."""

    version: int
    at: str
    agent: str
    action: str
    note: str | None = None


class FeedEntry(FrozenStruct, frozen=True):
    """A revision in the order in which the store received it, given by `number`. The state is the current one."""

    number: int
    name: str
    scheme: Scheme
    state: str
    version: int
    at: str
    agent: str
    action: str


class KeyChange(FrozenStruct, frozen=True):
    """A change of the name with this key, with its number. `is_newest`: no later change of the same name is stored."""

    number: int
    key: str
    scheme: Scheme
    state: str
    is_newest: bool


class NewestChange(FrozenStruct, frozen=True):
    """The latest change: its number, the key of its name, and the revision."""

    number: int
    key: str
    revision: Revision


class History(FrozenStruct, frozen=True):
    """Everything stored about one name: its row, all its revisions, and the input UUID of a person.

    `added` sorts names by the time they came to the store; the number itself has no meaning.
    """

    identifier: Identifier
    added: int
    revisions: tuple[Revision, ...]
    uuid_raw: str | None = None


class Change(FrozenStruct, frozen=True):
    """A write to one name: its row, its new revisions, and its entries for search and reverse look-up.

    `added` is set for names from another store, and preserves their order there. `indexed` holds the words in the form
    of the store's own index, if it computed that beforehand (`Store.precompute`).
    """

    identifier: Identifier
    revisions: tuple[Revision, ...]
    words: str
    reverse: tuple[tuple[str, str], ...] = ()
    reverse_before: tuple[tuple[str, str], ...] = ()
    added: int | None = None
    indexed: bytes | None = None


class Subsystem(msgspec.Struct, frozen=True):
    """The location of an IBI subsystem: a host, an IP address, or both. Neither belongs to another timeline."""

    host: str | None
    port: int
    ip: str | None
    ip_port: int
    granularity: Fraction
    private: bool = False


LabelKind = Literal["name", "address"]


class LabelPeriod(msgspec.Struct, frozen=True):
    """A time in which a subsystem mints labels under one label prefix: that of its host, or that of its address.

    `label` is the key of the label prefix. Every label of the period has a date before `ended`, or equal to it.
    """

    label: str
    kind: LabelKind
    started: str
    ended: str | None = None

    @property
    def label_prefix(self) -> str:
        """The label prefix as labels have it: an opaque one in upper case."""
        return self.label if self.kind == "name" else self.label.upper()


def sort_periods(periods: Iterable[LabelPeriod]) -> tuple[LabelPeriod, ...]:
    """Return the periods in their order: by the start, and names before addresses."""
    return tuple(sorted(periods, key=lambda one: (one.started, one.kind != "name", one.label)))


class Prefix(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace of this registry. `key` is for comparison; `case_sensitive` can never be changed."""

    key: str
    name: str
    scheme: Scheme
    minter: Minter
    case_sensitive: bool = True
    parent: str | None = None
    policy: str = ""
    pattern: str | None = None
    opaque: str | None = None  # the key of the prefix of the opaque labels that an IBI subsystem mints now
    subsystem: Subsystem | None = None
    created: str = ""
    pass_through: bool = False  # a name that extends a registered one leads to its target, with the rest appended
    ttl: int | None = None  # seconds, of values for which no TTL is given
    joiners: bool = False  # whether suffixes may contain zero-width joiners; never unset again
    periods: tuple[LabelPeriod, ...] = ()  # of an IBI subsystem, the oldest first

    @property
    def current_label_prefixes(self) -> tuple[str, ...]:
        """The label prefixes of the next labels, the readable one first."""
        current = sorted((one for one in self.periods if one.ended is None), key=lambda one: one.kind != "name")
        return tuple(one.label_prefix for one in current)

    @property
    def lookup_keys(self) -> tuple[str, ...]:
        """The keys that lead to this prefix: its own, and each label prefix that the subsystem has ever had."""
        return tuple(dict.fromkeys((self.key, *(one.label for one in self.periods))))


PoolPolicy = Literal["round-robin", "least-waiting", "hash"]
POOL_POLICIES: Final[tuple[PoolPolicy, ...]] = ("least-waiting", "round-robin", "hash")


class Pool(msgspec.Struct, frozen=True):
    """IBI subsystems that share the requests to mint, by their keys, and the policy that chooses one of them."""

    name: str
    policy: PoolPolicy
    members: tuple[str, ...]
    created: str


COUNTER_SUFFIX: Final = "/#"  # no key of a prefix ends with this


def to_uncertain_count(number: int) -> Fraction:
    """Encode the last number of a counter that may have gone further.

    It is negative, so that no name is minted from it.
    """
    return Fraction(-1 - number)


def from_count(last: Fraction) -> int:
    """Return how far a counter is known to have gone."""
    return int(last) if last >= 0 else -1 - int(last)


def counter_key(prefix: Prefix) -> str:
    """Return the key of the timeline that counts the numbers under a prefix.

    The timeline of its dates is another one.
    """
    return f"{prefix.key}{COUNTER_SUFFIX}"


class Agent(msgspec.Struct, frozen=True):
    """A person or a program.

    `id` is a short name that is never reused; `identifier` resolves to a description of the agent.
    """

    id: str
    name: str
    identifier: str
    created: str
    kind: Literal["person", "program"] = "person"
    retired: str | None = None  # the time since which the agent has no key and no grant


class TemporaryAgent(Agent, frozen=True, kw_only=True):
    """An agent whose key expires. It is created for one request and never stored."""

    key_expires: str


class HandleIdentity(Agent, frozen=True, kw_only=True):
    """A Handle client that proved to hold the key in one value of a handle.

    It is created for one request and never stored. Its `id` contains a colon, which the id of a stored agent never
    does.
    """

    index: int


class Key(msgspec.Struct, frozen=True):
    """A key of an agent, as its digest only."""

    id: str
    agent: str
    digest: bytes
    created: str
    expires: str | None = None
    revoked: str | None = None
    label: str = ""


class Grant(msgspec.Struct, frozen=True):
    """The permission of an agent for one action under a prefix.

    `own` limits it to identifiers that the agent is responsible for.
    """

    agent: str
    scope: str
    action: Action
    own: bool = False
    until: str | None = None
    given_by: str = ""
    given_at: str = ""


class HeldPrefix(msgspec.Struct, frozen=True):
    """A prefix of which a server has names: as the server that mints them, or as copies of the items."""

    prefix: str
    role: Literal["original", "copy"] = "original"


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Another server, to which names with these prefixes are sent on.

    `key` is its public key, with which it signs its answers. A server without one is never contacted: readers are
    redirected to it. `announced` is what the server has stated to hold, and `checkpoint` its newest change then.
    """

    name: str
    url: str
    prefixes: tuple[str, ...] = ()
    server: str | None = None  # the identity of its registry
    key: str | None = None
    private: bool = False  # whether its address may be one of a private network, or of this machine
    added: str = ""
    announced: tuple[HeldPrefix, ...] = ()
    checkpoint: int = 0
    seen: str | None = None  # when it announced that


class Event(msgspec.Struct, frozen=True):
    """An action on the registry itself: its agents, grants, prefixes and timelines.

    Its `digest` chains it to the event before; the store computes that.
    """

    at: str
    agent: str
    action: str
    subject: str
    detail: str = ""
    digest: bytes = b""


class ResolutionCount(FrozenStruct, frozen=True):
    """How often a name was resolved on one day (in UTC) by one kind of client."""

    key: str
    day: str
    client: str
    count: int


class SearchHit(FrozenStruct, frozen=True):
    """A hit of a search."""

    name: str
    state: str
    target: str | None
