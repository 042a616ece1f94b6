r"""Text of BibTeX fields: the common accents and symbols of LaTeX become characters, and braces go.

>>> to_plain_text(r"Fran{\c c}a, {\'A}gua e n\'evoa: S\~ao Jos\'{e} -- \& {B}anon")
'França, Água e névoa: São José – & Banon'
>>> to_plain_address(r"http://example.org/\~{}banon/a\_b.pdf")
'http://example.org/~banon/a_b.pdf'
"""

import re
import unicodedata
from typing import Final

_COMBINING: Final = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    "u": "\u0306",
    ".": "\u0307",
    '"': "\u0308",
    "r": "\u030a",
    "H": "\u030b",
    "v": "\u030c",
    "d": "\u0323",
    "c": "\u0327",
    "k": "\u0328",
}
_LETTERS: Final = {
    "aa": "å",
    "AA": "Å",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "o": "ø",
    "O": "Ø",
    "l": "ł",
    "L": "Ł",
    "ss": "ß",
    "i": "ı",
    "j": "ȷ",
    "dh": "ð",
    "th": "þ",
}
_DOTLESS: Final = {"\\i": "i", "\\j": "j"}
_BASE: Final = r"(?P<base>\\[ij](?![A-Za-z])|[A-Za-z])"
# The accent of a letter needs a brace or a blank, or it would be the beginning of a word.
_ACCENT: Final = re.compile(
    rf"\\(?:(?P<mark>[`'^~=.\"])\s*|(?P<letter>[urHvdck])(?:\s+|(?=\{{)))(?P<open>\{{\s*)?{_BASE}(?(open)\s*\}})"
)
_LETTER: Final = re.compile(rf"\\({'|'.join(sorted(_LETTERS, key=len, reverse=True))})(?![A-Za-z])(?:\{{\}}|\s+)?")
_SYMBOL: Final = re.compile(r"\\([&%$#_{}])|\\(text[a-z]+)(?![A-Za-z])(?:\{\}|\s+)?")
_NAMED: Final = {
    "textbackslash": "\\",
    "textbraceleft": "{",
    "textbraceright": "}",
    "textasciitilde": "~",
    "textasciicircum": "^",
}
# Characters that are not to be interpreted again are replaced by noncharacters, which no text contains.
_HIDDEN: Final = {"{": "\ufdd0", "}": "\ufdd1", "~": "\ufdd2", "\\": "\ufdd3"}
_SHOWN: Final = str.maketrans({hidden: mark for mark, hidden in _HIDDEN.items()})
_DASHES: Final = re.compile(r"-{2,3}")
_SPACE: Final = re.compile(r"\s+")
_TILDE: Final = re.compile(r"\\~(?:\{\})?|\\textasciitilde(?:\{\})?|\{\\textasciitilde\}")


def to_plain_text(text: str) -> str:
    """Return a text as a reader sees it. Unknown commands stay as they are."""
    if "\\" in text:
        text = _ACCENT.sub(_write_accent, text)
        text = _LETTER.sub(lambda match: _LETTERS[match[1]], text)
        text = _SYMBOL.sub(_write_symbol, text)
    text = _DASHES.sub(lambda match: "–" if len(match[0]) == 2 else "—", text).replace("~", "\u00a0")
    text = text.replace("{", "").replace("}", "").translate(_SHOWN)
    return unicodedata.normalize("NFC", _SPACE.sub(" ", text).strip())


def to_plain_address(text: str) -> str:
    """Return an address, a label or a file name: only what LaTeX needs is removed."""
    text = _TILDE.sub("~", text)
    text = _SYMBOL.sub(_write_symbol, text)
    text = text.replace("{", "").replace("}", "").translate(_SHOWN)
    return _SPACE.sub(" ", text).strip()


def _write_symbol(match: re.Match[str]) -> str:
    mark = match[1] or _NAMED.get(match[2])
    return match[0] if mark is None else _HIDDEN.get(mark, mark)


def _write_accent(match: re.Match[str]) -> str:
    base = _DOTLESS.get(match["base"], match["base"])
    return unicodedata.normalize("NFC", base + _COMBINING[match["mark"] or match["letter"]])
