"""Which of several forms a client likes best (RFC 9110, section 12.5.1).

>>> best("text/turtle;q=0.5, application/*", ("text/html", "application/ld+json", "text/turtle"))
'application/ld+json'
>>> best("image/png", ("text/html",)) is None
True
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

MOST_RANGES: Final = 64
# One range up to its comma: text in quotation marks may hold anything.
# Marks that nobody closes hold all the rest, so that no text is read twice.
_PIECE: Final = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*(?:"|\\?\Z))+')
_PARAMETER: Final = re.compile(r';(?:[^;"]|"(?:[^"\\]|\\.)*(?:"|\\?\Z))*')
# Some clients leave the 0 out, as in q=.2, and some have more digits than they should.
_QUALITY: Final = re.compile(r";\s*q\s*=\s*(0?\.[0-9]+|0\.?|1(?:\.0*)?)\s*", re.IGNORECASE)


class Range(NamedTuple):
    """What a client takes, how much it likes that, and the place where it said so."""

    media: str
    quality: float
    place: int


@lru_cache(maxsize=256)
def ranges(accept: str | None) -> tuple[Range, ...]:
    """The ranges of a header; what cannot be understood of it is passed over."""
    return tuple(one for one in _weighed(accept) if one.media.count("/") == 1)


@lru_cache(maxsize=256)
def languages(accept_language: str | None) -> tuple[Range, ...]:
    """The same of a header that names languages (Accept-Language, section 12.5.4), in lower case."""
    return tuple(_weighed(accept_language))


def _weighed(header: str | None) -> Iterator[Range]:
    """What a client says that it takes, each with how much it likes that."""
    for place, piece in enumerate(_PIECE.findall(header or "")[:MOST_RANGES]):
        named = piece.partition(";")[0].strip().lower()
        quality = 1.0
        for parameter in _PARAMETER.findall(piece):
            if parameter[1:].lstrip()[:2].lower().rstrip("= ") == "q":
                said = _QUALITY.fullmatch(parameter)
                quality = float(said[1]) if said else -1.0
        if named and quality >= 0:
            yield Range(named, quality, place)


@lru_cache(maxsize=256)
def best(accept: str, offered: Sequence[str]) -> str | None:
    """The form that is liked best: of two liked equally the one named more exactly, then the one named first."""
    taken = ranges(accept)
    liked = [(liking(taken, media), -place, media) for place, media in enumerate(offered)]
    (quality, *_), _, media = max(liked)
    return media if quality > 0 else None


def liking(taken: Sequence[Range], media: str) -> tuple[float, int, int]:
    """How much a form is liked, by the range that fits it most exactly."""
    kind = media.partition("/")[0]
    for exactness, wanted in ((2, media), (1, f"{kind}/*"), (0, "*/*")):
        fitting = [(one.quality, exactness, -one.place) for one in taken if one.media == wanted]
        if fitting:
            return max(fitting)
    return (0.0, 0, 0)


def liking_of_language(taken: Sequence[Range], language: str) -> tuple[float, int, int]:
    """The same of a language: who takes `pt` takes `pt-br`, and who takes `pt-br` is better served by `pt` than not."""
    fitting = [
        (one.quality, exactness, -one.place) for one in taken if (exactness := _likeness(one.media, language)) > 0
    ]
    return max(fitting, default=(0.0, 0, 0))


def _likeness(taken: str, language: str) -> int:
    if taken == language:
        return 3
    if language.startswith(f"{taken}-"):
        return 2
    return 1 if taken.startswith(f"{language}-") else 0
