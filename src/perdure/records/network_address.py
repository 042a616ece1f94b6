"""Network addresses of private networks, which a server must not contact for others."""

from ipaddress import ip_address


def is_private(address: str) -> bool:
    """Return whether an IP address is not one of the public Internet.

    >>> is_private("127.0.0.1"), is_private("::ffff:10.0.0.1"), is_private("150.163.34.243")
    (True, True, False)
    """
    parsed = ip_address(address.partition("%")[0])
    mapped = getattr(parsed, "ipv4_mapped", None)
    return not (parsed if mapped is None else mapped).is_global
