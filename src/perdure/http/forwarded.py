"""The client of a request: the peer of the connection, or the client that a trusted proxy names in its headers.

`Forwarded` (RFC 7239) and `X-Forwarded-For` with `X-Forwarded-Proto` are read. A client that they do not name for
certain is unknown. The peer then stands for it where clients are counted, but an unknown client is never this machine.
"""

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

from perdure.http.addresses import read_address
from perdure.http_options import LOOPBACK, HttpOptions

_WITH_PORT: Final = re.compile(r"(?:\[([^\]]*)\]|([0-9.]+))(?::(?:[0-9]{1,5}|_[0-9A-Za-z._-]+))?")
# One parameter, or nothing, up to the end of the parameter, of the element or of the header.
_PARAMETER: Final = re.compile(
    r"""[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:([^\s",;]+)|"((?:[^"\\]|\\.)*)")[ \t]*)?([,;]|\Z)"""
)
_FROM_PROXIES: Final = frozenset({b"forwarded", b"x-forwarded-for", b"x-forwarded-proto", b"x-real-ip", b"via"})
_ESCAPED: Final = re.compile(r"\\(.)")


class Origin(NamedTuple):
    """`client` is the address of the peer where the client is not known."""

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
        # A proxy on this machine that is not trusted speaks for others, though it looks like this machine itself.
        is_proxy = is_loopback(peer) and any(name in _FROM_PROXIES for name, _ in headers)
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
    """Return whether an address of a peer or a client is one of this machine."""
    return is_within(address, LOOPBACK)


def is_within(text: str, networks: tuple[Any, ...]) -> bool:
    """Return whether a text is an address in one of these networks."""
    address = read_address(text)
    return address is not None and any(address in network for network in networks)


def _find_client(hops: list[str], peer: str, networks: tuple[Any, ...]) -> tuple[str | None, int]:
    """Return the hop nearest to this server that is no trusted proxy, and its index; None, if it is not known.

    A loopback address is of the machine that names it, which is this one only if that has a loopback address itself.
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
    """Return the address of a hop, without brackets and without the port, by which one client would be many."""
    found = _WITH_PORT.fullmatch(hop)
    address = read_address((found[1] or found[2] or "") if found else hop)
    return None if address is None else str(address)


def _join_lines(headers: list[tuple[bytes, bytes]], name: bytes) -> str | None:
    """Return the value of a header that is a list, from all lines that it came in."""
    lines = [value for key, value in headers if key == name]
    return b", ".join(lines).decode("latin-1") if lines else None
