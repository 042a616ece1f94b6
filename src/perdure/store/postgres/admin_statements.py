"""Statements that write settings, agents, keys, grants, secrets, collections and counts, and delete old answers."""

from collections.abc import Sequence
from typing import Final

import msgspec

from perdure.registry.entities import Agent, Grant, Key, Peer, Pool, Prefix, ResolutionCount
from perdure.registry.holdings import Collection, Holding
from perdure.store.postgres.connection import Connection
from perdure.store.row_mapping import (
    HOLDING_COLUMNS,
    MOST_ANSWERS_DELETED,
    PEER_COLUMNS,
    PERIOD_COLUMNS,
    PREFIX_COLUMNS,
    to_holding_row,
    to_peer_row,
    to_period_rows,
    to_pool_row,
    to_prefix_row,
)

# Another process that deletes answers at the same time deletes others.
_FORGET_ANSWERS: Final = (
    "DELETE FROM answers WHERE (agent, token) IN "
    "(SELECT agent, token FROM answers WHERE at < %s ORDER BY at LIMIT %s FOR UPDATE SKIP LOCKED)"
)


def put_prefix(connection: Connection, prefix: Prefix) -> None:
    connection.execute(
        f"INSERT INTO prefixes ({PREFIX_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) "
        "ON CONFLICT (key) DO UPDATE SET "
        "minter = excluded.minter, policy = excluded.policy, pattern = excluded.pattern, opaque = excluded.opaque, "
        "subsystem = excluded.subsystem, pass_through = excluded.pass_through, ttl = excluded.ttl, "
        "joiners = excluded.joiners",
        to_prefix_row(prefix),
    )
    for period in to_period_rows(prefix):
        connection.execute(
            f"INSERT INTO label_periods ({PERIOD_COLUMNS}, prefix) VALUES (%s, %s, %s, %s, %s) "
            "ON CONFLICT (label, started) DO UPDATE SET ended = excluded.ended",
            period,
        )


def put_pool(connection: Connection, pool: Pool) -> None:
    connection.execute(
        "INSERT INTO pools (name, policy, members, created) VALUES (%s, %s, %s, %s) "
        "ON CONFLICT (name) DO UPDATE SET policy = excluded.policy, members = excluded.members",
        to_pool_row(pool),
    )


def remove_pool(connection: Connection, name: str) -> None:
    connection.execute("DELETE FROM pools WHERE name = %s", (name,))


def add_resolutions(connection: Connection, counts: Sequence[ResolutionCount]) -> None:
    """Add counts. They are sorted, so that two processes lock the same rows in the same order."""
    rows = sorted((one.key, one.day, one.client, one.count) for one in counts)
    connection.execute(
        "INSERT INTO resolutions (key, day, client, count) "
        "SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[]) "
        "ON CONFLICT (key, day, client) DO UPDATE SET count = resolutions.count + excluded.count",
        [list(column) for column in zip(*rows, strict=True)],
    )


def put_agent(connection: Connection, agent: Agent) -> None:
    connection.execute(
        "INSERT INTO agents (id, name, identifier, created, kind, retired) VALUES (%s, %s, %s, %s, %s, %s) "
        "ON CONFLICT (id) DO UPDATE SET name = excluded.name, identifier = excluded.identifier, "
        "retired = excluded.retired",
        (agent.id, agent.name, agent.identifier, agent.created, agent.kind, agent.retired),
    )


def put_key(connection: Connection, key: Key) -> None:
    connection.execute(
        "INSERT INTO keys (id, agent, digest, created, expires, revoked, label) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s) "
        "ON CONFLICT (id) DO UPDATE SET expires = excluded.expires, revoked = excluded.revoked",
        (key.id, key.agent, key.digest, key.created, key.expires, key.revoked, key.label),
    )


def put_grant(connection: Connection, grant: Grant) -> None:
    connection.execute(
        "INSERT INTO grants (agent, scope, action, own, until, given_by, given_at) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (agent, scope, action, own) DO UPDATE SET "
        "until = excluded.until, given_by = excluded.given_by, given_at = excluded.given_at",
        (grant.agent, grant.scope, grant.action, grant.own, grant.until, grant.given_by, grant.given_at),
    )


def remove_grant(connection: Connection, agent: str, scope: str, action: str) -> None:
    connection.execute("DELETE FROM grants WHERE agent = %s AND scope = %s AND action = %s", (agent, scope, action))


def put_peer(connection: Connection, peer: Peer) -> None:
    connection.execute(
        f"INSERT INTO peers ({PEER_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) "
        "ON CONFLICT (name) DO UPDATE SET url = excluded.url, prefixes = excluded.prefixes, server = excluded.server, "
        "public_key = excluded.public_key, private = excluded.private, announced = excluded.announced, "
        "checkpoint = excluded.checkpoint, seen = excluded.seen",
        to_peer_row(peer),
    )


def remove_peer(connection: Connection, name: str) -> None:
    connection.execute("DELETE FROM peers WHERE name = %s", (name,))


def put_secret(connection: Connection, key: str, index: int, sealed: bytes | None) -> None:
    if sealed is None:
        connection.execute("DELETE FROM secrets WHERE key = %s AND value_index = %s", (key, index))
        return
    connection.execute(
        "INSERT INTO secrets (key, value_index, sealed) VALUES (%s, %s, %s) "
        "ON CONFLICT (key, value_index) DO UPDATE SET sealed = excluded.sealed",
        (key, index, sealed),
    )


def put_collection(connection: Connection, collection: Collection) -> None:
    connection.execute(
        "INSERT INTO collections (name, path, url, created) VALUES (%s, %s, %s, %s) "
        "ON CONFLICT (name) DO UPDATE SET path = excluded.path, url = excluded.url",
        msgspec.structs.astuple(collection),
    )


def put_holding(connection: Connection, holding: Holding) -> None:
    connection.execute(
        f"INSERT INTO holdings ({HOLDING_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) "
        "ON CONFLICT (subject, collection) DO UPDATE SET label = excluded.label, role = excluded.role, "
        "role_since = excluded.role_since, version = excluded.version, files = excluded.files, size = excluded.size, "
        "digest = excluded.digest, main_file = excluded.main_file, put_at = excluded.put_at, "
        "source = excluded.source, verified_at = excluded.verified_at, outcome = excluded.outcome, "
        "names = excluded.names",
        to_holding_row(holding),
    )
    _remove_held_names(connection, holding.subject, holding.collection)
    for name in holding.names:
        connection.execute(
            "INSERT INTO held_names (subject, collection, name) VALUES (%s, %s, %s)",
            (holding.subject, holding.collection, name),
        )


def remove_holding(connection: Connection, subject: str, collection: str) -> None:
    _remove_held_names(connection, subject, collection)
    connection.execute("DELETE FROM holdings WHERE subject = %s AND collection = %s", (subject, collection))


def _remove_held_names(connection: Connection, subject: str, collection: str) -> None:
    connection.execute("DELETE FROM held_names WHERE subject = %s AND collection = %s", (subject, collection))


def forget_answers(connection: Connection, before: str) -> int:
    return connection.execute(_FORGET_ANSWERS, (before, MOST_ANSWERS_DELETED)).rowcount
