"""Syntax checks of IRIs and language tags for RDF."""

import re
from typing import Final

from perdure.records.web_address import encode_web_address

# RFC 3987, restricted to http and https and to visible characters. A percent sign begins an escape.
_VISIBLE: Final = (
    "\xa1-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufefe\uff00-\uffef"
    "\U00010000-\U0001fffd\U00020000-\U0002fffd\U00030000-\U0003fffd"
)
_PIECE: Final = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?{_VISIBLE}-]|%[0-9A-Fa-f]{{2}})*"
_WEB_IRI: Final = re.compile(
    rf"https?://[A-Za-z0-9{_VISIBLE}][A-Za-z0-9.{_VISIBLE}-]*(?::[0-9]{{1,5}})?(?:[/?]{_PIECE})?(?:#{_PIECE})?"
)

# BCP 47 (RFC 5646, section 2.1): language, script, region, variants, extensions, private use.
_LANGUAGE: Final = re.compile(
    r"(?:(?:[A-Za-z]{2,3}(?:-[A-Za-z]{3}){0,3}|[A-Za-z]{4,8})(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*(?:-[0-9A-WY-Za-wy-z](?:-[A-Za-z0-9]{2,8})+)*"
    r"(?:-[Xx](?:-[A-Za-z0-9]{1,8})+)?|[Xx](?:-[A-Za-z0-9]{1,8})+)"
)
_LONGEST_LANGUAGE: Final = 64


def is_web_iri(text: str) -> bool:
    """Return whether the text is an http or https IRI that every RDF document can contain.

    >>> is_web_iri("https://schema.org/knows"), is_web_iri("https://example.org/%zz")
    (True, False)
    """
    try:
        return _WEB_IRI.fullmatch(text) is not None and bool(encode_web_address(text))
    except ValueError:
        return False


def is_language_tag(text: str) -> bool:
    """Return whether the text has the form of a language tag.

    >>> is_language_tag("nl"), is_language_tag("zh-Hant-TW"), is_language_tag("nl-1")
    (True, True, False)
    """
    return len(text) <= _LONGEST_LANGUAGE and _LANGUAGE.fullmatch(text) is not None
