"""What somebody says of an identifier, before it is checked, and the record that comes of it."""

from collections.abc import Sequence

import msgspec

from perdure.errors import InvalidInput, shown
from perdure.names import handle
from perdure.records.authority import metadata_types, recorded_already, to_seconds
from perdure.records.checks import Limits, check_target, checked_about, checked_values
from perdure.records.plain import Plain
from perdure.records.record import About, Record
from perdure.records.value import Text, Value, same_statement
from perdure.registry.entities import Agent
from perdure.registry.parties import actionable, distinct_owners
from perdure.registry.protocol import Reader

TARGET_INDEX = 1


class Statement(Plain, frozen=True):
    """A target, values, a description, and who answers for it. Nothing at all: the name is reserved for later."""

    target: str | None = None
    values: tuple[Value, ...] = ()
    about: About | None = None
    creator: str | None = None
    owners: tuple[str, ...] = ()

    @property
    def binds(self) -> bool:
        """Whether the name is associated with a thing by this."""
        return self.target is not None or bool(self.values)


def stated_values(said: Statement, limits: Limits, at: str) -> tuple[Value, ...]:
    """The values, the target among them as a URL, checked and dated."""
    values: tuple[Value, ...] = ()
    if said.values:
        refuse_the_future(said.values, at)
        values = checked_values(dated(said.values, at), limits)
    if said.target is None:
        return values
    check_target(said.target, limits)
    if values and values[0].index == TARGET_INDEX:
        raise InvalidInput("record", "index", f"index {TARGET_INDEX} is the target's, and a value has it too")
    return (Value(TARGET_INDEX, "URL", Text(said.target), to_seconds(at)), *values)


def refuse_the_future(values: Sequence[Value], at: str) -> None:
    """A timestamp that has not come yet would make the last update go backwards when its value is removed."""
    for value in values:
        if value.timestamp > to_seconds(at):
            part = f"values[{value.index}].timestamp"
            raise InvalidInput("record", part, f"timestamp {shown(value.timestamp)} has not come yet")


def refuse_metadata(values: Sequence[Value], type_prefix: str, before: Sequence[Value] = ()) -> None:
    """Who created an identifier, and when, is recorded by the registry: nobody says it in a value.

    `before` are values that stand there already, from an import, and may stay.
    """
    types = metadata_types(type_prefix)
    old = {value.index: value for value in before}
    for value in values:
        kind = types.get(handle.fold(value.type))
        if kind is not None and ((known := old.get(value.index)) is None or not same_statement(known, value)):
            raise recorded_already(value, kind)


def dated(values: Sequence[Value], at: str) -> list[Value]:
    """Values with a timestamp each: their own, or now."""
    second = to_seconds(at)
    return [value if value.timestamp else msgspec.structs.replace(value, timestamp=second) for value in values]


def first_record(
    reader: Reader, by: Agent, said: Statement, values: tuple[Value, ...], limits: Limits, at: str
) -> Record:
    """The record of a new identifier. Its creation date is the first association with a thing, so it may have none."""
    creator = by.identifier if said.creator is None else actionable(reader, said.creator, "creator", limits)
    return Record(
        state="active" if said.binds else "reserved",
        creator=creator,
        owners=distinct_owners(reader, said.owners, creator, limits) if said.owners else (),
        created=to_seconds(at) if said.binds else None,
        values=values,
        about=checked_about(said.about, limits),
    )
