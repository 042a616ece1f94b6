"""EDTF dates: every valid date is accepted unchanged, and no day that did not exist."""

import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.records.edtf import check_edtf, day_of, month_of, year_of


@pytest.mark.parametrize(
    "text",
    [
        "1895",
        "1895-03",
        "1895-03-12",
        "1895-03~",
        "1895?",
        "1895-03-12%",
        "195X",
        "19XX",
        "XXXX",
        "1895-XX",
        "1895-03-XX",
        "1895-03-1X",
        "1895-1X",
        "156X-12-25",
        "1895-21",
        "1895-24",
        "1895-33",
        "1895-03-12/1897",
        "1895/1897-05",
        "1895~/1897?",
        "1895/..",
        "../1897",
        "1895/",
        "/1897",
        "[1667,1668]",
        "[1667,1670..1672]",
        "[..1760-12-03]",
        "[1760-12..]",
        "{1667,1668-12}",
        "1895-03-~12",
        "1895?-03-12",
        "1895-03-12T23:20:30Z",
        "1895-03-12T23:20:30+01:00",
        "Y-170000002",
        "Y17E7",
        "1950S2",
        "0000",
        "-0044",
        "-0044-03-15",
        "2000-02-29",
        "0000-02-29",
        "19XX-02-29",
    ],
)
def test_a_valid_date_is_accepted_unchanged(text: str) -> None:
    assert check_edtf(text, "start") == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1895 ",
        " 195X",
        "195X/ 1960",
        "1895\n",
        "about 1895",
        "c. 1895",
        "unknown",
        "12-03-1895",
        "1895-3",
        "1895-13",
        "1895-00",
        "1895-13-01",
        "1895-99",
        "189",
        "18950312",
        "1895--03",
        "1895-03-32",
        "1895-04-31",
        "1900-02-29",
        "1900-02-29~",
        "1900?-02-29",
        "1900-02-~29",
        "1900-02-29/1901",
        "1899/1900-02-29",
        "[1900-02-29,1901]",
        "{1899..1900-02-29}",
        "1900-02-29T00:00:00Z",
        "XXXX-02-30",
        "19XX-04-31",
        "1560-02-3X",
        "195x",
        "198u",
        "1985/open",
        "1895/1896/1897",
        "[]",
        "[1667",
        "1985-04-12T25:20:30Z",
        "1895-X1-12",
        "?1950S2",
        "-0000",
        "+1895",
        "１８９５",
        "1895\u200b",
        "\ud800",
        "1" * 101,
        "[" + ",".join(["1667"] * 20) + "]",
    ],
)
def test_the_error_of_an_invalid_date_names_the_part(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_edtf(text, "claims[3].value")
    assert refusal.value.part == "claims[3].value"
    assert "not an EDTF date" in refusal.value.reason


@given(st.text("0123456789X?~%-/.[]{},TZ:YES+", max_size=16))
@settings(max_examples=50, deadline=None)
@example("1985-X1X")  # the library has no answer to these, and prints what it tried
@example("4985-1X-")
@example("2004S06-~11")
def test_any_text_is_a_date_or_refused(text: str) -> None:
    try:
        assert check_edtf(text, "start") == text
    except InvalidInput as refusal:
        assert refusal.part == "start"


def test_loading_the_slow_library_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for text in ("1985-X1-01", "1985-X7,X1", "%1959S2", "1895-X3%~"):
        with pytest.raises(InvalidInput):
            check_edtf(text, "start")
    assert capfd.readouterr() == ("", "")


def test_plain_dates_do_not_load_the_library() -> None:
    program = """
import sys
from perdure.records.edtf import check_edtf
for text in ("1895", "1895?", "1895-03", "1895-03~", "1895-03-12", "2000-02-29%", "1984-1X"):
    check_edtf(text, "start")
assert "edtf" not in sys.modules and "pyparsing" not in sys.modules
check_edtf("195X", "start")
assert "edtf" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("text", "year", "month", "day"),
    [
        ("1895", "1895", None, None),
        ("-0044", "-0044", None, None),
        ("1895-03", None, "1895-03", None),
        ("1895-03-12", None, None, "1895-03-12"),
        ("1895-21", None, None, None),
        ("1895~", None, None, None),
        ("195X", None, None, None),
        ("1895/1897", None, None, None),
    ],
)
def test_a_date_with_the_precision_of_a_year_month_or_day_has_those_parts(
    text: str, year: str | None, month: str | None, day: str | None
) -> None:
    assert (year_of(text), month_of(text), day_of(text)) == (year, month, day)


@pytest.mark.parametrize("text", ["1900/1890", "1895-03-12/1895-03-11", "1930-06/1930-05", "1895?/1890", "195X/1949"])
def test_an_interval_that_ends_before_it_begins_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="ends before it begins"):
        check_edtf(text, "start")


@pytest.mark.parametrize(
    "text", ["1890/1900", "1895/..", "../1895", "1895~/1895", "195X/1955", "1895-03/1895", "1895/"]
)
def test_an_interval_that_may_end_after_it_begins_is_accepted(text: str) -> None:
    assert check_edtf(text, "start") == text
