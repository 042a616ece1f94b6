"""The replacement of the beginning of a URL by another one.

>>> moved = UrlReplacement("http://old.example.org", "https://new.example.org/archive")
>>> moved.replace("HTTP://Old.example.org:80/a?b=c")
'https://new.example.org/archive/a?b=c'
>>> moved.replace("http://old.example.org.evil.example/a")
>>> UrlReplacement("http://", "https://").replace("http://any.example.org:80/a")
'https://any.example.org/a'
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from perdure.errors import InvalidInput, quote_text
from perdure.records.web_address import to_ascii_host

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?(.*)", re.DOTALL)
_AUTHORITY: Final = re.compile(r"(?:(.*)@)?(\[[^\]]*\]|[^:]*)(?::([0-9]*))?", re.DOTALL)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443", "ftp": "21"}


class UrlParts(NamedTuple):
    """A URL in parts that can be compared: the scheme and the host without case, no default port."""

    origin: tuple[str, str | None, str, str]  # scheme, user, host, port
    rest: str  # the path, the query and the fragment


def split_url(url: str) -> UrlParts | None:
    """Return the parts of a URL; None if it has no scheme. Without a host, everything after the scheme is the rest.

    Blanks around the URL are dropped.
    """
    match = _URL.fullmatch(url.strip(" "))
    if match is None:
        return None
    scheme, authority, rest = match[1].lower(), match[2], match[3]
    if authority is None:
        return UrlParts((scheme, None, "", ""), rest)
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        return UrlParts((scheme, None, authority.lower(), ""), rest)
    port = found[3] or ""
    return UrlParts((scheme, found[1], _fold_host(found[2]), "" if port == _DEFAULT_PORTS.get(scheme) else port), rest)


@lru_cache(maxsize=1024)
def _fold_host(host: str) -> str:
    """Return a host as hosts are compared: without case, and as IDNA."""
    try:
        return to_ascii_host(host).lower().removesuffix(".")
    except (ValueError, UnicodeError):
        return host.lower()


class UrlBeginning:
    """The beginning of URLs. The host is compared as a whole, and the path by its characters.

    A scheme alone, such as `http://`, is the beginning of all its URLs with a host.
    """

    def __init__(self, text: str, part: str) -> None:
        parts = split_url(text)
        if parts is None:
            reason = f"{quote_text(text)} is not the beginning of a URL, as in http://old.example.org/"
            raise InvalidInput("url", part, reason)
        self.text = text
        self.origin, self.rest = parts
        self._is_scheme = text.endswith("://") and not any((self.origin[2], self.rest))

    def find_rest(self, url: str) -> str | None:
        """Return what follows this beginning in a URL; None if the URL begins otherwise."""
        if self._is_scheme:
            return _split_scheme(url, self.origin[0])
        parts = split_url(url)
        if parts is None or parts.origin != self.origin:
            return None
        rest = parts.rest
        if self.rest.startswith("/") and self.origin[2] and not rest.startswith("/"):
            rest = f"/{rest}"  # an empty path is the same as /
        return rest[len(self.rest) :] if rest.startswith(self.rest) else None


def _split_scheme(url: str, scheme: str) -> str | None:
    """Return a URL of this scheme from its host on, without the default port, which another scheme may not have."""
    match = _URL.fullmatch(url.strip(" "))
    if match is None or match[1].lower() != scheme or not match[2]:
        return None
    return match[2].removesuffix(f":{_DEFAULT_PORTS.get(scheme, '')}") + match[3]


class UrlReplacement:
    """The replacement of one beginning by another one."""

    def __init__(self, old: str, new: str) -> None:
        self._old = UrlBeginning(old, "from")
        self._new = UrlBeginning(new, "to")
        if self._old.rest and not self._new.rest and self._new.origin[2]:
            raise InvalidInput("url", "to", f"{quote_text(new)} has no path: write a slash at its end")
        # Otherwise a second run would lengthen every URL again.
        self._contains_old = self._old.find_rest(new) is not None

    def replace(self, url: str) -> str | None:
        """Return the new URL; None if this one begins otherwise, or has the new beginning already."""
        rest = self._old.find_rest(url)
        if rest is None or (self._contains_old and self._new.find_rest(url) is not None):
            return None
        if not self._old.rest and rest.startswith("/") and self._new.text.endswith("/"):
            rest = rest[1:]
        return self._new.text + rest
