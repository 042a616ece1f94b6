"""The client of a request: the peer of the connection, or the client that a trusted proxy names in its headers.

`Forwarded` (RFC 7239) and `X-Forwarded-For` with `X-Forwarded-Proto` are read. If they do not
identify the client with certainty, it is unknown. Limits per client then apply to the peer, and an unknown client is
never treated as this machine.
"""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final, NamedTuple

from perdure.http_options import LOOPBACK, HttpOptions

_WITH_PORT: Final = re.compile(r"(?:\[([^\]]*)\]|([0-9.]+))(?::(?:[0-9]{1,5}|_[0-9A-Za-z._-]+))?")
# One parameter, or nothing, up to the end of the parameter, of the element or of the header.
_PARAMETER: Final = re.compile(
    r"""[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:([^\s",;]+)|"((?:[^"\\]|\\.)*)")[ \t]*)?([,;]|\Z)"""
)
_FROM_PROXIES: Final = frozenset({b"forwarded", b"x-forwarded-for", b"x-forwarded-proto", b"x-real-ip", b"via"})
_ESCAPED: Final = re.compile(r"\\(.)")
_MASK: Final = (1 << 64) - 1  # one client with an IPv6 address usually has a whole /64 network


class Origin(NamedTuple):
    """The client of a request. `client` is the address of the peer if the client is not known."""

    client: str
    is_known: bool
    is_secure: bool


def read_origin(headers: list[tuple[bytes, bytes]], peer: str, is_secure: bool, options: HttpOptions) -> Origin:
    """Return the client of a request that came from `peer`, over TLS if `is_secure`.

    Two headers that name different clients leave the client unknown, because a proxy that sets one of them may pass on
    the other as its client sent it. For the same reason a protocol counts only where no header names another.
    """
    networks = options.proxies
    if not networks or not is_within(peer, networks):
        # A proxy on this machine that is not trusted passes on requests of others, though it looks like this machine.
        is_proxy = is_loopback(peer) and is_from_proxy(headers)
        return Origin(peer, bool(peer) and not is_proxy, is_secure)
    clients: set[str | None] = set()
    protocols: set[str] = set()
    if (protocol := _join_lines(headers, b"x-forwarded-proto")) is not None:
        protocols.add(protocol.strip().lower())
    if (hops := _join_lines(headers, b"x-forwarded-for")) is not None:
        clients.add(_find_client(hops.split(","), peer, networks)[0])
    if (text := _join_lines(headers, b"forwarded")) is not None:
        elements = read_forwarded(text) or [{"proto": ""}]
        client, index = _find_client([element.get("for", "") for element in elements], peer, networks)
        clients.add(client)
        if (protocol := elements[index].get("proto")) is not None:
            protocols.add(protocol.lower())
    named = clients.pop() if len(clients) == 1 else None
    return Origin(named or peer, named is not None, is_secure or protocols == {"https"})


def is_from_proxy(headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether a request has the headers of a proxy. A client can send them, too."""
    return any(name in _FROM_PROXIES for name, _ in headers)


def read_forwarded(text: str) -> list[dict[str, str]] | None:
    """Return the elements of a header Forwarded, the nearest proxy last; None, if it cannot be read.

    >>> read_forwarded('for="[2001:db8::9]:1024";Proto=https, for=10.0.0.1'), read_forwarded('for="10.0.0.1')
    ([{'for': '[2001:db8::9]:1024', 'proto': 'https'}, {'for': '10.0.0.1'}], None)
    """
    elements: list[dict[str, str]] = []
    element: dict[str, str] = {}
    position = 0
    while (found := _PARAMETER.match(text, position)) is not None:
        name, token, quoted, end = found.groups()
        if name is not None:
            if name.lower() in element:
                return None
            element[name.lower()] = _ESCAPED.sub(r"\1", quoted) if token is None else token
        if end != ";" and element:
            elements.append(element)
            element = {}
        if not end:
            return elements
        position = found.end()
    return None


@lru_cache(maxsize=1024)
def is_loopback(address: str) -> bool:
    """Return whether the address of a peer or client is one of this machine."""
    return is_within(address, LOOPBACK)


def is_within(text: str, networks: tuple[Any, ...]) -> bool:
    """Return whether a text is an address in one of the networks."""
    address = parse_ip_address(text)
    return address is not None and any(address in network for network in networks)


def parse_ip_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an IP address, with an IPv4-mapped IPv6 address as IPv4; None if the text is not an address."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def normalise_ip_address(text: str) -> str:
    """Return an IP address in one spelling, and any other text unchanged.

    A socket for both versions reports IPv4 addresses as IPv6.

    >>> normalise_ip_address("::ffff:127.0.0.1"), normalise_ip_address("2001:db8::9"), normalise_ip_address("localhost")
    ('127.0.0.1', '2001:db8::9', 'localhost')
    """
    address = parse_ip_address(text)
    return text if address is None else str(address)


def client_network(client: str) -> str:
    """Return the network that counts as one client: the /64 of an IPv6 address, and an IPv4 address itself."""
    address = parse_ip_address(client)
    if isinstance(address, IPv6Address):
        return str(IPv6Address(int(address) & ~_MASK))
    return client if address is None else str(address)


def _find_client(hops: list[str], peer: str, networks: tuple[Any, ...]) -> tuple[str | None, int]:
    """Return the hop nearest to this server that is not a trusted proxy, and its index; None if it is unknown.

    A loopback address refers to the machine that reported it. That is this machine only if the reporter itself has a
    loopback address.
    """
    nearer = peer
    for index in reversed(range(len(hops))):
        address = _read_hop(hops[index].strip())
        if address is None:
            return None, index
        if not is_within(address, networks):
            return (None if is_loopback(address) and not is_loopback(nearer) else address), index
        nearer = address
    return None, 0


def _read_hop(hop: str) -> str | None:
    """Return the address of a hop without brackets and port; with ports, one client would be many."""
    found = _WITH_PORT.fullmatch(hop)
    address = parse_ip_address((found[1] or found[2] or "") if found else hop)
    return None if address is None else str(address)


def _join_lines(headers: list[tuple[bytes, bytes]], name: bytes) -> str | None:
    """Return the value of a header that is a list, from all its lines."""
    lines = [value for key, value in headers if key == name]
    return b", ".join(lines).decode("latin-1") if lines else None
