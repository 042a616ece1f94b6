"""Suffixes that need no clock: random ones, and consecutive numbers."""

import re
from typing import Final
from uuid import uuid4

from perdure.errors import InvalidInput

DEFAULT_PATTERN: Final = "#"
_NUMBER: Final = re.compile(r"#+")


def random_suffix() -> str:
    """Return a UUIDv4, as Handle servers append it to a prefix."""
    return str(uuid4())


def check_pattern(pattern: str) -> str:
    """Return a pattern for numbered suffixes. Raise InvalidInput if it does not have one run of `#`."""
    if len(_NUMBER.findall(pattern)) != 1:
        raise InvalidInput(
            "prefix", "pattern", "a pattern has exactly one run of #, where the number goes: thesis-####"
        )
    return pattern


def numbered_suffix(pattern: str, number: int) -> str:
    """Replace the run of `#` by the number, with leading zeros up to the width of the run.

    >>> numbered_suffix("thesis-####", 42), numbered_suffix("#", 123456)
    ('thesis-0042', '123456')
    """
    return _NUMBER.sub(lambda run: str(number).rjust(len(run[0]), "0"), pattern, count=1)
