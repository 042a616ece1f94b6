"""Handles, `prefix/suffix`: the identifiers of the Handle System, which include all DOIs.

Specification: RFC 3650, RFC 3651 and RFC 3652 (https://www.rfc-editor.org/rfc/rfc3650,
https://www.rfc-editor.org/rfc/rfc3651, https://www.rfc-editor.org/rfc/rfc3652).

The first slash separates prefix and suffix; the suffix may contain more slashes. Both consist of printable characters
of the Basic Multilingual Plane, are stored exactly as given (no Unicode normalisation), and are sent as UTF-8.

>>> parse("https://hdl.handle.net/10.1045/april2006-paskin")
Handle(prefix='10.1045', suffix='april2006-paskin')
>>> canonical("doi:10.1000/182"), is_valid("10.1000/182"), is_valid("10.1000")
('10.1000/182', True, False)
>>> parse("12345.1.7/thesis/chapter 2").parents
('12345.1', '12345')
>>> parse("10.1000/a\\u200bb")
Traceback (most recent call last):
    ...
perdure.errors.InvalidName: not a valid handle name: '\\u200b' (U+200B) at position 9 is an invisible ...
"""

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from perdure.errors import InvalidInput, InvalidName, quote_text

# A fixed list: a new version of Python or Unicode must not change which names are valid.
REFUSED: Final = (
    (0x0000, 0x001F, "a control character"),
    (0x007F, 0x009F, "a control character"),
    (0x200B, 0x200F, "an invisible format or direction control"),
    (0x2028, 0x2029, "a line or paragraph separator"),
    (0x202A, 0x202E, "an invisible format or direction control"),
    (0x2060, 0x206F, "an invisible format or direction control"),
    (0xD800, 0xDFFF, "a surrogate, which is not a character"),
    (0xFDD0, 0xFDEF, "a noncharacter"),
    (0xFEFF, 0xFEFF, "an invisible format or direction control"),
    (0xFFF9, 0xFFFB, "an invisible format or direction control"),
    (0xFFFE, 0xFFFF, "a noncharacter"),
    (0x10000, 0x10FFFF, "beyond the Basic Multilingual Plane"),
)
# Persian and Indic words need these. Elsewhere they are invisible, so that two names would look the same.
_LONE: Final = "a zero-width joiner that is not between two characters beyond ASCII"
_NOT_ALLOWED: Final = "a zero-width joiner, which only some prefixes allow"
_JOINERS: Final = re.compile("[\u200c\u200d]")
_LONE_JOINER: Final = re.compile(
    "(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\u200c\u200d])"
)

_REFUSED: Final = re.compile("[" + "".join(f"{chr(low)}-{chr(high)}" for low, high, _ in REFUSED) + "]")

HANDLE_PROXY: Final = "https://hdl.handle.net/"
DOI_PROXY: Final = "https://doi.org/"

# What people write before a handle. Only web addresses and info: URIs are percent-decoded.
_LABEL: Final = re.compile(r"(?:hdl|doi):[ \t]*", re.IGNORECASE)
_INFO_URI: Final = re.compile(r"info:(?:hdl|doi)/", re.IGNORECASE)
_WEB_ADDRESS: Final = re.compile(r"https?://", re.IGNORECASE)
_PORT: Final = r"(?::[0-9]{1,5})?"
_PROXY: Final = re.compile(
    rf"https?://(?:hdl\.handle\.net{_PORT}/|(?:www\.|dx\.)?doi\.org{_PORT}/|resolver\.net\.au{_PORT}/hdl/)",
    re.IGNORECASE,
)
# A handle with such a prefix would be parsed as another handle once it is written.
_RESERVED_PREFIX: Final = re.compile(r"(?:hdl|doi):.*|info:(?:hdl|doi)|https?:", re.IGNORECASE | re.DOTALL)

STRAY_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PATH_SAFE: Final = "/:@!$&'()*+,;="  # RFC 3986, pchar and the slash: everything else must be escaped
_DOT_SEGMENT: Final = re.compile(r"(?:(?<=/)|^)\.{1,2}(?=/|$)")

_ASCII_UPPER_TO_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


@dataclass(frozen=True, slots=True, order=True)
class Handle:
    """A well-formed handle. `str()` returns its canonical spelling.

    With `joiners`, the suffix may contain zero-width joiners between letters that are not ASCII.
    """

    prefix: str
    suffix: str
    joiners: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for part, text in (("prefix", self.prefix), ("suffix", self.suffix)):
            if not isinstance(text, str):
                raise InvalidInput("handle", part, f"the {part} must be text, not {type(text).__name__}")
        if "/" in self.prefix:
            raise InvalidName("handle", "prefix", self.prefix.index("/"), "the prefix contains a slash")
        _check_parts(self.prefix, self.suffix, joiners=self.joiners)

    def __str__(self) -> str:
        return f"{self.prefix}/{self.suffix}"

    @property
    def parents(self) -> tuple[str, ...]:
        """Return the prefixes that this handle's prefix is derived from, the nearest first."""
        return parents(self.prefix)

    def url(self, proxy: str = HANDLE_PROXY) -> str:
        """Return the web address of this handle at a proxy. Only characters that must be escaped are escaped."""
        return proxy + escape(str(self))


