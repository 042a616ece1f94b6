"""The values of a record as Handle clients see it: those that it has, and its authority metadata as values.

| type | index | content |
|---|---|---|
| HS_ADMIN | from 100 | an owner that is a handle; without owners, the creator. Without permissions: grants give those |
| CREATION_DATE | from 190 | the creation date |
| CREATOR | from 190 | the creator |
| OWNER | from 190 | an owner that is not a handle |

The newest timestamp of the record is its last update, as the PILIN policy defines it. So the derived values about
responsible parties have the time of the newest change that no other value shows.
"""

from functools import cache, lru_cache
from operator import attrgetter
from typing import Final, NamedTuple

from perdure.names import handle
from perdure.records.authority_metadata import (
    CREATION_DATE,
    CREATOR,
    DEFAULT_TYPE_PREFIX,
    OWNER,
    change_time,
    party_handle,
    to_handle,
)
from perdure.records.record import Record
from perdure.records.value import ADMIN, Admin, AdminRights, Data, Text, Value

# Derived values get the first free index from these on. Clients put administrators, and sometimes other values, at 100
# and above; metadata of the record come after those.
FIRST_ADMIN: Final = 100
FIRST_METADATA: Final = 190
ADMIN_INDEX: Final = 200  # of the value of an administrator's handle that usually holds the key
USUAL_RIGHTS: Final = "011111110011"  # what Handle clients give the administrator of a handle
NO_RIGHTS: Final = "000000000000"
_BY_INDEX: Final = attrgetter("index")
_ADMIN_FOLDED: Final = handle.fold(ADMIN)


class _DerivedValue(NamedTuple):
    """A value before it has an index and a timestamp."""

    first_index: int
    type: str
    data: Data


def _by_first_index(dated: tuple[_DerivedValue, str]) -> int:
    return dated[0].first_index


@cache
def _folded_type(type_prefix: str, kind: str) -> str:
    return handle.fold(f"{type_prefix}/{kind}")


@lru_cache(maxsize=4096)  # few parties are responsible for many identifiers
def _party_values(owners: tuple[str, ...], type_prefix: str) -> tuple[_DerivedValue, ...]:
    """Return one value for each of these parties: an administrator without permissions if it is a handle."""
    derived: list[_DerivedValue] = []
    for owner in owners:
        name = party_handle(owner)
        if name is None:
            derived.append(_DerivedValue(FIRST_METADATA, f"{type_prefix}/{OWNER}", Text(owner)))
        else:
            derived.append(_DerivedValue(FIRST_ADMIN, ADMIN, Admin(AdminRights(name, ADMIN_INDEX, NO_RIGHTS))))
    return tuple(derived)


def _responsible_parties(
    record: Record, type_prefix: str, is_administered: bool, names_creator: bool
) -> tuple[_DerivedValue, ...]:
    """Return the values that name the owners, or the creator as administrator, and that the record does not state."""
    if not record.owners:
        if is_administered or not names_creator or party_handle(record.creator) is None:
            return ()
        return _party_values((record.creator,), type_prefix)
    named = {handle.fold(value.data.value.handle) for value in record.values if isinstance(value.data, Admin)}
    owner_type = _folded_type(type_prefix, OWNER)
    named |= {value.text for value in record.values if value.text and handle.fold(value.type) == owner_type}
    return tuple(one for one in _party_values(record.owners, type_prefix) if _party_of(one.data) not in named)


def _party_of(data: Data) -> str:
    return handle.fold(data.value.handle) if isinstance(data, Admin) else str(data.value)


def handle_values(
    record: Record, type_prefix: str = DEFAULT_TYPE_PREFIX, revised: str | None = None, *, names_creator: bool = True
) -> tuple[Value, ...]:
    """Return the values of a record for Handle clients: its own, and the authority metadata as values.

    What the record states itself (for example an imported HS_ADMIN) is not added. `revised` is the time of the newest
    revision, as for `change_time`. Without `names_creator`, the creator is not shown as an administrator.
    """
    if record.created is None:
        return record.values
    types = {handle.fold(value.type) for value in record.values}
    parties = _responsible_parties(record, type_prefix, _ADMIN_FOLDED in types, names_creator)
    about_origin = [
        _DerivedValue(FIRST_METADATA, f"{type_prefix}/{kind}", Text(text))
        for kind, text in ((CREATION_DATE, record.created), (CREATOR, to_handle(record.creator)))
        if _folded_type(type_prefix, kind) not in types
    ]
    changed = change_time(record, revised)
    dated = [(one, record.created) for one in about_origin] + [(one, changed) for one in parties]
    if about_origin and not parties:
        dated[-1] = about_origin[-1], changed
    values, taken = list(record.values), {value.index for value in record.values}
    for one, timestamp in sorted(dated, key=_by_first_index):
        index = one.first_index
        while index in taken:
            index += 1
        taken.add(index)
        values.append(Value(index, one.type, one.data, timestamp))
    values.sort(key=_BY_INDEX)
    return tuple(values)


def names_owner(rights: AdminRights) -> bool:
    """Return whether an HS_ADMIN names an owner, and no administrator: it has no permissions."""
    return rights.permissions == NO_RIGHTS


def old_administrator(record: Record) -> AdminRights:
    """Return the administrator that releases before 0.3 derived, and wrote into their exports."""
    parties = [to_handle(party) for party in (*record.owners, record.creator)]
    return AdminRights(next((one for one in parties if "://" not in one), parties[0]), ADMIN_INDEX, USUAL_RIGHTS)
