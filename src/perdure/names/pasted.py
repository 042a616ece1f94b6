"""What is left of a pasted text when its wrapping is taken off.

People paste identifiers out of sentences, e-mails, PDFs and QR scanners: with brackets, quotation marks, a full
stop, invisible characters, a scanner's symbology code. The wrapping is removed from the ends only; of the inside of a
name only line breaks are removed, which no name holds.
"""

import re
from typing import Final

# Spaces, controls, and what cannot be seen: ranges of code points, both ends included.
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
_SYMBOLOGY: Final = re.compile(r"\](?:Q|d|C|A|X)[0-9]")  # ISO/IEC 15424, which some scanners send first
_ANNOUNCED: Final = re.compile(r"(?:URL|URI|URLTO|LINK)\s*:\s*", re.IGNORECASE)
_BOOKMARK: Final = "MEBKM:"  # a bookmark as QR codes hold it: MEBKM:TITLE:…;URL:https\://…;;
_BOOKMARK_URL: Final = re.compile(r"[:;]URL:(?P<url>(?:\\.|[^;\\])*);", re.IGNORECASE | re.DOTALL)
_BROKEN_LINE: Final = re.compile(r"(?<![ \t])[ \t]*[\r\n][\s]*")
_ROUNDS: Final = 8  # nobody wraps deeper, and a hostile text must not be peeled for ever


def strip_blanks(text: str) -> str:
    """The text without spaces and invisible characters at its ends."""
    return text.strip(_BLANKS)


def unwrap(text: str) -> str:
    """The text without what usually surrounds a pasted identifier.

    >>> unwrap("  (https://doi.org/10.1000/182). ")
    'https://doi.org/10.1000/182'
    >>> unwrap("<URL:https://doi.org/10.1000/182>.")
    'https://doi.org/10.1000/182'
    >>> unwrap("10.1016/S0735-1097(98)00347-7")
    '10.1016/S0735-1097(98)00347-7'
    """
    # No name holds a line break; where there is one, a PDF or an e-mail broke the name.
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
    announced = _ANNOUNCED.match(text)
    if announced:
        return text[announced.end() :]
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
    """Whether the first bracket is closed by the last one, and not earlier: not so in `(a)/(b)`."""
    opener, closer = text[0], text[-1]
    if opener == closer:
        return True
    depth = 0
    for at, character in enumerate(text):
        depth += (character == opener) - (character == closer)
        if depth == 0:
            return at == len(text) - 1
    return False
