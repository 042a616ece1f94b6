"""The granularity of an IBI subsystem, as users type it."""

from decimal import Decimal, InvalidOperation
from fractions import Fraction

from perdure.errors import InvalidInput
from perdure.names.instant import Exact


def parse_granularity(text: str) -> Exact:
    """Parse a number of seconds: 60, 1, 0.1 or 1/10."""
    try:
        return Fraction(text) if "/" in text else Decimal(text)
    except (InvalidOperation, ValueError, ZeroDivisionError):
        raise InvalidInput("ibi", "granularity", "the granularity must be a number of seconds: 60, 1, 0.1 …") from None
