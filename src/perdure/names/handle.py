"""Handles: `prefix/suffix`, the names of the Handle System, DOIs among them.

The first slash separates; the suffix may hold more of them. Both parts are made of printable characters of the Basic
Multilingual Plane, are kept exactly as they are (no Unicode normalisation), and travel as UTF-8.

>>> parse("https://hdl.handle.net/10.1045/april2006-paskin")
Handle(prefix='10.1045', suffix='april2006-paskin')
>>> parse("12345.1.7/thesis/chapter 2").parents
('12345.1', '12345')
>>> parse("10.1000/a\\u200bb")
Traceback (most recent call last):
    ...
perdure.errors.InvalidName: not a valid handle name: '\\u200b' (U+200B) at position 9 is an invisible ...
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from perdure.errors import InvalidInput, InvalidName, shown

# A fixed list, so that no Python version and no Unicode release decides what a name may hold.
REFUSED: Final = (
    (0x0000, 0x001F, "a control character"),
    (0x007F, 0x009F, "a control character"),
    (0x200B, 0x200F, "an invisible format or direction control"),
    (0x2028, 0x2029, "a line or paragraph separator"),
    (0x202A, 0x202E, "an invisible format or direction control"),
    (0x2060, 0x206F, "an invisible format or direction control"),
    (0xD800, 0xDFFF, "a surrogate, which is no character by itself"),
    (0xFDD0, 0xFDEF, "a noncharacter"),
    (0xFEFF, 0xFEFF, "an invisible format or direction control"),
    (0xFFF9, 0xFFFB, "an invisible format or direction control"),
    (0xFFFE, 0xFFFF, "a noncharacter"),
    (0x10000, 0x10FFFF, "beyond the Basic Multilingual Plane"),
)
_REFUSED: Final = re.compile("[" + "".join(f"{chr(low)}-{chr(high)}" for low, high, _ in REFUSED) + "]")

HANDLE_PROXY: Final = "https://hdl.handle.net/"
DOI_PROXY: Final = "https://doi.org/"

# What stands in front of a handle when people write one. Only web addresses and info: URIs are percent-decoded.
_LABEL: Final = re.compile(r"(?:hdl|doi):[ \t]*", re.IGNORECASE)
_INFO_URI: Final = re.compile(r"info:(?:hdl|doi)/", re.IGNORECASE)
_WEB_ADDRESS: Final = re.compile(r"https?://", re.IGNORECASE)
_PORT: Final = r"(?::[0-9]{1,5})?"
_PROXY: Final = re.compile(
    rf"https?://(?:hdl\.handle\.net{_PORT}/|(?:www\.|dx\.)?doi\.org{_PORT}/|resolver\.net\.au{_PORT}/hdl/)",
    re.IGNORECASE,
)
# A prefix that reads like one of these would not survive being written and read again.
_RESERVED_PREFIX: Final = re.compile(r"(?:hdl|doi):.*|info:(?:hdl|doi)|https?:", re.IGNORECASE | re.DOTALL)

_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PATH_SAFE: Final = "/:@!$&'()*+,;="  # RFC 3986, pchar and the slash: everything else must be escaped
_DOT_SEGMENT: Final = re.compile(r"(?:(?<=/)|^)\.{1,2}(?=/|$)")

_ASCII_UPPER_TO_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


@dataclass(frozen=True, slots=True, order=True)
class Handle:
    """A handle that is known to be well-formed; `str()` writes it."""

    prefix: str
    suffix: str

    def __post_init__(self) -> None:
        for part, text in (("prefix", self.prefix), ("suffix", self.suffix)):
            if not isinstance(text, str):
                raise InvalidInput("handle", part, f"the {part} must be text, not {type(text).__name__}")
        if "/" in self.prefix:
            raise InvalidName("handle", "prefix", self.prefix.index("/"), "the prefix holds a slash")
        _check(self.prefix, self.suffix)

    def __str__(self) -> str:
        return f"{self.prefix}/{self.suffix}"

    @property
    def parents(self) -> tuple[str, ...]:
        """The prefixes that this handle's prefix is derived from, the nearest first."""
        return parents(self.prefix)

    def url(self, proxy: str = HANDLE_PROXY) -> str:
        """The web address of this handle at a proxy, with exactly those characters escaped that must be."""
        return proxy + escape(str(self))


def parse(text: str) -> Handle:
    """Read a handle: bare, or behind `hdl:`, `doi:`, `info:hdl/` or the address of a well-known proxy."""
    if not isinstance(text, str):
        raise InvalidInput("handle", "name", f"a handle must be text, not {type(text).__name__}")
    name, offset = _bare(text)
    prefix, slash, suffix = name.partition("/")
    if not slash:
        raise InvalidName("handle", "name", None, "there is no slash between a prefix and a suffix")
    _check(prefix, suffix, offset)
    return Handle(prefix, suffix)


