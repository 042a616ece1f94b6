"""Ranges select exactly the bytes that RFC 9110 says, and never multiply the size of a file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.http.items.ranges import MOST_RANGES, ByteRange, parse_ranges
from perdure.http.shared.http_errors import RangeNotSatisfiable

SIZES = st.integers(0, 200)
SPECS = st.one_of(
    st.tuples(st.integers(0, 250), st.none() | st.integers(0, 250)).map(
        lambda one: f"{one[0]}-{'' if one[1] is None else one[1]}"
    ),
    st.integers(0, 250).map(lambda suffix: f"-{suffix}"),
)


def select_positions(spec: str, size: int) -> range | None:
    """Return the positions that a range selects, as the RFC describes them; None if it is invalid."""
    first, _, last = spec.partition("-")
    if not first:
        return range(size)[-int(last) :] if int(last) else range(0)
    if last and int(last) < int(first):
        return None
    return range(int(first), min(size, int(last) + 1) if last else size)


@given(SIZES, st.lists(SPECS, min_size=1, max_size=MOST_RANGES))
def test_ranges_select_the_bytes_that_they_name(size: int, specs: list[str]) -> None:
    expected = [select_positions(spec, size) for spec in specs]
    header = "bytes=" + ", ".join(specs)
    if None in expected:
        assert parse_ranges(header, size) is None
        return
    selected = [one for one in expected if one]
    if not selected:
        with pytest.raises(RangeNotSatisfiable):
            parse_ranges(header, size)
        return
    positions = [position for one in selected for position in one]
    parsed = parse_ranges(header, size)
    if len(set(positions)) < len(positions):
        assert parsed is None
    else:
        assert parsed == tuple(ByteRange(one[0], one[-1]) for one in selected)


@given(st.text(max_size=40), SIZES)
def test_any_other_header_is_ignored(text: str, size: int) -> None:
    try:
        parsed = parse_ranges(text, size)
    except RangeNotSatisfiable:
        return
    assert parsed is None or all(0 <= one.first <= one.last < size for one in parsed)


@pytest.mark.parametrize("header", ["bytes=0-1," * 17, "bytes=" + ",".join(f"{n}-{n}" for n in range(0, 40, 2))])
def test_too_many_ranges_are_ignored(header: str) -> None:
    assert parse_ranges(header, 1000) is None


@pytest.mark.parametrize(
    "header", ["bytes=", "bytes=,", "bytes=a-b", "bytes=1", "bytes 0-1", "bytes=--1", "bytes=٣-٤", "chars=0-1"]
)
def test_malformed_ranges_are_ignored(header: str) -> None:
    assert parse_ranges(header, 1000) is None
