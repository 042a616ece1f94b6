"""The counter of resolutions: nothing is lost or counted twice, and batches are in the order of the store."""

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import StoreUnavailable
from perdure.http.shared import resolution_counter
from perdure.http.shared.resolution_counter import ResolutionCounter
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
            counter.count_handle_clients([key for key, _ in batch])
            for key, agent in batch:
                expected[key, "2026-11-18", resolution_counter.classify_user_agent(agent)] += 1
                expected[key, "2026-11-18", "handle"] += 1
            await counter.write()
        for _ in range(len(refusals) + 1):
            await counter.write()

    asyncio.run(run())
    assert store.rows == expected


@given(st.lists(st.text(max_size=4), max_size=200, unique=True), st.integers(1, 50))
def test_batches_are_in_order_and_hold_every_key_once(keys: list[str], size: int) -> None:
    before = resolution_counter._BATCH
    resolution_counter._BATCH = size  # type: ignore[misc]
    try:
        batches = resolution_counter._partition(keys)
    finally:
        resolution_counter._BATCH = before  # type: ignore[misc]
    assert [key for batch in batches for key in batch] == sorted(keys)
    assert all(batches)


def test_batches_of_many_names_are_small() -> None:
    keys = [f"20.500.12345/{number * 7919 % 100_003:08}" for number in range(100_000)]
    batches = resolution_counter._partition(keys)
    assert max(map(len, batches)) < 4 * resolution_counter._BATCH
