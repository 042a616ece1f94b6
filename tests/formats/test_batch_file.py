"""Batch files of Handle servers, read and written."""

import re

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.formats.value_strategies import FEWER, lifetimes, line_texts, names, types, values

from perdure.formats import batch_file
from perdure.formats.import_entries import Entry, ImportEdit, ImportPut, Notice, RejectedLine
from perdure.records.value import Admin, AdminRights, Binary, Reference, Text, Value, ValueList

SECRET = "correct-horse-battery"


def read(text: str) -> list[Entry]:
    return list(batch_file.read(enumerate(text.split("\n"), 1)))


def reasons(entries: list[Entry]) -> str:
    return "\n".join(entry.reason for entry in entries if isinstance(entry, RejectedLine | Notice))


def test_a_block_creates_a_handle_with_its_values() -> None:
    text = """CREATE 12345/hdl1
100 HS_ADMIN 86400 1110 ADMIN 300:111111111111:12345/hdl1
3 URL 86400 1110 UTF8 https://example.org/

"""
    admin = Admin(AdminRights("12345/hdl1", 300, "111111111111"))
    values = (Value(100, "HS_ADMIN", admin), Value(3, "URL", Text("https://example.org/")))
    assert read(text) == [ImportPut(line=1, name="12345/hdl1", values=values)]


@pytest.mark.parametrize(
    ("batch", "json"),
    [("110000010000", "000010000011"), ("001111101110", "011101111100"), ("1" + "0" * 11, "0" * 11 + "1")],
)
def test_the_twelve_permissions_of_an_administrator_are_in_reverse_order(batch: str, json: str) -> None:
    [entry] = read(f"CREATE 12345/a\n100 HS_ADMIN 86400 1110 ADMIN 300:{batch}:0.NA/12345")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].data == Admin(AdminRights("0.NA/12345", 300, json))
    assert batch_file.write("12345/a", entry.values)[0][1].endswith(f"ADMIN 300:{batch}:0.NA/12345")


def test_a_line_has_index_type_ttl_and_permissions_of_a_value() -> None:
    [entry] = read("CREATE 12345/a\n7 EMAIL 600 1101 UTF8 desk@example.org, open  9 to 5")
    assert isinstance(entry, ImportPut)
    assert entry.values == (Value(7, "EMAIL", Text("desk@example.org, open  9 to 5"), "", 600, "1101"),)


def test_a_list_names_values_of_handles() -> None:
    [entry] = read("CREATE 12345/a\n4 HS_VLIST 86400 1110 LIST 300:12345/hdl1;301:12345/hdl2;")
    assert isinstance(entry, ImportPut)
    assert entry.values[0].data == ValueList((Reference("12345/hdl1", 300), Reference("12345/hdl2", 301)))


def test_add_and_modify_are_edits() -> None:
    text = "ADD 12345/a\n2 EMAIL 86400 1110 UTF8 a@example.org\n\nMODIFY 12345/b\n3 URL 86400 1110 UTF8 https://example.org/"
    added, modified = read(text)
    assert added == ImportEdit(line=1, name="12345/a", act="add", values=(Value(2, "EMAIL", Text("a@example.org")),))
    assert isinstance(modified, ImportEdit)
    assert (modified.line, modified.name, modified.act) == (4, "12345/b", "modify")


def test_delete_and_remove_need_no_values() -> None:
    assert read("DELETE 12345/a\n\nREMOVE 2,13:12345/b/c\n") == [
        ImportEdit(line=1, name="12345/a", act="delete"),
        ImportEdit(line=3, name="12345/b/c", act="remove", indexes=(2, 13)),
    ]


def test_operations_may_follow_each_other_without_a_blank_line() -> None:
    entries = read("CREATE 12345/a\n1 URL 86400 1110 UTF8 https://example.org/\nDELETE 12345/b\nDELETE 12345/c")
    assert [entry.name for entry in entries if isinstance(entry, ImportPut | ImportEdit)] == [
        "12345/a",
        "12345/b",
        "12345/c",
    ]


