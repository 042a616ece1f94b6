"""Sites (HS_SITE): which servers answer for a prefix, in bytes as it is kept and in JSON as clients write it."""

from base64 import b64decode, b64encode
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Annotated, Any, Final, Literal

import msgspec

from perdure.errors import InvalidInput, shown
from perdure.records import public_key
from perdure.records.wire_bytes import WireReader, number, sized

SITE_TYPES: Final = frozenset({"HS_SITE", "HS_SITE.PREFIX", "HS_NA_DELEGATE"})
HASH_WHOLE: Final = 2  # the server of a handle is chosen by all of it, not by its prefix (0) or its suffix (1)

_PRIMARY: Final = 0x80
_MULTIPLE: Final = 0x40
_ADMIN: Final = 1
_QUERY: Final = 2
_PROTOCOLS: Final = ("UDP", "TCP", "HTTP", "HTTPS")
_BEFORE_IPV4: Final = bytes(12)

Byte = Annotated[int, msgspec.Meta(ge=0, le=0xFF)]
Short = Annotated[int, msgspec.Meta(ge=0, le=0xFFFF)]
Number = Annotated[int, msgspec.Meta(ge=0, le=0xFFFFFFFF)]


class Interface(msgspec.Struct, frozen=True, rename="camel"):
    """One way to reach a server, for questions, for administration, or for both."""

    query: bool
    admin: bool
    protocol: Literal["UDP", "TCP", "HTTP", "HTTPS"]
    port: Number


class Attribute(msgspec.Struct, frozen=True):
    name: str
    value: str


