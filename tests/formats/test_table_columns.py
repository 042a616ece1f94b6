"""Cells of tables: dates and empty cells as databases and spreadsheet programs write them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.formats.table_columns import parse_date, read_cell, unescape_rows
from perdure.records.validation import to_iso_seconds

ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"}


@given(st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)).map(lambda one: one.replace(microsecond=0)))
def test_every_form_of_a_date_is_the_same_instant(when: datetime) -> None:
    expected = when.replace(tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    mysql = when.isoformat(" ")
    german = f"{when.day}.{when.month:02}.{when.year:04} {when:%H:%M:%S}"
    assert [to_iso_seconds(parse_date(text) or "", "created") for text in (mysql, german, expected)] == [expected] * 3


@pytest.mark.parametrize("text", ["0000-00-00", "0000-00-00 00:00:00", "0000-00-00 00:00:00.000000", None])
def test_a_date_that_is_not_set_is_none(text: str | None) -> None:
    assert parse_date(text) is None


@pytest.mark.parametrize("text", ["yesterday", "2024", "1/2/2024", "2024-01-31T10:00:00+01:00"])
def test_other_texts_are_not_changed(text: str) -> None:
    assert parse_date(text) == text


@pytest.mark.parametrize("cell", ["", "  ", "NULL", "\\N", " NULL "])
def test_the_null_of_a_database_is_an_empty_cell(cell: str) -> None:
    assert read_cell([cell], 0) is None
    assert read_cell([], 0) is None
    assert read_cell(["Null"], 0) == "Null"


@given(st.text(max_size=30))
def test_text_that_a_database_has_escaped_comes_back(text: str) -> None:
    escaped = "".join(ESCAPES.get(character, character) for character in text)
    assert list(unescape_rows([(1, [escaped])])) == [(1, [text])]
