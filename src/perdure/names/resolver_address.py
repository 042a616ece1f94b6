"""Web addresses of names at a resolver: its base URL, and then the name.

>>> ours = (ResolverAddress.parse("https://id.example.org"),)
>>> find_name("HTTP://id.example.org/20.500/a%20b?info#top", ours)
'20.500/a b'
>>> find_name("https://id.example.org.example.net/20.500/a", ours) is None
True
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from perdure.errors import InvalidInput, quote_text
from perdure.names import handle

HANDLE_PATH: Final = "hdl"  # a resolver may answer /hdl/NAME as /NAME

_URL: Final = re.compile(
    r"(?P<protocol>https?)://(?P<host>\[[^\]/?#\s]*\]|[^:/?#\s]*)(?::(?P<port>[0-9]{0,5}))?(?P<path>/[^?#]*)?(?:[?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_ANY_PORT: Final = "*"
_PERSON: Final = re.compile(
    r"(P[OR]ID-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{3}[0-9X])[/.].*", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ResolverAddress:
    """The base URL of a resolver. It is the same over http and https, as each redirects to the other."""

    host: str
    port: str  # empty: the default port of the protocol; `*`: any port
    path: str  # with a slash at the end

    @classmethod
    def parse(cls, url: str) -> "ResolverAddress":
        """Parse a base URL. Raise InvalidInput if it is not a web address."""
        match = _URL.fullmatch(url)
        if match is None or not match["host"]:
            raise InvalidInput("resolver", "url", f"{quote_text(url)} is not the base URL of a resolver")
        return cls(_normalise_host(match["host"]), _explicit_port(match), (match["path"] or "").rstrip("/") + "/")

    def with_any_port(self) -> "ResolverAddress":
        """Return this address, for a server on any port."""
        return ResolverAddress(self.host, _ANY_PORT, self.path)


def find_name(text: str, addresses: Iterable[ResolverAddress]) -> str | None:
    """Return the name in a URL at one of these addresses, decoded; None if the text is not such a URL.

    Query and fragment are not part of a name, and neither is what follows a person identifier (`/history`, `.ttl`).
    Raise InvalidName for a URL that cannot be decoded.
    """
    match = _URL.fullmatch(text)
    if match is None:
        return None
    host, port, path = _normalise_host(match["host"]), _explicit_port(match), match["path"] or ""
    for address in addresses:
        if (address.host, address.port) in ((host, port), (host, _ANY_PORT)) and path.startswith(address.path):
            start = len(address.path)
            name = handle.unescape(path[start:], match.start("path") + start)
            person = _PERSON.fullmatch(name)
            return person[1] if person else name or None
    return None


def strip_handle_path(name: str) -> str | None:
    """Return the name after `hdl/`; None if the text does not begin so, or nothing follows.

    >>> strip_handle_path("hdl/20.500/a"), strip_handle_path("hdl/"), strip_handle_path("20.500/a")
    ('20.500/a', None, None)
    """
    head, _, rest = name.partition("/")
    return rest if rest and handle.fold(head) == HANDLE_PATH else None


def _normalise_host(host: str) -> str:
    return handle.fold(host).removesuffix(".")


def _explicit_port(match: re.Match[str]) -> str:
    port = (match["port"] or "").lstrip("0")
    return "" if port == _DEFAULT_PORTS[handle.fold(match["protocol"])] else port
