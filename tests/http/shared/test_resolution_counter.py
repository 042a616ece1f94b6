"""The counter of resolutions: nothing is lost or counted twice, and sums are written in the order of the store."""

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import StoreUnavailable
from perdure.http.shared import resolution_counter
from perdure.http.shared.resolution_counter import ResolutionCounter
from perdure.http.shared.resolution_sums import ResolutionSums
from perdure.http_options import HttpOptions

AGENTS = (b"Mozilla/5.0 (X11)", b"curl/8.5.0", b"Googlebot/2.1", b"")


class FlakyStore:
    """A store that refuses some writes, and records the others."""

    def __init__(self, refusals: list[bool]) -> None:
        self._refusals = refusals
        self.rows: Counter[tuple[str, str, str]] = Counter()
        self.batches: list[list[str]] = []

    async def write(self, work: Any) -> None:
        if self._refusals and self._refusals.pop():
            raise StoreUnavailable("a test")
        work(SimpleNamespace(add_resolutions=self._add))

    def _add(self, counts: Any) -> None:
        self.batches.append([one.key for one in counts])
        for one in counts:
            self.rows[one.key, one.day, one.client] += one.count


def build_counter(store: FlakyStore) -> ResolutionCounter:
    registry = SimpleNamespace(store=store, current_time=lambda: "2026-11-18T10:00:00.000000Z")
    return ResolutionCounter(cast(Any, registry), HttpOptions())


visits = st.lists(st.tuples(st.text("ab/é", max_size=3), st.sampled_from(AGENTS)), max_size=30)


@given(rounds=st.lists(visits, max_size=4), refusals=st.lists(st.booleans(), max_size=6))
def test_every_resolution_is_written_once_even_if_the_store_refuses_some(
    rounds: list[list[tuple[str, bytes]]], refusals: list[bool]
) -> None:
    store, expected = FlakyStore(refusals), Counter[tuple[str, str, str]]()

    async def run() -> None:
        counter = build_counter(store)
        for batch in rounds:
            counter.count_readers([key for key, _ in batch], [agent for _, agent in batch])
            counter.count_handle_clients([key for key, _ in batch], [agent for _, agent in batch])
            for key, agent in batch:
                kind = resolution_counter.classify_user_agent(agent)
                expected[key, "2026-11-18", kind] += 1
                expected[key, "2026-11-18", "robot" if kind == "robot" else "handle"] += 1
            await counter.write()
        for _ in range(len(refusals)):
            await counter.write()
        await counter.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolution_counter, "_LONGEST_LIST", 7)
        patch.setattr(resolution_counter, "_BATCH", 3)
        asyncio.run(run())
    assert store.rows == expected


@given(
    st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4), max_size=20), max_size=4),
    st.integers(1, 7),
)
def test_sums_are_given_back_once_in_the_order_of_the_store(rounds: list[list[str]], limit: int) -> None:
    sums, expected = ResolutionSums(), Counter[tuple[str, str]]()
    for number, keys in enumerate(rounds):
        lists = [msgspec.json.encode(keys[:3]), msgspec.json.encode(keys[3:])]
        sums.add(f"2026-11-{number + 1:02}", "browser", lists)
        expected.update((key, f"2026-11-{number + 1:02}") for key in keys)
    given_back = []
    while batch := sums.first(limit):
        assert len(batch) <= limit
        given_back += batch
        sums.remove_through(batch[-1])
    assert {(one.key, one.day): one.count for one in given_back} == expected
    names = [(one.key.encode(), one.day) for one in given_back]
    assert names == sorted(names)
    assert (len(sums), sums.clear()) == (0, 0)
    sums.close()


def test_sums_that_the_store_refuses_do_not_grow_without_limit() -> None:
    async def run() -> int:
        counter = build_counter(FlakyStore([True] * 3))
        counter.count_handle_clients([f"1/{number}" for number in range(20)], [b""] * 20)
        await counter.write()
        held = len(counter._sums)
        counter._sums.close()
        return held

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolution_counter, "_MOST", 10)
        assert asyncio.run(run()) == 0
