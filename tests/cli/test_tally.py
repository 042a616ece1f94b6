from hypothesis import given
from hypothesis import strategies as st

from perdure import recognise
from perdure.cli.lines import Batch
from perdure.cli.tally import PLAIN_DOI, Tally


@given(st.from_regex(r"(https?://(dx\.)?doi\.org/|doi:)?10\.[0-9]{4,9}/[A-Za-z0-9._;()-]*[A-Za-z0-9]", fullmatch=True))
def test_what_is_told_at_a_glance_is_what_a_long_look_finds(text: str) -> None:
    assert PLAIN_DOI(text)
    found = recognise(text)
    assert (found.scheme, found.valid) == ("handle", True)
    assert "doubt" not in found.details


def test_too_long_a_doi_is_no_doi_either_way() -> None:
    text = "10.1000/" + "x" * 5000
    tally = Tally()
    tally.count(Batch([1], [text]))
    assert tally.wrong.total() == 1
    assert not recognise(text).valid


@given(st.lists(st.text()))
def test_every_line_is_counted_once(lines: list[str]) -> None:
    tally = Tally()
    problems = tally.count(Batch(range(1, len(lines) + 1), lines))
    assert tally.total + tally.blank == len(lines)
    assert len(problems) == tally.total_wrong
