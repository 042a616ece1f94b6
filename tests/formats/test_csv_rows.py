"""Rows of CSV files: every row is read or refused by its line, and no row hides another."""

import csv
import io
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.formats.csv_rows import LONGEST_ROW, Row, detect_delimiter, read_rows

CELLS = st.text(st.sampled_from('ab",;\n\t '), max_size=6)
ROWS = st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=6)


def rows(*lines: str, delimiter: str | None = ",") -> list[Row]:
    return list(read_rows((f"{line}\n" for line in lines), delimiter))


def refused_lines(found: list[Row]) -> list[int]:
    return [line for line, row in found if isinstance(row, str)]


@given(
    ROWS, st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
)
def test_every_table_that_the_module_csv_writes_is_read(
    table: list[list[str]], delimiter: str, end: str, quoting: int
) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(table)  # type: ignore[arg-type]
    written = stream.getvalue()
    lines = [f"{line}\n" for line in written.split("\n")[:-1]]
    assert [row for _, row in read_rows(lines, delimiter)] == table


@given(st.lists(st.text(st.sampled_from('ab",\r'), max_size=6), max_size=10))
def test_every_line_is_part_of_one_row_or_refused(lines: list[str]) -> None:
    found = rows(*lines)
    numbers = [line for line, _ in found]
    assert numbers == sorted(set(numbers))
    assert set(numbers) <= set(range(1, len(lines) + 1))
    assert len(found) == len(lines) or any(
        isinstance(row, list) and any("\n" in cell for cell in row) for _, row in found
    )


def test_a_row_has_the_number_of_its_last_line_and_a_blank_line_has_no_cells() -> None:
    assert rows('a,"two', 'lines"', "", "b") == [(2, ["a", "two\nlines"]), (3, []), (4, ["b"])]


def test_an_unclosed_quotation_mark_is_refused_on_its_line_and_the_rest_is_read() -> None:
    found = rows("a,b", '1,"open', *["2,x"] * 300)
    assert found[1] == (2, "unclosed quotation mark on this line")
    assert found[2:] == [(number, ["2", "x"]) for number in range(3, 303)]


def test_two_unclosed_quotation_marks_hide_no_row_between_them() -> None:
    found = rows('1,"open', *["2,x"] * 50, '3,"open', *["4,x"] * 50)
    assert refused_lines(found) == [1, 52]
    assert len(found) == 102


def test_a_quotation_mark_inside_a_cell_is_a_character() -> None:
    assert rows('5" disk,x', '3" disk,y') == [(1, ['5" disk', "x"]), (2, ['3" disk', "y"])]


def test_without_quotes_every_quotation_mark_is_a_character() -> None:
    assert list(read_rows(['"5\tx\n', "a\tb\n"], "\t", has_quotes=False)) == [(1, ['"5', "x"]), (2, ["a", "b"])]


def test_a_malformed_row_is_refused_and_the_next_one_is_read() -> None:
    bad, good = rows('a,"b"c', "d,e")
    assert bad[0] == 1
    assert "CSV" in bad[1]
    assert good == (2, ["d", "e"])


@pytest.mark.parametrize(
    ("header", "delimiter"), [("a,b", ","), ("a;b;c,d", ";"), ("a\tb", "\t"), ("", ","), ("a", ",")]
)
def test_the_first_line_decides_about_the_delimiter(header: str, delimiter: str) -> None:
    assert detect_delimiter(header) == delimiter
    assert rows(header, "x", delimiter=None)[0][1] == (header.split(delimiter) if header else [])


def test_an_empty_file_has_no_rows() -> None:
    assert list(read_rows([])) == []
    assert list(read_rows([], delimiter=None)) in ([], [(1, [])])


def test_a_line_that_is_too_long_is_refused_and_the_rest_is_read() -> None:
    found = list(read_rows(["a" * 100 + "\n", "b,c\n"], longest=100))
    assert refused_lines(found) == [1]
    assert found[1] == (2, ["b", "c"])


def test_a_row_of_several_lines_is_not_longer_than_the_limit() -> None:
    found = list(read_rows(['"open\n', *["x" * 30 + "\n"] * 5], longest=100))
    assert refused_lines(found) == [1]
    assert len(found) == 6


def test_an_unclosed_cell_is_refused_after_a_limited_number_of_lines() -> None:
    taken = 0

    def endless() -> object:
        nonlocal taken
        yield '"open\n'
        while True:
            taken += 1
            yield "x\n"

    found = list(islice(read_rows(endless()), 1_000))  # type: ignore[arg-type]
    assert refused_lines(found) == [1]
    assert taken < 1_500


def test_a_long_cell_is_read_up_to_the_limit() -> None:
    cell = "x" * (LONGEST_ROW - 10)
    assert rows(f'a,"{cell}"') == [(1, ["a", cell])]


@pytest.mark.parametrize("first", ["sep=;", "SEP=;\r", '"sep=;"', "sep=;;;;"])
def test_a_first_line_that_states_the_delimiter_is_a_blank_row(first: str) -> None:
    assert rows(first, "name;what,else", delimiter=None) == [(1, []), (2, ["name", "what,else"])]
    assert rows(first, "a;b", delimiter=";") == [(1, []), (2, ["a", "b"])]
    assert rows("name", first, delimiter=";")[1] != (2, []), "only the first line can state it"


def test_line_ends_of_old_computers_are_refused_with_what_to_do() -> None:
    [(line, reason)] = list(read_rows(["name,target\r12345/x,https://example.org/\r"]))
    assert (line, reason) == (1, "a line ends with CR alone: save the file with the line ends of Windows or of Unix")
