"""Addresses of machines, each in one form: a socket for both versions shows those of version 4 in the dress of 6.

>>> unmapped("::ffff:127.0.0.1"), unmapped("2001:db8::9"), unmapped("localhost")
('127.0.0.1', '2001:db8::9', 'localhost')
"""

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

_MASK: Final = (1 << 64) - 1  # one client with an IPv6 address usually has a whole /64 network


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address as it is meant; None, if it is none."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def unmapped(text: str) -> str:
    """An address as it is meant, and anything else as it stands."""
    address = read_address(text)
    return text if address is None else str(address)


def network_of(client: str) -> str:
    """Return the network that counts as one client: the /64 of an IPv6 address, and an IPv4 address itself."""
    address = read_address(client)
    if isinstance(address, IPv6Address):
        return str(IPv6Address(int(address) & ~_MASK))
    return client if address is None else str(address)
