"""Conversions between rows and entities, for the tables that both engines define alike."""

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

import msgspec

from perdure.registry.entities import (
    HeldPrefix,
    History,
    Identifier,
    LabelKind,
    LabelPeriod,
    Peer,
    Pool,
    Prefix,
    Revision,
    Subsystem,
    sort_periods,
)
from perdure.registry.holdings import Holding

Row = tuple[Any, ...]

LAST_CHARACTER: Final = chr(0x10FFFF)  # sorts after every character of a key

_BEFORE_SURROGATES: Final = 0xD7FF  # the character before those that no text in UTF-8 has
_LAST_SURROGATE: Final = 0xDFFF

MOST_ANSWERS_DELETED: Final = 1000  # in one transaction, so that no caller waits long for it

PREFIX_COLUMNS: Final = (
    "key, name, scheme, minter, case_sensitive, parent, policy, pattern, opaque, subsystem, created, pass_through, "
    "ttl, joiners"
)
PERIOD_COLUMNS: Final = "label, kind, started, ended"
_decode_periods: Final = msgspec.json.Decoder(list[tuple[str, LabelKind, str, str | None]]).decode

HOLDING_COLUMNS: Final = (
    "subject, collection, label, role, role_since, version, files, size, digest, main_file, put_at, source, "
    "verified_at, outcome, names"
)
PEER_COLUMNS: Final = "name, url, prefixes, server, public_key, private, added, announced, checkpoint, seen"


def group_holdings(rows: Iterable[Row]) -> dict[str, list[Holding]]:
    """Return holdings by their subjects, in their order."""
    found: dict[str, list[Holding]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(to_holding(row))
    return found


def to_holding(row: Row) -> Holding:
    """Build a holding from its columns."""
    return Holding(*(*row[:-1], tuple(json.loads(row[-1]))))


def to_holding_row(holding: Holding) -> Row:
    """Return the columns of a holding."""
    return (*msgspec.structs.astuple(holding)[:-1], json.dumps(holding.names))


def first_column(row: Row | None) -> str | None:
    """Return the first column as text; None where there is no row."""
    return None if row is None else str(row[0])


def to_prefix(row: Row) -> Prefix:
    """Build a prefix from its columns, and from its label periods as JSON."""
    key, name, scheme, minter, case_sensitive, parent, policy, pattern, opaque, subsystem, created, *settings = row
    pass_through, ttl, joiners, periods = settings
    return Prefix(
        key=key,
        name=name,
        scheme=scheme,
        minter=minter,
        case_sensitive=bool(case_sensitive),
        parent=parent,
        policy=policy,
        pattern=pattern,
        opaque=opaque,
        subsystem=None if subsystem is None else _read_subsystem(subsystem),
        created=created,
        pass_through=bool(pass_through),
        ttl=ttl,
        joiners=bool(joiners),
        periods=() if periods is None else sort_periods(LabelPeriod(*one) for one in _decode_periods(periods)),
    )


def to_period_rows(prefix: Prefix) -> list[Row]:
    """Return a row for each label period, the closed ones first: of each kind, only one may be open at a time."""
    ordered = sorted(prefix.periods, key=lambda one: (one.ended is None, one.started))
    return [(one.label, one.kind, one.started, one.ended, prefix.key) for one in ordered]


def to_prefix_row(prefix: Prefix) -> Row:
    """Return the columns of a prefix."""
    return (
        prefix.key,
        prefix.name,
        prefix.scheme,
        prefix.minter,
        prefix.case_sensitive,
        prefix.parent,
        prefix.policy,
        prefix.pattern,
        prefix.opaque,
        None if prefix.subsystem is None else _write_subsystem(prefix.subsystem),
        prefix.created,
        prefix.pass_through,
        prefix.ttl,
        prefix.joiners,
    )


def to_peer(row: Row) -> Peer:
    """Build another server from its columns."""
    name, url, prefixes, server, key, private, added, announced, checkpoint, seen = row
    return Peer(
        name=name,
        url=url,
        prefixes=tuple(json.loads(prefixes)),
        server=server,
        key=key,
        private=bool(private),
        added=added,
        announced=msgspec.json.decode(announced, type=tuple[HeldPrefix, ...]),
        checkpoint=checkpoint,
        seen=seen,
    )


def to_peer_row(peer: Peer) -> Row:
    """Return the columns of another server."""
    return (
        peer.name,
        peer.url,
        msgspec.json.encode(peer.prefixes).decode(),
        peer.server,
        peer.key,
        peer.private,
        peer.added,
        msgspec.json.encode(peer.announced).decode(),
        peer.checkpoint,
        peer.seen,
    )


def to_pool(row: Row) -> Pool:
    """Build a pool from its columns."""
    name, policy, members, created = row
    return Pool(name, policy, tuple(json.loads(members)), created)


def to_pool_row(pool: Pool) -> Row:
    """Return the columns of a pool."""
    return pool.name, pool.policy, json.dumps(pool.members), pool.created


def key_range(after: str, under: str | None) -> tuple[str, str]:
    """Return the bounds of a scan of keys, both exclusive. A key that equals `under` is within them."""
    return (after, LAST_CHARACTER) if under is None else (max(after, _text_before(under)), under + LAST_CHARACTER)


def _text_before(text: str) -> str:
    """Return a text that sorts before this one, with no key between them.

    >>> _text_before("12345/b")
    '12345/a\\U0010ffff'
    """
    code = ord(text[-1]) - 1 if text else 0
    if code < 1:
        return text[:-1]
    return f"{text[:-1]}{chr(_BEFORE_SURROGATES if code == _LAST_SURROGATE else code)}{LAST_CHARACTER}"


def build_newest_history(
    row: Identifier,
    added: int,
    uuid_raw: str | None,
    at: str | None,
    agent: str,
    action: str,
    note: str | None,
    digest: bytes,
    original: bytes | None,
) -> History:
    """Build a name with its newest revision, which has the record of the row. `at` is None if there is no revision."""
    revisions = () if at is None else (Revision(row.version, at, agent, action, row.record, note, digest, original),)
    return History(row, added, revisions, uuid_raw=uuid_raw)


def _write_subsystem(subsystem: Subsystem) -> str:
    fields = msgspec.structs.asdict(subsystem)
    return json.dumps(fields | {"granularity": str(subsystem.granularity)})


def _read_subsystem(text: str) -> Subsystem:
    fields = json.loads(text)
    return Subsystem(**(fields | {"granularity": Fraction(fields["granularity"])}))
