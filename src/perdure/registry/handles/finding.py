"""Reverse look-up: which handles say this. Patterns may hold `*` anywhere, and every question costs a bounded amount.

A pattern is looked for by its words, as the search index has them, and then compared as it stands. So what follows a
`*` at its beginning is found at the beginning of a word: `*dkrz*` in `https://www.dkrz.de/`, but not `*krz*`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Final

from perdure.errors import InvalidInput
from perdure.names import handle
from perdure.records import record as records
from perdure.records.checks import storable
from perdure.records.record import Record
from perdure.records.target import REVERSE_TYPES
from perdure.registry.authority import authenticated
from perdure.registry.entities import EVERYWHERE, Agent
from perdure.registry.looking import MOST_FOUND
from perdure.registry.naming import locate
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry

_MOST_CONDITIONS: Final = 20
_MOST_BYTES: Final = 16 << 20  # of records that are looked through for one question, the newest first
_AT_ONCE: Final = 50  # records in memory
_MOST_WORDS: Final = 20
_LONGEST_PATTERN: Final = 8192
_SHORTEST_WORD: Final = 3  # of which only the beginning is known
_ANY: Final = "*"
_WORD: Final = re.compile(r"[^\W_]+")


async def find_handles(
    registry: Registry,
    by: Agent | None,
    wanted: Sequence[tuple[str, str]],
    limit: int = MOST_FOUND,
    *,
    prefix: str | None = None,
) -> list[str]:
    """The names of active handles with a public value for each of these types and patterns, the newest first.

    With a `prefix`, only of those that it begins.
    """
    authenticated(by, "search", EVERYWHERE)
    if not 1 <= limit <= MOST_FOUND:
        raise InvalidInput("search", "limit", f"the limit must be between 1 and {MOST_FOUND}")
    if not 1 <= len(wanted) <= _MOST_CONDITIONS:
        raise InvalidInput("search", "conditions", f"give one to {_MOST_CONDITIONS} conditions")
    conditions = [_Condition(kind, pattern) for kind, pattern in wanted]
    exact = next((one for one in conditions if one.is_exact), None)
    words = [word for one in conditions for word in one.words][:_MOST_WORDS]
    head = "" if prefix is None else f"{handle.fold(prefix)}/"
    words = words or [word for one in conditions for word in one.beginnings][:_MOST_WORDS]
    if exact is None and not words:
        reason = f"a pattern needs a word, or the first {_SHORTEST_WORD} letters or digits of one"
        raise InvalidInput("search", conditions[0].kind, reason)

    def work(reader: Reader) -> list[str]:
        if exact is not None:
            hits = reader.reverse(exact.pattern, exact.kind, MOST_FOUND)
        else:
            hits = reader.search(words, MOST_FOUND)
        prefixes = _Prefixes(reader)
        named = (hit.name for hit in hits if hit.state == "active" and handle.fold(hit.name).startswith(head))
        keys = {locate(prefixes, name).key: name for name in named}
        return list(islice(_those_that_hold(reader, keys, conditions), limit))

    return await registry.store.scan(work)


def _those_that_hold(reader: Reader, keys: dict[str, str], conditions: Sequence["_Condition"]) -> Iterator[str]:
    """The names of those records, in their order: a few in memory at a time, and a bounded number of bytes in all."""
    left = _MOST_BYTES
    waiting = list(keys)
    while waiting and left > 0:
        asked, waiting = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
        rows = reader.find_many(asked)
        for key in asked:
            if key in rows and left > 0:
                left -= len(rows[key].record)
                if _holds(records.decode(rows[key].record), conditions):
                    yield keys[key]


class _Prefixes:
    """The prefixes, each asked for once."""

    def __init__(self, reader: Reader) -> None:
        self.prefix = cache(reader.prefix)


class _Condition:
    """A type, and what a value of that type must say. Text outside of the asterisks stands for itself."""

    def __init__(self, kind: str, pattern: str) -> None:
        storable(kind, "type")
        if len(pattern) > _LONGEST_PATTERN:
            raise InvalidInput("search", kind, f"the pattern is longer than {_LONGEST_PATTERN} characters")
        self.kind = kind.upper()
        self.pattern = storable(pattern, kind)
        self._pieces = pattern.split(_ANY)
        self.is_exact = len(self._pieces) == 1 and self.kind in REVERSE_TYPES
        self.words: list[str] = []
        self.beginnings: list[str] = []
        self._take_words()

    def _take_words(self) -> None:
        """The words that a value must hold, whole or from their beginning; and those that may begin in mid-word."""
        last = len(self._pieces) - 1
        for number, piece in enumerate(self._pieces):
            for match in _WORD.finditer(piece):
                is_open = number < last and match.end() == len(piece)
                word = match[0] + (_ANY if is_open else "")
                is_long_enough = not is_open or len(match[0]) >= _SHORTEST_WORD
                if number > 0 and match.start() == 0:
                    if len(match[0]) >= _SHORTEST_WORD:
                        self.beginnings.append(word)
                elif is_long_enough:
                    self.words.append(word)

    def matches(self, text: str) -> bool:
        """Each piece in its turn, from left to right: that is enough, and takes no longer than the text is long."""
        first, *rest = self._pieces
        if not rest:
            return text == first
        *middle, last = rest
        if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
            return False
        at, end = len(first), len(text) - len(last)
        for piece in middle:
            at = text.find(piece, at, end)
            if at < 0:
                return False
            at += len(piece)
        return True


def _holds(record: Record, conditions: Sequence[_Condition]) -> bool:
    said = [(value.kind, value.text) for value in record.values if value.is_public and value.text is not None]
    return record.state == "active" and all(
        any(kind == one.kind and one.matches(text) for kind, text in said) for one in conditions
    )
