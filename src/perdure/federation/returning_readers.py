"""Detection of redirects that never end: two servers that name each other send a reader to and fro.

A server that is asked signs what it has, so such a loop needs a server that lies, or one that cannot be asked: another
resolver, which sends unknown names back here. A reader who comes back for one name again and again is in such a loop.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

MOST_RETURNS: Final = 8  # browsers follow 20 redirects, of which every second one is from here
WINDOW: Final = 10.0  # seconds
_MOST_READERS: Final = 10_000


class ReturningReaders:
    """The readers who were sent elsewhere lately, each with the name that it asked for."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._visits: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def is_in_loop(self, reader: str, name: str) -> bool:
        """Count a visit. Return whether this reader was sent elsewhere for this name too often in a short time."""
        now, key = self._clock(), (reader, name)
        since, visits = self._visits.pop(key, (now, 0))
        if now - since > WINDOW:
            since, visits = now, 0
        self._visits[key] = since, visits + 1
        while len(self._visits) > _MOST_READERS:
            self._visits.popitem(last=False)
        return visits >= MOST_RETURNS
