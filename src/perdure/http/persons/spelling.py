"""Persons in another spelling than their own: grouped otherwise, introduced by something, or pasted with more around.

What is recognised is answered by a redirect, never under the address that was used: one person has one address.
"""

import re
from typing import Final

from perdure.errors import InvalidName
from perdure.names import handle, recognise

_LIKE: Final = re.compile(r"p[or]id", re.IGNORECASE)
_PARTS: Final = re.compile(
    r"(?P<name>.*?)(?P<rest>(?:/(?:claims|observations|history|v[1-9][0-9]{0,8}))?(?:\.[a-z]{2,6})?)", re.IGNORECASE
)


def right_spelling(text: str) -> tuple[str, str] | None:
    """The name of the person that is meant, and what the address has behind it; None, if nobody is."""
    if not _LIKE.search(text) or not text.isprintable():
        return None
    found = _PARTS.fullmatch(text)
    if found is None or _is_handle(found["name"]):
        return None
    meant = recognise(found["name"])
    if meant.scheme != "ppid" or meant.canonical is None:
        return None
    return meant.canonical, found["rest"].lower()


def _is_handle(text: str) -> bool:
    """A handle may hold anything, also what looks like somebody's address."""
    try:
        handle.parse(text)
    except InvalidName:
        return False
    return True
