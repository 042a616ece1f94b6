"""Conditions of a write (If-Match, If-None-Match; RFC 9110, section 13.1): one that does not hold stops it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from perdure.errors import Conflict
from perdure.http.message import Request
from perdure.http.refusals import Malformed, Outdated
from perdure.registry.handles import Expected

_TAGS: Final = re.compile(r'[\s,]*(?:(?:W/)?"[^"]*"[\s,]*)+')
_OURS: Final = re.compile(r'"([1-9][0-9]{0,8})-record"')  # whole records are told with such a tag


@contextmanager
def expecting(request: Request) -> Iterator[Sequence[Expected]]:
    """What the client expects to find, for what is done inside; Outdated, if it is something else."""
    expected = [
        _expected(said, is_wanted, name)
        for name, is_wanted in (("if-match", True), ("if-none-match", False))
        if (said := request.header_list(name.encode())) is not None
    ]
    try:
        yield expected
    except Conflict as problem:
        if not expected or type(problem) is not Conflict:
            raise
        raise Outdated(problem.name, problem.expected, problem.found) from None


def _expected(said: str, is_wanted: bool, name: str) -> Expected:
    """Tags that a proxy has weakened are taken, because versions are exact; those of others are of no version."""
    if said.strip() == "*":
        return Expected(None, is_wanted)
    if _TAGS.fullmatch(said) is None:
        raise Malformed(f'{name} is a list of tags, as in "3-record", or *')
    return Expected(frozenset(int(tag) for tag in _OURS.findall(said)), is_wanted)