def test_names_may_hold_spaces_and_slashes() -> None:
    assert read("CREATE 12345/an old book/2") == [ImportPut(line=1, name="12345/an old book/2")]


def test_windows_line_ends_are_not_part_of_the_data() -> None:
    [entry] = read("CREATE 12345/a\r\n1 URL 86400 1110 UTF8 https://example.org/\r\n\r\n")
    assert entry == ImportPut(line=1, name="12345/a", values=(Value(1, "URL", Text("https://example.org/")),))


def test_a_file_of_this_machine_is_never_read() -> None:
    [entry] = read("CREATE 12345/a\n300 HS_PUBKEY 86400 1110 FILE /etc/passwd")
    assert isinstance(entry, RejectedLine)
    assert (entry.line, entry.name) == (2, "12345/a")
    assert "FILE" in entry.reason


@pytest.mark.parametrize(
    "block",
    [
        f"AUTHENTICATE SECKEY:300:0.NA/12345\n{SECRET}",
        f"AUTHENTICATE PUBKEY:300:0.NA/12345\n/keys/admpriv.bin|{SECRET}",
        f"SESSIONSETUP\nUSESESSION:1\nPASSPHRASE:{SECRET}",
        "HOME 10.0.0.1:2641:TCP\n0.NA/12345\n0.NA/12346",
        "UNHOME 10.0.0.1:2641:TCP\n0.NA/12345",
    ],
)
def test_operations_for_a_server_are_skipped_and_no_secret_is_repeated(block: str) -> None:
    entries = read(f"{block}\n\nDELETE 12345/a")
    assert [type(entry) for entry in entries] == [Notice, ImportEdit]
    assert SECRET not in repr(entries)
    assert block.split()[0] in reasons(entries)


@pytest.mark.parametrize("secret", [f"DELETE {SECRET}", f"CREATE {SECRET}", f"HOME {SECRET}", f"\n{SECRET}"])
def test_an_error_never_repeats_a_secret(secret: str) -> None:
    entries = read(f"AUTHENTICATE SECKEY:300:0.NA/12345\n{secret}\n\nDELETE 12345/a")
    assert SECRET not in repr(entries)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x URL 86400 1110 UTF8 https://example.org/", "index type ttl permissions"),
        ("1 URL 86400 111 UTF8 https://example.org/", "index type ttl permissions"),
        ("1 URL 86400 1112 UTF8 https://example.org/", "index type ttl permissions"),
        ("1 URL soon 1110 UTF8 https://example.org/", "whole number"),
        ("1 URL ² 1110 UTF8 https://example.org/", "whole number"),
        ("99999999999 URL 86400 1110 UTF8 https://example.org/", "index"),
        ("1 HS_ADMIN 86400 1110 ADMIN 300:1111:12345/a", "twelve"),
        (f"1 HS_ADMIN 86400 1110 ADMIN {'9' * 5000}:111111111111:12345/a", ""),
        ("1 HS_VLIST 86400 1110 LIST 300", "index:handle"),
        (f"1 HS_VLIST 86400 1110 LIST {'9' * 5000}:12345/a;", ""),
        ("1 URL 86400 1110 BASE64 aGk=", "BASE64"),
    ],
)
def test_a_bad_value_refuses_its_block_and_no_other(line: str, message: str) -> None:
    bad, good = read(f"CREATE 12345/a\n1 URL 86400 1110 UTF8 https://example.org/\n{line}\n\nDELETE 12345/b")
    assert isinstance(bad, RejectedLine)
    assert (bad.line, bad.name) == (3, "12345/a")
    assert message in bad.reason
    assert good == ImportEdit(line=5, name="12345/b", act="delete")


def test_data_of_a_refused_value_is_not_repeated() -> None:
    assert SECRET not in repr(read(f"CREATE 12345/a\n300 HS_SECKEY 86400 1100 SECRET {SECRET}"))