def parse(text: str, *, joiners: bool = False) -> Handle:
    """Parse a handle: bare, or after `hdl:`, `doi:`, `info:hdl/` or the address of a well-known proxy.

    With `joiners`, the suffix may contain zero-width joiners between letters that are not ASCII.
    """
    if not isinstance(text, str):
        raise InvalidInput("handle", "name", f"a handle must be text, not {type(text).__name__}")
    name, offset = _strip_introduction(text)
    prefix, slash, suffix = name.partition("/")
    if not slash:
        raise InvalidName("handle", "name", None, "there is no slash between a prefix and a suffix")
    _check_parts(prefix, suffix, offset, joiners=joiners)
    return Handle(prefix, suffix, joiners)


def canonical(text: str) -> str:
    """Return a handle as `prefix/suffix`, without what introduces it. Raise InvalidName as `parse` does."""
    return str(parse(text))


def has_joiners(text: str) -> bool:
    """Return whether the text contains zero-width joiners."""
    return not text.isascii() and _JOINERS.search(text) is not None


def is_valid(text: str) -> bool:
    """Return whether `parse` accepts the text."""
    try:
        parse(text)
    except (InvalidName, InvalidInput):
        return False
    return True


def parents(prefix: str) -> tuple[str, ...]:
    """Return the prefixes that `prefix` is derived from, the nearest first.

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
    """Return whether the prefix belongs to the DOI system."""
    return prefix.startswith("10.")


def fold(text: str) -> str:
    """Return the text with ASCII letters, and only those, in lower case, as case-insensitive names are compared.

    >>> fold("10.5072/STRASSE-STRAßE-İ")
    '10.5072/strasse-straße-İ'
    """
    return text.lower() if text.isascii() else text.translate(_ASCII_UPPER_TO_LOWER)


def escape(name: str) -> str:
    """Percent-encode a name for the path of a URI: what must be escaped, and nothing else.

    A client removes a path segment of one or two dots before it follows the link, even if the dots are escaped. So
    the slashes beside such a segment are escaped.

    >>> escape("10.1000/a?b#c d/é")
    '10.1000/a%3Fb%23c%20d/%C3%A9'
    >>> escape("10.1000/../x")
    '10.1000%2F..%2Fx'
    """
    try:
        escaped = quote(name, safe=_PATH_SAFE)
    except UnicodeEncodeError:
        raise InvalidName(
            "handle", "name", None, "the name contains a surrogate, which cannot be encoded in UTF-8"
        ) from None
    if "./" not in escaped and "/." not in escaped:
        return escaped
    protected: set[int] = set()
    for segment in _DOT_SEGMENT.finditer(escaped):
        protected.update((segment.start() - 1, segment.end()))
    return "".join("%2F" if at in protected and character == "/" else character for at, character in enumerate(escaped))


def unescape(escaped: str, offset: int = 0) -> str:
    """Percent-decode once. A stray percent sign, or bytes that are not UTF-8, raise InvalidName.

    `offset` is the position of the escaped name in the text that the caller gave.
    """
    bad = STRAY_PERCENT.search(escaped)
    if bad:
        position = offset + bad.start()
        raise InvalidName("handle", "name", position, f"the % at position {position} is not followed by two hex digits")
    _refuse_characters("name", _JOINERS.sub("-", escaped), offset)  # joiners are checked once the name is decoded
    try:
        return unquote_to_bytes(escaped).decode("utf-8")
    except UnicodeDecodeError as problem:
        raise InvalidName(
            "handle", "name", None, f"the percent-encoded bytes are not UTF-8 ({problem.reason})"
        ) from None


def is_web_address(text: str) -> bool:
    """Return whether the text begins as an http or https URL."""
    return _WEB_ADDRESS.match(text) is not None


def is_proxy_address(text: str) -> bool:
    """Return whether the text is a web address of a well-known handle proxy, whatever follows."""
    return _PROXY.match(text) is not None


def _strip_introduction(text: str) -> tuple[str, int]:
    """Return the name without what introduces it, and its position in the text (0 if it had to be decoded)."""
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


def _check_parts(prefix: str, suffix: str, offset: int = 0, *, joiners: bool = False) -> None:
    suffix_at = offset + len(prefix) + 1
    if not prefix:
        raise InvalidName("handle", "prefix", offset, "the prefix, before the first slash, is empty")
    if not suffix:
        raise InvalidName("handle", "suffix", suffix_at, "the suffix, after the first slash, is empty")
    _refuse_characters("prefix", prefix, offset)
    _refuse_characters("suffix", suffix, suffix_at, joiners=joiners)
    if _RESERVED_PREFIX.fullmatch(prefix):
        raise InvalidName(
            "handle", "prefix", offset, f"a prefix cannot be {quote_text(prefix)}, which is how a handle is introduced"
        )


def _refuse_characters(part: str, text: str, offset: int, *, joiners: bool = False) -> None:
    lone = _LONE_JOINER.search(text) if joiners else None
    found = lone or _REFUSED.search(_JOINERS.sub("-", text) if joiners else text)
    if found is None:
        return
    code = ord(found[0])
    if lone:
        why = _LONE
    elif _JOINERS.fullmatch(found[0]) and not _LONE_JOINER.search(text):
        why = _NOT_ALLOWED
    else:
        why = next(why for low, high, why in REFUSED if low <= code <= high)
    position = offset + found.start()
    raise InvalidName("handle", part, position, f"{found[0]!a} (U+{code:04X}) at position {position} is {why}")
