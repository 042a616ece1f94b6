"""Instants and seconds as users type and read them: exact, in ISO 8601 or in POSIX seconds."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import Final

from perdure.names import instant

_POSIX: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def parse_instant(text: str, scheme: str) -> Fraction:
    """Parse an instant: ISO 8601 with a time zone, or POSIX seconds."""
    if _POSIX.fullmatch(text):
        return instant.to_exact(Decimal(text), scheme, "instant")
    return instant.from_iso(text.replace(" ", "T", 1), scheme, "instant")


def format_seconds(seconds: Fraction) -> str:
    """Format exact seconds as a decimal number.

    >>> format_seconds(Fraction(-606, 1000)), format_seconds(Fraction(60))
    ('-0.606', '60')
    """
    size = abs(seconds)
    places = instant.decimals(size - size // 1, "ibi", "instant")
    return f"{'-' if seconds < 0 else ''}{size // 1}{f'.{places}' if places else ''}"
