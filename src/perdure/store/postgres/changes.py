"""Changes of names as statements. Rows go in the order of their keys, so that no two processes wait for each other."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final

import msgspec

from perdure.registry.entities import Change, Revision
from perdure.store.postgres import tables
from perdure.store.postgres.gathering import Moved
from perdure.store.postgres.lexemes import vector, written_vector
from perdure.store.postgres.reading import digest
from perdure.store.postgres.sending import Sending

_UPDATE: Final = (
    "UPDATE identifiers AS i SET target = g.target, state = g.state, version = g.version, created = g.created, "
    "record = g.record FROM (SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::int4[], %s::text[], "
    "%s::bytea[], %s::int4[]) AS g (key, target, state, version, created, record, was) ORDER BY key) AS g "
    'WHERE i.key = g.key COLLATE "C" AND (g.was IS NULL OR i.version = g.was)'
)
_MOVE: Final = (
    "INSERT INTO timelines (key, last) SELECT * FROM unnest(%s::text[], %s::text[]) "
    "ON CONFLICT (key) DO UPDATE SET last = excluded.last"
)
_UPDATE_WORDS: Final = (
    "UPDATE words AS w SET lexemes = g.lexemes::tsvector FROM unnest(%s::text[], %s::text[]) AS g (key, lexemes) "
    'WHERE w.key = g.key COLLATE "C"'
)
_REVERSE_ROWS: Final = (
    "unnest(%s::bytea[], %s::text[], %s::text[]) AS g (data, type, key) "
    'JOIN identifiers AS i ON i.key = g.key COLLATE "C"'
)
_ADD_REVERSE: Final = (
    f"INSERT INTO reverse (data, type, added, key) SELECT g.data, g.type, i.added, i.key FROM {_REVERSE_ROWS} "
    "ON CONFLICT DO NOTHING"
)
_REMOVE_REVERSE: Final = (
    f"DELETE FROM reverse AS r USING {_REVERSE_ROWS} "
    'WHERE r.data = g.data AND r.type = g.type COLLATE "C" AND r.added = i.added AND r.key = i.key'
)

Row = tuple[Any, ...]


def with_vector(change: Change) -> Change:
    """What takes longest, made beforehand; it is of use where many go together."""
    return msgspec.structs.replace(change, indexed=vector(change.words))


def send_moved(send: Sending, moved: Moved) -> None:
    """Timelines, which are held already."""
    if moved:
        send.statement(_MOVE, (list(moved), [str(last) for last, _ in moved.values()]))


def send_fresh(send: Sending, changes: Sequence[Change], first: int, numbers: Iterator[int]) -> None:
    """New names; `first` is the place in the order of names that the first gets, `numbers` are those of revisions."""
    placed = [
        (change, place if change.added is None else change.added)
        for change, place in sorted(zip(changes, count(first)), key=lambda pair: pair[0].identifier.key)
    ]
    # Rows are made as they go, so that the server has something to do from the first on.
    send.rows(tables.IDENTIFIERS, placed, _identifier_row)
    past = [(change.identifier.key, one, next(numbers)) for change, _ in placed for one in change.revisions]
    send.rows(tables.REVISIONS, past, _revision_row)
    send.rows(tables.WORDS, placed, _words_row if len(placed) < tables.MANY else _vector_row)
    said = [(digest(data), kind, added, one.identifier.key) for one, added in placed for kind, data in one.reverse]
    send.rows(tables.REVERSE, sorted(said))


def send_changed(send: Sending, changes: Sequence[Change], numbers: Iterator[int]) -> bool:
    """New versions of names. False, and nothing more is sent, if one of them is not what it was taken for."""
    if not changes:
        return True
    ordered = sorted(changes, key=lambda one: one.identifier.key)
    if send.counted(_UPDATE, _columns([_updated(one) for one in ordered])) != len(ordered):
        return False  # what would follow builds upon it
    past = [(one.identifier.key, revision, next(numbers)) for one in ordered for revision in one.revisions]
    send.rows(tables.REVISIONS, past, _revision_row)
    send.statement(_UPDATE_WORDS, _columns([(one.identifier.key, written_vector(one.words)) for one in ordered]))
    gone: list[Row] = []
    come: list[Row] = []
    for one in ordered:
        before, now, key = set(one.reverse_before), set(one.reverse), one.identifier.key
        gone.extend((digest(data), kind, key) for kind, data in before - now)
        come.extend((digest(data), kind, key) for kind, data in now - before)
    for statement, entries in ((_REMOVE_REVERSE, gone), (_ADD_REVERSE, come)):
        if entries:
            send.statement(statement, _columns(sorted(entries)))
    return True


def _updated(change: Change) -> Row:
    """The row as it is to be, and the version that it must have had before; a second name has none of its own."""
    row = change.identifier
    was = change.revisions[0].version - 1 if change.revisions else None
    return row.key, row.target, row.state, row.version, row.created, row.record, was


def _identifier_row(placed: tuple[Change, int]) -> Row:
    row, added = placed[0].identifier, placed[1]
    subject = None if row.subject == row.key else row.subject
    name = None if row.name == row.key else row.name
    known = row.key, name, row.scheme, row.state, row.target, row.version, row.record
    return *known, subject, row.created, added


def _words_row(placed: tuple[Change, int]) -> Row:
    return placed[0].identifier.key, placed[1], written_vector(placed[0].words)


def _vector_row(placed: tuple[Change, int]) -> Row:
    change, added = placed
    return change.identifier.key, added, vector(change.words) if change.indexed is None else change.indexed


def _revision_row(past: tuple[str, Revision, int]) -> Row:
    key, one, added = past
    return key, one.version, one.at, one.agent, one.action, one.note, one.record, added, one.digest, one.original


def _columns(rows: Sequence[Row]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
