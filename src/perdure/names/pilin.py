"""PILIN suffixes: nine opaque, dictatable characters made from a millisecond.

The digits are 0–9 and the consonants; the number counts milliseconds since the UUID epoch, 1582-10-15T00:00:00Z, in
base 31, and is written least significant digit first, so that names made one after the other look different at
once.

>>> encode(13_399_357_792_865)
'Y35XYS0QH'
>>> decode("y35xysoqh") == decode("Y35XYS0QH")
True
>>> to_datetime("0N8J991QH").isoformat()
'2007-05-30T05:50:34.750000+00:00'
>>> decode("Y35XYSAQH")
Traceback (most recent call last):
    ...
perdure.errors.InvalidName: not a valid pilin name: 'A' at position 6 is not a PILIN digit ...
"""

from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import Final

from perdure.errors import InvalidInput, InvalidName, OutOfRange

DIGITS: Final = "0123456789BCDFGHJKLMNPQRSTVWXYZ"
LENGTH: Final = 9
BASE: Final = len(DIGITS)
LIMIT: Final = BASE**LENGTH  # the first millisecond that nine digits cannot write: 2420-08-16T03:29:20.671Z
EPOCH: Final = datetime(1582, 10, 15, tzinfo=timezone.utc)
EPOCH_POSIX: Final = -12_219_292_800  # the same, in POSIX seconds

# What a listener writes down, or a scanner reads, for a digit that looks alike. L is a digit and stays L.
FORGIVEN: Final = {"O": "0", "I": "1"}

_MILLISECOND: Final = timedelta(milliseconds=1)
_BLOCK: Final = BASE**3
# All three-digit groups, least significant digit first: two divisions write a suffix.
_GROUPS: Final = [low + middle + high for high in DIGITS for middle in DIGITS for low in DIGITS]
_NO_DIGIT: Final = ord("~")


def _python_digits() -> bytes:
    """Forgiving translation to the digits that `int(…, 31)` reads; all else must not look like a digit to it."""
    table = bytearray([_NO_DIGIT] * 256)
    for value, digit in enumerate(DIGITS):
        table[ord(digit)] = table[ord(digit.lower())] = ord("0123456789abcdefghijklmnopqrstu"[value])
    for typed, meant in FORGIVEN.items():
        table[ord(typed)] = table[ord(typed.lower())] = table[ord(meant)]
    return bytes(table)


_TO_PYTHON: Final = _python_digits()


def encode(milliseconds: int) -> str:
    """The suffix for a number of milliseconds since 1582-10-15T00:00:00Z."""
    try:
        rest, low = divmod(milliseconds, _BLOCK)
        high, middle = divmod(rest, _BLOCK)
        if milliseconds >= 0 and milliseconds.__class__ is not bool:
            return _GROUPS[low] + _GROUPS[middle] + _GROUPS[high]
    except (TypeError, IndexError, ArithmeticError):
        pass
    raise _not_a_millisecond(milliseconds)


def decode(suffix: str) -> int:
    """The milliseconds since 1582-10-15T00:00:00Z that a suffix stands for; typed input is forgiven."""
    try:
        if len(suffix) == LENGTH:
            return int(suffix[::-1].encode("ascii").translate(_TO_PYTHON), BASE)
    except (TypeError, AttributeError, ValueError):
        pass
    raise _not_a_suffix(suffix)


def canonical(suffix: str) -> str:
    """The suffix as it is minted: upper case, 0 for a typed O, 1 for a typed I."""
    return encode(decode(suffix))


def from_datetime(when: datetime) -> str:
    """The suffix of the millisecond that an aware datetime lies in."""
    if not isinstance(when, datetime) or when.utcoffset() is None:
        raise InvalidInput("pilin", "datetime", "the datetime must be aware: give it a time zone")
    return encode((when - EPOCH) // _MILLISECOND)


def to_datetime(suffix: str) -> datetime:
    """The instant that a suffix stands for, as an aware datetime in UTC."""
    return EPOCH + decode(suffix) * _MILLISECOND


def to_posix(suffix: str) -> Fraction:
    """The instant that a suffix stands for, in exact POSIX seconds."""
    return EPOCH_POSIX + Fraction(decode(suffix), 1000)


def _not_a_millisecond(value: object) -> InvalidInput:
    if isinstance(value, bool) or not isinstance(value, int):
        return InvalidInput("pilin", "milliseconds", f"milliseconds must be an int, not {type(value).__name__}")
    if value < 0:
        return OutOfRange("pilin", "milliseconds", "the millisecond is before 1582-10-15T00:00:00Z")
    return OutOfRange(
        "pilin", "milliseconds", "the millisecond is after 2420-08-16T03:29:20.670Z, the last that nine digits write"
    )


def _not_a_suffix(text: object) -> InvalidName | InvalidInput:
    if not isinstance(text, str):
        return InvalidInput("pilin", "suffix", f"a suffix must be text, not {type(text).__name__}")
    for position, character in enumerate(text):
        code = ord(character)
        if code > 127 or _TO_PYTHON[code] == _NO_DIGIT:
            return InvalidName(
                "pilin",
                "suffix",
                position,
                f"{character!a} at position {position} is not a PILIN digit (the digits are 0-9 and consonants)",
            )
    return InvalidName("pilin", "suffix", None, f"a PILIN suffix has exactly {LENGTH} characters, this has {len(text)}")
