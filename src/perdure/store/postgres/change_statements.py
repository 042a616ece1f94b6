"""The statements that write changes of names. Rows are sorted by key, to prevent deadlocks."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final

import msgspec

from perdure.registry.entities import Change, Revision
from perdure.store.postgres import bulk_insert
from perdure.store.postgres.lexemes import encode_tsvector, format_tsvector
from perdure.store.postgres.pipeline import Pipeline
from perdure.store.postgres.reader import digest_data
from perdure.store.postgres.write_buffer import TimelineMoves

_UPDATE: Final = (
    "UPDATE identifiers AS i SET target = g.target, state = g.state, version = g.version, created = g.created, "
    "record = g.record FROM (SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::int4[], %s::text[], "
    "%s::bytea[], %s::int4[]) AS g (key, target, state, version, created, record, was) ORDER BY key) AS g "
    'WHERE i.key = g.key COLLATE "C" AND (g.was IS NULL OR i.version = g.was)'
)
_UPSERT_TIMELINES: Final = (
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


def with_search_vector(change: Change) -> Change:
    """Compute the search vector beforehand, because it takes longest. COPY uses it."""
    return msgspec.structs.replace(change, indexed=encode_tsvector(change.words))


def send_timelines(pipeline: Pipeline, moves: TimelineMoves) -> None:
    """Write timelines, whose rows are locked already."""
    if moves:
        pipeline.execute(_UPSERT_TIMELINES, (list(moves), [str(last) for last, _ in moves.values()]))


def send_inserts(pipeline: Pipeline, changes: Sequence[Change], first: int, numbers: Iterator[int]) -> None:
    """Insert new names. `first` is the number of the first name, and `numbers` are those of the revisions."""
    numbered = [
        (change, number if change.added is None else change.added)
        for change, number in sorted(zip(changes, count(first)), key=lambda pair: pair[0].identifier.key)
    ]
    # Rows are built while they are sent, so that the server starts with the first one.
    pipeline.send_rows(bulk_insert.IDENTIFIERS, numbered, _identifier_row)
    revisions = [
        (change.identifier.key, revision, next(numbers)) for change, _ in numbered for revision in change.revisions
    ]
    pipeline.send_rows(bulk_insert.REVISIONS, revisions, _revision_row)
    pipeline.send_rows(
        bulk_insert.WORDS, numbered, _words_row if len(numbered) < bulk_insert.COPY_THRESHOLD else _vector_row
    )
    reverse = [
        (digest_data(data), kind, added, change.identifier.key)
        for change, added in numbered
        for kind, data in change.reverse
    ]
    pipeline.send_rows(bulk_insert.REVERSE, sorted(reverse))


def send_updates(pipeline: Pipeline, changes: Sequence[Change], numbers: Iterator[int]) -> bool:
    """Write new versions of names. Return False, and stop, if a name does not have the expected version any more."""
    if not changes:
        return True
    ordered = sorted(changes, key=lambda change: change.identifier.key)
    if pipeline.execute_now(_UPDATE, _to_columns([_update_row(change) for change in ordered])) != len(ordered):
        return False  # the following statements depend on it
    revisions = [
        (change.identifier.key, revision, next(numbers)) for change in ordered for revision in change.revisions
    ]
    pipeline.send_rows(bulk_insert.REVISIONS, revisions, _revision_row)
    pipeline.execute(
        _UPDATE_WORDS, _to_columns([(change.identifier.key, format_tsvector(change.words)) for change in ordered])
    )
    removed: list[Row] = []
    added: list[Row] = []
    for change in ordered:
        before, now, key = set(change.reverse_before), set(change.reverse), change.identifier.key
        removed.extend((digest_data(data), kind, key) for kind, data in before - now)
        added.extend((digest_data(data), kind, key) for kind, data in now - before)
    for statement, entries in ((_REMOVE_REVERSE, removed), (_ADD_REVERSE, added)):
        if entries:
            pipeline.execute(statement, _to_columns(sorted(entries)))
    return True


def _update_row(change: Change) -> Row:
    """Return the new row and the version that it must replace; None for a second name, which has no revisions."""
    row = change.identifier
    was = change.revisions[0].version - 1 if change.revisions else None
    return row.key, row.target, row.state, row.version, row.created, row.record, was


def _identifier_row(numbered: tuple[Change, int]) -> Row:
    row, added = numbered[0].identifier, numbered[1]
    subject = None if row.subject == row.key else row.subject
    name = None if row.name == row.key else row.name
    start = row.key, name, row.scheme, row.state, row.target, row.version, row.record
    return *start, subject, row.created, added


def _words_row(numbered: tuple[Change, int]) -> Row:
    change, added = numbered
    return change.identifier.key, added, format_tsvector(change.words)


def _vector_row(numbered: tuple[Change, int]) -> Row:
    change, added = numbered
    return change.identifier.key, added, encode_tsvector(change.words) if change.indexed is None else change.indexed


def _revision_row(numbered: tuple[str, Revision, int]) -> Row:
    key, revision, added = numbered
    return (
        key,
        revision.version,
        revision.at,
        revision.agent,
        revision.action,
        revision.note,
        revision.record,
        added,
        revision.digest,
        revision.original,
    )


def _to_columns(rows: Sequence[Row]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
