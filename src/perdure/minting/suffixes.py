"""Suffixes that need no clock: random ones, and numbers that count up."""

import re
from typing import Final
from uuid import uuid4

from perdure.errors import InvalidInput

DEFAULT_PATTERN: Final = "#"
_NUMBER: Final = re.compile(r"#+")


def random_suffix() -> str:
    """A UUIDv4, as Handle servers append one to a prefix."""
    return str(uuid4())


def checked_pattern(pattern: str) -> str:
    """A pattern for numbered suffixes: one run of `#`, as in `thesis-####`."""
    if len(_NUMBER.findall(pattern)) != 1:
        raise InvalidInput(
            "prefix", "pattern", "a pattern has exactly one run of #, where the number goes: thesis-####"
        )
    return pattern


def numbered_suffix(pattern: str, number: int) -> str:
    """The number in its place, with leading zeros up to the width of the run.

    >>> numbered_suffix("thesis-####", 42), numbered_suffix("#", 123456)
    ('thesis-0042', '123456')
    """
    return _NUMBER.sub(lambda run: str(number).rjust(len(run[0]), "0"), pattern, count=1)
