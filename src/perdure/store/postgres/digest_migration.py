"""Migration 5: every revision and every event gets a digest that chains it to the one before.

The database also gets a lineage, which distinguishes it from every other copy of the registry.
"""

from typing import Final
from uuid import uuid4

from perdure.registry.entities import Event, Revision
from perdure.registry.history_digest import event_digest, expected_digest
from perdure.store.commit_mark import LINEAGE
from perdure.store.event_chain import NEWEST_EVENT, EventMark
from perdure.store.postgres.connection import Connection, Row

_BEFORE: Final = """
DROP TRIGGER revisions_stay ON revisions;
DROP TRIGGER events_stay ON events;
ALTER TABLE revisions ADD COLUMN digest bytea NOT NULL DEFAULT '';
ALTER TABLE revisions ADD COLUMN original bytea;  -- the digest of a content that was redacted
ALTER TABLE events ADD COLUMN digest bytea NOT NULL DEFAULT '';
"""
_AFTER: Final = """
CREATE TRIGGER revisions_stay BEFORE UPDATE ON revisions
    FOR EACH ROW
    WHEN ((NEW.key, NEW.version, NEW.at, NEW.agent, NEW.action, NEW.digest) IS DISTINCT FROM
          (OLD.key, OLD.version, OLD.at, OLD.agent, OLD.action, OLD.digest)
          OR position('"redaction":'::bytea IN NEW.record) = 0 OR NEW.original IS NULL
          OR NEW.original IS DISTINCT FROM coalesce(OLD.original, NEW.original))
    EXECUTE FUNCTION refuse_change('revisions are never changed, and never deleted');
CREATE TRIGGER events_stay BEFORE UPDATE OR DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION refuse_change('events are never changed, and never deleted');
"""
_BATCH_SIZE: Final = 2000  # rows at a time
_REVISIONS: Final = (
    "SELECT key, version, at, agent, action, record, note FROM revisions "
    "WHERE (key, version) > (%s, %s) ORDER BY key, version LIMIT %s"
)
_UPDATE_DIGESTS: Final = (
    "UPDATE revisions AS r SET digest = g.digest "
    "FROM unnest(%s::text[], %s::int4[], %s::bytea[]) AS g (key, version, digest) "
    'WHERE r.key = g.key COLLATE "C" AND r.version = g.version'
)
_EVENTS: Final = "SELECT added, writer, at, agent, action, subject, detail FROM events ORDER BY added, writer"


def add_digests(connection: Connection) -> None:
    """Run the step, inside the transaction of the migration."""
    connection.execute(_BEFORE, prepare=False)
    _digest_revisions(connection)
    mark = _digest_events(connection)
    connection.execute(_AFTER, prepare=False)
    facts = [(LINEAGE, uuid4().hex)] + ([(NEWEST_EVENT, str(mark))] if mark.number else [])
    for fact in facts:
        connection.execute("INSERT INTO facts (name, value) VALUES (%s, %s)", fact)


def _digest_revisions(connection: Connection) -> None:
    digest, of, last = b"", None, ("", 0)
    while rows := _fetch(connection, _REVISIONS, (*last, _BATCH_SIZE)):
        digests = []
        for key, *rest in rows:
            digest = expected_digest(key, Revision(*rest), digest if key == of else b"")
            of = key
            digests.append(digest)
        connection.execute(_UPDATE_DIGESTS, ([row[0] for row in rows], [row[1] for row in rows], digests))
        last = rows[-1][0], rows[-1][1]


def _digest_events(connection: Connection) -> EventMark:
    mark = EventMark()
    for added, writer, *rest in _fetch(connection, _EVENTS, ()):
        mark = EventMark(added, event_digest(Event(*rest), mark.digest))
        connection.execute(
            "UPDATE events SET digest = %s WHERE added = %s AND writer = %s", (mark.digest, added, writer)
        )
    return mark


def _fetch(connection: Connection, query: str, parameters: tuple[object, ...]) -> list[Row]:
    return connection.execute(query, parameters, binary=True).fetchall()
