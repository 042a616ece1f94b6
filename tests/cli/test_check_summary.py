"""Tests of the counts of `perdure check`."""

from hypothesis import given
from hypothesis import strategies as st

from perdure import recognise
from perdure.cli.check_summary import CheckSummary, is_plain_doi
from perdure.cli.line_input import Batch


@given(st.from_regex(r"(https?://(dx\.)?doi\.org/|doi:)?10\.[0-9]{4,9}/[A-Za-z0-9._;()-]*[A-Za-z0-9]", fullmatch=True))
def test_the_quick_test_agrees_with_recognition(text: str) -> None:
    assert is_plain_doi(text)
    found = recognise(text)
    assert (found.scheme, found.valid) == ("handle", True)
    assert "doubt" not in found.details


def test_both_tests_refuse_a_doi_that_is_too_long() -> None:
    text = "10.1000/" + "x" * 5000
    tally = CheckSummary()
    tally.count(Batch([1], [text]))
    assert tally.wrong.total() == 1
    assert not recognise(text).valid


@given(st.lists(st.text()))
def test_every_line_is_counted_once(lines: list[str]) -> None:
    tally = CheckSummary()
    problems = tally.count(Batch(range(1, len(lines) + 1), lines))
    assert tally.total + tally.blank == len(lines)
    assert len(problems) == tally.total_wrong
