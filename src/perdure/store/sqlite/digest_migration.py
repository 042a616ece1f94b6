"""Migration 5: every revision and every event gets a digest that chains it to the one before."""

from collections.abc import Iterator
from typing import Any, Final

import apsw

from perdure.registry.entities import Event, Revision
from perdure.registry.history_digest import event_digest, expected_digest
from perdure.store.event_chain import NEWEST_EVENT, EventMark

_BEFORE: Final = """
DROP TRIGGER revisions_stay;
DROP TRIGGER events_stay;
ALTER TABLE revisions ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
ALTER TABLE revisions ADD COLUMN original BLOB;  -- the digest of a content that was redacted
ALTER TABLE events ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
"""
_AFTER: Final = """
CREATE TRIGGER revisions_stay BEFORE UPDATE ON revisions
WHEN (NEW.identifier, NEW.version, NEW.at, NEW.agent, NEW.action, NEW.digest) IS NOT
     (OLD.identifier, OLD.version, OLD.at, OLD.agent, OLD.action, OLD.digest)
     OR instr(NEW.record, '"redaction":') = 0 OR NEW.original IS NOT coalesce(OLD.original, NEW.original)
     OR NEW.original IS NULL BEGIN
    SELECT RAISE (ABORT, 'revisions are never changed');
END;

CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN
    SELECT RAISE (ABORT, 'events are never changed');
END;
"""
_BATCH_SIZE: Final = 1000  # rows at a time
_REVISIONS: Final = (
    "SELECT r.identifier, i.key, r.version, r.at, r.agent, r.action, r.record, r.note "
    "FROM revisions AS r JOIN identifiers AS i ON i.id = r.identifier "
    "WHERE (r.identifier, r.version) > (?, ?) ORDER BY r.identifier, r.version LIMIT ?"
)
_EVENTS: Final = "SELECT id, at, agent, action, subject, detail FROM events ORDER BY id"


def add_digests(connection: apsw.Connection) -> None:
    """Run the step, inside the transaction of the migration."""
    connection.execute(_BEFORE)
    _digest_revisions(connection)
    _digest_events(connection)
    connection.execute(_AFTER)


def _digest_revisions(connection: apsw.Connection) -> None:
    digest, of = b"", None
    for rows in _read_revisions(connection):
        digests = []
        for identifier, key, *rest in rows:
            revision = Revision(*rest)
            digest = expected_digest(key, revision, digest if identifier == of else b"")
            of = identifier
            digests.append((digest, identifier, revision.version))
        connection.executemany("UPDATE revisions SET digest = ? WHERE identifier = ? AND version = ?", digests)


def _read_revisions(connection: apsw.Connection) -> Iterator[list[tuple[Any, ...]]]:
    last: tuple[Any, Any] = (-1, -1)
    while rows := connection.execute(_REVISIONS, (*last, _BATCH_SIZE)).fetchall():
        yield rows
        last = rows[-1][0], rows[-1][2]


def _digest_events(connection: apsw.Connection) -> None:
    mark = EventMark()
    rows: list[tuple[Any, ...]] = connection.execute(_EVENTS).fetchall()
    for number, *rest in rows:
        mark = EventMark(number, event_digest(Event(*rest), mark.digest))
        connection.execute("UPDATE events SET digest = ? WHERE id = ?", (mark.digest, number))
    if mark.number:
        connection.execute("INSERT INTO facts (name, value) VALUES (?, ?)", (NEWEST_EVENT, str(mark)))
