"""The counter of resolutions: it adds up in memory what this process has answered, and writes it to the store.

Nothing about a client is kept but its kind. Counting must cost the fast path next to nothing, so it only adds to a
dictionary; the store is written once a minute.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Final

import structlog

from perdure.errors import PerdureError
from perdure.http.shared.request import Request
from perdure.http_options import HttpOptions
from perdure.registry.entities import ResolutionCount
from perdure.registry.registry import Registry
from perdure.registry.statistics import ClientKind, add_resolutions

_MOST: Final = 200_000  # pairs of a name and a kind that are held in memory
_MOST_USER_AGENTS: Final = 4_096
_BATCH: Final = 1_000  # rows in one transaction, so that other writes do not wait long
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
        self._counts: Counter[tuple[str, str]] = Counter()
        self._kinds = _ClientKinds()
        self._day = self._today()
        self._written = time.monotonic()
        self._lock = asyncio.Lock()

    def count_readers(self, keys: Iterable[str], user_agents: Iterable[bytes]) -> None:
        """Count resolutions of names by their keys, each with the User-Agent of the client."""
        self._counts.update(zip(keys, map(self._kinds.__getitem__, user_agents), strict=True))

    def count_handle_clients(self, keys: Iterable[str]) -> None:
        """Count resolutions by clients that read the record itself."""
        self._counts.update(zip(keys, repeat("handle")))

    def count(self, request: Request, key: str) -> None:
        """Count one resolution by a reader. A HEAD request, as link checkers send it, leads nobody anywhere."""
        if self.is_on and request.method == "GET":
            user_agent = (request.header(b"user-agent") or "").encode("latin-1", "replace")
            self.count_readers((key,), (user_agent,))

    async def write_if_due(self) -> None:
        """Write the counts if the last time was long ago, if they take much memory, or if the day has ended."""
        today = self._today()
        is_due = time.monotonic() - self._written >= self._interval
        if is_due or today != self._day or len(self._counts) >= _MOST:
            await self.write()
        self._day = today

    async def write(self) -> None:
        """Write all counts to the store. Those that it refuses are written the next time."""
        async with self._lock:
            self._written = time.monotonic()
            counts, day = self._counts, self._day
            self._counts = Counter()
            try:
                while batch := _take(counts, day):
                    await self._write_batch(batch, counts)
            except PerdureError as problem:
                _log.warning("the statistics of resolutions could not be written yet", reason=str(problem))
            finally:
                self._restore(counts)

    async def _write_batch(self, batch: Sequence[ResolutionCount], counts: Counter[tuple[str, str]]) -> None:
        try:
            await add_resolutions(self._registry, batch)
        except BaseException:
            counts.update({(one.key, one.client): one.count for one in batch})
            raise

    def _restore(self, counts: Counter[tuple[str, str]]) -> None:
        """Keep the counts that could not be written, as far as memory allows."""
        if len(counts) + len(self._counts) <= _MOST:
            self._counts.update(counts)
        else:
            _log.error("resolutions were lost for the statistics", lost=counts.total())

    def _today(self) -> str:
        return self._registry.current_time()[:10]


def _take(counts: Counter[tuple[str, str]], day: str) -> list[ResolutionCount]:
    """Remove some counts and return them as rows."""
    rows: list[ResolutionCount] = []
    while counts and len(rows) < _BATCH:
        (key, client), count = counts.popitem()
        rows.append(ResolutionCount(key, day, client, count))
    return rows
