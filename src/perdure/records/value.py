"""Values: what a Handle record holds, one typed statement each, in the form that Handle clients read and write.

>>> decode_value(b'{"index":1,"type":"URL","data":{"format":"string","value":"https://example.org/"}}').text
'https://example.org/'
"""

from typing import Any, Final

import msgspec

from perdure.records.plain import Plain

DEFAULT_TTL: Final = 86_400
# Four characters: admin read, admin write, public read, public write.
DEFAULT_PERMISSIONS: Final = "1110"
PUBLIC_READ: Final = 2  # their place in the string


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


decode_value: Final = msgspec.json.Decoder(Value).decode


def handle_json(value: Value) -> dict[str, Any]:
    """A value as the HTTP API of Handle servers shows it: the lifetime always, usual permissions never."""
    shown: dict[str, Any] = {
        "index": value.index,
        "type": value.type,
        "data": msgspec.to_builtins(value.data),
        "ttl": value.ttl,
        "timestamp": value.timestamp,
    }
    if value.permissions != DEFAULT_PERMISSIONS:
        shown["permissions"] = value.permissions
    if value.references:
        shown["references"] = msgspec.to_builtins(value.references)
    return shown


def same_statement(one: Value, other: Value) -> bool:
    """Whether two values say the same, whenever each was said."""
    return one == msgspec.structs.replace(other, timestamp=one.timestamp)
