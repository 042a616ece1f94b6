"""Persons in another spelling: grouped differently, with a scheme, or pasted with other text around.

Such a name is answered by a redirect, never under the URL that was used: a person has one URL.
"""

import re
from typing import Final

from perdure.errors import InvalidName
from perdure.names import handle, recognise

_LIKE: Final = re.compile(r"p[or]id", re.IGNORECASE)
_PARTS: Final = re.compile(
    r"(?P<name>.*?)(?P<rest>(?:/(?:claims|observations|history|v[1-9][0-9]{0,8}))?(?:\.[a-z]{2,6})?)", re.IGNORECASE
)


def find_canonical_name(text: str) -> tuple[str, str] | None:
    """Return the name of the person that a text means, and the rest of the URL; None if it means no person."""
    if not _LIKE.search(text) or not text.isprintable():
        return None
    match = _PARTS.fullmatch(text)
    if match is None or _is_handle(match["name"]):
        return None
    recognition = recognise(match["name"])
    if recognition.scheme != "ppid" or recognition.canonical is None:
        return None
    return recognition.canonical, match["rest"].lower()


def _is_handle(text: str) -> bool:
    """Return whether a text is a handle, which may contain anything, also the URL of a person."""
    try:
        handle.parse(text)
    except InvalidName:
        return False
    return True
