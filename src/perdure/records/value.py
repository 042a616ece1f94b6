"""Values: the typed elements of a Handle record, in the form that Handle clients read and write.

>>> decode_value(b'{"index":1,"type":"URL","data":{"format":"string","value":"https://example.org/"}}').text
'https://example.org/'
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from perdure.records import public_key
from perdure.records.binary_data import bytes_to_json
from perdure.records.frozen_struct import FrozenStruct

DEFAULT_TTL: Final = 86_400


class UnstatedTtl(int):
    """The TTL of a value for which none was given. The default of its prefix replaces it before the value is stored.

    It has a type of its own, which no encoder accepts, so that it cannot be stored by mistake.
    """


UNSTATED_TTL: Final = UnstatedTtl(DEFAULT_TTL)


def stated_ttl(ttl: int | str | None) -> int | str:
    """Return the TTL that a client gave, or the mark that it gave none."""
    return UNSTATED_TTL if ttl is None else ttl


# Four characters: admin read, admin write, public read, public write.
DEFAULT_PERMISSIONS: Final = "1110"
ADMIN_READ: Final = 0  # positions in the string
ADMIN_WRITE: Final = 1
PUBLIC_READ: Final = 2

ADMIN: Final = "HS_ADMIN"
SECRET: Final = "HS_SECKEY"  # noqa: S105  (the name of a type)
PUBLIC_KEY: Final = public_key.PUBLIC_KEY
VALUE_LIST: Final = "HS_VLIST"
ALIAS: Final = "HS_ALIAS"
# Types that identify administrators: keys, and lists of administrators.
KEYS: Final = frozenset({SECRET, PUBLIC_KEY, VALUE_LIST})
PROOFS: Final = frozenset({SECRET, PUBLIC_KEY})  # those that a client authenticates with


class Reference(FrozenStruct, frozen=True):
    """A reference to one value of a handle."""

    handle: str
    index: int


class Text(FrozenStruct, frozen=True, tag_field="format", tag="string"):
    """Data that is text."""

    value: str


class Binary(FrozenStruct, frozen=True, tag_field="format", tag="base64"):
    """Data that is bytes."""

    value: bytes


class AdminRights(FrozenStruct, frozen=True):
    """The administrator of a handle, as a value of a handle, and twelve permissions from "list" to "add handle"."""

    handle: str
    index: int
    permissions: str


class Admin(FrozenStruct, frozen=True, tag_field="format", tag="admin"):
    """Data of HS_ADMIN."""

    value: AdminRights


class ValueList(FrozenStruct, frozen=True, tag_field="format", tag="vlist"):
    """Data of HS_VLIST: references to values."""

    value: tuple[Reference, ...]


Data = Text | Binary | Admin | ValueList


class Value(FrozenStruct, frozen=True, omit_defaults=True):
    """A value. `ttl` is seconds, or the instant (ISO 8601) at which the value expires.

    `verbatim` marks an address that was imported as it was, although it is not valid. It is shown to every reader, but
    no reader is redirected to it, and it is never a link, until an agent replaces it.
    """

    index: int
    type: str
    data: Data
    timestamp: str = ""  # ISO 8601 in UTC with seconds and Z, set by the registry
    ttl: int | str = DEFAULT_TTL
    permissions: str = DEFAULT_PERMISSIONS
    references: tuple[Reference, ...] = ()
    verbatim: bool = False

    @property
    def text(self) -> str | None:
        """Return the data if it is text, or None."""
        return self.data.value if isinstance(self.data, Text) else None

    @property
    def is_url(self) -> bool:
        """Return whether the value is a URL. Clients compare types without case."""
        return self.type == "URL" or self.type.upper() == "URL"

    @property
    def is_public(self) -> bool:
        return self.permissions[PUBLIC_READ] == "1"

    @property
    def kind(self) -> str:
        """Return the type in upper case, as types are compared."""
        return self.type.upper()

    @property
    def is_administrator(self) -> bool:
        return self.kind == ADMIN

    @property
    def is_key(self) -> bool:
        """Return whether the value is a key of an administrator, or a list of administrators."""
        return self.kind in KEYS


decode_value: Final = msgspec.json.Decoder(Value).decode


class JsonValue(msgspec.Struct, gc=False):
    """A value in the JSON of Handle servers, always with its TTL, and never with default permissions."""

    index: int
    type: str
    data: Data | dict[str, Any]
    ttl: int | str
    timestamp: str
    permissions: str | msgspec.UnsetType = msgspec.UNSET
    references: tuple[Reference, ...] | msgspec.UnsetType = msgspec.UNSET


def to_json_value(value: Value) -> JsonValue:
    """Return a value for the JSON of Handle servers."""
    data = value.data
    json_data = bytes_to_json(value.kind, data.value) if type(data) is Binary else data
    view = JsonValue(value.index, value.type, json_data, value.ttl, value.timestamp)
    if value.permissions != DEFAULT_PERMISSIONS:
        view.permissions = value.permissions
    if value.references:
        view.references = value.references
    return view


def to_handle_json(value: Value) -> dict[str, Any]:
    """Return the JSON of a value as built-in types."""
    fields: dict[str, Any] = msgspec.to_builtins(to_json_value(value))
    return fields


def without_secret(value: Value) -> Value:
    """Return a value without its secret. A record stores only that there is one, without public permissions."""
    return msgspec.structs.replace(value, data=Text(""), permissions=f"{value.permissions[:PUBLIC_READ]}00")


def with_verbatim_marks(values: Iterable[Value], before: Iterable[Value]) -> list[Value]:
    """Return the values, with the mark `verbatim` on exactly those that a client sends back as they are stored."""
    stored = {value.index: (value.kind, value.data) for value in before if value.verbatim}
    marked = []
    for value in values:
        is_stored = stored.get(value.index) == (value.kind, value.data) if stored else False
        marked.append(value if value.verbatim == is_stored else msgspec.structs.replace(value, verbatim=is_stored))
    return marked


def with_stated_ttl(values: Iterable[Value], default: int | None) -> list[Value]:
    """Return the values with a TTL each: their own, or the default of their prefix, or the usual one."""
    ttl = DEFAULT_TTL if default is None else default
    return [msgspec.structs.replace(value, ttl=ttl) if type(value.ttl) is UnstatedTtl else value for value in values]


def equals_ignoring_timestamp(first: Value, second: Value) -> bool:
    """Return whether two values are equal apart from their timestamps."""
    return first == msgspec.structs.replace(second, timestamp=first.timestamp)
