"""Identifiers as CSV, one per row."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.value_strategies import FEWER, about, instants, line_texts, names

from perdure.errors import InvalidInput
from perdure.formats import handles_table, identifiers_csv
from perdure.formats.csv_rows import read_rows
from perdure.formats.import_entries import Entry, ImportPut, RejectedLine
from perdure.records.record import About
from perdure.records.value import Text, Value


def split_lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def read_identifiers_of(text: str) -> list[Entry]:
    return list(identifiers_csv.read_identifiers(read_rows(split_lines(text))))


def write_csv(rows: list[list[str]]) -> list[str]:
    """A file with every field in quotation marks, by lines that end at the line feed alone."""
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return [f"{line}\n" for line in stream.getvalue().split("\n")[:-1]]


def test_a_name_and_a_target_are_enough() -> None:
    assert read_identifiers_of("name,target\n12345/a,https://example.org/\n") == [
        ImportPut(line=2, name="12345/a", target="https://example.org/")
    ]


def test_columns_come_in_any_order_and_case() -> None:
    text = "Target,WHAT,Name\nhttps://example.org/,On lasting,12345/a\n"
    assert read_identifiers_of(text) == [
        ImportPut(line=2, name="12345/a", target="https://example.org/", about=About(what="On lasting"))
    ]


def test_every_field_of_an_identifier_has_a_column() -> None:
    text = (
        "name,target,who,what,when,where,creator,owners,created,state\n"
        "12345/a,,W,X,Y,Z,hdl:1/me,hdl:1/a hdl:1/b,2007-06-22T02:53:46Z,reserved\n"
    )
    assert read_identifiers_of(text) == [
        ImportPut(
            line=2,
            name="12345/a",
            about=About("W", "X", "Y", "Z"),
            creator="hdl:1/me",
            owners=("hdl:1/a", "hdl:1/b"),
            created="2007-06-22T02:53:46Z",
            state="reserved",
        )
    ]


def test_other_columns_are_values_of_that_type() -> None:
    [entry] = read_identifiers_of("name,EMAIL,10320/loc\n12345/a,a@example.org,<locations/>\n")
    assert isinstance(entry, ImportPut)
    assert entry.values == (Value(2, "EMAIL", Text("a@example.org")), Value(3, "10320/loc", Text("<locations/>")))


def test_a_quoted_field_may_have_line_breaks_and_every_line_is_counted() -> None:
    first, second = read_identifiers_of('name,DESC\n12345/a,"two\nlines"\n12345/b,one\n')
    assert isinstance(first, ImportPut)
    assert first.values[0].data == Text("two\nlines")
    assert second.line == 4


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (",https://example.org/,active", "name"),
        ("12345/a,https://example.org/,merged", "state"),
        ("12345/a,https://example.org/,active,more", "4 fields"),
    ],
)
def test_a_bad_row_is_refused_and_the_next_one_is_read(row: str, message: str) -> None:
    bad, good = read_identifiers_of(f"name,target,state\n{row}\n12345/b,https://example.org/,active\n")
    assert isinstance(bad, RejectedLine)
    assert bad.line == 2
    assert message in bad.reason
    assert isinstance(good, ImportPut)


def test_a_row_with_wrong_quotation_marks_does_not_stop_the_import() -> None:
    bad, good = read_identifiers_of('name,target\n12345/a,"https://example.org/"x\n12345/b,https://example.org/\n')
    assert isinstance(bad, RejectedLine)
    assert bad.line == 2
    assert good == ImportPut(line=3, name="12345/b", target="https://example.org/")


@pytest.mark.parametrize("text", ["", "target\nhttps://example.org/\n", "name,name\n12345/a,12345/b\n"])
def test_a_table_without_a_column_of_names_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        read_identifiers_of(text)


@given(
    names.filter(lambda name: name == name.strip()),
    st.none() | st.just("https://example.org/?a=1,2&b=\"'"),
    about,
    st.none() | instants,
    st.sampled_from(["active", "reserved"]),
)
@settings(max_examples=FEWER)
def test_an_identifier_written_as_a_row_is_read_again(
    name: str, target: str | None, description: About, created: str | None, state: str
) -> None:
    stripped = About(
        *(
            None if text is None else text.strip()
            for text in (description.who, description.what, description.when, description.where)
        )
    )
    put = ImportPut(
        line=2,
        name=name,
        target=target,
        about=None if stripped == About() else stripped,
        creator="hdl:1/me",
        owners=("hdl:1/a", "hdl:1/b"),
        created=created,
        state="reserved" if state == "reserved" else "active",
    )
    table = write_csv([list(identifiers_csv.IDENTIFIER_COLUMNS), identifiers_csv.identifier_row(put)])
    assert list(identifiers_csv.read_identifiers(read_rows(table))) == [put]


@given(st.lists(st.lists(line_texts, max_size=5), max_size=5))
@settings(max_examples=FEWER)
def test_no_table_makes_the_reader_crash(rows: list[list[str]]) -> None:
    for header, read in (
        (["name", "target"], identifiers_csv.read_identifiers),
        (["handle", "idx", "type", "data"], handles_table.read_handles),
    ):
        list(read(enumerate([header, *rows], 1)))


CELLS = st.text(st.sampled_from("'=+-@\t\r\n ＝a\"") | st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(CELLS, min_size=1, max_size=4))
def test_a_protected_row_runs_no_formula_and_is_read_back_unchanged(row: list[str]) -> None:
    protected = identifiers_csv.protect_cells(row)
    assert not [cell for cell in protected if cell.startswith(tuple("=+-@\t\r\n＝＋－＠"))]
    assert list(identifiers_csv.unprotect_cells([(1, protected)])) == [(1, row)]


def test_a_row_that_cannot_be_read_stays_unchanged() -> None:
    assert list(identifiers_csv.unprotect_cells([(1, "'= is not closed")])) == [(1, "'= is not closed")]
