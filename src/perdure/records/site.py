"""Sites (HS_SITE): the servers of a prefix, as bytes, as they are stored, and as JSON, as clients write them."""

from base64 import b64encode
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Annotated, Any, Final, Literal

import msgspec

from perdure.errors import InvalidInput, quote_text
from perdure.records import public_key
from perdure.records.base64_text import decode_base64
from perdure.records.wire_bytes import WireReader, with_length, write_number

SITE_TYPES: Final = frozenset({"HS_SITE", "HS_SITE.PREFIX", "HS_NA_DELEGATE"})
HASH_WHOLE: Final = 2  # the server is chosen by a hash of the whole handle, not of its prefix (0) or its suffix (1)

_PRIMARY: Final = 0x80
_MULTIPLE: Final = 0x40
_ADMIN: Final = 1
_QUERY: Final = 2
_PROTOCOLS: Final = ("UDP", "TCP", "HTTP", "HTTPS")
_BEFORE_IPV4: Final = bytes(12)

Short = Annotated[int, msgspec.Meta(ge=0, le=0xFFFF)]
Number = Annotated[int, msgspec.Meta(ge=0, le=0xFFFFFFFF)]


class Interface(msgspec.Struct, frozen=True, rename="camel"):
    """A network interface of a server, for queries, for administration, or for both."""

    query: bool
    admin: bool
    protocol: Literal["UDP", "TCP", "HTTP", "HTTPS"]
    port: Number


class Attribute(msgspec.Struct, frozen=True):
    """A named attribute of a site."""

    name: str
    value: str


