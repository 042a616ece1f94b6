"""Removal of what surrounds a pasted identifier.

People paste identifiers from sentences, e-mails, PDFs and QR scanners, with brackets, quotation marks, a full stop,
invisible characters, or a scanner's symbology code. These are removed at the ends only. Inside the text only line
breaks are removed, because no name contains one.
"""

import re
from typing import Final

# Spaces, controls and invisible characters: ranges of code points, both ends included.
_BLANK_RANGES: Final = (
    (0x00, 0x20),
    (0x7F, 0xA0),
    (0xAD, 0xAD),
    (0x1680, 0x1680),
    (0x180E, 0x180E),
    (0x2000, 0x200F),
    (0x2028, 0x202F),
    (0x205F, 0x206F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
)
_BLANKS: Final = "".join(chr(code) for low, high in _BLANK_RANGES for code in range(low, high + 1))
_PAIRS: Final = {
    "<": ">",
    "(": ")",
    "[": "]",
    "{": "}",
    '"': '"',
    "'": "'",
    "`": "`",
    "“": "”",
    "‘": "’",
    "«": "»",
    "„": "“",
    "‹": "›",
}
_OPENERS: Final = {closer: opener for opener, closer in _PAIRS.items() if opener != closer}
_TRAILING: Final = ".,;:!?…"
_SYMBOLOGY: Final = re.compile(r"\](?:Q|d|C|A|X)[0-9]")  # ISO/IEC 15424; some scanners send it first
_LINK_LABEL: Final = re.compile(r"(?:URL|URI|URLTO|LINK)\s*:\s*", re.IGNORECASE)
_BOOKMARK: Final = "MEBKM:"  # a bookmark in a QR code: MEBKM:TITLE:…;URL:https\://…;;
_BOOKMARK_URL: Final = re.compile(r"[:;]URL:(?P<url>(?:\\.|[^;\\])*);", re.IGNORECASE | re.DOTALL)
_BROKEN_LINE: Final = re.compile(r"(?<![ \t])[ \t]*[\r\n][\s]*")
_ROUNDS: Final = 8  # deeper nesting does not occur; a hostile text must not take long


def strip_blanks(text: str) -> str:
    """Return the text without spaces and invisible characters at its ends."""
    return text.strip(_BLANKS)


def unwrap(text: str) -> str:
    """Return the text without what usually surrounds a pasted identifier.

    >>> unwrap("  (https://doi.org/10.1000/182). ")
    'https://doi.org/10.1000/182'
    >>> unwrap("<URL:https://doi.org/10.1000/182>.")
    'https://doi.org/10.1000/182'
    >>> unwrap("10.1016/S0735-1097(98)00347-7")
    '10.1016/S0735-1097(98)00347-7'
    """
    # No name contains a line break: a PDF or an e-mail program inserted it.
    core = _BROKEN_LINE.sub("", strip_blanks(text))
    for _ in range(_ROUNDS):
        before = core
        core = _peel(core)
        if core == before:
            break
    return core


def _peel(text: str) -> str:
    bookmark = _BOOKMARK_URL.search(text) if text[: len(_BOOKMARK)].upper() == _BOOKMARK else None
    if bookmark:
        return strip_blanks(re.sub(r"\\(.)", r"\1", bookmark["url"]))
    code = _SYMBOLOGY.match(text)
    if code:
        text = text[code.end() :]
    if len(text) > 1 and _PAIRS.get(text[0]) == text[-1] and _wraps_the_whole(text):
        return strip_blanks(text[1:-1])
    link_label = _LINK_LABEL.match(text)
    if link_label:
        return text[link_label.end() :]
    if len(text) > 1 and text[-1] in _TRAILING:
        return strip_blanks(text[:-1])
    opener = _OPENERS.get(text[-1:])
    if opener and text.count(text[-1]) > text.count(opener):
        return strip_blanks(text[:-1])
    closer = _PAIRS.get(text[:1])
    if closer and closer not in text[1:]:
        return strip_blanks(text[1:])
    return text


def _wraps_the_whole(text: str) -> bool:
    """Return whether the last bracket closes the first one. In `(a)/(b)` it does not."""
    opener, closer = text[0], text[-1]
    if opener == closer:
        return True
    depth = 0
    for at, character in enumerate(text):
        depth += (character == opener) - (character == closer)
        if depth == 0:
            return at == len(text) - 1
    return False
