"""The counter of resolutions: it adds up in memory what this process has answered, and writes it to the store.

Nothing about a client is stored but its kind. Counting must cost the fast path next to nothing, so it only appends to a
list. A long list is put aside as JSON, which needs little memory. Once a second, all of them are added up by another
thread, without the interpreter's lock. The store is written every few minutes.
"""

import asyncio
import re
import time
from collections.abc import Iterable
from typing import Final

import msgspec
import structlog

from perdure.errors import PerdureError
from perdure.http.shared.request import Request
from perdure.http.shared.resolution_sums import ResolutionSums
from perdure.http_options import HttpOptions
from perdure.registry.registry import Registry
from perdure.registry.statistics import CLIENT_KINDS, ClientKind, add_resolutions

_MOST: Final = 1_000_000  # sums that are held in memory while the store refuses them
_LONGEST_LIST: Final = 1_000  # names that stay in the caches of the processor until they are put aside
_LISTS_AT_ONCE: Final = 20  # that are added up by one statement
_MOST_USER_AGENTS: Final = 4_096
_BATCH: Final = 5_000  # rows in one transaction, so that other writes do not wait long
_ROBOT: Final = re.compile(
    rb"bot\b|bot[/_-]|crawl|spider|slurp|archiv|harvest|scan|monitor|preview|headless|lighthouse|pingdom|uptime|"
    rb"link.?check|validator|facebookexternalhit|mediapartners|feed|transcoder|prefetch",
    re.IGNORECASE,
)
_BROWSERS: Final = (b"Mozilla/", b"Opera/")
_encode: Final = msgspec.json.Encoder().encode
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
        self._new_keys: dict[ClientKind, list[str]] = {kind: [] for kind in CLIENT_KINDS}
        self._lists: dict[ClientKind, list[bytes]] = {kind: [] for kind in CLIENT_KINDS}
        self._sums = ResolutionSums()
        self._kinds = _ClientKinds()
        self._day = self._today()
        self._written = time.monotonic()
        self._lock = asyncio.Lock()

    def count_readers(self, keys: Iterable[str], user_agents: Iterable[bytes]) -> None:
        """Count resolutions of names by their keys, each with the User-Agent of the client."""
        kinds = list(map(self._kinds.__getitem__, user_agents))
        if kinds and kinds.count(kinds[0]) == len(kinds):
            self._extend(kinds[0], keys)
        else:
            for key, kind in zip(keys, kinds, strict=True):
                self._extend(kind, (key,))

    def count_handle_clients(self, keys: Iterable[str], user_agents: Iterable[bytes]) -> None:
        """Count resolutions by clients that read the record itself. Robots do that, too."""
        kinds = list(map(self._kinds.__getitem__, user_agents))
        if "robot" not in kinds:
            self._extend("handle", keys)
        else:
            for key, kind in zip(keys, kinds, strict=True):
                self._extend("robot" if kind == "robot" else "handle", (key,))

    def count(self, request: Request, key: str) -> None:
        """Count one resolution by a reader. Link checkers send HEAD requests, which are not counted."""
        if self.is_on and request.method == "GET":
            self.count_readers((key,), (_user_agent(request),))

    def count_record(self, request: Request, key: str) -> None:
        """Count one resolution by a client that reads the record itself. HEAD requests are not counted."""
        if self.is_on and request.method == "GET":
            self.count_handle_clients((key,), (_user_agent(request),))

    async def update(self) -> None:
        """Write what was counted if that is due or the day has ended. Limit the memory that it uses."""
        today = self._today()
        if any(self._lists.values()):
            async with self._lock:
                await self._add_lists()
        if today != self._day or time.monotonic() - self._written >= self._interval:
            await self.write()
        self._day = today

    async def write(self) -> None:
        """Write all sums to the store. Those that it refuses are written the next time."""
        async with self._lock:
            self._written = time.monotonic()
            for kind in CLIENT_KINDS:
                self._put_aside(kind)
            await self._add_lists()
            try:
                while batch := await asyncio.to_thread(self._sums.first, _BATCH):
                    await add_resolutions(self._registry, batch)
                    await asyncio.to_thread(self._sums.remove_through, batch[-1])
            except PerdureError as problem:
                _log.warning("the statistics of resolutions could not be written yet", reason=str(problem))
                if len(self._sums) > _MOST:
                    _log.error("resolutions were lost for the statistics", names=self._sums.clear())

    async def close(self) -> None:
        """Write all sums, and free the memory."""
        await self.write()
        self._sums.close()

    def _extend(self, kind: ClientKind, keys: Iterable[str]) -> None:
        new = self._new_keys[kind]
        new.extend(keys)
        if len(new) >= _LONGEST_LIST:
            self._put_aside(kind)

    def _put_aside(self, kind: ClientKind) -> None:
        if keys := self._new_keys[kind]:
            self._lists[kind].append(_encode(keys))
            keys.clear()

    async def _add_lists(self) -> None:
        """Add the lists to the sums, on another thread."""
        for kind, lists in self._lists.items():
            while some := lists[:_LISTS_AT_ONCE]:
                del lists[:_LISTS_AT_ONCE]
                await asyncio.to_thread(self._sums.add, self._day, kind, some)

    def _today(self) -> str:
        return self._registry.current_time()[:10]


def _user_agent(request: Request) -> bytes:
    return (request.header(b"user-agent") or "").encode("latin-1", "replace")
