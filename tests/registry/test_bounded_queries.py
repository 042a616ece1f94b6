"""Bounded queries: the cost of an anonymous query does not depend on the size of records or the number of versions."""

import tracemalloc
from collections.abc import Callable
from typing import TypeVar

import pytest
from tests.registry.handle_identities import admin, handle_identity, text, value_list
from tests.registry_fixture import Office, set_target

from perdure.errors import InvalidInput, NotAuthorised
from perdure.records.value import Text, Value
from perdure.registry import Statement, find_handles, mint, put_handle, put_values, show
from perdure.registry.handles import reverse_lookup
from perdure.registry.permissions import hs_admin
from perdure.registry.query import list_acts

T = TypeVar("T")

SIZE = 400_000
VERSIONS = 25


@pytest.fixture
def house(office: Office) -> Office:
    office.prefix("12345", "chosen")
    return office


def peak(work: Callable[[], T]) -> tuple[T, int]:
    """Return the result of the work, and its peak memory in bytes."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_long_history_of_a_large_record_is_not_loaded_for_a_page_of_it(house: Office) -> None:
    values = tuple(Value(index, "DATA", Text("x" * 50_000)) for index in range(2, 2 + SIZE // 50_000))
    house.do(mint, "12345", suffixes=["a"], statement=Statement("https://example.org/1", values))
    for version in range(2, VERSIONS + 1):
        house.do(set_target, "12345/a", f"https://example.org/{version}")
    page, needed = peak(lambda: house.ask(list_acts, "12345/a", after=3, limit=20))
    assert [one.version for one in page] == list(range(4, 24))
    assert needed < 6 * SIZE
    old, needed = peak(lambda: house.ask(show, "12345/a", version=2))
    assert old.target == "https://example.org/2"
    assert needed < 12 * SIZE < (VERSIONS - 1) * SIZE


@pytest.mark.parametrize("options", [{"after": -1}, {"limit": 0}, {"limit": 1001}])
def test_the_size_of_a_page_of_a_history_is_limited(house: Office, options: dict[str, int]) -> None:
    house.do(mint, "12345", suffixes=["a"], statement=Statement("https://example.org/1"))
    with pytest.raises(InvalidInput):
        house.ask(list_acts, "12345/a", **options)


@pytest.mark.parametrize("version", [0, -1, 2, 2**40])
def test_a_missing_version_is_refused(house: Office, version: int) -> None:
    house.do(mint, "12345", suffixes=["a"], statement=Statement("https://example.org/1"))
    with pytest.raises(InvalidInput, match="versions 1 to 1"):
        house.ask(show, "12345/a", version=version)


def test_the_bytes_of_records_that_a_reverse_lookup_reads_are_limited(
    house: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        house.do(put_handle, f"12345/{number}", [text(1, "TITLE", "ice cores"), text(2, "DATA", "x" * 2_000)])
    conditions = [("TITLE", "ice*")]
    monkeypatch.setattr(reverse_lookup, "_BATCH_SIZE", 2)
    found = house.do(find_handles, conditions)
    assert found == [f"12345/{number}" for number in reversed(range(12))]
    monkeypatch.setattr(reverse_lookup, "_MOST_BYTES", 10_000)
    some = house.do(find_handles, conditions)
    assert 0 < len(some) < 6
    assert some == found[: len(some)]


def test_the_bytes_of_records_read_for_lists_of_administrators_are_limited(
    house: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = [f"12345/large{number}" for number in range(6)]
    for name in large:
        house.do(put_handle, name, [text(1, "DATA", "x" * 2_000)])
    house.do(put_handle, "12345/last", [value_list(200, ("12345/c", 300))])
    house.do(put_handle, "12345/group", [value_list(200, *((name, 200) for name in (*large, "12345/last")))])
    house.do(put_handle, "12345/a", [text(1, "URL", "https://example.org/"), admin(100, "12345/group", 200)])
    edited = [text(1, "URL", "https://example.org/2")]
    monkeypatch.setattr(hs_admin, "_BATCH_SIZE", 2)
    house.by(handle_identity(300, "12345/c"), put_values, "12345/a", edited)
    monkeypatch.setattr(hs_admin, "_MOST_BYTES", 10_000)
    with pytest.raises(NotAuthorised):
        house.by(handle_identity(300, "12345/c"), put_values, "12345/a", [text(1, "URL", "https://example.org/3")])
