"""The writing of records. Every change of a record goes through here, and always has a revision."""

from collections.abc import Sequence
from typing import Final

import msgspec

from perdure.errors import Conflict, OutOfRange
from perdure.records import record as records
from perdure.records.authority_metadata import with_change_time
from perdure.records.record import Record
from perdure.records.target import full_text, plain_target, reverse_entries
from perdure.records.value import SECRET
from perdure.registry.entities import Agent, Change, Identifier, Revision, Scheme
from perdure.registry.history_digest import content_digest, revision_digest
from perdure.registry.name_keys import LocatedName, locate
from perdure.registry.store_interface import Reader, Transaction

MOST_ALIASES: Final = 16  # of one identifier


def first_revision(
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
    """Build a new identifier, at version 1."""
    written = records.encode(record) if encoded is None else encoded
    digest = revision_digest(key, 1, at, by.id, action, content_digest(written, note))
    return Change(
        Identifier(key, name, scheme, record.state, plain_target(record), 1, written, key, record.created),
        (Revision(1, at, by.id, action, written, note, digest),),
        full_text(name, record),
        reverse_entries(record),
    )


def alias_change(change: Change, alias: LocatedName, record: Record) -> Change:
    """Build another name for the same object: a row of its own, with the record and history of the first."""
    row = msgspec.structs.replace(change.identifier, name=alias.name, key=alias.key, scheme=alias.scheme)
    return Change(row, (), full_text(alias.name, record))


def append_revision(
    transaction: Transaction,
    identifier: Identifier,
    record: Record,
    by: Agent,
    action: str,
    at: str,
    note: str | None = None,
    largest: int | None = None,
) -> int:
    """Write a new version of an identifier, under all its names. Return the version number."""
    newest = transaction.newest_revision(identifier.subject)
    if newest is None or newest.version != identifier.version:
        raise Conflict(identifier.name, f"version {identifier.version}", f"version {newest.version if newest else 0}")
    before = records.decode(identifier.record)
    names = (
        transaction.find_many([identifier.subject])
        if identifier.subject != identifier.key
        else {identifier.key: identifier}
    )
    subject = names[identifier.subject]
    others = find_aliases(transaction, subject, before)
    changes = next_revision(subject, others, newest, before, record, by, action, at, note, largest)
    transaction.update(changes)
    new_names = [name for name in record.other_names if name not in before.other_names]
    if new_names:
        transaction.insert([alias_change(changes[0], locate(transaction, name), record) for name in new_names])
    write_consequences(transaction, subject.key, before, record, identifier.version + 1)
    return identifier.version + 1


def next_revision(
    subject: Identifier,
    others: Sequence[Identifier],
    newest: Revision,
    before: Record,
    record: Record,
    by: Agent,
    action: str,
    at: str,
    note: str | None = None,
    largest: int | None = None,
) -> list[Change]:
    """Build the changes that write a new version of an identifier, under its first name and its others."""
    at, version = max(at, newest.at), subject.version + 1
    record = with_change_time(record, at, before, newest.at)
    encoded = encode_within_limit(record, largest)
    content = content_digest(encoded, note)
    digest = revision_digest(subject.key, version, at, by.id, action, content, newest.digest)
    revision = Revision(version, at, by.id, action, encoded, note, digest)
    changes = [
        Change(
            _updated_row(subject, record, encoded, version),
            (revision,),
            full_text(subject.name, record),
            reverse_entries(record),
            reverse_entries(before),
        )
    ]
    changes += [
        Change(_updated_row(other, record, encoded, version), (), full_text(other.name, record)) for other in others
    ]
    return changes


def write_consequences(transaction: Transaction, key: str, before: Record, after: Record, version: int) -> None:
    """Write what follows from a new version: secrets of removed values go, and a person has its observations."""
    forget_secrets(transaction, key, before, after)
    if after.reconstruction is not None:
        transaction.put_derivations(key, version, after.reconstruction.observation_ids)


def encode_within_limit(record: Record, largest: int | None) -> bytes:
    """Return the encoded record. Raise OutOfRange if it is longer than `largest` bytes."""
    encoded = records.encode(record)
    if largest is not None and len(encoded) > largest:
        raise OutOfRange("record", "record", f"the record would be longer than {largest} bytes")
    return encoded


def forget_secrets(transaction: Transaction, key: str, before: Record, after: Record) -> None:
    """Delete the secrets of removed values, or all if the identifier was withdrawn. Nothing brings them back."""
    old = {value.index for value in before.values if value.kind == SECRET}
    if old:
        remaining = (
            {value.index for value in after.values if value.kind == SECRET} if after.tombstone is None else set()
        )
        for index in sorted(old - remaining):
            transaction.put_secret(key, index, None)


def find_aliases(reader: Reader, subject: Identifier, record: Record) -> list[Identifier]:
    """Return the rows of the other names of an identifier."""
    if not record.other_names:
        return []  # nearly all
    keys = {locate(reader, name).key: name for name in record.other_names}
    rows = reader.find_many(list(keys))
    for key, name in keys.items():
        if key not in rows or rows[key].subject != subject.subject:
            raise Conflict(subject.name, f"an alias {name}", "none")
    return [rows[key] for key in keys]


def _updated_row(row: Identifier, record: Record, encoded: bytes, version: int) -> Identifier:
    return msgspec.structs.replace(
        row, state=record.state, target=plain_target(record), version=version, record=encoded, created=record.created
    )
