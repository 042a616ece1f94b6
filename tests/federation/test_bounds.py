"""What bounds the questions to other servers: back-off, the cache, and the detection of loops."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from perdure.federation.answer_cache import AnswerCache
from perdure.federation.circuit_breaker import CircuitBreaker
from perdure.federation.returning_readers import MOST_RETURNS, WINDOW, ReturningReaders


class Seconds:
    """A clock that is set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_server_that_fails_is_left_alone_for_ever_longer_times_and_is_tried_once_after_each() -> None:
    clock = Seconds()
    breaker = CircuitBreaker(clock)
    breaker.record_failure()
    assert breaker.allow(), "one failure may be chance"
    pauses = []
    for _ in range(12):
        breaker.record_failure()
        started = clock.now
        while breaker.is_open:
            clock.now += 0.25
        pauses.append(clock.now - started)
        assert [breaker.allow() for _ in range(3)] == [True, False, False], "one caller tries, and others wait for that"
    assert 1 <= pauses[0] <= 2
    assert all(later > earlier * 1.5 for earlier, later in pairwise(pauses[:8]))
    assert max(pauses) <= 300 * 1.2 + 1


def test_a_success_ends_the_pause() -> None:
    clock = Seconds()
    breaker = CircuitBreaker(clock)
    for _ in range(5):
        breaker.record_failure()
    assert breaker.is_open
    breaker.record_success()
    assert breaker.allow()
    assert breaker.allow()


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans())))
def test_the_cache_never_has_more_than_its_bound_and_forgets_what_was_not_used(steps: list[tuple[int, bool]]) -> None:
    clock = Seconds()
    cache: AnswerCache[int, int] = AnswerCache(4, clock, 1000)
    recent: list[int] = []
    for number, puts in steps:
        if puts:
            cache.put(number, number * 2, 60, 1)
            recent = [*(one for one in recent if one != number), number][-4:]
        else:
            assert cache.get(number) == (number * 2 if number in recent else None)
            if number in recent:
                recent = [*(one for one in recent if one != number), number]
        assert len(cache) <= 4


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60), st.booleans())))
def test_long_answers_do_not_fill_the_memory(steps: list[tuple[int, int, bool]]) -> None:
    clock = Seconds()
    cache: AnswerCache[int, int] = AnswerCache(8, clock, 100)
    for number, size, puts in steps:
        if puts:
            cache.put(number, size, 60, size)
            assert cache.get(number) == size
        else:
            clock.now += 20
        found = [cache.get(number) for number in range(10)]
        assert sum(size or 0 for size in found) <= 100


def test_an_answer_that_is_too_long_for_the_cache_does_not_stay() -> None:
    cache: AnswerCache[str, int] = AnswerCache(8, Seconds(), 100)
    cache.put("a", 1, 60, 99)
    cache.put("b", 2, 60, 101)
    assert (cache.get("a"), cache.get("b")) == (None, None)
    for key in "abc":
        cache.put(key, 1, 60, 50)
    assert [cache.get(key) for key in "abc"] == [None, 1, 1]


def test_an_entry_expires() -> None:
    clock = Seconds()
    cache: AnswerCache[str, int] = AnswerCache(4, clock, 1000)
    cache.put("a", 1, 30, 1)
    clock.now += 29
    assert cache.get("a") == 1
    clock.now += 1
    assert cache.get("a") is None
    assert len(cache) == 0


def test_a_reader_who_comes_back_again_and_again_is_in_a_loop_and_others_are_not() -> None:
    clock = Seconds()
    readers = ReturningReaders(clock)
    visits = [readers.is_in_loop("ada", "12345/a") for _ in range(MOST_RETURNS + 1)]
    assert visits == [False] * MOST_RETURNS + [True]
    assert not readers.is_in_loop("ada", "12345/b")
    assert not readers.is_in_loop("bob", "12345/a")
    clock.now += WINDOW + 1
    assert not readers.is_in_loop("ada", "12345/a")


def test_the_readers_that_are_remembered_are_bounded() -> None:
    readers = ReturningReaders(Seconds())
    for number in range(10_500):
        readers.is_in_loop(str(number), "12345/a")
    assert len(readers._visits) == 10_000
