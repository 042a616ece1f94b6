"""Which of several forms a client likes best (RFC 9110, section 12.5.1).

>>> best("text/turtle;q=0.5, application/*", ("text/html", "application/ld+json", "text/turtle"))
'application/ld+json'
>>> best("image/png", ("text/html",)) is None
True
"""

import re
from collections.abc import Sequence
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
    if not accept:
        return ()
    found = []
    for place, piece in enumerate(_PIECE.findall(accept)[:MOST_RANGES]):
        media = piece.partition(";")[0].strip().lower()
        quality = 1.0
        for parameter in _PARAMETER.findall(piece):
            if parameter[1:].lstrip()[:2].lower().rstrip("= ") == "q":
                said = _QUALITY.fullmatch(parameter)
                quality = float(said[1]) if said else -1.0
        if media.count("/") == 1 and quality >= 0:
            found.append(Range(media, quality, place))
    return tuple(found)


@lru_cache(maxsize=256)
def best(accept: str, offered: Sequence[str]) -> str | None:
    """The form that is liked best: of two liked equally the one named more exactly, then the one named first."""
    taken = ranges(accept)
    liked = [(_liking(taken, media), -place, media) for place, media in enumerate(offered)]
    (quality, *_), _, media = max(liked)
    return media if quality > 0 else None


def _liking(taken: Sequence[Range], media: str) -> tuple[float, int, int]:
    """How much a form is liked, by the range that fits it most exactly."""
    kind = media.partition("/")[0]
    for exactness, wanted in ((2, media), (1, f"{kind}/*"), (0, "*/*")):
        fitting = [(one.quality, exactness, -one.place) for one in taken if one.media == wanted]
        if fitting:
            return max(fitting)
    return (0.0, 0, 0)
