"""Where a Handle client points: an identifier that is there or not, or the record of a prefix, which always is."""

from typing import Final

import msgspec

from perdure.errors import Immutable, NoSuchName, Withdrawn, WrongState
from perdure.records import record as records
from perdure.records.authority import to_seconds
from perdure.records.record import Record
from perdure.registry.entities import Identifier, Prefix, Scheme
from perdure.registry.existing import find_located, suggestions
from perdure.registry.naming import locate
from perdure.registry.prefix_names import RECORDS, prefix_of_key, prefix_of_record, record_key, record_name
from perdure.registry.protocol import Reader

_OBSERVED: Final = "an observation never changes; a new extraction is a new observation"


class Place(msgspec.Struct, frozen=True):
    """A name under a prefix of this registry. `scope` is that prefix; `of_prefix` the one whose record this is."""

    key: str
    name: str
    scheme: Scheme
    scope: str
    row: Identifier | None = None
    record: Record | None = None
    prefix: Prefix | None = None
    of_prefix: Prefix | None = None

    @property
    def subject(self) -> str:
        """What its history and its secrets are kept under."""
        return self.key if self.row is None else self.row.subject


def find_place(reader: Reader, text: str) -> Place:
    """The place that a text in any of its forms names; NoSuchPrefix if it is not in this registry."""
    of_prefix = prefix_of_record(reader, text)
    if of_prefix is None:
        located = locate(reader, text)
        if located.prefix.key == RECORDS:
            of_prefix = prefix_of_key(reader, located.key)
        if of_prefix is None:
            row = find_located(reader, located)
            place = Place(located.key, located.name, located.scheme, located.prefix.key, prefix=located.prefix)
            return place if row is None else _found(place, row)
    place = Place(record_key(reader, of_prefix), record_name(of_prefix), "handle", RECORDS, of_prefix=of_prefix)
    row = reader.find(place.key)
    return place if row is None else _found(place, row)


def _found(place: Place, row: Identifier) -> Place:
    return msgspec.structs.replace(place, key=row.key, name=row.name, row=row, record=records.decode(row.record))


def existing_record(reader: Reader, place: Place, text: str) -> Record:
    """The record as it stands, whatever its state."""
    if place.record is None:
        raise NoSuchName(place.name, suggestions(reader, locate(reader, text)))
    return place.record


def refuse_gone(place: Place, record: Record) -> None:
    """Refuse what is withdrawn, or a name that stands for nothing yet."""
    if record.tombstone is not None:
        raise Withdrawn(place.name, record.tombstone.reason, record.tombstone.replaced_by)
    if record.state != "active":
        raise WrongState(place.name, record.state, "active (bind it first)")


def refuse_observed(place: Place, record: Record) -> None:
    if record.observation is not None:
        raise Immutable(place.name, _OBSERVED)


def record_of_prefix(place: Place, creator: str, now: str) -> Record:
    """What is stated of a prefix; nothing, where nobody wrote to its record or it was withdrawn."""
    record = place.record or Record(state="active", creator=creator, created=to_seconds(now))
    if record.state == "active":
        return record
    created = record.created or to_seconds(now)
    return msgspec.structs.replace(record, state="active", created=created, tombstone=None, values=())
