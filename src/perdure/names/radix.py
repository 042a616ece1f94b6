"""Conversion between integers of any length and digits of a given alphabet.

Python's `int(text, base)` and `str(number)` reject numbers of more than a few thousand digits. An exact fraction of a
second may have more, so long numbers are converted in pieces.
"""

from functools import cached_property
from typing import Final

_PYTHON_DIGITS: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"
_NO_DIGIT: Final = b"~"
_PIECE: Final = 600  # below the smallest limit that an interpreter can be set to (640 digits)


class Radix:
    """A positional number system whose digits, from zero up, are `digits`.

    >>> Radix("0123456789.").read("150.163.2.174")
    4588904456580
    >>> Radix("23456789ABCDEFGHJKLMNPQRSTU").write(4588904456580)
    'J8LNKAN8P'
    """

    def __init__(self, digits: str) -> None:
        self.digits = digits
        self.base = len(digits)
        self._to_python = self._python_digits() if self.base <= len(_PYTHON_DIGITS) else None

    def _python_digits(self) -> bytes:
        """Return a table from these digits to those of `int`. It maps all else to a character that `int` rejects."""
        table = bytearray(_NO_DIGIT * 256)
        for digit, python_digit in zip(self.digits.encode(), _PYTHON_DIGITS, strict=False):
            table[digit] = python_digit
        return bytes(table)

    @cached_property
    def _blocks(self) -> list[str]:
        """Return all three-digit numbers, which saves two thirds of the divisions. Larger blocks cost more memory."""
        return [a + b + c for a in self.digits for b in self.digits for c in self.digits]

    def write(self, number: int) -> str:
        """Return the digits of a non-negative number, the most significant first, without leading zeros."""
        blocks = self._blocks
        size = len(blocks)
        if number < size**3:
            number, low = divmod(number, size)
            high, middle = divmod(number, size)
            text = blocks[high] + blocks[middle] + blocks[low]
        else:
            parts = []
            while number:
                number, low = divmod(number, size)
                parts.append(blocks[low])
            text = "".join(reversed(parts))
        return text.lstrip(self.digits[0]) or self.digits[0]

    def read(self, text: str) -> int:
        """Return the number that `text` writes. Raise ValueError if it is empty or contains another character."""
        if self._to_python is None:
            return self._read_by_digit(text)
        plain = text.encode("ascii").translate(self._to_python)
        if len(plain) <= _PIECE:
            return int(plain, self.base)
        number = 0
        for start in range(0, len(plain), _PIECE):
            piece = plain[start : start + _PIECE]
            number = number * self.base ** len(piece) + int(piece, self.base)
        return number

    def _read_by_digit(self, text: str) -> int:
        if not text:
            raise ValueError("no digits")
        number = 0
        for character in text:
            number = number * self.base + self.digits.index(character)
        return number
