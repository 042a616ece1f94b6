"""Identifiers as CSV: one per row, or one value per row as in the SQL storage of Handle servers."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.value_strategies import FEWER, about, instants, line_texts, names, values

from perdure.errors import InvalidInput
from perdure.formats import identifiers_csv
from perdure.formats.csv_rows import read_rows
from perdure.formats.handle_data import from_bytes, to_bytes
from perdure.formats.import_entries import Entry, ImportPut, RejectedLine
from perdure.records.record import About
from perdure.records.value import Admin, AdminRights, Binary, Reference, Text, Value

HEADER = ",".join(identifiers_csv.HANDLE_COLUMNS)
# HS_ADMIN as PostgreSQL prints bytea: permissions 0x07F3, handle 0.NA/12345, index 200.
ADMIN_HEX = r"\x07f30000000a302e4e412f3132333435000000c8"


def split_lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def read_identifiers_of(text: str) -> list[Entry]:
    return list(identifiers_csv.read_identifiers(read_rows(split_lines(text))))


def read_handles_of(text: str) -> list[Entry]:
    return list(identifiers_csv.read_handles(read_rows(split_lines(text))))


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


def test_rows_of_one_handle_are_its_record() -> None:
    text = f"""{HEADER}
12345/a,1,URL,https://example.org/,0,86400,1182480826,,1,1,1,0
12345/a,100,HS_ADMIN,{ADMIN_HEX},0,86400,1182480826,,1,1,1,0
12345/b,1,URL,https://example.org/b,0,600,1182480827,,1,1,0,0
"""
    first, second = read_handles_of(text)
    assert first == ImportPut(
        line=2,
        name="12345/a",
        values=(
            Value(1, "URL", Text("https://example.org/"), "2007-06-22T02:53:46Z"),
            Value(100, "HS_ADMIN", Admin(AdminRights("0.NA/12345", 200, "011111110011")), "2007-06-22T02:53:46Z"),
        ),
    )
    assert second == ImportPut(
        line=4,
        name="12345/b",
        values=(Value(1, "URL", Text("https://example.org/b"), "2007-06-22T02:53:47Z", 600, "1100"),),
    )


@pytest.mark.parametrize(
    "hexadecimal", [ADMIN_HEX, ADMIN_HEX.replace("\\x", "0x"), ADMIN_HEX.upper().replace("\\X", "\\x")]
)
def test_binary_data_is_read_as_each_engine_prints_it(hexadecimal: str) -> None:
    [entry] = read_handles_of(f"{HEADER}\n12345/a,100,HS_ADMIN,{hexadecimal},0,86400,0,,1,1,1,0\n")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].data == Admin(AdminRights("0.NA/12345", 200, "011111110011"))
    assert next(identifiers_csv.handle_rows("12345/a", entry.values))[3] == ADMIN_HEX


def test_text_in_hexadecimal_is_text() -> None:
    [entry] = read_handles_of(f"{HEADER}\n12345/a,1,URL,\\x{b'https://example.org/'.hex()},0,86400,0,,1,1,1,0\n")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].data == Text("https://example.org/")


def test_an_absolute_lifetime_is_an_instant() -> None:
    [entry] = read_handles_of(f"{HEADER}\n12345/a,1,URL,https://example.org/,1,1893456000,0,,1,1,1,0\n")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].ttl == "2030-01-01T00:00:00Z"
    assert next(identifiers_csv.handle_rows("12345/a", entry.values))[4:6] == ["1", "1893456000"]


def test_references_are_read_and_written() -> None:
    [entry] = read_handles_of(
        f"{HEADER}\n12345/a,1,URL,https://example.org/,0,86400,0,300:12345/x;301:12345/y;,1,1,1,0\n"
    )
    assert isinstance(entry, ImportPut)
    assert entry.values[0].references == (Reference("12345/x", 300), Reference("12345/y", 301))
    assert next(identifiers_csv.handle_rows("12345/a", entry.values))[7] == "300:12345/x;301:12345/y;"


@pytest.mark.parametrize(
    ("flags", "permissions"),
    [("1,1,1,0", "1110"), ("t,t,f,f", "1100"), ("true,false,TRUE,False", "1010"), ("0,0,1,1", "0011")],
)
def test_permissions_are_read_in_the_format_of_every_engine(flags: str, permissions: str) -> None:
    [entry] = read_handles_of(f"{HEADER}\n12345/a,1,URL,https://example.org/,0,86400,0,,{flags}\n")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].permissions == permissions


def test_a_table_with_four_columns_gets_default_values_for_the_rest() -> None:
    [entry] = read_handles_of("handle,idx,type,data\n12345/a,1,URL,https://example.org/\n")
    assert isinstance(entry, ImportPut)
    assert entry.values == (Value(1, "URL", Text("https://example.org/")),)


def test_data_that_is_not_utf_8_stays_bytes() -> None:
    raw = b"caf\xe9".decode("utf-8", "surrogateescape")
    [entry] = read_handles_of(f"{HEADER}\n12345/a,1,DESC,{raw},0,86400,0,,1,1,1,0\n")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].data == Binary(b"caf\xe9")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("12345/a,x,URL,https://example.org/,0,86400,0,,1,1,1,0", "idx"),
        ("12345/a,-1,URL,https://example.org/,0,86400,0,,1,1,1,0", "idx"),
        ("12345/a,1,URL,https://example.org/,0,soon,0,,1,1,1,0", "ttl"),
        ("12345/a,1,URL,https://example.org/,0,86400,2007-06-22,,1,1,1,0", "timestamp"),
        ("12345/a,1,URL,https://example.org/,0,86400,0,12345/x,1,1,1,0", "index:handle"),
        ("12345/a,1,URL,https://example.org/,0,86400,0,,1,1,yes,0", "pub_read"),
    ],
)
def test_a_bad_value_is_refused_by_line_and_column_and_other_handles_are_read(row: str, message: str) -> None:
    bad, good = read_handles_of(f"{HEADER}\n{row}\n12345/b,1,URL,https://example.org/,0,86400,0,,1,1,1,0\n")
    assert isinstance(bad, RejectedLine)
    assert (bad.line, bad.name) == (2, "12345/a")
    assert message in bad.reason
    assert isinstance(good, ImportPut)
    assert good.name == "12345/b"


def test_a_handle_with_an_unreadable_row_between_its_rows_is_rejected_as_a_whole() -> None:
    rows = ["12345/a,1,URL,https://example.org/", '12345/a,2,EMAIL,"a"b', "12345/a,3,DESC,x", "12345/b,1,DESC,y"]
    unreadable, incomplete, good = read_handles_of("\n".join(["handle,idx,type,data", *rows, ""]))
    assert isinstance(unreadable, RejectedLine)
    assert unreadable.line == 3
    assert isinstance(incomplete, RejectedLine)
    assert incomplete.name == "12345/a"
    assert "line 3" in incomplete.reason
    assert good == ImportPut(line=5, name="12345/b", values=(Value(1, "DESC", Text("y")),))


def test_a_column_that_no_handle_server_has_is_named() -> None:
    with pytest.raises(InvalidInput, match="colour"):
        read_handles_of("handle,idx,type,data,colour\n12345/a,1,URL,https://example.org/,red\n")


def _as_stored(value: Value) -> Value:
    """SQL storage contains only bytes: those that are text, or empty, are read back as text."""
    if isinstance(value.data, Binary):
        return Value(
            value.index,
            value.type,
            from_bytes(value.type, to_bytes(value.data)),
            value.timestamp,
            value.ttl,
            value.permissions,
            value.references,
        )
    return value


@given(names, st.lists(values(), min_size=1, max_size=4))
@settings(max_examples=FEWER)
def test_values_written_as_rows_are_read_again(name: str, given_values: list[Value]) -> None:
    table = write_csv([list(identifiers_csv.HANDLE_COLUMNS), *identifiers_csv.handle_rows(name, given_values)])
    [entry] = identifiers_csv.read_handles(read_rows(table))
    assert isinstance(entry, ImportPut)
    assert entry.name == name
    assert entry.values == tuple(_as_stored(value) for value in given_values)


@pytest.mark.parametrize("text", ["\\x", "0x41", "\\x41 is hexadecimal", "0xZZ", "\\xé"])
def test_text_that_looks_like_hexadecimal_stays_text(text: str) -> None:
    table = write_csv(
        [list(identifiers_csv.HANDLE_COLUMNS), *identifiers_csv.handle_rows("12345/a", [Value(1, "DESC", Text(text))])]
    )
    [entry] = identifiers_csv.read_handles(read_rows(table))
    assert isinstance(entry, ImportPut)
    assert entry.values[0].data == Text(text)


@given(st.lists(st.lists(line_texts, max_size=5), max_size=5))
@settings(max_examples=FEWER)
def test_no_table_makes_the_reader_crash(rows: list[list[str]]) -> None:
    for header, read in (
        (["name", "target"], identifiers_csv.read_identifiers),
        (["handle", "idx", "type", "data"], identifiers_csv.read_handles),
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
