"""Network addresses of private networks, which a server must not contact for others."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

_TRANSLATED: Final = IPv6Network("64:ff9b::/96")  # RFC 6052: the last four bytes are an IPv4 address
# Translation within a network (RFC 8215), and addresses that embed IPv4 without a translation (RFC 4291).
_LOCAL: Final = (IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))


def is_private(address: str) -> bool:
    """Return whether an IP address is not one of a single machine in the public Internet.

    >>> is_private("127.0.0.1"), is_private("::ffff:10.0.0.1"), is_private("64:ff9b::10.0.0.1"), is_private("ff02::1")
    (True, True, True, True)
    >>> is_private("150.163.34.243"), is_private("64:ff9b::150.163.34.243"), is_private("2606:4700::1111")
    (False, False, False)
    """
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        embedded = _embedded_address(parsed)
        if embedded is not None:
            parsed = embedded
        elif parsed.is_site_local or any(parsed in network for network in _LOCAL):
            return True
    return parsed.is_multicast or not parsed.is_global


def _embedded_address(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address to which packets for an IPv6 address go in the end; None for any other one."""
    if address in _TRANSLATED:
        return IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour
