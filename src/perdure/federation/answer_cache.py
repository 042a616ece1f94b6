"""A cache of what servers answered: bounded in entries and in bytes, and each entry in time."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class AnswerCache(Generic[Key, Value]):
    """Values by their keys; the one that was used least recently goes first when there are too many, or too long ones.

    Servers decide how long their answers are, so the number of entries alone would not bound the memory.
    """

    def __init__(self, most: int, clock: Callable[[], float], most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._clock = clock
        self._bytes = 0
        self._entries: OrderedDict[Key, tuple[float, int, Value]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Value | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        until, size, value = entry
        if self._clock() >= until:
            del self._entries[key]
            self._bytes -= size
            return None
        self._entries.move_to_end(key)
        return value

    def put(self, key: Key, value: Value, seconds: float, size: int) -> None:
        """Store a value of this size in bytes, which the caller estimates."""
        before = self._entries.pop(key, None)
        self._bytes += size - (0 if before is None else before[1])
        self._entries[key] = self._clock() + seconds, size, value
        while len(self._entries) > self._most or self._bytes > self._most_bytes:
            _, (_, dropped, _) = self._entries.popitem(last=False)
            self._bytes -= dropped

    def clear(self) -> None:
        self._entries.clear()
        self._bytes = 0
