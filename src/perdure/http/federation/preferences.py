"""What readers prefer, as they state it in parameters."""

import re
from typing import Final

_LONGEST: Final = 35  # RFC 5646 recommends room for as many characters
_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")


def read_language(text: str | None) -> str | None:
    """Return a language tag in lower case; None if the text is none, because no server has a version in it.

    >>> read_language("pt-BR"), read_language("pt\\n"), read_language("x" * 36), read_language("")
    ('pt-br', None, None, None)
    """
    if text is None or len(text) > _LONGEST or _LANGUAGE.fullmatch(text) is None:
        return None
    return text.lower()
