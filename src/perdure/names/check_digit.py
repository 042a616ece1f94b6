"""The check digit of ISO/IEC 7064 MOD 11-2, over hexadecimal or decimal digits.

The sum of the standard uses powers of two: each digit is added to the total, which is then doubled. 24 is congruent to
2 modulo 11. So the total is twice the number that the digits write in base 24: one conversion in C instead of a loop in
Python.
"""

from typing import Final

_BASE: Final = 24  # congruent to 2 modulo 11, and large enough for hexadecimal digits
_CHECK_DIGITS: Final = "0123456789X"
# For each number modulo 11, the check digit (12 - 2 * number) % 11.
_DIGIT_OF_REST: Final = "".join(_CHECK_DIGITS[(12 - 2 * rest) % 11] for rest in range(11))


def check_digit(digits: str) -> str:
    """Return the check digit of hexadecimal digits in either case. The caller has checked that they are digits.

    >>> check_digit("7a3bc4d5e6f7890")
    '3'
    >>> check_digit("000000021694233")
    'X'
    """
    return _DIGIT_OF_REST[int(digits, _BASE) % 11]
