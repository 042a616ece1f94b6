"""The header Prefer (RFC 7240): what a client prefers, as far as this server knows the preference.

>>> parse_prefer("respond-async, wait=10")
Preferences(wait=10, respond_async=True)
>>> parse_prefer('return=minimal; foo="a,b", Wait=5, wait=7'), parse_prefer("wait=soon")
(Preferences(wait=5, respond_async=False), Preferences(wait=None, respond_async=False))
"""

import re
from typing import Final, NamedTuple

# A preference ends at a comma that is not inside a quoted text.
_PREFERENCE: Final = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*"?)+')
_TOKEN: Final = re.compile(r'\s*([!#$%&\'*+.^_`|~0-9A-Za-z-]+)\s*(?:=\s*("[^"]*"|[^\s;]*))?\s*(?:;.*)?', re.DOTALL)
_SECONDS: Final = re.compile(r"[0-9]{1,9}")


class Preferences(NamedTuple):
    """The longest wait in seconds that the client accepts, and whether it accepts a response before the work is done.

    The first of several equal preferences counts. Unknown and malformed ones are ignored, as the RFC requires.
    """

    wait: int | None = None
    respond_async: bool = False


NO_PREFERENCES: Final = Preferences()


def parse_prefer(header: str | None) -> Preferences:
    """Parse the header; None is a request without it."""
    if header is None:
        return NO_PREFERENCES
    found: dict[str, str] = {}
    for text in _PREFERENCE.findall(header):
        token = _TOKEN.fullmatch(text)
        if token is not None:
            found.setdefault(token[1].lower(), (token[2] or "").strip('"'))
    wait = found.get("wait", "")
    is_async = found.get("respond-async") == ""
    return Preferences(int(wait) if _SECONDS.fullmatch(wait) else None, is_async)
