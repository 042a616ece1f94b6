"""Reverse look-up of handles by values. Patterns may contain `*` anywhere, and the cost of every query is bounded.

A pattern is looked up by its words in the search index, and then compared literally. So text after a `*` at the start
of a pattern is found at the start of a word only: `*dkrz*` in `https://www.dkrz.de/`, but not `*krz*`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Final

from perdure.errors import InvalidInput
from perdure.names import handle
from perdure.records import record as records
from perdure.records.record import Record
from perdure.records.target import REVERSE_TYPES
from perdure.records.validation import check_storable
from perdure.registry.entities import WHOLE_REGISTRY, Agent
from perdure.registry.name_keys import locate
from perdure.registry.permissions.permissions import require_authenticated
from perdure.registry.query import MOST_FOUND
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_MOST_CONDITIONS: Final = 20
_MOST_BYTES: Final = 16 << 20  # of records scanned for one query, the newest first
_BATCH_SIZE: Final = 50  # records in memory
_MOST_WORDS: Final = 20
_LONGEST_PATTERN: Final = 8192
_SHORTEST_WORD: Final = 3  # if only its beginning is given
_WILDCARD: Final = "*"
_WORD: Final = re.compile(r"[^\W_]+")


async def find_handles(
    registry: Registry,
    by: Agent | None,
    patterns: Sequence[tuple[str, str]],
    limit: int = MOST_FOUND,
    *,
    prefix: str | None = None,
) -> list[str]:
    """Return the names of active handles with a public value for each of these types and patterns, the newest first.

    With a `prefix`, only handles under it.
    """
    require_authenticated(by, "search", WHOLE_REGISTRY)
    if not 1 <= limit <= MOST_FOUND:
        raise InvalidInput("search", "limit", f"the limit must be between 1 and {MOST_FOUND}")
    if not 1 <= len(patterns) <= _MOST_CONDITIONS:
        raise InvalidInput("search", "conditions", f"one to {_MOST_CONDITIONS} conditions are required")
    conditions = [_Condition(kind, pattern) for kind, pattern in patterns]
    exact = next((one for one in conditions if one.is_exact), None)
    words = [word for one in conditions for word in one.words][:_MOST_WORDS]
    head = "" if prefix is None else f"{handle.fold(prefix)}/"
    words = words or [word for one in conditions for word in one.beginnings][:_MOST_WORDS]
    if exact is None and not words:
        reason = f"a pattern needs a word, or the first {_SHORTEST_WORD} letters or digits of one"
        raise InvalidInput("search", conditions[0].kind, reason)

    def work(reader: Reader) -> list[str]:
        if exact is not None:
            hits = reader.find_by_value(exact.pattern, exact.kind, MOST_FOUND)
        else:
            hits = reader.search(words, MOST_FOUND)
        prefixes = _Prefixes(reader)
        names = (hit.name for hit in hits if hit.state == "active" and handle.fold(hit.name).startswith(head))
        keys = {locate(prefixes, name).key: name for name in names}
        return list(islice(_iterate_matching_names(reader, keys, conditions), limit))

    return await registry.store.scan(work)


def _iterate_matching_names(reader: Reader, keys: dict[str, str], conditions: Sequence["_Condition"]) -> Iterator[str]:
    """Yield the names of matching records, in order.

    A few are in memory at a time, and the bytes in all are bounded.
    """
    bytes_left = _MOST_BYTES
    waiting = list(keys)
    while waiting and bytes_left > 0:
        batch, waiting = waiting[:_BATCH_SIZE], waiting[_BATCH_SIZE:]
        rows = reader.find_many(batch)
        for key in batch:
            if key in rows and bytes_left > 0:
                bytes_left -= len(rows[key].record)
                if _matches(records.decode(rows[key].record), conditions):
                    yield keys[key]


class _Prefixes:
    """A cache of prefixes."""

    def __init__(self, reader: Reader) -> None:
        self.prefix = cache(reader.prefix)


class _Condition:
    """A type, and the pattern for a value of that type. Text outside of the asterisks is literal."""

    def __init__(self, kind: str, pattern: str) -> None:
        check_storable(kind, "type")
        if len(pattern) > _LONGEST_PATTERN:
            raise InvalidInput("search", kind, f"the pattern is longer than {_LONGEST_PATTERN} characters")
        self.kind = kind.upper()
        self.pattern = check_storable(pattern, kind)
        self._pieces = pattern.split(_WILDCARD)
        self.is_exact = len(self._pieces) == 1 and self.kind in REVERSE_TYPES
        self.words: list[str] = []
        self.beginnings: list[str] = []
        self._collect_words()

    def _collect_words(self) -> None:
        """Collect the words that a value must contain, whole or the beginning, and those that may start in mid-word."""
        last = len(self._pieces) - 1
        for number, piece in enumerate(self._pieces):
            for match in _WORD.finditer(piece):
                is_open = number < last and match.end() == len(piece)
                word = match[0] + (_WILDCARD if is_open else "")
                is_long_enough = not is_open or len(match[0]) >= _SHORTEST_WORD
                if number > 0 and match.start() == 0:
                    if len(match[0]) >= _SHORTEST_WORD:
                        self.beginnings.append(word)
                elif is_long_enough:
                    self.words.append(word)

    def matches(self, text: str) -> bool:
        """Match each piece in turn, from left to right.

        That is sufficient, and takes time linear in the length of the text.
        """
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


def _matches(record: Record, conditions: Sequence[_Condition]) -> bool:
    texts = [(value.kind, value.text) for value in record.values if value.is_public and value.text is not None]
    return record.state == "active" and all(
        any(kind == one.kind and one.matches(text) for kind, text in texts) for one in conditions
    )