class Server(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`public_key` is a JWK (format key), or the bytes of one that we cannot read (format base64)."""

    server_id: Number
    address: str
    public_key: dict[str, Any] | None = None
    interfaces: tuple[Interface, ...] = ()


class Site(msgspec.Struct, frozen=True, rename="camel"):
    """The whole of it, as JSON has it."""

    serial_number: Short
    primary_site: bool
    multi_primary: bool
    servers: tuple[Server, ...]
    version: Short = 1
    protocol_version: str = "2.11"
    hash_option: Literal[0, 1, 2] = HASH_WHOLE
    hash_filter: str = ""
    attributes: tuple[Attribute, ...] = ()


def from_json(given: Any) -> Site:
    """A site as clients send it; InvalidInput says where it is wrong."""
    try:
        site = msgspec.convert(given, Site)
    except msgspec.ValidationError as problem:
        raise InvalidInput("record", "data.value", f"this is no site: {problem}") from None
    to_wire(site)  # what cannot be written is refused here
    return site


def to_json(site: Site) -> dict[str, Any]:
    """In the order in which Handle servers tell it, without the usual way of choosing a server."""
    shown: dict[str, Any] = {
        "version": site.version,
        "protocolVersion": site.protocol_version,
        "serialNumber": site.serial_number,
        "primarySite": site.primary_site,
        "multiPrimary": site.multi_primary,
    }
    if site.hash_option != HASH_WHOLE:
        shown["hashOption"] = site.hash_option
    if site.hash_filter:
        shown["hashFilter"] = site.hash_filter
    return shown | {
        "attributes": [msgspec.to_builtins(one) for one in site.attributes],
        "servers": [_server_json(server) for server in site.servers],
    }


def from_wire(raw: bytes) -> Site:
    """A site from its bytes; InvalidInput if they are none."""
    reader = WireReader(raw, "site")
    version = reader.short()
    if version != 1:
        raise reader.problem(f"its version is {version}, not 1")
    protocol = f"{reader.byte()}.{reader.byte()}"
    serial, flags, choice = reader.short(), reader.byte(), reader.byte()
    if choice not in (0, 1, 2) or flags & ~(_PRIMARY | _MULTIPLE):
        raise reader.problem("it says something that no site says")
    hash_filter = reader.text()
    attributes = tuple(Attribute(reader.text(), reader.text()) for _ in range(reader.count()))
    servers = tuple(_read_server(reader) for _ in range(reader.count()))
    reader.end()
    return Site(
        version=version,
        protocol_version=protocol,
        serial_number=serial,
        primary_site=bool(flags & _PRIMARY),
        multi_primary=bool(flags & _MULTIPLE),
        hash_option=choice,  # type: ignore[arg-type]
        hash_filter=hash_filter,
        attributes=attributes,
        servers=servers,
    )


def to_wire(site: Site) -> bytes:
    if site.version != 1:
        raise InvalidInput("record", "data.value.version", f"the version of a site is 1, not {site.version}")
    parts = [
        site.version.to_bytes(2, "big"),
        _protocol(site.protocol_version),
        site.serial_number.to_bytes(2, "big"),
        bytes([_PRIMARY * site.primary_site | _MULTIPLE * site.multi_primary, site.hash_option]),
        sized(site.hash_filter.encode()),
        number(len(site.attributes)),
        *(sized(one.name.encode()) + sized(one.value.encode()) for one in site.attributes),
        number(len(site.servers)),
        *(_write_server(server) for server in site.servers),
    ]
    return b"".join(parts)


def _protocol(version: str) -> bytes:
    parts = version.split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) <= 3 for part in parts):
        reason = f"the version of a protocol is two numbers, as in 2.11, not {shown(version)}"
        raise InvalidInput("record", "data.value.protocolVersion", reason)
    if any(int(part) > 0xFF for part in parts):
        raise InvalidInput("record", "data.value.protocolVersion", "the version of the protocol is too large")
    return bytes(int(part) for part in parts)


def _read_server(reader: WireReader) -> Server:
    server_id, address, key = reader.number(), reader.take(16), reader.sized()
    interfaces = []
    for _ in range(reader.count()):
        kind, protocol, port = reader.byte(), reader.byte(), reader.number()
        if not 0 <= kind <= _ADMIN | _QUERY or protocol >= len(_PROTOCOLS):
            raise reader.problem("a server has an interface of an unknown kind")
        interfaces.append(Interface(bool(kind & _QUERY), bool(kind & _ADMIN), _PROTOCOLS[protocol], port))
    return Server(server_id, _shown_address(address), _shown_key(key), tuple(interfaces))


def _write_server(server: Server) -> bytes:
    parts = [
        number(server.server_id),
        _address(server.address),
        sized(_key(server.public_key)),
        number(len(server.interfaces)),
    ]
    for one in server.interfaces:
        kinds = bytes([_QUERY * one.query | _ADMIN * one.admin, _PROTOCOLS.index(one.protocol)])
        parts.append(kinds + number(one.port))
    return b"".join(parts)


def _shown_address(raw: bytes) -> str:
    if raw.startswith(_BEFORE_IPV4):
        return str(IPv4Address(raw[len(_BEFORE_IPV4) :]))
    return str(IPv6Address(raw))


def _address(text: str) -> bytes:
    try:
        address = ip_address(text)
    except ValueError:
        reason = f"the address of a server is an IP address, not {shown(text)}"
        raise InvalidInput("record", "data.value.servers.address", reason) from None
    return address.packed.rjust(16, b"\x00")


def _shown_key(raw: bytes) -> dict[str, Any] | None:
    if not raw:
        return None
    try:
        return {"format": "key", "value": public_key.to_jwk(public_key.from_wire(raw))}
    except InvalidInput:
        return {"format": "base64", "value": b64encode(raw).decode()}


def _key(given: dict[str, Any] | None) -> bytes:
    if given is None:
        return b""
    if given.get("format") == "key":
        return public_key.to_wire(public_key.from_jwk(given.get("value")))
    text = given.get("value")
    if given.get("format") == "base64" and isinstance(text, str):
        try:
            return b64decode(text, validate=True)
        except ValueError:
            pass
    raise InvalidInput("record", "data.value.servers.publicKey", "the key of a server is in the format key, or base64")


def _server_json(server: Server) -> dict[str, Any]:
    shown: dict[str, Any] = {"serverId": server.server_id, "address": server.address}
    if server.public_key is not None:
        shown["publicKey"] = server.public_key
    return shown | {"interfaces": [msgspec.to_builtins(one) for one in server.interfaces]}
