"""A table is copied with names: everything else stays as it is, to the last character."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.formats.minting_table import MintEntry, MintingTable, TableRow
from perdure.records.record import About

CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
QUOTING = st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])


def read(text: str, columns: tuple[str, ...] = ("name",), **options: object) -> tuple[MintingTable, list[TableRow]]:
    table = MintingTable(text.splitlines(keepends=True), columns, **options)  # type: ignore[arg-type]
    return table, list(table)


def split_lines(text: str) -> list[str]:
    """Split at line feeds only, as a file is read."""
    return [line + "\n" for line in text.split("\n")[:-1]] + ([text.rpartition("\n")[2]] if text[-1:] != "\n" else [])


def write_csv(rows: list[list[str]], delimiter: str, end: str, quoting: int) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    return out.getvalue()


@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=6),
    delimiter=st.sampled_from(",;\t"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=QUOTING,
    name=CELLS,
    is_ended=st.booleans(),
)
def test_the_copy_is_the_table_and_its_names(
    rows: list[list[str]], delimiter: str, end: str, quoting: int, name: str, is_ended: bool
) -> None:
    text = write_csv([["url", "title", "shelf mark"], *rows], delimiter, end, quoting)
    text = text if is_ended else text.removesuffix(end)
    table = MintingTable(split_lines(text), ("name",), delimiter=delimiter)
    copied = list(table)
    assert text == "".join([table.heading.replace(f"{delimiter}name", "", 1), *(row.text for row in copied)])
    for row in copied:
        filled = table.fill(row, [name])
        body = row.text.rstrip("\r\n")
        if not isinstance(row.entry, MintEntry):
            assert filled.startswith(body)
            continue
        assert filled.startswith(body + delimiter)
        assert filled.endswith(row.text[len(body) :])
        [cells] = csv.reader(io.StringIO(filled, newline=""), delimiter=delimiter, strict=True)
        [before] = csv.reader(io.StringIO(row.text, newline=""), delimiter=delimiter, strict=True)
        assert cells == [*before, name]


@given(cells=st.lists(CELLS, min_size=3, max_size=3), delimiter=st.sampled_from(",;\t"), name=CELLS)
def test_an_empty_cell_of_an_existing_column_is_filled_in_its_position(
    cells: list[str], delimiter: str, name: str
) -> None:
    cells[1] = ""
    text = write_csv([["url", "name", "note"], cells], delimiter, "\n", csv.QUOTE_MINIMAL)
    table = MintingTable(split_lines(text), ("name",), delimiter=delimiter)
    for row in table:
        if isinstance(row.entry, MintEntry):
            [copied] = csv.reader(io.StringIO(table.fill(row, [name]), newline=""), delimiter=delimiter, strict=True)
            [before] = csv.reader(io.StringIO(row.text, newline=""), delimiter=delimiter, strict=True)
            assert copied == [before[0], name, before[2]]


def test_the_fields_of_a_row_are_found_by_their_headings() -> None:
    table, [row] = read("URL,Title,who,owners,suffix,box\nhttps://e.org/, On lasting ,M. Silva,a b,s-1,7\n")
    assert row.entry == MintEntry(
        "https://e.org/", About("M. Silva", "On lasting", None, None), None, ("a", "b"), "s-1", None
    )
    assert table.unused_columns == ["box"]


def test_columns_can_be_mapped() -> None:
    table, [row] = read("Link;Titel;url\nhttps://e.org/;Eins;x\n", mapped=[("url", "Link"), ("what", "titel")])
    assert isinstance(row.entry, MintEntry)
    assert (row.entry.target, row.entry.about) == ("https://e.org/", About(None, "Eins", None, None))
    assert table.fields == ("target", "what")


def test_a_name_that_a_row_has_already_stays() -> None:
    table, [old, new] = read("name,url\n12345/a,https://e.org/1\n,https://e.org/2\n")
    assert isinstance(old.entry, MintEntry)
    assert isinstance(new.entry, MintEntry)
    assert (old.entry.name, new.entry.name) == ("12345/a", None)
    assert table.fill(old, ["12345/a"]) == "12345/a,https://e.org/1\n"
    assert table.fill(new, ["12345/b"]) == "12345/b,https://e.org/2\n"


def test_a_short_row_gets_the_missing_cells() -> None:
    table, [row] = read("url,title,note\nhttps://e.org/\n", ("name", "alias"))
    assert table.heading == "url,title,note,name,alias\n"
    assert table.fill(row, ["a", "b"]) == "https://e.org/,,,a,b\n"


@pytest.mark.parametrize("text", ["\n", ",,\n", " , ,\n"])
def test_a_row_without_text_is_copied_and_gets_no_name(text: str) -> None:
    table, [row] = read("url,title,note\n" + text)
    assert (row.entry, table.fill(row, ["x"])) == (None, text)


@pytest.mark.parametrize("text", ['https://e.org/,"never closed\n', "https://e.org/,b,c,d\n"])
def test_a_row_whose_columns_are_unknown_is_copied_as_it_is(text: str) -> None:
    table, [row, after] = read("url,title\n" + text + "https://e.org/2,fine\n")
    assert isinstance(row.entry, InvalidInput)
    assert table.fill(row, [""]) == text
    assert table.fill(after, ["n"]) == "https://e.org/2,fine,n\n"


def test_a_cell_that_is_not_utf8_is_refused_if_it_is_used_and_copied_in_any_case() -> None:
    line = b"https://e.org/,Caf\xe9,\xe9\n".decode("utf-8", "surrogateescape")
    table, [row] = read("url,title,note\n" + line)
    assert isinstance(row.entry, InvalidInput)
    assert row.entry.part == "what"
    assert table.fill(row, [""]) == line.replace("\n", ",\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the file is empty"),
        ("\n", "the first line is empty"),
        ("link,box\n", "no column is known"),
        ("url,target\n", "two columns are the target"),
        ("name,url,name\n", "two columns have the heading"),
    ],
)
def test_a_table_without_usable_headings_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        read(text)


@pytest.mark.parametrize(("mapped", "part"), [([("colour", "url")], "map"), ([("url", "nowhere")], "columns")])
def test_a_mapping_to_nothing_is_refused(mapped: list[tuple[str, str]], part: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read("url\n", mapped=mapped)
    assert refused.value.part == part


@pytest.mark.parametrize("name", ["", ";name"])
def test_a_line_that_states_the_delimiter_stays_above_the_headings(name: str) -> None:
    table, [row] = read(f"sep=;\r\nurl;title{name}\r\nhttps://e.org/1;One{name and ';'}\r\n")
    assert isinstance(row.entry, MintEntry)
    assert (row.line, row.entry.target) == (3, "https://e.org/1")
    assert table.heading == "sep=;\r\nurl;title;name\r\n"
    assert table.fill(row, ["12345/x"]) == "https://e.org/1;One;12345/x\r\n"


def test_a_description_of_several_lines_becomes_one_line_and_is_copied_as_it_is() -> None:
    text = 'url;title\r\nhttps://e.org/1;"First\r\nsecond\n third"\r\n'
    table = MintingTable(split_lines(text))
    [row] = table
    assert isinstance(row.entry, MintEntry)
    assert row.entry.about == About(what="First second third")
    assert (
        table.heading + table.fill(row, ["12345/x"])
        == text.replace("title\r\n", "title;name\r\n")[:-2] + ";12345/x\r\n"
    )
