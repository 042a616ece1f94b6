"""Authority metadata: the parties responsible for an identifier, and its dates (the PILIN policy).

Four facts are recorded: the date of creation, the date of the last update, the creator, and the owners if they differ
from the creator. Four are never recorded: managers, the date of creation of the name, the namespace of authority, and
the resource type.
"""

from functools import cache, lru_cache
from typing import Final

import msgspec

from perdure.errors import InvalidInput, InvalidName
from perdure.names import handle
from perdure.records.record import Record
from perdure.records.value import Value

DEFAULT_TYPE_PREFIX: Final = "102.100.TYPE"
CREATION_DATE: Final = "CREATION_DATE"
CREATOR: Final = "CREATOR"
OWNER: Final = "OWNER"
DESCRIPTIONS: Final = {
    CREATION_DATE: "Date of creation of identifier: the date of the first association of the identifier's name with "
    "the thing being identified. ISO 8601, in UTC.",
    CREATOR: "Identifier creator: the party that first created the identifier, given as an actionable identifier "
    "that resolves to information about that party.",
    OWNER: "Identifier owner: a party other than the creator that is responsible for the identifier, given as an "
    "actionable identifier that is not a handle. An owner that is a handle is in an HS_ADMIN value.",
}


class AuthorityMetadata(msgspec.Struct, frozen=True, omit_defaults=True):
    """The metadata that the policy requires. `created` and `updated` are None for a name without a thing."""

    creator: str
    created: str | None = None
    updated: str | None = None
    owners: tuple[str, ...] = ()


def build_metadata(record: Record, revised: str) -> AuthorityMetadata:
    """Return the authority metadata of a record whose newest revision is from `revised`.

    The last update is not stored. It is the newest value timestamp or the newest revision, whichever is later.
    """
    updated = None
    if record.created is not None:
        updated = max([to_seconds(revised), record.created, *(value.timestamp for value in record.values)])
    return AuthorityMetadata(record.creator, record.created, updated, record.owners)


def newest_timestamp(record: Record) -> str:
    """Return the newest timestamp that a reader of a bound record's public values sees, or the creation date."""
    return max([record.created or "", *[value.timestamp for value in record.values if value.is_public]])


def change_time(record: Record, revised: str | None) -> str:
    """Return the time that the values about the responsible parties show: the newest change that no other value shows.

    A record that does not state it was either never changed, or is from an earlier release. `revised`, the time of its
    newest revision, tells the two apart.
    """
    created = record.created or ""
    if record.changed is not None:
        return max(created, record.changed)
    if revised is None:
        return created
    updated = build_metadata(record, revised).updated or ""
    return updated if updated > newest_timestamp(record) else created


def with_change_time(record: Record, at: str, before: Record | None = None, revised: str | None = None) -> Record:
    """Return a record that is written at `at`, with the time of the newest change that no value of it shows.

    `before` and `revised` are the version before it and its time. The first version states nothing unless it must.
    """
    if record.created is None:
        return record
    updated = build_metadata(record, at).updated
    is_hidden = updated is not None and newest_timestamp(record) < updated
    if before is None:
        changed = updated if is_hidden else None
    elif is_hidden or before.owners != record.owners:
        changed = updated
    else:
        changed = change_time(before, revised) or record.created
    return record if changed == record.changed else msgspec.structs.replace(record, changed=changed)


def to_seconds(instant: str) -> str:
    """Return an instant as the policy writes it: ISO 8601 in UTC with seconds and Z, without fractions.

    >>> to_seconds("2007-06-22T02:53:46.123456Z")
    '2007-06-22T02:53:46Z'
    """
    return instant[:19] + "Z"


def party_handle(identifier: str) -> str | None:
    """Return the handle of a party, without `hdl:`. None if it is identified by something else, as an ORCID iD.

    >>> party_handle("hdl:102.100.pilin2/XYZZY"), party_handle("https://orcid.org/0000-0002-1825-0097")
    ('102.100.pilin2/XYZZY', None)
    """
    written = to_handle(identifier)
    return written if "/" in written and "://" not in written else None


@lru_cache(maxsize=4096)
def to_handle(identifier: str) -> str:
    """Return an actionable identifier as in Handle records: a handle without `hdl:`, anything else unchanged."""
    try:
        return str(handle.parse(identifier, joiners=True))  # it was checked before it was stored
    except InvalidName:
        return identifier


@cache
def metadata_types(type_prefix: str) -> dict[str, str]:
    """Return the case-folded types of authority metadata, and the name of each."""
    return {handle.fold(f"{type_prefix}/{kind}"): kind for kind in DESCRIPTIONS}


def immutable_metadata_error(value: Value, kind: str) -> InvalidInput:
    """Return the error for a client that sends such a value: only the registry records it."""
    reason = f"the {kind} of an identifier is recorded by the registry and cannot be changed"
    if kind == OWNER:
        reason = "the owners of an identifier are not values: name them with `owners`, or transfer the identifier"
    return InvalidInput("record", f"values[{value.index}].data", reason)
