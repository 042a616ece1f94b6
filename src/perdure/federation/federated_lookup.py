"""The look-up of a name at other servers: which are asked, in parallel and with a time limit, and what they answered.

The answers are cached for a short time. A server that fails is left alone for a while. Several readers who ask for one
name at once cause one question.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from perdure.errors import PeerNotTrusted, PeerUnavailable
from perdure.federation.answer_cache import AnswerCache
from perdure.federation.answer_choice import Choice, GivenAnswer, choose_answer, leads_to
from perdure.federation.circuit_breaker import CircuitBreaker
from perdure.federation.peer_client import PeerClient
from perdure.federation.peer_statements import fetch_answer
from perdure.federation.peer_table import Candidates, PeerTable
from perdure.federation.statements import LONGEST_VIA
from perdure.registry.entities import Peer
from perdure.registry.name_keys import LONGEST_NAME
from perdure.registry.registry import Registry

_TABLE_SECONDS: Final = 1.0  # for which the table is used before it is read again
_MOST_CACHED: Final = 10_000  # names
_MOST_CACHED_BYTES: Final = 32 << 20  # of answers
_AT_ONCE: Final = 16  # questions to one server
_MOST_WAITING: Final = 256  # names that are being looked up
_MOST_LATE: Final = 256  # questions that nobody waits for any more
_GRACE: Final = 0.25  # seconds to wait for better answers after a good one
_PAUSED: Final = "it failed before, and is left alone for a while"

AnswerObserver = Callable[[str, str, float], None]  # a peer, an outcome, and seconds


class LookupSettings(NamedTuple):
    """Time limits, in seconds: for an answer, and for which answers are cached."""

    answer_seconds: float = 2.0
    cache_seconds: float = 30.0
    missing_seconds: float = 5.0


class Failure(NamedTuple):
    """A server that gave no answer, and why."""

    peer: str
    url: str
    reason: str


class Lookup(NamedTuple):
    """What servers answered about a name. `redirect` is a server to which readers are sent without a question."""

    at: str
    answers: tuple[GivenAnswer, ...] = ()
    failures: tuple[Failure, ...] = ()
    redirect: Peer | None = None

    def choose(self, site: str | None = None, language: str | None = None) -> Choice | None:
        return choose_answer(self.answers, site=site, language=language, unreachable=self.unreachable)

    @property
    def unreachable(self) -> tuple[str, ...]:
        """The base URLs of the servers that did not answer."""
        return tuple(failure.url for failure in self.failures)

    @property
    def is_complete(self) -> bool:
        """Whether every server that was asked has answered."""
        return not self.failures


class _Question(NamedTuple):
    """What is asked. With `waits_for_all`, an answer that decides by itself does not end the question.

    With `is_owned_here`, this server mints the name: no other one is its owner, whatever it announces.
    """

    name: str
    language: str | None
    via: tuple[str, ...]
    waits_for_all: bool
    is_owned_here: bool


class FederatedLookup:
    """The look-up at other servers, for one process."""

    def __init__(
        self,
        registry: Registry,
        client: PeerClient,
        settings: LookupSettings,
        *,
        upstream: str = "",
        observe: AnswerObserver = lambda peer, outcome, seconds: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._registry = registry
        self._client = client
        self._settings = settings
        self._upstream = upstream
        self._observe = observe
        self._clock = clock
        self._table = PeerTable((), upstream)
        self._table_until = float("-inf")
        self._cache: AnswerCache[_Question, Lookup] = AnswerCache(_MOST_CACHED, clock, _MOST_CACHED_BYTES)
        self._running: dict[_Question, asyncio.Task[Lookup]] = {}
        self._late: set[asyncio.Task[GivenAnswer | Failure]] = set()
        self._breakers: dict[str, CircuitBreaker] = {}
        self._limits: dict[str, asyncio.Semaphore] = {}

    async def table(self) -> PeerTable:
        """Return the table of servers. A change is noticed after a second at the latest."""
        if self._clock() >= self._table_until:
            peers = tuple(await self._registry.store.read(lambda reader: reader.peers()))
            if peers != self._table.peers:
                self._table = PeerTable(peers, self._upstream)
                self._cache.clear()
                names = {peer.url for peer in peers}
                self._breakers = {url: one for url, one in self._breakers.items() if url in names}
                self._limits = {url: one for url, one in self._limits.items() if url in names}
            self._table_until = self._clock() + _TABLE_SECONDS
        return self._table

    def forget_table(self) -> None:
        """Read the table again before the next look-up, because this process has changed it."""
        self._table_until = float("-inf")

    async def find(
        self,
        name: str,
        *,
        language: str | None = None,
        via: Iterable[str] = (),
        waits_for_all: bool = False,
        is_owned_here: bool = False,
    ) -> Lookup:
        """Return what other servers answer about a name. `via` are the servers that the question has passed.

        With `waits_for_all`, all servers are waited for, because the reader may prefer any of them. With
        `is_owned_here`, no other server counts as the owner of the name.
        """
        table, passed = await self.table(), tuple(sorted(set(via)))
        if not table or len(passed) > LONGEST_VIA or len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
            return Lookup(self._registry.current_time())
        key = _Question(name, language, passed, waits_for_all, is_owned_here)
        cached = self._cache.get(key)
        if cached is not None:
            return cached
        running = self._running.get(key)
        if running is None:
            if len(self._running) >= _MOST_WAITING:
                raise PeerUnavailable("any other server", "too many names are being looked up: try again later")
            running = self._running[key] = asyncio.create_task(self._find(table, key))
            running.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(running)

    async def close(self) -> None:
        """End all questions."""
        tasks: list[asyncio.Task[object]] = [*self._running.values(), *self._late]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def is_paused(self, peer: Peer) -> bool:
        """Return whether a server is left alone because it failed."""
        breaker = self._breakers.get(peer.url)
        return breaker is not None and breaker.is_open

    async def _find(self, table: PeerTable, key: _Question) -> Lookup:
        answers: list[GivenAnswer] = []
        failures: list[Failure] = []
        redirect = None
        for group in table.find(key.name):
            given, failed = await self._ask_group(group, key)
            answers += given
            failures += failed
            redirect = next(iter(group.redirected), None)
            if redirect is not None or choose_answer(answers) is not None:
                break
        found = Lookup(self._registry.current_time(), tuple(answers), tuple(failures), redirect)
        is_sure = found.choose() is not None and found.is_complete
        seconds = self._settings.cache_seconds if is_sure else self._settings.missing_seconds
        size = sum(len(msgspec.msgpack.encode(given.answer)) for given in answers)
        self._cache.put(key, found, seconds, size)
        return found

    async def _ask_group(self, group: Candidates, question: _Question) -> tuple[list[GivenAnswer], list[Failure]]:
        """Ask all servers of a group at once. After a good answer, wait only a little for better ones."""
        own = (*question.via, self._registry.id)
        asked = [peer for peer in group.asked if peer.server not in own]
        tasks = {asyncio.create_task(self._ask(peer, group, question, own)) for peer in asked}
        answers: list[GivenAnswer] = []
        failures: list[Failure] = []
        waiting, until = set(tasks), None
        while waiting:
            left = None if until is None else max(0.0, until - self._clock())
            done, waiting = await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                outcome = task.result()
                if isinstance(outcome, GivenAnswer):
                    answers.append(outcome)
                else:
                    failures.append(outcome)
            if not done or any(_is_decisive(given, question, asked) for given in answers):
                break
            if until is None and not question.waits_for_all and choose_answer(answers) is not None:
                until = self._clock() + _GRACE
        self._leave(waiting)
        if waiting:
            named = {given.peer for given in answers} | {failure.peer for failure in failures}
            late = [peer for peer in asked if peer.name not in named]
            if not any(_is_decisive(given, question, asked) for given in answers):
                failures += [Failure(peer.name, peer.url, "it was slower than the others") for peer in late]
        return answers, failures

    def _leave(self, tasks: set[asyncio.Task[GivenAnswer | Failure]]) -> None:
        """Let questions end by themselves, so that it is noticed if their servers fail."""
        for task in tasks:
            if len(self._late) >= _MOST_LATE:
                task.cancel()
            else:
                self._late.add(task)
                task.add_done_callback(self._late.discard)

    async def _ask(
        self, peer: Peer, group: Candidates, question: _Question, via: tuple[str, ...]
    ) -> GivenAnswer | Failure:
        breaker = self._breakers.get(peer.url)
        if breaker is None:
            breaker = self._breakers[peer.url] = CircuitBreaker(self._clock)
        limit = self._limits.setdefault(peer.url, asyncio.Semaphore(_AT_ONCE))
        if not breaker.allow():
            return Failure(peer.name, peer.url, _PAUSED)
        started = self._clock()
        outcome = "failed"
        try:
            async with asyncio.timeout(self._settings.answer_seconds * 2), limit:
                answer = await fetch_answer(self._client, peer, question.name, via, question.language)
            outcome = answer.state
            breaker.record_success()
        except (PeerUnavailable, TimeoutError) as problem:
            if isinstance(problem, PeerUnavailable) and problem.refuses_question:
                breaker.record_success()  # otherwise, readers could cut servers off with strange questions
            else:
                breaker.record_failure()
            outcome = "refused" if isinstance(problem, PeerNotTrusted) else "failed"
            reason = problem.reason if isinstance(problem, PeerUnavailable) else "too many questions wait for it"
            return Failure(peer.name, peer.url, reason)
        finally:
            self._observe(peer.name, outcome, self._clock() - started)
        is_owner = answer.owner if group.owners is None else peer.name in group.owners
        return GivenAnswer(peer.name, answer, is_owner and not question.is_owned_here, peer.url)


def _is_decisive(given: GivenAnswer, question: _Question, asked: Sequence[Peer]) -> bool:
    """Return whether no other answer could be better: no server knows more than the owner that has the original.

    If the owner leads to another server that is asked, that server must answer for itself: it may be down.
    """
    if question.waits_for_all or not given.is_owner or given.answer.state not in ("original", "registered"):
        return False
    if leads_to(given.answer, [peer.url for peer in asked if peer.name != given.peer]):
        return False
    return question.language is None or given.answer.language == question.language
