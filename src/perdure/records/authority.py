"""Authority metadata: who answers for an identifier, and since when (the PILIN policy).

Four things are said: the date of creation, the date of the last update, the creator, and the owners where they are
others. Four things are never recorded: managers, the date of creation of the name, the namespace of authority,
and the resource type.
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

# Where derived values go: from here up, wherever the record leaves an index free. Clients put administrators, and now
# and then values of their own, at 100 and after; what is told of the record itself stands behind those.
FIRST_ADMIN: Final = 100
FIRST_METADATA: Final = 190
ADMIN_INDEX: Final = 200  # of an administrator's handle, where the usual key of one is
_BY_INDEX: Final = attrgetter("index")
_ALL_BUT_LIST: Final = "011111110011"  # what clients of Handle servers give the administrator of a handle


class AuthorityMetadata(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the policy asks for, under plain names; `created` and `updated` are None for a name without a thing."""

    creator: str
    created: str | None = None
    updated: str | None = None
    owners: tuple[str, ...] = ()


def metadata(record: Record, revised: str) -> AuthorityMetadata:
    """The authority metadata of a record whose newest revision was made at `revised`.

    The last update is never stored: it is the newest value timestamp or the newest revision, whichever is later.
    """
    updated = None
    if record.created is not None:
        updated = max([to_seconds(revised), record.created, *(value.timestamp for value in record.values)])
    return AuthorityMetadata(record.creator, record.created, updated, record.owners)


def to_seconds(instant: str) -> str:
    """An instant as the policy writes it: ISO 8601 in UTC with seconds and Z, anything finer cut off.

    >>> to_seconds("2007-06-22T02:53:46.123456Z")
    '2007-06-22T02:53:46Z'
    """
    return instant[:19] + "Z"


@lru_cache(maxsize=4096)
def as_handle(identifier: str) -> str:
    """An actionable identifier as Handle records name it: a handle without `hdl:`, anything else as it is."""
    try:
        return str(handle.parse(identifier))
    except InvalidName:
        return identifier


@cache
def metadata_types(type_prefix: str) -> dict[str, str]:
    """The types of the values that tell of creation, as they are compared, and what each is called."""
    return {handle.fold(f"{type_prefix}/{kind}"): kind for kind in (CREATION_DATE, CREATOR)}


def recorded_already(value: Value, kind: str) -> InvalidInput:
    """What to say to somebody who states one of them: it is known, and not from them."""
    reason = f"the {kind} of an identifier is recorded by the registry, and never changes"
    return InvalidInput("record", f"values[{value.index}].data", reason)


@cache
def _derived_kinds(type_prefix: str) -> tuple[tuple[int, str, str], ...]:
    """What is told of a record: from which index up, its type, and that as it is compared."""
    kinds = (
        (FIRST_ADMIN, ADMIN),
        (FIRST_METADATA, f"{type_prefix}/{CREATION_DATE}"),
        (FIRST_METADATA, f"{type_prefix}/{CREATOR}"),
    )
    return tuple((index, kind, handle.fold(kind)) for index, kind in kinds)


@lru_cache(maxsize=4096)  # few answer for many
def _parties(creator: str, owners: tuple[str, ...]) -> tuple[Admin, Text]:
    """Who administers: the owner's handle; where no owner has one, the creator's. And who created."""
    handles = [as_handle(party) for party in (*owners, creator)]
    administrator = next((party for party in handles if "://" not in party), handles[0])
    return Admin(AdminRights(administrator, ADMIN_INDEX, _ALL_BUT_LIST)), Text(as_handle(creator))


def handle_values(record: Record, type_prefix: str = DEFAULT_TYPE_PREFIX) -> tuple[Value, ...]:
    """The record as Handle clients see it: its own values, and the authority metadata realised as values.

    What the record says itself (an HS_ADMIN that was imported, say) is not said twice.
    """
    values = list(record.values)
    if record.created is None:
        return tuple(values)
    administrator, creator = _parties(record.creator, record.owners)
    told: tuple[Data, ...] = administrator, Text(record.created), creator
    taken = {value.index for value in values}
    types = {handle.fold(value.type) for value in values}
    for (index, kind, compared), data in zip(_derived_kinds(type_prefix), told, strict=True):
        if compared in types:
            continue
        while index in taken:
            index += 1
        taken.add(index)
        values.append(Value(index, kind, data, record.created))
    values.sort(key=_BY_INDEX)
    return tuple(values)
