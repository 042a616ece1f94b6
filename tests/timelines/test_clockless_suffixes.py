"""Suffixes that need no clock."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.timelines.clockless_suffixes import DEFAULT_PATTERN, check_pattern, numbered_suffix, random_suffix


def test_random_suffixes_are_uuids_of_version_4() -> None:
    suffixes = {random_suffix() for _ in range(100)}
    assert len(suffixes) == 100
    assert {UUID(suffix).version for suffix in suffixes} == {4}


@pytest.mark.parametrize(
    ("pattern", "number", "suffix"),
    [
        ("#", 1, "1"),
        ("####", 42, "0042"),
        ("####", 123_456, "123456"),
        ("thesis-##/a", 7, "thesis-07/a"),
        ("\\1-#", 5, "\\1-5"),
    ],
)
def test_the_number_replaces_the_run(pattern: str, number: int, suffix: str) -> None:
    assert check_pattern(pattern) == pattern
    assert numbered_suffix(pattern, number) == suffix


@pytest.mark.parametrize("pattern", ["", "thesis", "#-#", "## #"])
def test_a_pattern_has_exactly_one_run(pattern: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_pattern(pattern)
    assert refusal.value.part == "pattern"


def test_the_usual_pattern_is_the_number_alone() -> None:
    assert numbered_suffix(check_pattern(DEFAULT_PATTERN), 12) == "12"


@given(
    st.builds(
        lambda before, run, after: before + run * "#" + after,
        st.text("01a-", max_size=3),
        st.integers(1, 5),
        st.text("01a-", max_size=3),
    ),
    st.integers(1, 10**6),
    st.integers(1, 10**6),
)
def test_two_numbers_never_give_one_suffix(pattern: str, one: int, other: int) -> None:
    assert (numbered_suffix(pattern, one) == numbered_suffix(pattern, other)) == (one == other)
