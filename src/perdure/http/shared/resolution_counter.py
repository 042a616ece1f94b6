"""The counter of resolutions: it adds up in memory what this process has answered, and writes it to the store.

Nothing about a client is kept but its kind. Counting must cost the fast path next to nothing, so it only adds to a
dictionary; the store is written every few minutes.
"""

import asyncio
import re
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Final

import structlog

from perdure.errors import PerdureError
from perdure.http.shared.request import Request
from perdure.http_options import HttpOptions
from perdure.registry.entities import ResolutionCount
from perdure.registry.registry import Registry
from perdure.registry.statistics import CLIENT_KINDS, ClientKind, add_resolutions

_MOST: Final = 1_000_000  # names that are held in memory, of some 150 bytes each
_MOST_USER_AGENTS: Final = 4_096
_BATCH: Final = 5_000  # rows in one transaction, about: so that other writes do not wait long
_SAMPLE: Final = 8  # keys of each batch from which its bounds are estimated
_ROBOT: Final = re.compile(
    rb"bot\b|bot[/_-]|crawl|spider|slurp|archiv|harvest|scan|monitor|preview|headless|lighthouse|pingdom|uptime|"
    rb"link.?check|validator|facebookexternalhit|mediapartners|feed|transcoder|prefetch",
    re.IGNORECASE,
)
_BROWSERS: Final = (b"Mozilla/", b"Opera/")
_log = structlog.get_logger("perdure.http")


def classify_user_agent(user_agent: bytes) -> ClientKind:
    """Return the kind of client that sends this User-Agent header.

    >>> classify_user_agent(b"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
    'browser'
    >>> classify_user_agent(b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")
    'robot'
    >>> classify_user_agent(b"curl/8.5.0"), classify_user_agent(b"")
    ('program', 'program')
    """
    if _ROBOT.search(user_agent):
        return "robot"
    return "browser" if user_agent.startswith(_BROWSERS) else "program"


class _ClientKinds(dict[bytes, ClientKind]):
    """The kinds of the user agents seen so far."""

    def __missing__(self, user_agent: bytes) -> ClientKind:
        if len(self) >= _MOST_USER_AGENTS:
            self.clear()
        kind = self[user_agent] = classify_user_agent(user_agent)
        return kind


class ResolutionCounter:
    """The resolutions of one process since the store was written last."""

    def __init__(self, registry: Registry, options: HttpOptions) -> None:
        self.is_on = options.statistics
        self._registry = registry
        self._interval = options.statistics_seconds
        self._counts = _new_counts()
        self._kinds = _ClientKinds()
        self._day = self._today()
        self._written = time.monotonic()
        self._lock = asyncio.Lock()

    def count_readers(self, keys: Iterable[str], user_agents: Iterable[bytes]) -> None:
        """Count resolutions of names by their keys, each with the User-Agent of the client."""
        kinds = list(map(self._kinds.__getitem__, user_agents))
        if kinds and kinds.count(kinds[0]) == len(kinds):
            self._counts[kinds[0]].update(keys)
        else:
            for key, kind in zip(keys, kinds, strict=True):
                self._counts[kind][key] += 1

    def count_handle_clients(self, keys: Iterable[str]) -> None:
        """Count resolutions by clients that read the record itself."""
        self._counts["handle"].update(keys)

    def count(self, request: Request, key: str) -> None:
        """Count one resolution by a reader. Link checkers send HEAD requests, which are not counted."""
        if self.is_on and request.method == "GET":
            user_agent = (request.header(b"user-agent") or "").encode("latin-1", "replace")
            self.count_readers((key,), (user_agent,))

    async def write_if_due(self) -> None:
        """Write the counts if the last time was long ago, if they take much memory, or if the day has ended."""
        today = self._today()
        is_due = time.monotonic() - self._written >= self._interval
        if is_due or today != self._day or self._size() >= _MOST:
            await self.write()
        self._day = today

    async def write(self) -> None:
        """Write all counts to the store. Those that it refuses are written the next time."""
        async with self._lock:
            self._written = time.monotonic()
            counts, self._counts = self._counts, _new_counts()
            try:
                for kind in CLIENT_KINDS:
                    await self._write_kind(kind, counts[kind], self._day)
            except PerdureError as problem:
                _log.warning("the statistics of resolutions could not be written yet", reason=str(problem))
            finally:
                self._restore(counts)

    async def _write_kind(self, kind: ClientKind, counts: Counter[str], day: str) -> None:
        for keys in await asyncio.to_thread(_partition, list(counts)):
            batch = [ResolutionCount(key, day, kind, counts[key]) for key in keys]
            await add_resolutions(self._registry, batch)
            for key in keys:
                del counts[key]

    def _restore(self, counts: dict[ClientKind, Counter[str]]) -> None:
        """Return the counts that could not be written to those in memory, as far as it is large enough."""
        if self._size() + sum(map(len, counts.values())) <= _MOST:
            for kind, one in counts.items():
                self._counts[kind].update(one)
        else:
            _log.error("resolutions were lost for the statistics", lost=sum(one.total() for one in counts.values()))

    def _size(self) -> int:
        return sum(map(len, self._counts.values()))

    def _today(self) -> str:
        return self._registry.current_time()[:10]


def _new_counts() -> dict[ClientKind, Counter[str]]:
    return {kind: Counter() for kind in CLIENT_KINDS}


def _partition(keys: list[str]) -> list[list[str]]:
    """Return the keys in order, in batches: a batch then changes few pages of the store.

    They are distributed before they are sorted, because sorting all at once would stop the event loop for too long.
    """
    step = max(1, len(keys) * _SAMPLE // _BATCH)
    bounds = sorted(keys[:: max(1, len(keys) // step)])[_SAMPLE::_SAMPLE]
    batches: list[list[str]] = [[] for _ in range(len(bounds) + 1)]
    for key in keys:
        batches[bisect_right(bounds, key)].append(key)
    for batch in batches:
        batch.sort()
    return [batch for batch in batches if batch]