class Server(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A server. `public_key` is a JWK (format key), or the bytes of an unsupported key (format base64)."""

    server_id: Number
    address: str
    public_key: dict[str, Any] | None = None
    interfaces: tuple[Interface, ...] = ()


class Site(msgspec.Struct, frozen=True, rename="camel"):
    """A site, with the fields of its JSON."""

    serial_number: Short
    primary_site: bool
    multi_primary: bool
    servers: tuple[Server, ...]
    version: Short = 1
    protocol_version: str = "2.11"
    hash_option: Literal[0, 1, 2] = HASH_WHOLE
    hash_filter: str = ""
    attributes: tuple[Attribute, ...] = ()


def from_json(decoded: Any) -> Site:
    """Convert a site as clients send it. Raise InvalidInput with the path of the field that is wrong."""
    try:
        site = msgspec.convert(decoded, Site)
    except msgspec.ValidationError as problem:
        raise InvalidInput("record", "data.value", f"this is not a site: {problem}") from None
    to_wire(site)  # raises InvalidInput if the site cannot be encoded
    return site


def to_json(site: Site) -> dict[str, Any]:
    """Return the JSON of a site, in the order of Handle servers, without a hash option that is the default."""
    fields: dict[str, Any] = {
        "version": site.version,
        "protocolVersion": site.protocol_version,
        "serialNumber": site.serial_number,
        "primarySite": site.primary_site,
        "multiPrimary": site.multi_primary,
    }
    if site.hash_option != HASH_WHOLE:
        fields["hashOption"] = site.hash_option
    if site.hash_filter:
        fields["hashFilter"] = site.hash_filter
    return fields | {
        "attributes": [msgspec.to_builtins(attribute) for attribute in site.attributes],
        "servers": [_server_to_json(server) for server in site.servers],
    }


def from_wire(raw: bytes) -> Site:
    """Decode a site from its bytes. Raise InvalidInput if they are not a site."""
    reader = WireReader(raw, "site")
    version = reader.read_short()
    if version != 1:
        raise reader.error(f"its version is {version}, not 1")
    protocol = f"{reader.read_byte()}.{reader.read_byte()}"
    serial, flags, choice = reader.read_short(), reader.read_byte(), reader.read_byte()
    if choice not in (0, 1, 2) or flags & ~(_PRIMARY | _MULTIPLE):
        raise reader.error("it has an unknown flag or hash option")
    hash_filter = reader.read_text()
    attributes = tuple(Attribute(reader.read_text(), reader.read_text()) for _ in range(reader.read_count()))
    servers = tuple(_read_server(reader) for _ in range(reader.read_count()))
    reader.require_end()
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
        raise InvalidInput("record", "data.value.version", f"the version of a site must be 1, not {site.version}")
    parts = [
        site.version.to_bytes(2, "big"),
        _protocol_bytes(site.protocol_version),
        site.serial_number.to_bytes(2, "big"),
        bytes([_PRIMARY * site.primary_site | _MULTIPLE * site.multi_primary, site.hash_option]),
        with_length(site.hash_filter.encode()),
        write_number(len(site.attributes)),
        *(with_length(each.name.encode()) + with_length(each.value.encode()) for each in site.attributes),
        write_number(len(site.servers)),
        *(_write_server(server) for server in site.servers),
    ]
    return b"".join(parts)


def _protocol_bytes(version: str) -> bytes:
    parts = version.split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) <= 3 for part in parts):
        reason = f"the version of a protocol must be two numbers, as in 2.11, not {quote_text(version)}"
        raise InvalidInput("record", "data.value.protocolVersion", reason)
    if any(int(part) > 0xFF for part in parts):
        raise InvalidInput("record", "data.value.protocolVersion", "the version of the protocol is too large")
    return bytes(int(part) for part in parts)


def _read_server(reader: WireReader) -> Server:
    server_id, address, key = reader.read_number(), reader.read_bytes(16), reader.read_sized()
    interfaces = []
    for _ in range(reader.read_count()):
        kind, protocol, port = reader.read_byte(), reader.read_byte(), reader.read_number()
        if not 0 <= kind <= _ADMIN | _QUERY or protocol >= len(_PROTOCOLS):
            raise reader.error("a server has an interface of an unknown kind")
        interfaces.append(Interface(bool(kind & _QUERY), bool(kind & _ADMIN), _PROTOCOLS[protocol], port))
    return Server(server_id, _format_address(address), _key_to_json(key), tuple(interfaces))


def _write_server(server: Server) -> bytes:
    parts = [
        write_number(server.server_id),
        _parse_address(server.address),
        with_length(_key_from_json(server.public_key)),
        write_number(len(server.interfaces)),
    ]
    for interface in server.interfaces:
        kinds = _QUERY * interface.query | _ADMIN * interface.admin
        parts.append(bytes([kinds, _PROTOCOLS.index(interface.protocol)]) + write_number(interface.port))
    return b"".join(parts)


def _format_address(raw: bytes) -> str:
    if raw.startswith(_BEFORE_IPV4):
        return str(IPv4Address(raw[len(_BEFORE_IPV4) :]))
    return str(IPv6Address(raw))


def _parse_address(text: str) -> bytes:
    try:
        address = ip_address(text)
    except ValueError:
        reason = f"the address of a server must be an IP address, not {quote_text(text)}"
        raise InvalidInput("record", "data.value.servers.address", reason) from None
    return address.packed.rjust(16, b"\x00")


def _key_to_json(raw: bytes) -> dict[str, Any] | None:
    if not raw:
        return None
    try:
        return {"format": "key", "value": public_key.to_jwk(public_key.from_wire(raw))}
    except InvalidInput:
        return {"format": "base64", "value": b64encode(raw).decode()}


def _key_from_json(key: dict[str, Any] | None) -> bytes:
    if key is None:
        return b""
    if key.get("format") == "key":
        return public_key.to_wire(public_key.from_jwk(key.get("value")))
    text = key.get("value")
    if key.get("format") == "base64" and isinstance(text, str):
        try:
            return decode_base64(text)
        except ValueError:
            pass
    raise InvalidInput("record", "data.value.servers.publicKey", "the key of a server has the format key, or base64")


def _server_to_json(server: Server) -> dict[str, Any]:
    fields: dict[str, Any] = {"serverId": server.server_id, "address": server.address}
    if server.public_key is not None:
        fields["publicKey"] = server.public_key
    return fields | {"interfaces": [msgspec.to_builtins(interface) for interface in server.interfaces]}
