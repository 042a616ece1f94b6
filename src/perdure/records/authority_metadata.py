"""Authority metadata: the parties responsible for an identifier, and its dates (the PILIN policy).

Four facts are recorded: the date of creation, the date of the last update, the creator, and the owners if they differ
from the creator. Four are never recorded: managers, the date of creation of the name, the namespace of authority, and
the resource type.
"""

from functools import cache, lru_cache
from operator import attrgetter
from typing import Final

import msgspec

from perdure.errors import InvalidInput, InvalidName
from perdure.names import handle
from perdure.records.record import Record
from perdure.records.value import ADMIN, Admin, AdminRights, Data, Text, Value

DEFAULT_TYPE_PREFIX: Final = "102.100.TYPE"
CREATION_DATE: Final = "CREATION_DATE"
CREATOR: Final = "CREATOR"
DESCRIPTIONS: Final = {
    CREATION_DATE: "Date of creation of identifier: the date of the first association of the identifier's name with "
    "the thing being identified. ISO 8601, in UTC.",
    CREATOR: "Identifier creator: the party that first created the identifier, given as an actionable identifier "
    "that resolves to information about that party.",
}

# Derived values get the first free index from these on. Clients put administrators, and sometimes other values, at 100
# and above; metadata of the record come after those.
FIRST_ADMIN: Final = 100
FIRST_METADATA: Final = 190
ADMIN_INDEX: Final = 200  # of the value of an administrator's handle that usually holds the key
_BY_INDEX: Final = attrgetter("index")
_ALL_BUT_LIST: Final = "011111110011"  # the usual permissions of the administrator of a handle


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


def to_seconds(instant: str) -> str:
    """Return an instant as the policy writes it: ISO 8601 in UTC with seconds and Z, without fractions.

    >>> to_seconds("2007-06-22T02:53:46.123456Z")
    '2007-06-22T02:53:46Z'
    """
    return instant[:19] + "Z"


@lru_cache(maxsize=4096)
def to_handle(identifier: str) -> str:
    """Return an actionable identifier as in Handle records: a handle without `hdl:`, anything else unchanged."""
    try:
        return str(handle.parse(identifier))
    except InvalidName:
        return identifier


@cache
def metadata_types(type_prefix: str) -> dict[str, str]:
    """Return the case-folded types of the values about creation, and the name of each."""
    return {handle.fold(f"{type_prefix}/{kind}"): kind for kind in (CREATION_DATE, CREATOR)}


def immutable_metadata_error(value: Value, kind: str) -> InvalidInput:
    """Return the error for a client that sends such a value: only the registry records it."""
    reason = f"the {kind} of an identifier is recorded by the registry and cannot be changed"
    return InvalidInput("record", f"values[{value.index}].data", reason)


@cache
def _derived_kinds(type_prefix: str) -> tuple[tuple[int, str, str], ...]:
    """Return the first index, the type and the case-folded type of each derived value."""
    kinds = (
        (FIRST_ADMIN, ADMIN),
        (FIRST_METADATA, f"{type_prefix}/{CREATION_DATE}"),
        (FIRST_METADATA, f"{type_prefix}/{CREATOR}"),
    )
    return tuple((index, kind, handle.fold(kind)) for index, kind in kinds)


@lru_cache(maxsize=4096)  # few parties are responsible for many identifiers
def _admin_and_creator(creator: str, owners: tuple[str, ...]) -> tuple[Admin, Text]:
    """Return the administrator (the handle of the owner or, if no owner has one, of the creator), and the creator."""
    handles = [to_handle(party) for party in (*owners, creator)]
    administrator = next((party for party in handles if "://" not in party), handles[0])
    return Admin(AdminRights(administrator, ADMIN_INDEX, _ALL_BUT_LIST)), Text(to_handle(creator))


def handle_values(record: Record, type_prefix: str = DEFAULT_TYPE_PREFIX) -> tuple[Value, ...]:
    """Return the values of a record for Handle clients: its own, and the authority metadata as values.

    A type that the record already has (for example an imported HS_ADMIN) is not added.
    """
    values = list(record.values)
    if record.created is None:
        return tuple(values)
    administrator, creator = _admin_and_creator(record.creator, record.owners)
    derived: tuple[Data, ...] = administrator, Text(record.created), creator
    taken = {value.index for value in values}
    types = {handle.fold(value.type) for value in values}
    for (index, kind, compared), data in zip(_derived_kinds(type_prefix), derived, strict=True):
        if compared in types:
            continue
        while index in taken:
            index += 1
        taken.add(index)
        values.append(Value(index, kind, data, record.created))
    values.sort(key=_BY_INDEX)
    return tuple(values)
