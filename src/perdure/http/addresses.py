"""Addresses of machines, each in one form: a socket for both versions shows those of version 4 in the dress of 6.

>>> unmapped("::ffff:127.0.0.1"), unmapped("2001:db8::9"), unmapped("localhost")
('127.0.0.1', '2001:db8::9', 'localhost')
"""

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

_MASK: Final = (1 << 64) - 1  # whoever has an address of version 6 has as many as fit into this


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
    """What counts as one client."""
    address = read_address(client)
    if isinstance(address, IPv6Address):
        return str(IPv6Address(int(address) & ~_MASK))
    return client if address is None else str(address)