def parents(prefix: str) -> tuple[str, ...]:
    """The prefixes that `prefix` is derived from, the nearest first.

    >>> parents("12345.1.7")
    ('12345.1', '12345')
    """
    found = []
    while "." in prefix:
        prefix = prefix.rpartition(".")[0]
        if prefix:
            found.append(prefix)
    return tuple(found)


def is_doi(prefix: str) -> bool:
    """Whether the prefix is one of the DOI system's."""
    return prefix.startswith("10.")


def fold(text: str) -> str:
    """The text with ASCII letters, and only those, in lower case: how case-insensitive names are compared.

    >>> fold("10.5072/STRASSE-STRAßE-İ")
    '10.5072/strasse-straße-İ'
    """
    return text.lower() if text.isascii() else text.translate(_ASCII_UPPER_TO_LOWER)


def escape(name: str) -> str:
    """Percent-encode a name for the path of a URI: exactly what must be escaped, and nothing else.

    A path segment of one or two dots would be removed by whoever follows the link (even if it were escaped), so the
    slashes beside it are escaped.

    >>> escape("10.1000/a?b#c d/é")
    '10.1000/a%3Fb%23c%20d/%C3%A9'
    >>> escape("10.1000/../x")
    '10.1000%2F..%2Fx'
    """
    try:
        escaped = quote(name, safe=_PATH_SAFE)
    except UnicodeEncodeError:
        raise InvalidName("handle", "name", None, "there is a surrogate, which has no UTF-8") from None
    if "./" not in escaped and "/." not in escaped:
        return escaped
    protected: set[int] = set()
    for segment in _DOT_SEGMENT.finditer(escaped):
        protected.update((segment.start() - 1, segment.end()))
    return "".join("%2F" if at in protected and character == "/" else character for at, character in enumerate(escaped))


def unescape(escaped: str, offset: int = 0) -> str:
    """Percent-decode once, strictly: a stray percent sign or bytes that are not UTF-8 are errors.

    `offset` is where in the text that was given the escaped name begins.
    """
    bad = _BAD_ESCAPE.search(escaped)
    if bad:
        position = offset + bad.start()
        raise InvalidName("handle", "name", position, f"the % at position {position} is not followed by two hex digits")
    _refuse_characters("name", escaped, offset)
    try:
        return unquote_to_bytes(escaped).decode("utf-8")
    except UnicodeDecodeError as problem:
        raise InvalidName(
            "handle", "name", None, f"the percent-encoded bytes are not UTF-8 ({problem.reason})"
        ) from None


def is_proxy_address(text: str) -> bool:
    """Whether the text is a web address of a well-known handle proxy, whatever stands behind it."""
    return _PROXY.match(text) is not None


def _bare(text: str) -> tuple[str, int]:
    """The name without what introduces it, and where in the text it begins (0 if it had to be decoded)."""
    label = _LABEL.match(text)
    start = label.end() if label else 0
    address = _INFO_URI.match(text, start) or _PROXY.match(text, start)
    if address:
        name = unescape(re.split(r"[?#]", text[address.end() :], maxsplit=1)[0], address.end())
        inner = _LABEL.match(name)  # https://doi.org/doi:10.1000/182
        return name[inner.end() :] if inner else name, 0
    if _WEB_ADDRESS.match(text, start):
        raise InvalidName("handle", "name", start, "this is a web address, but not one of a known handle proxy")
    return text[start:], start


def _check(prefix: str, suffix: str, offset: int = 0) -> None:
    suffix_at = offset + len(prefix) + 1
    if not prefix:
        raise InvalidName("handle", "prefix", offset, "the prefix, before the first slash, is empty")
    if not suffix:
        raise InvalidName("handle", "suffix", suffix_at, "the suffix, after the first slash, is empty")
    _refuse_characters("prefix", prefix, offset)
    _refuse_characters("suffix", suffix, suffix_at)
    if _RESERVED_PREFIX.fullmatch(prefix):
        raise InvalidName(
            "handle", "prefix", offset, f"a prefix cannot be {shown(prefix)}, which is how a handle is introduced"
        )


def _refuse_characters(part: str, text: str, offset: int) -> None:
    found = _REFUSED.search(text)
    if found is None:
        return
    code = ord(found[0])
    why = next(why for low, high, why in REFUSED if low <= code <= high)
    position = offset + found.start()
    raise InvalidName("handle", part, position, f"{found[0]!a} (U+{code:04X}) at position {position} is {why}")
