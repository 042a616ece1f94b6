"""Values as Handle clients send them: secrets are separated, and derived values that come back are dropped."""

from collections.abc import Sequence
from typing import Final

import msgspec

from perdure.errors import InvalidInput, OutOfRange, ValueExists
from perdure.formats.handle_data import from_bytes
from perdure.names import handle
from perdure.records.authority_metadata import immutable_metadata_error, metadata_types, to_seconds
from perdure.records.derived_values import handle_values
from perdure.records.record import Record
from perdure.records.validation import Limits, can_be_verbatim, check_value, check_values
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
    equals_ignoring_timestamp,
    without_secret,
)

_LONGEST_SECRET: Final = 1024  # bytes


class ReceivedValues(msgspec.Struct, frozen=True):
    """Values that were checked, without timestamps, and the secrets of those that have one.

    Its repr shows no secret.
    """

    values: tuple[Value, ...]
    secrets: dict[int, bytes]

    def __repr__(self) -> str:
        return f"Incoming({self.values!r})"


def normalise_values(values: Sequence[Value], name: str, limits: Limits) -> ReceivedValues:
    """Check the values that a client sent. Raise ValueExists if two have the same index, as Handle servers do."""
    secrets: dict[int, bytes] = {}
    checked: list[Value] = []
    indexes: set[int] = set()
    for value in values:
        if value.index in indexes:
            raise ValueExists(name, value.index)
        indexes.add(value.index)
        if value.kind == SECRET:
            if secret := _secret_bytes(value):
                secrets[value.index] = secret
            if len(value.permissions) == len(DEFAULT_PERMISSIONS):
                value = without_secret(value)
        checked.append(msgspec.structs.replace(_decode_typed(value), timestamp=""))
    try:
        return ReceivedValues(check_values(checked, limits), secrets)
    except InvalidInput:
        return ReceivedValues(check_values([_without_early_refusal(one, limits) for one in checked], limits), secrets)


def _without_early_refusal(value: Value, limits: Limits) -> Value:
    """Return an address that is not valid with the mark `verbatim`. It is refused later, unless it is stored so."""
    if not can_be_verbatim(value):
        return value
    try:
        check_value(value, limits)
    except InvalidInput:
        return msgspec.structs.replace(value, verbatim=True)
    return value


def _secret_bytes(value: Value) -> bytes:
    """Return the secret; empty if the client sends back the value as it was shown."""
    data = value.data
    part = f"values[{value.index}].data"
    if not isinstance(data, Text | Binary):
        raise InvalidInput("record", part, f"the data of {SECRET} must be text or bytes")
    try:
        secret = data.value.encode() if isinstance(data, Text) else data.value
    except UnicodeEncodeError:
        raise InvalidInput("record", part, f"the data of {SECRET} is not valid Unicode text") from None
    if len(secret) > _LONGEST_SECRET:
        raise OutOfRange("record", part, f"a secret must not be longer than {_LONGEST_SECRET} bytes")
    return secret


def _decode_typed(value: Value) -> Value:
    """Decode administrators and value lists, because only the decoded form gives rights."""
    if value.kind not in (ADMIN, VALUE_LIST):
        return value
    data = value.data
    if isinstance(data, Binary):
        data = from_bytes(value.kind, data.value)
    if not isinstance(data, Admin if value.kind == ADMIN else ValueList):
        what = "an administrator" if value.kind == ADMIN else "a list of values"
        raise InvalidInput("record", f"values[{value.index}].data", f"the data of {value.type} is not {what}")
    return msgspec.structs.replace(value, data=data)


def derived_values(record: Record, type_prefix: str) -> list[Value]:
    """Return the values that a client is shown although they are not stored."""
    stated = {value.index for value in record.values}
    return [value for value in handle_values(record, type_prefix) if value.index not in stated]


def drop_derived_values(
    values: Sequence[Value], record: Record | None, type_prefix: str, derived: Sequence[Value]
) -> list[Value]:
    """Return the values without derived ones that the client was shown and sends back.

    The creator and the creation date never change: a value that states another one is an error.
    """
    shown_pairs = set() if record is None else {_type_and_data(value) for value in handle_values(record, type_prefix)}
    stored_pairs = set() if record is None else {_type_and_data(value) for value in record.values}
    derived_triples = {(value.index, *_type_and_data(value)) for value in derived}
    metadata = metadata_types(type_prefix)
    remaining = []
    for value in values:
        pair = _type_and_data(value)
        kind = metadata.get(pair[0])
        if kind is None:
            if (value.index, *pair) not in derived_triples:
                remaining.append(value)
            continue
        if pair not in shown_pairs:
            raise immutable_metadata_error(value, kind)
        if pair in stored_pairs:
            remaining.append(value)
    return remaining


def _type_and_data(value: Value) -> tuple[str, Data]:
    """Return what counts when two values are compared without their indexes: the type and the data."""
    return handle.fold(value.type), value.data


def stamp_values(values: Sequence[Value], before: Sequence[Value], received: ReceivedValues, at: str) -> list[Value]:
    """Return each value with its timestamp: now, or that of an equal stored value.

    A new secret is always stamped now.
    """
    second = to_seconds(at)
    old = {value.index: value for value in before}
    stamped = []
    for value in values:
        old_value = old.get(value.index)
        if (
            old_value is not None
            and value.index not in received.secrets
            and equals_ignoring_timestamp(old_value, value)
        ):
            stamped.append(old_value)
        else:
            _refuse_empty_secret(value, old_value, received)
            stamped.append(msgspec.structs.replace(value, timestamp=second))
    return stamped


def _refuse_empty_secret(value: Value, old_value: Value | None, received: ReceivedValues) -> None:
    has_secret = old_value is not None and old_value.kind == SECRET
    if value.kind == SECRET and value.index not in received.secrets and not has_secret:
        raise InvalidInput("record", f"values[{value.index}].data", f"the data of {SECRET} is empty")
