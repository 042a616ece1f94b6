"""Patterns for targets: every column comes back from the address that it was written into."""

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.formats.target_pattern import read_pattern
from perdure.records.validation import Limits, check_target

CELL = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=40)


@given(CELL, CELL)
def test_a_column_stays_in_its_part_of_the_address(path: str, query: str) -> None:
    pattern = read_pattern("https://example.org/items/{a}?id={b}", ["a", "b"])
    target = check_target(pattern.fill({"a": path, "b": query}), Limits())
    parts = urlsplit(target)
    assert (parts.netloc, parts.fragment) == ("example.org", "")
    assert unquote(parts.path.removeprefix("/items/")) == path
    assert unquote(parts.query.removeprefix("id=")) == query


def test_a_handle_in_a_path_has_its_slash() -> None:
    pattern = read_pattern("https://example.org/handle/{handle}", ["handle"])
    assert pattern.fill({"handle": "123456789/1.2"}) == "https://example.org/handle/123456789/1.2"


def test_an_empty_column_is_refused() -> None:
    with pytest.raises(InvalidInput, match="the column id is empty"):
        read_pattern("https://example.org/{id}", ["id"]).fill({"id": None})


@pytest.mark.parametrize(
    "text", ["https://{id}:x/", "{id}", "javascript:{id}", "https://example.org/{id", "https://example.org/}"]
)
def test_a_pattern_that_makes_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        read_pattern(text, ["id"])


def test_an_error_about_a_pattern_quotes_the_pattern() -> None:
    with pytest.raises(InvalidInput, match=r"the pattern 'example\.org/\{id\}' makes no valid address"):
        read_pattern("example.org/{id}", ["id"])
