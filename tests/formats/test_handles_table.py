"""The SQL storage of Handle servers as a table: one value per row."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.test_identifiers_csv import write_csv
from tests.formats.value_strategies import FEWER, names, values

from perdure.errors import InvalidInput
from perdure.formats import handles_table
from perdure.formats.csv_rows import read_rows
from perdure.formats.handle_data import from_bytes, to_bytes
from perdure.formats.import_entries import Entry, ImportPut, Notice, RejectedLine
from perdure.records.value import Admin, AdminRights, Binary, Reference, Text, Value

HEADER = ",".join(handles_table.HANDLE_COLUMNS)
# HS_ADMIN as PostgreSQL prints bytea: permissions 0x07F3, handle 0.NA/12345, index 200.
ADMIN_HEX = r"\x07f30000000a302e4e412f3132333435000000c8"


def read_handles_of(text: str) -> list[Entry]:
    return list(handles_table.read_handles(read_rows(text.splitlines(keepends=True))))


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
    assert next(handles_table.handle_rows("12345/a", entry.values))[3] == ADMIN_HEX


def test_text_in_hexadecimal_is_text() -> None:
    [entry] = read_handles_of(f"{HEADER}\n12345/a,1,URL,\\x{b'https://example.org/'.hex()},0,86400,0,,1,1,1,0\n")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].data == Text("https://example.org/")


def test_names_and_types_in_hexadecimal_are_read_as_each_engine_prints_them() -> None:
    name, kind = b"12345/\xc3\xa9".hex(), b"URL".hex()
    for mark in ("\\x", "0x"):
        [entry] = read_handles_of(f"{HEADER}\n{mark}{name},1,{mark}{kind},https://example.org/,0,86400,0,,1,1,1,0\n")
        assert isinstance(entry, ImportPut)
        assert (entry.name, entry.values[0].type) == ("12345/é", "URL")


def test_an_absolute_lifetime_is_an_instant() -> None:
    [entry] = read_handles_of(f"{HEADER}\n12345/a,1,URL,https://example.org/,1,1893456000,0,,1,1,1,0\n")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].ttl == "2030-01-01T00:00:00Z"
    assert next(handles_table.handle_rows("12345/a", entry.values))[4:6] == ["1", "1893456000"]


def test_references_are_read_and_written() -> None:
    [entry] = read_handles_of(
        f"{HEADER}\n12345/a,1,URL,https://example.org/,0,86400,0,300:12345/x;301:12345/y;,1,1,1,0\n"
    )
    assert isinstance(entry, ImportPut)
    assert entry.values[0].references == (Reference("12345/x", 300), Reference("12345/y", 301))
    assert next(handles_table.handle_rows("12345/a", entry.values))[7] == "300:12345/x;301:12345/y;"


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
    entry, notice = read_handles_of(f"{HEADER}\n12345/a,1,DESC,{raw},0,86400,0,,1,1,1,0\n")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].data == Binary(b"caf\xe9")
    assert isinstance(notice, Notice)
    assert (notice.line, notice.name, notice.kind) == (2, "12345/a", "bytes")


@pytest.mark.parametrize(
    ("cells", "message", "expected"),
    [
        ({"idx": "x"}, "idx", {"index": 0}),
        ({"idx": "-1"}, "idx", {"index": 0}),
        ({"idx": ""}, "idx", {"index": 0}),
        ({"ttl": "soon"}, "86400 s", {}),
        ({"ttl": "-1", "ttl_type": "1"}, "86400 s", {}),
        ({"timestamp": "the spring of 1995"}, "time of the import", {"timestamp": ""}),
        ({"timestamp": "1291204800000"}, "time of the import", {"timestamp": ""}),
        ({"refs": "12345/x;7:12345/y"}, "'12345/x' was left out", {"references": (Reference("12345/y", 7),)}),
        ({"pub_read": "yes"}, "pub_read", {"permissions": "1100"}),
    ],
)
def test_a_cell_that_cannot_be_read_is_replaced_and_reported(
    cells: dict[str, str], message: str, expected: dict[str, Any]
) -> None:
    row = dict(
        zip(
            handles_table.HANDLE_COLUMNS,
            ["12345/a", "1", "URL", "https://e.org/", "0", "86400", "0", "", "1", "1", "1", "0"],
            strict=True,
        )
    )
    entry, notice = read_handles_of(f"{HEADER}\n{','.join((row | cells).values())}\n")
    assert isinstance(notice, Notice)
    assert (notice.line, notice.name, notice.kind) == (2, "12345/a", "changed")
    assert message in notice.reason
    value = Value(1, "URL", Text("https://e.org/"), "1970-01-01T00:00:00Z")
    assert isinstance(entry, ImportPut)
    assert entry.values == (msgspec.structs.replace(value, **expected),)


def test_an_absolute_ttl_beside_another_wrong_cell_stays_absolute() -> None:
    entry, _ = read_handles_of(f"{HEADER}\n12345/a,x,URL,https://e.org/,1,1893456000,0,,1,1,1,0\n")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].ttl == "2030-01-01T00:00:00Z"


@pytest.mark.parametrize("text", ["2010-12-01 12:00:00", "20101201120000", "1291204800"])
def test_a_time_is_read_as_mysql_writes_it(text: str) -> None:
    [entry] = read_handles_of(f"{HEADER}\n12345/a,1,URL,https://e.org/,0,86400,{text},,1,1,1,0\n")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].timestamp == "2010-12-01T12:00:00Z"


@pytest.mark.parametrize(("one", "zero"), [("b'1'", "b'0'"), ("\x01", "\0")])
def test_bits_of_mysql_are_truth_values(one: str, zero: str) -> None:
    [entry] = read_handles_of(f"{HEADER}\n12345/a,1,URL,https://e.org/,0,86400,0,,{one},{zero},{one},{zero}\n")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].permissions == "1010"


@pytest.mark.parametrize("wrong", ['12345/a,2,EMAIL,"a"b', "12345/a,2,DESC,a, b,c"])
def test_a_handle_with_an_unreadable_row_comes_in_with_the_others(wrong: str) -> None:
    rows = ["12345/a,1,URL,https://example.org/", wrong, "12345/a,3,DESC,x", "12345/b,1,DESC,y"]
    unreadable, entry, missing, good = read_handles_of("\n".join(["handle,idx,type,data", *rows, ""]))
    assert isinstance(unreadable, RejectedLine)
    assert unreadable.line == 3
    assert isinstance(entry, ImportPut)
    assert [value.index for value in entry.values] == [1, 3]
    assert missing == Notice(4, "a value is missing: line 3 cannot be read", "12345/a", "left-out")
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
    table = write_csv([list(handles_table.HANDLE_COLUMNS), *handles_table.handle_rows(name, given_values)])
    [entry] = handles_table.read_handles(read_rows(table))
    assert isinstance(entry, ImportPut)
    assert entry.name == name
    assert entry.values == tuple(_as_stored(value) for value in given_values)


@pytest.mark.parametrize("text", ["\\x", "0x41", "\\x41 is hexadecimal", "0xZZ", "\\xé"])
def test_text_that_looks_like_hexadecimal_stays_text(text: str) -> None:
    table = write_csv(
        [list(handles_table.HANDLE_COLUMNS), *handles_table.handle_rows("12345/a", [Value(1, "DESC", Text(text))])]
    )
    [entry] = handles_table.read_handles(read_rows(table))
    assert isinstance(entry, ImportPut)
    assert entry.values[0].data == Text(text)


def test_names_and_types_in_hexadecimal_are_read() -> None:
    cells = ["\\x" + text.encode().hex() for text in ("12345/é", "URL", "https://e.org/")]
    [entry] = read_handles_of(f"{HEADER}\n{cells[0]},1,{cells[1]},{cells[2]},0,86400,0,,1,1,1,0\n")
    assert isinstance(entry, ImportPut)
    assert (entry.name, entry.values[0].type, entry.values[0].text) == ("12345/é", "URL", "https://e.org/")
