"""Content negotiation: which of several media types or languages a client prefers (RFC 9110, section 12.5).

>>> best_media_type("text/turtle;q=0.5, application/*", ("text/html", "application/ld+json", "text/turtle"))
'application/ld+json'
>>> best_media_type("image/png", ("text/html",)) is None
True
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

MOST_RANGES: Final = 64
# One range up to its comma. Text in quotation marks may contain anything.
# An unclosed mark quotes all the rest, so that no text is matched twice.
_PIECE: Final = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*(?:"|\\?\Z))+')
_PARAMETER: Final = re.compile(r';(?:[^;"]|"(?:[^"\\]|\\.)*(?:"|\\?\Z))*')
# Some clients omit the 0, as in q=.2, and some write too many digits.
_QUALITY: Final = re.compile(r";\s*q\s*=\s*(0?\.[0-9]+|0\.?|1(?:\.0*)?)\s*", re.IGNORECASE)


class Range(NamedTuple):
    """A media range or a language that a client accepts, its quality, and its position in the header."""

    media: str
    quality: float
    position: int


@lru_cache(maxsize=256)
def parse_accept(accept: str | None) -> tuple[Range, ...]:
    """Return the media ranges of Accept. Parts that cannot be parsed are ignored."""
    return tuple(item for item in _parse_weighted(accept) if item.media.count("/") == 1)


@lru_cache(maxsize=256)
def parse_accept_language(accept_language: str | None) -> tuple[Range, ...]:
    """Return the languages of Accept-Language (section 12.5.4), in lower case."""
    return tuple(_parse_weighted(accept_language))


def _parse_weighted(header: str | None) -> Iterator[Range]:
    """Yield the items of a header with their qualities."""
    for position, piece in enumerate(_PIECE.findall(header or "")[:MOST_RANGES]):
        named = piece.partition(";")[0].strip().lower()
        quality = 1.0
        for parameter in _PARAMETER.findall(piece):
            if parameter[1:].lstrip()[:2].lower().rstrip("= ") == "q":
                match = _QUALITY.fullmatch(parameter)
                quality = float(match[1]) if match else -1.0
        if named and quality >= 0:
            yield Range(named, quality, position)


@lru_cache(maxsize=256)
def best_media_type(accept: str, offered: Sequence[str]) -> str | None:
    """Return the preferred media type. Of two equally preferred, the more specific one wins, then the first."""
    accepted = parse_accept(accept)
    preferences = [(media_preference(accepted, media), -position, media) for position, media in enumerate(offered)]
    (quality, *_), _, media = max(preferences)
    return media if quality > 0 else None


def media_preference(accepted: Sequence[Range], media: str) -> tuple[float, int, int]:
    """Return the preference for a media type, by the most specific range that matches it."""
    kind = media.partition("/")[0]
    for exactness, pattern in ((2, media), (1, f"{kind}/*"), (0, "*/*")):
        matches = [(item.quality, exactness, -item.position) for item in accepted if item.media == pattern]
        if matches:
            return max(matches)
    return (0.0, 0, 0)


def language_preference(accepted: Sequence[Range], language: str) -> tuple[float, int, int]:
    """Return the preference for a language. `pt` also accepts `pt-br`, and for `pt-br`, `pt` is better than nothing."""
    matches = [
        (item.quality, exactness, -item.position)
        for item in accepted
        if (exactness := _language_match(item.media, language)) > 0
    ]
    return max(matches, default=(0.0, 0, 0))


def _language_match(accepted: str, language: str) -> int:
    if accepted == language:
        return 3
    if language.startswith(f"{accepted}-"):
        return 2
    return 1 if accepted.startswith(f"{language}-") else 0
