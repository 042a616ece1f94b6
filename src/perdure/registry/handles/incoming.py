"""Values as Handle clients send them: secrets are set apart, and what a client was only shown is not taken back."""

from collections.abc import Sequence
from typing import Final

import msgspec

from perdure.errors import InvalidInput, OutOfRange, ValueExists
from perdure.exchange.handle_data import from_bytes
from perdure.names import handle
from perdure.records.authority import handle_values, metadata_types, recorded_already, to_seconds
from perdure.records.checks import Limits, checked_values
from perdure.records.record import Record
from perdure.records.value import (
    ADMIN,
    DEFAULT_PERMISSIONS,
    SECRET,
    VALUE_LIST,
    Admin,
    Binary,
    Data,
    Text,
    Value,
    ValueList,
    hidden_secret,
    same_statement,
)

_LONGEST_SECRET: Final = 1024  # bytes


class Incoming(msgspec.Struct, frozen=True):
    """Values that were checked, without timestamps, and the secrets of those that have one. It shows no secret."""

    values: tuple[Value, ...]
    secrets: dict[int, bytes]

    def __repr__(self) -> str:
        return f"Incoming({self.values!r})"


def received(values: Sequence[Value], name: str, limits: Limits) -> Incoming:
    """What a client sent, each field of it right. Two values with one index are a conflict, as Handle servers say."""
    secrets: dict[int, bytes] = {}
    kept: list[Value] = []
    seen: set[int] = set()
    for value in values:
        if value.index in seen:
            raise ValueExists(name, value.index)
        seen.add(value.index)
        if value.kind == SECRET:
            if secret := _secret(value):
                secrets[value.index] = secret
            if len(value.permissions) == len(DEFAULT_PERMISSIONS):
                value = hidden_secret(value)
        kept.append(msgspec.structs.replace(_typed(value), timestamp=""))
    return Incoming(checked_values(kept, limits), secrets)


def _secret(value: Value) -> bytes:
    """The secret itself; empty where the client sends back what it was shown."""
    data = value.data
    part = f"values[{value.index}].data"
    if not isinstance(data, Text | Binary):
        raise InvalidInput("record", part, f"the data of {SECRET} is text or bytes")
    try:
        secret = data.value.encode() if isinstance(data, Text) else data.value
    except UnicodeEncodeError:
        raise InvalidInput("record", part, f"the data of {SECRET} is no text") from None
    if len(secret) > _LONGEST_SECRET:
        raise OutOfRange("record", part, f"a secret is not longer than {_LONGEST_SECRET} bytes")
    return secret


def _typed(value: Value) -> Value:
    """Administrators and lists in the form that gives rights: one that was not understood would promise too much."""
    if value.kind not in (ADMIN, VALUE_LIST):
        return value
    data = value.data
    if isinstance(data, Binary):
        data = from_bytes(value.kind, data.value)
    if not isinstance(data, Admin if value.kind == ADMIN else ValueList):
        what = "an administrator" if value.kind == ADMIN else "a list of values"
        raise InvalidInput("record", f"values[{value.index}].data", f"the data of {value.type} is not {what}")
    return msgspec.structs.replace(value, data=data)


def only_shown(record: Record, type_prefix: str) -> list[Value]:
    """The values that a client is shown though nobody stated them."""
    stated = {value.index for value in record.values}
    return [value for value in handle_values(record, type_prefix) if value.index not in stated]


def without_shown(
    values: Sequence[Value], record: Record | None, type_prefix: str, shown: Sequence[Value]
) -> list[Value]:
    """The values without those that the client was only shown, and sends back.

    Who created an identifier, and when, never changes: to say something else of that is an error.
    """
    told = set() if record is None else {_said(value) for value in handle_values(record, type_prefix)}
    stated = set() if record is None else {_said(value) for value in record.values}
    only_told = {(value.index, *_said(value)) for value in shown}
    metadata = metadata_types(type_prefix)
    kept = []
    for value in values:
        said = _said(value)
        kind = metadata.get(said[0])
        if kind is None:
            if (value.index, *said) not in only_told:
                kept.append(value)
            continue
        if said not in told:
            raise recorded_already(value, kind)
        if said in stated:
            kept.append(value)
    return kept


def _said(value: Value) -> tuple[str, Data]:
    """What counts when two values are compared without their places: the type and the data."""
    return handle.fold(value.type), value.data


def timed(values: Sequence[Value], before: Sequence[Value], incoming: Incoming, at: str) -> list[Value]:
    """Each value with its time: now, or that of the value that says the same already. A new secret is always now."""
    second = to_seconds(at)
    old = {value.index: value for value in before}
    timed = []
    for value in values:
        known = old.get(value.index)
        if known is not None and value.index not in incoming.secrets and same_statement(known, value):
            timed.append(known)
        else:
            _refuse_empty_secret(value, known, incoming)
            timed.append(msgspec.structs.replace(value, timestamp=second))
    return timed


def _refuse_empty_secret(value: Value, known: Value | None, incoming: Incoming) -> None:
    is_kept = known is not None and known.kind == SECRET
    if value.kind == SECRET and value.index not in incoming.secrets and not is_kept:
        raise InvalidInput("record", f"values[{value.index}].data", f"the data of {SECRET} is empty")
