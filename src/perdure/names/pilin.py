"""PILIN suffixes: nine opaque characters for dictation, made from a millisecond.

Specification: "Handle Suffix Format Policy for the PILIN Project", http://resolver.net.au/hdl/102.100.272/Y35XYS0QH

The digits are 0–9 and the consonants. The number counts milliseconds since the UUID epoch, 1582-10-15T00:00:00Z, in
base 31. It is written least significant digit first, so that suffixes made one after the other differ at the start.

>>> encode(13_399_357_792_865)
'Y35XYS0QH'
>>> parse("y35xysoqh")
PilinSuffix(milliseconds=13399357792865)
>>> canonical("y35xysoqh"), is_valid("y35xysoqh"), is_valid("Y35XYSAQH")
('Y35XYS0QH', True, False)

>>> to_datetime("0N8J991QH").isoformat()
'2007-05-30T05:50:34.750000+00:00'
>>> decode("Y35XYSAQH")
Traceback (most recent call last):
    ...
perdure.errors.InvalidName: not a valid pilin name: 'A' at position 6 is not a PILIN digit ...
"""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import Final

from perdure.errors import InvalidInput, InvalidName, OutOfRange

DIGITS: Final = "0123456789BCDFGHJKLMNPQRSTVWXYZ"
LENGTH: Final = 9
BASE: Final = len(DIGITS)
LIMIT: Final = BASE**LENGTH  # the first millisecond that nine digits cannot write: 2420-08-16T03:29:20.671Z
EPOCH: Final = datetime(1582, 10, 15, tzinfo=timezone.utc)
EPOCH_POSIX: Final = -12_219_292_800  # EPOCH in POSIX seconds

# Letters that are corrected to the digit that sounds or looks like them. L is a digit and stays L.
FORGIVEN: Final = {"O": "0", "I": "1"}

_MILLISECOND: Final = timedelta(milliseconds=1)
_BLOCK: Final = BASE**3
# All three-digit groups, least significant digit first: two divisions write a suffix.
_GROUPS: Final = [low + middle + high for high in DIGITS for middle in DIGITS for low in DIGITS]
_NO_DIGIT: Final = ord("~")


def _python_digits() -> bytes:
    """Return a table from PILIN digits and FORGIVEN letters to the digits of `int(…, 31)`. It rejects all else."""
    table = bytearray([_NO_DIGIT] * 256)
    for value, digit in enumerate(DIGITS):
        table[ord(digit)] = table[ord(digit.lower())] = ord("0123456789abcdefghijklmnopqrstu"[value])
    for typed, meant in FORGIVEN.items():
        table[ord(typed)] = table[ord(typed.lower())] = table[ord(meant)]
    return bytes(table)


_TO_PYTHON: Final = _python_digits()


@dataclass(frozen=True, slots=True, order=True)
class PilinSuffix:
    """A well-formed suffix. `str()` returns its canonical spelling."""

    milliseconds: int  # since 1582-10-15T00:00:00Z

    def __str__(self) -> str:
        return encode(self.milliseconds)


def parse(text: str) -> PilinSuffix:
    """Parse a suffix. Lower case is accepted, and the letters O and I for the digits 0 and 1."""
    return PilinSuffix(decode(text))


def canonical(text: str) -> str:
    """Return the suffix as it is minted: upper case, 0 for a typed O, 1 for a typed I."""
    return encode(decode(text))


def is_valid(text: str) -> bool:
    """Return whether `parse` accepts the text."""
    try:
        decode(text)
    except (InvalidName, InvalidInput):
        return False
    return True


def encode(milliseconds: int) -> str:
    """Return the suffix for a number of milliseconds since 1582-10-15T00:00:00Z."""
    try:
        rest, low = divmod(milliseconds, _BLOCK)
        high, middle = divmod(rest, _BLOCK)
        if milliseconds >= 0 and milliseconds.__class__ is not bool:
            return _GROUPS[low] + _GROUPS[middle] + _GROUPS[high]
    except (TypeError, IndexError, ArithmeticError):
        pass
    raise _milliseconds_error(milliseconds)


def decode(suffix: str) -> int:
    """Return the milliseconds since 1582-10-15T00:00:00Z that a suffix encodes. It accepts what `parse` accepts."""
    try:
        if len(suffix) == LENGTH:
            return int(suffix[::-1].encode("ascii").translate(_TO_PYTHON), BASE)
    except (TypeError, AttributeError, ValueError):
        pass
    raise _suffix_error(suffix)


def from_datetime(when: datetime) -> str:
    """Return the suffix of the millisecond that contains an aware datetime."""
    if not isinstance(when, datetime) or when.utcoffset() is None:
        raise InvalidInput("pilin", "datetime", "the datetime must be aware: give it a time zone")
    return encode((when - EPOCH) // _MILLISECOND)


def to_datetime(suffix: str) -> datetime:
    """Return the instant that a suffix encodes, as an aware datetime in UTC."""
    return EPOCH + decode(suffix) * _MILLISECOND


def to_posix(suffix: str) -> Fraction:
    """Return the instant that a suffix encodes, in exact POSIX seconds."""
    return EPOCH_POSIX + Fraction(decode(suffix), 1000)


def _milliseconds_error(value: object) -> InvalidInput:
    if isinstance(value, bool) or not isinstance(value, int):
        return InvalidInput("pilin", "milliseconds", f"milliseconds must be an int, not {type(value).__name__}")
    if value < 0:
        return OutOfRange("pilin", "milliseconds", "the millisecond is before 1582-10-15T00:00:00Z")
    return OutOfRange(
        "pilin", "milliseconds", "the millisecond is after 2420-08-16T03:29:20.670Z, the last that nine digits write"
    )


def _suffix_error(text: object) -> InvalidName | InvalidInput:
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
