"""Web addresses: validation of the host, and encoding for headers and links.

>>> encode_web_address("https://bücher.example/ä?q=ö")
'https://xn--bcher-kva.example/%C3%A4?q=%C3%B6'
"""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import Final
from urllib.parse import quote, unquote

import idna

URL_SAFE: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"<>\\^`{|}')
# Nearly all addresses need no encoding. No label of the host is too long, and the last one is not a number.
PLAIN_ADDRESS: Final = re.compile(
    r"(https?)://(?:[a-z0-9_-]{1,40}+\.){0,4}+[a-z][a-z0-9-]{0,39}+(?::[0-9]{1,4})?+(?:[/?#][!#-;=?-\[\]_a-z~]*+)?"
)
_WITH_HOST: Final = re.compile(r"((?:https?|ftp):)(?://([^/?#]*))?(.*)", re.IGNORECASE | re.DOTALL)
_AUTHORITY: Final = re.compile(r"([^@\\\[\]]*@)?(\[[^\[\]]*\]|[^:@\\\[\]]*)(:[0-9]{0,5})?")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9_-]{1,63}\.)*([A-Za-z0-9_-]{1,63})\.?")
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_LONGEST_HOST: Final = 253
_LAST_PORT: Final = 65_535


def encode_web_address(url: str) -> str:
    """Encode an address for headers and links: the host as IDNA, the rest percent-encoded as UTF-8.

    Blanks before and after it are dropped, as browsers do.
    Raise ValueError with the reason if it is an address of http, https or ftp without a valid host.
    """
    return url if PLAIN_ADDRESS.fullmatch(url) else _encode_address(url)


@lru_cache(maxsize=1024)
def _encode_address(url: str) -> str:
    bare = url.strip(" ")
    match = _WITH_HOST.fullmatch(bare)
    if match is None:
        return quote(bare, safe=URL_SAFE)
    scheme, authority, rest = match.groups()
    if not authority:
        raise ValueError("the host is missing")
    return f"{scheme}//{_encode_authority(authority)}{quote(rest, safe=URL_SAFE)}"


def _encode_authority(authority: str) -> str:
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise ValueError(f"{authority!a} is neither a host nor a host with a port")
    user, host, port = (part or "" for part in match.groups())
    if int(port[1:] or 0) > _LAST_PORT:
        raise ValueError(f"the port {port[1:]} is greater than {_LAST_PORT}")
    if host.startswith("["):
        if "%" in host:
            raise ValueError(f"the zone in {host!a} is meaningless on other machines")
        IPv6Address(host[1:-1])
    else:
        host = to_ascii_host(host)
    return f"{quote(user, safe=URL_SAFE)}{host}{port}"


def to_ascii_host(host: str) -> str:
    """Return the name of a host in ASCII, by UTS 46. Raise ValueError if it is not a host name.

    >>> to_ascii_host("例え.jp"), to_ascii_host("Example.org")
    ('xn--r8jz45g.jp', 'Example.org')
    """
    name = unquote(host, errors="strict") if "%" in host else host
    if not name:
        raise ValueError("the host is missing")
    if len(name) <= _LONGEST_HOST and not name.isascii():
        name = idna.encode(name, uts46=True).decode("ascii")
    match = _HOST.fullmatch(name)
    if match is None or len(name.removesuffix(".")) > _LONGEST_HOST:
        raise ValueError(f"{name[:_LONGEST_HOST]!a} is not a host name")
    if _NUMBER.fullmatch(match[1]):
        IPv4Address(name)
    return name
