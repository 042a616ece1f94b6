"""The input for a record, before it is checked, and the first record that is built from it."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from perdure.errors import InvalidInput, quote_text
from perdure.names import handle
from perdure.records.authority_metadata import immutable_metadata_error, metadata_types, to_seconds
from perdure.records.frozen_struct import FrozenStruct
from perdure.records.record import About, Record
from perdure.records.validation import Limits, check_about, check_target, check_values
from perdure.records.value import UNSTATED_TTL, Text, Value, equals_ignoring_timestamp
from perdure.registry.entities import Agent
from perdure.registry.responsible_parties import check_resolvable_party, distinct_owners
from perdure.registry.store_interface import Reader

TARGET_INDEX = 1


class Statement(FrozenStruct, frozen=True):
    """A target, values, a description, and the responsible parties. An empty statement reserves the name for later."""

    target: str | None = None
    values: tuple[Value, ...] = ()
    about: About | None = None
    creator: str | None = None
    owners: tuple[str, ...] = ()
    ttl: int | str = UNSTATED_TTL  # of the target

    @property
    def binds(self) -> bool:
        """Return whether this binds the name to an object."""
        return self.target is not None or bool(self.values)


def build_values(statement: Statement, limits: Limits, at: str) -> tuple[Value, ...]:
    """Return the values, with the target among them as a URL, checked and with timestamps.

    Those without a TTL get that of their prefix later, when it is known (`with_stated_ttl`).
    """
    values: tuple[Value, ...] = ()
    if statement.values:
        refuse_future_timestamps(statement.values, at)
        values = check_values(with_timestamps(statement.values, at), limits)
    if statement.target is None:
        return values
    refuse_second_target(values)
    target = Value(TARGET_INDEX, "URL", Text(check_target(statement.target, limits)), to_seconds(at), statement.ttl)
    return (*check_values((target,), limits), *values)


def refuse_second_target(values: Sequence[Value]) -> None:
    """Refuse a value, beside a target, that has the index of the target."""
    if any(value.index == TARGET_INDEX for value in values):
        raise InvalidInput("record", "index", f"index {TARGET_INDEX} is used by the target and by a value")


def refuse_future_timestamps(values: Sequence[Value], at: str) -> None:
    """Refuse a timestamp in the future: the last update would go backwards when its value is removed."""
    for value in values:
        if value.timestamp > to_seconds(at):
            part = f"values[{value.index}].timestamp"
            raise InvalidInput("record", part, f"timestamp {quote_text(value.timestamp)} is in the future")


def refuse_metadata(values: Sequence[Value], type_prefix: str, before: Sequence[Value] = ()) -> None:
    """Refuse values that state the creator or the creation date: the registry records those itself.

    `before` are values that are in the record already, from an import, and may stay.
    """
    types = metadata_types(type_prefix)
    old = {value.index: value for value in before}
    for value in values:
        kind = types.get(handle.fold(value.type))
        if kind is not None and (
            (known := old.get(value.index)) is None or not equals_ignoring_timestamp(known, value)
        ):
            raise immutable_metadata_error(value, kind)


def with_timestamps(values: Sequence[Value], at: str) -> list[Value]:
    """Return the values with a timestamp each: their own, or the current time."""
    second = to_seconds(at)
    return [value if value.timestamp else msgspec.structs.replace(value, timestamp=second) for value in values]


def first_record(
    reader: Reader, by: Agent, statement: Statement, values: tuple[Value, ...], limits: Limits, at: str
) -> Record:
    """Build the record of a new identifier."""
    return build_first_record(statement, values, resolve_parties(reader, by, statement, limits), limits, at)


class ResponsibleParties(NamedTuple):
    """The creator of a new identifier, and its owners if they are others."""

    creator: str
    owners: tuple[str, ...] = ()


def resolve_parties(reader: Reader, by: Agent, statement: Statement, limits: Limits) -> ResponsibleParties:
    """Return the parties of a statement in stored form. The agent is the creator if the statement names none."""
    creator = (
        by.identifier
        if statement.creator is None
        else check_resolvable_party(reader, statement.creator, "creator", limits)
    )
    owners = distinct_owners(reader, statement.owners, creator, limits) if statement.owners else ()
    return ResponsibleParties(creator, owners)


def build_first_record(
    statement: Statement, values: tuple[Value, ...], parties: ResponsibleParties, limits: Limits, at: str
) -> Record:
    """Build the record of a new identifier. A name without an object is reserved, and has no creation date yet."""
    return Record(
        state="active" if statement.binds else "reserved",
        creator=parties.creator,
        owners=parties.owners,
        created=to_seconds(at) if statement.binds else None,
        values=values,
        about=check_about(statement.about, limits),
    )
