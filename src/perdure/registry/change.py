"""How a record becomes rows: the one place where a change is written down, always with its revision."""

import msgspec

from perdure.errors import Conflict, OutOfRange
from perdure.names.handle import fold
from perdure.records import record as records
from perdure.records.record import Record
from perdure.records.target import plain_target, reverse_entries, words
from perdure.records.value import SECRET
from perdure.registry.entities import Agent, Change, Identifier, Revision, Scheme
from perdure.registry.history_digest import content_digest, revision_digest
from perdure.registry.protocol import Transaction


def first(
    name: str,
    key: str,
    scheme: Scheme,
    record: Record,
    by: Agent,
    action: str,
    at: str,
    note: str | None = None,
    encoded: bytes | None = None,
) -> Change:
    """A new identifier, at version 1."""
    written = records.encode(record) if encoded is None else encoded
    digest = revision_digest(key, 1, at, by.id, action, content_digest(written, note))
    return Change(
        Identifier(key, name, scheme, record.state, plain_target(record), 1, written, key, record.created),
        (Revision(1, at, by.id, action, written, note, digest),),
        words(name, record),
        reverse_entries(record),
    )


def alias(change: Change, name: str, key: str, record: Record) -> Change:
    """Another name for the same thing: its own row, the first one's record and history."""
    row = msgspec.structs.replace(change.identifier, name=name, key=key)
    return Change(row, (), words(name, record))


def revise(
    transaction: Transaction,
    found: Identifier,
    record: Record,
    by: Agent,
    action: str,
    at: str,
    note: str | None = None,
    largest: int | None = None,
) -> int:
    """A new version of an identifier, under all its names; returns its number."""
    written = fitting(record, largest)
    newest = transaction.newest_revision(found.subject)
    if newest is None or newest.version != found.version:
        raise Conflict(found.name, f"version {found.version}", f"version {newest.version if newest else 0}")
    before = records.decode(found.record)
    version = found.version + 1
    at, content = max(at, newest.at), content_digest(written, note)
    digest = revision_digest(found.subject, version, at, by.id, action, content, newest.digest)
    revision = Revision(version, at, by.id, action, written, note, digest)
    names = transaction.find_many([found.subject]) if found.subject != found.key else {found.key: found}
    subject = names[found.subject]
    changes = [
        Change(
            _moved(subject, record, written, version),
            (revision,),
            words(subject.name, record),
            reverse_entries(record),
            reverse_entries(before),
        )
    ]
    if record.alias is not None:
        other = found if found.subject != found.key else _alias_row(transaction, subject, record.alias)
        changes.append(Change(_moved(other, record, written, version), (), words(other.name, record)))
    transaction.update(changes)
    forget_secrets(transaction, subject.key, before, record)
    if record.reconstruction is not None:
        transaction.put_derivations(subject.key, version, record.reconstruction.observation_ids)
    return version


def fitting(record: Record, largest: int | None) -> bytes:
    """The record as it is written down, if it is not longer than that."""
    written = records.encode(record)
    if largest is not None and len(written) > largest:
        raise OutOfRange("record", "record", f"the record would be longer than {largest} bytes")
    return written


def forget_secrets(transaction: Transaction, key: str, before: Record, after: Record) -> None:
    """A secret goes with its value, and with the identifier: taken back is taken back, and nothing revives it."""
    old = {value.index for value in before.values if value.kind == SECRET}
    if old:
        kept = {value.index for value in after.values if value.kind == SECRET} if after.tombstone is None else set()
        for index in sorted(old - kept):
            transaction.put_secret(key, index, None)


def _alias_row(transaction: Transaction, subject: Identifier, label: str) -> Identifier:
    """The row of the other label of an IBI pair."""
    row = transaction.find(fold(label))
    if row is None:
        raise Conflict(subject.name, f"an alias {label}", "none")
    return row


def _moved(row: Identifier, record: Record, written: bytes, version: int) -> Identifier:
    return msgspec.structs.replace(
        row, state=record.state, target=plain_target(record), version=version, record=written, created=record.created
    )
