"""The queries that both engines answer in the same way, and the cache of a transaction's administrative reads."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Final, NamedTuple

from perdure.registry.entities import (
    Act,
    Agent,
    Event,
    Grant,
    Key,
    NewestChange,
    Peer,
    Pool,
    Prefix,
    ResolutionCount,
    Revision,
)
from perdure.registry.holdings import Collection, CollectionTotals, Holding
from perdure.store.row_mapping import (
    HOLDING_COLUMNS,
    PEER_COLUMNS,
    Row,
    first_column,
    key_range,
    to_holding,
    to_peer,
    to_pool,
    to_prefix,
)

_AGENT: Final = "SELECT id, name, identifier, created, kind, retired FROM agents"
_HOLDING: Final = f"SELECT {HOLDING_COLUMNS} FROM holdings"
_POOL: Final = "SELECT name, policy, members, created FROM pools"
_COLLECTION: Final = "SELECT name, path, url, created FROM collections"
_KEY: Final = "SELECT id, agent, digest, created, expires, revoked, label FROM keys"


class SharedStatements(NamedTuple):
    """The SQL of the shared queries, with `?` for each parameter. Statements without a default differ by engine."""

    revisions: str
    revision: str
    newest_revision: str
    acts: str
    newest_change: str
    change_digests: str
    event_digests: str
    active_names: str
    count_active: str
    active_key: str
    input_uuid: str
    events: str
    prefixes: str
    agent: str = f"{_AGENT} WHERE id = ?"
    agents: str = f"{_AGENT} ORDER BY id"
    key: str = f"{_KEY} WHERE id = ?"
    keys: str = f"{_KEY} WHERE agent = ? ORDER BY created, id"
    grants: str = (
        "SELECT agent, scope, action, own, until, given_by, given_at FROM grants WHERE agent = ? "
        "ORDER BY scope, action, own"
    )
    peer: str = f"SELECT {PEER_COLUMNS} FROM peers WHERE name = ?"
    peers: str = f"SELECT {PEER_COLUMNS} FROM peers ORDER BY name"
    timeline: str = "SELECT last FROM timelines WHERE key = ?"
    timelines: str = "SELECT key, last FROM timelines WHERE last IS NOT NULL ORDER BY key"
    pool: str = f"{_POOL} WHERE name = ?"
    pools: str = f"{_POOL} ORDER BY name"
    derivations: str = "SELECT version, poid FROM derivations WHERE prid = ? ORDER BY version, poid"
    derived_from: str = "SELECT DISTINCT prid FROM derivations WHERE poid = ? ORDER BY prid"
    sealed_value: str = "SELECT sealed FROM secrets WHERE key = ? AND value_index = ?"
    sealed_values: str = "SELECT key, value_index, sealed FROM secrets ORDER BY key, value_index"
    fact: str = "SELECT value FROM facts WHERE name = ?"
    resolutions: str = (
        "SELECT key, day, client, count FROM resolutions WHERE key = ? AND day >= ? AND day <= ? ORDER BY day, client"
    )
    resolutions_by_day: str = (
        "SELECT '', day, client, CAST(sum(count) AS bigint) FROM resolutions "
        "WHERE key > ? AND key < ? AND day >= ? AND day <= ? GROUP BY day, client ORDER BY day, client"
    )
    most_resolved: str = (
        "SELECT i.name, i.key, r.total FROM (SELECT key, CAST(sum(count) AS bigint) AS total FROM resolutions "
        "WHERE key > ? AND key < ? AND day >= ? AND day <= ? AND client <> 'robot' "
        "GROUP BY key ORDER BY total DESC, key LIMIT ?) AS r JOIN identifiers AS i ON i.key = r.key "
        "ORDER BY r.total DESC, i.key"
    )
    resolutions_after: str = (
        "SELECT key, day, client, count FROM resolutions WHERE (key, day, client) > (?, ?, ?) "
        "ORDER BY key, day, client LIMIT ?"
    )
    collection: str = f"{_COLLECTION} WHERE name = ?"
    collections: str = f"{_COLLECTION} ORDER BY name"
    holdings: str = f"{_HOLDING} WHERE subject = ? ORDER BY role = 'copy', collection"
    holdings_after: str = f"{_HOLDING} WHERE collection = ? AND subject > ? ORDER BY subject LIMIT ?"
    held_subject: str = "SELECT subject FROM held_names WHERE name = ? ORDER BY subject LIMIT 1"
    held_names: str = (
        "SELECT name, min(subject) FROM held_names WHERE name > ? AND name < ? GROUP BY name ORDER BY name LIMIT ?"
    )
    unverified_holdings: str = (
        f"{_HOLDING} WHERE collection = ? AND coalesce(verified_at, '') < ? "
        "ORDER BY coalesce(verified_at, ''), subject LIMIT ?"
    )
    collection_totals: str = (
        "SELECT count(*), count(CASE WHEN role = 'original' THEN 1 END), CAST(coalesce(sum(files), 0) AS bigint), "
        "CAST(coalesce(sum(size), 0) AS bigint), count(CASE WHEN outcome <> 'valid' THEN 1 END) "
        "FROM holdings WHERE collection = ?"
    )

    def with_placeholder(self, placeholder: str) -> "SharedStatements":
        """Return the statements with another placeholder for parameters."""
        return SharedStatements(*(statement.replace("?", placeholder) for statement in self))


class SqlReader(ABC):
    """The shared part of a `Reader` on one connection. An engine adds its statements and how to run one."""

    _statements: ClassVar[SharedStatements]

    @abstractmethod
    def _rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return all rows."""

    @abstractmethod
    def _row(self, statement: str, parameters: Sequence[Any] = ()) -> Row | None:
        """Run a statement and return its first row."""

    @abstractmethod
    def _prefix_row(self, key: str) -> Row | None:
        """Return the row of the prefix with this key, or else of the subsystem with this label prefix."""

    def revisions(self, subject: str) -> list[Revision]:
        return [Revision(*row) for row in self._rows(self._statements.revisions, (subject,))]

    def revision(self, subject: str, version: int) -> Revision | None:
        row = self._row(self._statements.revision, (subject, version))
        return None if row is None else Revision(*row)

    def newest_revision(self, subject: str) -> Revision | None:
        row = self._row(self._statements.newest_revision, (subject,))
        return None if row is None else Revision(*row)

    def acts(self, subject: str, after: int, limit: int) -> list[Act]:
        return [Act(*row) for row in self._rows(self._statements.acts, (subject, after, limit))]

    def newest_change(self) -> NewestChange | None:
        row = self._row(self._statements.newest_change)
        return None if row is None else NewestChange(row[0], row[1], Revision(*row[2:]))

    def change_digests(self, number: int) -> list[bytes]:
        return [digest for (digest,) in self._rows(self._statements.change_digests, (number,))]

    def event_digests(self, number: int) -> list[bytes]:
        return [digest for (digest,) in self._rows(self._statements.event_digests, (number,))]

    def prefix(self, key: str) -> Prefix | None:
        row = self._prefix_row(key)
        return None if row is None else to_prefix(row)

    def prefixes(self) -> list[Prefix]:
        return [to_prefix(row) for row in self._rows(self._statements.prefixes)]

    def timeline(self, key: str) -> Fraction | None:
        row = self._row(self._statements.timeline, (key,))
        return None if row is None or row[0] is None else Fraction(row[0])

    def timelines(self) -> dict[str, Fraction]:
        return {key: Fraction(last) for key, last in self._rows(self._statements.timelines)}

    def pool(self, name: str) -> Pool | None:
        row = self._row(self._statements.pool, (name,))
        return None if row is None else to_pool(row)

    def pools(self) -> list[Pool]:
        return [to_pool(row) for row in self._rows(self._statements.pools)]

    def active_names(self, key: str, limit: int, under: str) -> list[tuple[str, str]]:
        rows = self._rows(self._statements.active_names, (*key_range(key, under), limit))
        return [(active, name) for active, name in rows]

    def count_active(self, under: str) -> int:
        return int(self._rows(self._statements.count_active, key_range("", under))[0][0])

    def active_key(self, number: int, under: str) -> str | None:
        return first_column(self._row(self._statements.active_key, (*key_range("", under), number - 1)))

    def input_uuid(self, name: str) -> str | None:
        return first_column(self._row(self._statements.input_uuid, (name,)))

    def derivations(self, subject: str) -> list[tuple[int, str]]:
        return [(version, poid) for version, poid in self._rows(self._statements.derivations, (subject,))]

    def derived_from(self, poid: str) -> list[str]:
        return [prid for (prid,) in self._rows(self._statements.derived_from, (poid,))]

    def agent(self, id: str) -> Agent | None:
        row = self._row(self._statements.agent, (id,))
        return None if row is None else Agent(*row)

    def agents(self) -> list[Agent]:
        return [Agent(*row) for row in self._rows(self._statements.agents)]

    def key(self, id: str) -> Key | None:
        row = self._row(self._statements.key, (id,))
        return None if row is None else Key(*row)

    def keys(self, agent: str) -> list[Key]:
        return [Key(*row) for row in self._rows(self._statements.keys, (agent,))]

    def grants(self, agent: str) -> list[Grant]:
        rows = self._rows(self._statements.grants, (agent,))
        return [Grant(whose, scope, action, bool(own), *rest) for whose, scope, action, own, *rest in rows]

    def events(self, limit: int) -> list[Event]:
        return [Event(*row) for row in self._rows(self._statements.events, (limit,))]

    def peer(self, name: str) -> Peer | None:
        row = self._row(self._statements.peer, (name,))
        return None if row is None else to_peer(row)

    def peers(self) -> list[Peer]:
        return [to_peer(row) for row in self._rows(self._statements.peers)]

    def secret(self, key: str, index: int) -> bytes | None:
        row = self._row(self._statements.sealed_value, (key, index))
        return None if row is None else bytes(row[0])

    def secrets(self) -> list[tuple[str, int, bytes]]:
        return [(key, index, sealed) for key, index, sealed in self._rows(self._statements.sealed_values)]

    def resolutions(self, key: str, since: str, until: str) -> list[ResolutionCount]:
        return [ResolutionCount(*row) for row in self._rows(self._statements.resolutions, (key, since, until))]

    def resolutions_by_day(self, under: str, since: str, until: str) -> list[ResolutionCount]:
        rows = self._rows(self._statements.resolutions_by_day, (*key_range("", under), since, until))
        return [ResolutionCount(*row) for row in rows]

    def most_resolved(self, under: str, since: str, until: str, limit: int) -> list[tuple[str, int]]:
        rows = self._rows(self._statements.most_resolved, (*key_range("", under), since, until, limit))
        return [(name or key, total) for name, key, total in rows]

    def resolutions_after(self, last: tuple[str, str, str], limit: int) -> list[ResolutionCount]:
        return [ResolutionCount(*row) for row in self._rows(self._statements.resolutions_after, (*last, limit))]

    def collection(self, name: str) -> Collection | None:
        row = self._row(self._statements.collection, (name,))
        return None if row is None else Collection(*row)

    def collections(self) -> list[Collection]:
        return [Collection(*row) for row in self._rows(self._statements.collections)]

    def holdings(self, subject: str) -> list[Holding]:
        return [to_holding(row) for row in self._rows(self._statements.holdings, (subject,))]

    def holdings_after(self, collection: str, key: str, limit: int) -> list[Holding]:
        return [to_holding(row) for row in self._rows(self._statements.holdings_after, (collection, key, limit))]

    def held_subject(self, name: str) -> str | None:
        return first_column(self._row(self._statements.held_subject, (name,)))

    def held_names_after(self, after: str, limit: int, under: str | None = None) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self._rows(self._statements.held_names, (*key_range(after, under), limit))]

    def unverified_holdings(self, collection: str, before: str, limit: int) -> list[Holding]:
        rows = self._rows(self._statements.unverified_holdings, (collection, before, limit))
        return [to_holding(row) for row in rows]

    def collection_totals(self, collection: str) -> CollectionTotals:
        return CollectionTotals(*self._rows(self._statements.collection_totals, (collection,))[0])

    def fact(self, name: str) -> str | None:
        return first_column(self._row(self._statements.fact, (name,)))


class AdminCache(SqlReader):
    """A mixin for transactions: prefixes, pools, grants and agents are read once for all works of a group.

    While the transaction runs, another program cannot change them unnoticed. A method that writes one clears its cache.
    """

    def _clear_admin_cache(self) -> None:
        self._cached_prefixes: dict[str, Prefix | None] = {}
        self._cached_grants: dict[str, list[Grant]] = {}
        self._cached_agents: dict[str, Agent | None] = {}
        self._cached_pools: dict[str, Pool | None] = {}

    def prefix(self, key: str) -> Prefix | None:
        if key not in self._cached_prefixes:
            self._cached_prefixes[key] = super().prefix(key)
        return self._cached_prefixes[key]

    def pool(self, name: str) -> Pool | None:
        if name not in self._cached_pools:
            self._cached_pools[name] = super().pool(name)
        return self._cached_pools[name]

    def grants(self, agent: str) -> list[Grant]:
        if agent not in self._cached_grants:
            self._cached_grants[agent] = super().grants(agent)
        return self._cached_grants[agent]

    def agent(self, id: str) -> Agent | None:
        if id not in self._cached_agents:
            self._cached_agents[id] = super().agent(id)
        return self._cached_agents[id]