@pytest.mark.parametrize(
    "text",
    [
        "ADD 12345/a",
        "MODIFY 12345/a",
        "REMOVE 12345/a",
        "REMOVE x:12345/a",
        f"REMOVE {'9' * 5000}:12345/a",
        "ERASE 12345/a",
        "create 12345/a",
        "1 URL 86400 1110 UTF8 https://example.org/",
    ],
)
def test_an_unknown_operation_is_refused(text: str) -> None:
    [entry] = read(text)
    assert isinstance(entry, RejectedLine)


def test_values_under_a_deletion_are_reported() -> None:
    deleted, refused = read("DELETE 12345/a\n1 URL 86400 1110 UTF8 https://example.org/")
    assert deleted == ImportEdit(line=1, name="12345/a", act="delete")
    assert isinstance(refused, RejectedLine)
    assert refused.line == 2


def test_values_that_the_language_cannot_represent_are_reported_and_the_rest_is_written() -> None:
    odd = [
        Value(1, "DESC", Text("two\nlines")),
        Value(2, "DESC", Binary(b"\x00")),
        Value(3, "DESC", Text("x"), ttl="2030-01-01T00:00:00Z"),
        Value(4, "a type", Text("x")),
        Value(5, "DESC", Text(" padded ")),
    ]
    lines, left_out = batch_file.write("12345/a", [*odd, Value(6, "URL", Text("https://example.org/"))])
    assert lines == ["CREATE 12345/a", "6 URL 86400 1110 UTF8 https://example.org/", ""]
    assert [int(re.findall(r"value (\d+)", message)[0]) for message in left_out] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "value",
    [
        Value(1, "a\u00a0type", Text("x")),
        Value(1, "DESC", Text("x\u00a0")),
        Value(1, "HS_VLIST", ValueList((Reference("12345/a;b", 300),))),
        Value(1, "HS_VLIST", ValueList((Reference("12345/a ", 300),))),
        Value(1, "HS_ADMIN", Admin(AdminRights("12345/a ", 300, "1" * 12))),
    ],
)
def test_a_value_that_would_be_read_as_another_is_left_out(value: Value) -> None:
    lines, left_out = batch_file.write("12345/a", [value])
    [entry] = read("\n".join(lines))
    assert entry == ImportPut(line=1, name="12345/a", values=() if left_out else (value,))


@given(names, st.lists(values(ttls=lifetimes), max_size=4))
@settings(max_examples=FEWER)
def test_a_written_handle_is_read_back(name: str, given_values: list[Value]) -> None:
    assume(name == name.strip())
    lines, left_out = batch_file.write(name, given_values)
    [entry] = read("\n".join(lines))
    assert isinstance(entry, ImportPut)
    assert entry.name == name
    # The language can express neither the time of a value nor its references.
    bare = [msgspec.structs.replace(value, timestamp="", references=()) for value in given_values]
    assert len(entry.values) + len(left_out) == len(given_values)
    assert [value for value in bare if value in entry.values] == list(entry.values)


@given(
    st.lists(
        values(
            text=line_texts.map(str.strip).filter(bool),
            kinds=types.filter(lambda kind: not re.search(r"\s", kind)),
            ttls=lifetimes,
            binary=False,
        ),
        max_size=4,
    )
)
@settings(max_examples=FEWER)
def test_plain_values_are_never_left_out(given_values: list[Value]) -> None:
    assert batch_file.write("12345/a", given_values)[1] == []


@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=40), max_size=8))
def test_no_text_makes_the_reader_crash(lines: list[str]) -> None:
    for entry in read("\n".join(lines)):
        assert 1 <= entry.line <= len(lines)


@given(
    st.lists(
        st.builds(
            " ".join,
            st.lists(
                st.sampled_from(
                    [
                        "CREATE",
                        "ADD",
                        "REMOVE",
                        "1",
                        "²",
                        "1,2:12345/a",
                        "URL",
                        "86400",
                        "1110",
                        "UTF8",
                        "ADMIN",
                        "LIST",
                        "300:111111111111:1/a",
                        ";",
                        "HOME",
                    ]
                ),
                max_size=6,
            ),
        ),
        max_size=8,
    )
)
@settings(max_examples=FEWER)
def test_no_order_of_valid_words_makes_the_reader_crash(lines: list[str]) -> None:
    read("\n".join(lines))
