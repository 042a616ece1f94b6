"""The statements of servers to each other, as they are signed: who a server is, what it holds, and answers about names.

docs/reference/federation.md describes them for other implementations.
"""

import re
from datetime import datetime, timezone
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta

from perdure.records.web_address import encode_web_address
from perdure.registry.entities import HeldPrefix

WELL_KNOWN: Final = "/.well-known/perdure"
PROTOCOL: Final = 1
LONGEST_VIA: Final = 3  # servers that a question has passed, before no more are asked

_WEB: Final = ("https://", "http://")

State = Literal["original", "copy", "registered", "withdrawn", "unknown"]

_Text = Annotated[str, Meta(max_length=8192)]
_ShortText = Annotated[str, Meta(max_length=200)]
_Number = Annotated[int, Meta(ge=0)]
_Instant = Annotated[
    str, Meta(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z)?$")
]  # texts compare as times


class Statement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What every statement has: the identity of the server, the time, and the nonce of the question."""

    server: _ShortText
    time: _Instant
    nonce: _ShortText = ""


class ServerStatement(Statement, frozen=True, kw_only=True, omit_defaults=False, tag_field="type", tag="server"):
    """Who a server is, and the key with which it signs."""

    key: _ShortText
    url: _Text
    protocol: int = PROTOCOL
    software: _ShortText = ""
    checkpoint: _Number = 0


class PrefixesStatement(Statement, frozen=True, kw_only=True, tag_field="type", tag="prefixes"):
    """A page of the prefixes of which a server has names. `next` is the value of `after` for the next page."""

    prefixes: Annotated[tuple[HeldPrefix, ...], Meta(max_length=1000)]
    checkpoint: _Number
    next: _Text | None = None


class HeldLabel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One name that a server has."""

    name: _Text
    state: State
    timestamp: _Instant = ""
    version: _Number = 0


class HoldingsStatement(Statement, frozen=True, kw_only=True, tag_field="type", tag="holdings"):
    """A page of the names that a server has, in the order of their keys."""

    items: Annotated[tuple[HeldLabel, ...], Meta(max_length=1000)]
    checkpoint: _Number
    next: _Text | None = None


class Answer(Statement, frozen=True, kw_only=True, tag_field="type", tag="answer"):
    """What a server states about one name.

    `archive` is the base URL of the server that has it: another one than `server` if the question was passed on.
    `owner`: whether that server mints the names with this prefix. `url` leads to the item, or to the target.
    `original`: where the original is, if the server mints the name and has itself only a copy.
    """

    name: _Text
    state: State
    archive: _Text = ""
    url: _Text | None = None
    aliases: Annotated[tuple[_Text, ...], Meta(max_length=64)] = ()
    timestamp: _Instant = ""
    version: _Number = 0
    content_type: _ShortText | None = None
    language: _ShortText | None = None
    checkpoint: _Number = 0
    owner: bool = False
    original: _Text | None = None
    replaced_by: _Text | None = None


class StoredCopy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One collection of a server that has an item: its newest version there, and the digest of its list of files."""

    collection: _ShortText
    state: Literal["original", "copy"]
    version: _Number
    digest: _ShortText


class ItemStatement(Statement, frozen=True, kw_only=True, tag_field="type", tag="item"):
    """What a server itself stores of an item, without damage. `owner`: whether the identifier is registered there."""

    name: _Text
    stored: Annotated[tuple[StoredCopy, ...], Meta(max_length=100)] = ()
    owner: bool = False


AnyStatement = TypeVar("AnyStatement", bound=Statement)


def to_instant(text: str) -> str:
    """Return a time as statements have it; an empty text for one that is unknown.

    >>> to_instant("2009-02-16T17:46:00Z"), to_instant("2009-02-16T19:46:00.5+02:00"), to_instant("")
    ('2009-02-16T17:46:00.000000Z', '2009-02-16T17:46:00.500000Z', '')
    """
    try:
        instant = datetime.fromisoformat(text).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return ""
    return instant.isoformat(timespec="microseconds").replace("+00:00", "Z")


def encode_public_address(url: str) -> str:
    """Return the address of an item as statements have it. Raise ValueError if readers cannot be redirected to it.

    >>> encode_public_address("https://bücher.example/ä")
    'https://xn--bcher-kva.example/%C3%A4'
    """
    if not url.startswith(_WEB) or not url.isprintable():
        raise ValueError("it is not an address of http or https")
    if "@" in re.split("[/?#]", url.partition("://")[2], maxsplit=1)[0]:
        raise ValueError("it has a user name")
    return encode_web_address(url)


def to_document(statement: Statement) -> dict[str, Any]:
    """Return a statement as the JSON object that is signed."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(statement))
    return document


def parse_statement(document: dict[str, Any], kind: type[AnyStatement]) -> AnyStatement:
    """Parse a statement whose signature was verified. Raise msgspec.ValidationError. Unknown members are ignored."""
    return msgspec.convert(document, kind)
