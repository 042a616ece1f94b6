"""Values: what a Handle record holds, one typed statement each, in the form that Handle clients read and write.

>>> decode_value(b'{"index":1,"type":"URL","data":{"format":"string","value":"https://example.org/"}}').text
'https://example.org/'
"""

from typing import Any, Final

import msgspec

from perdure.records.binary_data import shown_bytes
from perdure.records.plain import Plain

DEFAULT_TTL: Final = 86_400
# Four characters: admin read, admin write, public read, public write.
DEFAULT_PERMISSIONS: Final = "1110"
ADMIN_READ: Final = 0  # their places in the string
ADMIN_WRITE: Final = 1
PUBLIC_READ: Final = 2

ADMIN: Final = "HS_ADMIN"
SECRET: Final = "HS_SECKEY"  # noqa: S105  (the name of a type)
PUBLIC_KEY: Final = "HS_PUBKEY"
VALUE_LIST: Final = "HS_VLIST"
# By these somebody proves to be an administrator, or is one of a list of them.
KEYS: Final = frozenset({SECRET, PUBLIC_KEY, VALUE_LIST})
PROOFS: Final = frozenset({SECRET, PUBLIC_KEY})  # those of them that somebody holds


class Reference(Plain, frozen=True):
    """One value of one handle."""

    handle: str
    index: int


class Text(Plain, frozen=True, tag_field="format", tag="string"):
    value: str


class Binary(Plain, frozen=True, tag_field="format", tag="base64"):
    value: bytes


class AdminRights(Plain, frozen=True):
    """Who administers a handle: a value of a handle, and twelve permissions, "list" first and "add handle" last."""

    handle: str
    index: int
    permissions: str


class Admin(Plain, frozen=True, tag_field="format", tag="admin"):
    value: AdminRights


class ValueList(Plain, frozen=True, tag_field="format", tag="vlist"):
    value: tuple[Reference, ...]


Data = Text | Binary | Admin | ValueList


class Value(Plain, frozen=True, omit_defaults=True):
    """One statement. `ttl` is seconds, or the instant (ISO 8601) at which the value lapses."""

    index: int
    type: str
    data: Data
    timestamp: str = ""  # ISO 8601 in UTC with seconds and Z, set by the registry
    ttl: int | str = DEFAULT_TTL
    permissions: str = DEFAULT_PERMISSIONS
    references: tuple[Reference, ...] = ()

    @property
    def text(self) -> str | None:
        """The data, where it is plain text."""
        return self.data.value if isinstance(self.data, Text) else None

    @property
    def is_url(self) -> bool:
        """Whether clients follow it; they compare types without case."""
        return self.type == "URL" or self.type.upper() == "URL"

    @property
    def is_public(self) -> bool:
        return self.permissions[PUBLIC_READ] == "1"

    @property
    def kind(self) -> str:
        """The type as it is compared: without case."""
        return self.type.upper()

    @property
    def is_administrator(self) -> bool:
        return self.kind == ADMIN

    @property
    def is_key(self) -> bool:
        """Whether it says how an administrator is known, or who belongs to a list of them."""
        return self.kind in KEYS


decode_value: Final = msgspec.json.Decoder(Value).decode


class ShownValue(msgspec.Struct, gc=False):
    """A value as Handle servers show it: the lifetime always, usual permissions never."""

    index: int
    type: str
    data: Data | dict[str, Any]
    ttl: int | str
    timestamp: str
    permissions: str | msgspec.UnsetType = msgspec.UNSET
    references: tuple[Reference, ...] | msgspec.UnsetType = msgspec.UNSET


def shown_value(value: Value) -> ShownValue:
    data = value.data
    told = shown_bytes(value.kind, data.value) if type(data) is Binary else data
    shown = ShownValue(value.index, value.type, told, value.ttl, value.timestamp)
    if value.permissions != DEFAULT_PERMISSIONS:
        shown.permissions = value.permissions
    if value.references:
        shown.references = value.references
    return shown


def handle_json(value: Value) -> dict[str, Any]:
    """The same, before it is written."""
    shown: dict[str, Any] = msgspec.to_builtins(shown_value(value))
    return shown


def hidden_secret(value: Value) -> Value:
    """What a record keeps of a secret: that there is one, and never for everybody to see or to change."""
    return msgspec.structs.replace(value, data=Text(""), permissions=f"{value.permissions[:PUBLIC_READ]}00")


def same_statement(one: Value, other: Value) -> bool:
    """Whether two values say the same, whenever each was said."""
    return one == msgspec.structs.replace(other, timestamp=one.timestamp)
