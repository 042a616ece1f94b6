"""`perdure import` of files as other systems write them: DSpace, MySQL, and a spreadsheet program in German."""

import base64
import csv
import io
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.cli.test_admin_name import run_at_terminal
from tests.cli.test_registry_commands import Desk, make_desk, registry_state

UUID = "7f0e5b5a-3d5a-4a7e-9a1f-0c2f6a2d9b1"
DSPACE_7 = (
    "handle_id,handle,resource_type_id,resource_legacy_id,resource_id\r\n"
    f"1,123456789/0,5,,{UUID}0\r\n"
    f"2,123456789/1,4,1,{UUID}1\r\n"
    f"3,123456789/2,3,1,{UUID}2\r\n"
    f"4,123456789/3,2,17,{UUID}3\r\n"
    "5,123456789/4,2,18,\r\n"
)
DSPACE_5 = "handle_id\thandle\tresource_type_id\tresource_id\n1\t123456789/1\t2\t17\n2\t123456789/2\t2\t\\N\n"
# mysql --batch -e 'SELECT * FROM handles': HS_ADMIN is binary, and its null bytes are escaped.
HANDLES = (
    b"handle\tidx\ttype\tdata\tttl_type\tttl\ttimestamp\trefs\tadmin_read\tadmin_write\tpub_read\tpub_write\n"
    b"20.500.99999/AB\t1\tURL\thttp://www.example.org/annual report.pdf\t0\t86400\t1291204800\t\t1\t1\t1\t0\n"
    b'20.500.99999/AB\t2\tDESC\tl\'\xc3\xa9t\xc3\xa9\\n"\xc3\xa0 Paris"\t0\t86400\t1291204800\tNULL\t1\t1\t1\t0\n'
    b"20.500.99999/AB\t100\tHS_ADMIN\t\x0f\xff\\0\\0\\0\x10"
    b"0.NA/20.500.9999\\0\\0\\0\xc8\t0\t86400\t1291204800\tNULL\t1\t1\t1\t0\n"
    b"20.500.99999/ab\t1\tURL\thttps://example.org/other\t0\t86400\t1291204800\tNULL\t1\t1\t1\t0\n"
    b"20.500.99999/CD\t1\tURL\twww.example.org/x\t0\t86400\t1291204800\tNULL\t1\t1\t1\t0\n"
)
# As Excel saves "CSV (Trennzeichen-getrennt)" in German Windows.
EXCEL = (
    "Kennung;Adresse;Titel;Erstellt;Bemerkung;;\r\n"
    "12345/1;https://example.org/1;Über die „Lüneburger Heide“;31.01.2024;x;;\r\n"
    '12345/2;https://example.org/2;"Zeile 1\nZeile 2";01.02.2024 10:30;;;\r\n'
    ";;;;;;\r\n"
).encode("cp1252")
MAP = ("--map", "name=Kennung", "--map", "target=Adresse", "--map", "what=Titel", "--map", "created=Erstellt")


@pytest.fixture
def desk(quick: Run, tmp_path: Path) -> Desk:
    return make_desk(quick, tmp_path)


def write(desk: Desk, name: str, content: str | bytes) -> str:
    (desk.folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def read_record(desk: Desk, name: str) -> dict[str, Any]:
    document: dict[str, Any] = desk.json("show", name)
    return document


# DSpace


def test_the_table_of_dspace_7_comes_in_with_an_address_for_each_type(desk: Desk) -> None:
    file = write(desk, "handle.csv", DSPACE_7)
    patterns = [
        "https://repo.example.org/{resource_type_id}/{resource_id}",
        "Item=https://repo.example.org/items/{resource_id}",
        "3=https://repo.example.org/handle/{handle}?id={resource_legacy_id}",
    ]
    options = ["--format", "dspace", *[part for one in patterns for part in ("--target-pattern", one)]]
    tally = desk.json("import", file, *options, "--new-prefixes", "--case-sensitive", "--created", "2010-12-31")
    assert (tally["created"], tally["refused"]) == (5, 0)
    assert desk.ok("resolve", "123456789/0") == f"https://repo.example.org/5/{UUID}0\n"
    assert desk.ok("resolve", "123456789/2") == "https://repo.example.org/handle/123456789/2?id=1\n"
    assert desk.ok("resolve", "123456789/3") == f"https://repo.example.org/items/{UUID}3\n"
    gone = read_record(desk, "123456789/4")
    assert (gone["state"], gone["tombstone"]["reason"]) == ("withdrawn", "deleted in DSpace")
    assert read_record(desk, "123456789/3")["authority"]["created"] == "2010-12-31T00:00:00Z"
    assert desk.json("import", file, *options, "--again")["unchanged"] == 5


def test_a_second_table_has_the_addresses_of_dspace(desk: Desk) -> None:
    desk.ok("prefix", "add", "123456789", "--minter", "chosen")
    write(desk, "urls.csv", "resource_id;url\n17;https://repo.example.org/x/17\n")
    file = write(desk, "handle.tsv", DSPACE_5 + "3\t123456789/3\t2\t99\n")
    done = desk.run("import", file, "--format", "dspace", "--targets", "urls.csv")
    assert done.stdout == "3 created, 0 changed, 0 unchanged, 0 refused\n"
    assert "line 4: the table of targets has no url for 123456789/3" in done.stderr
    assert desk.ok("resolve", "123456789/1") == "https://repo.example.org/x/17\n"
    assert read_record(desk, "123456789/2")["state"] == "withdrawn"
    assert read_record(desk, "123456789/3")["state"] == "reserved", "no name is lost"
    write(desk, "urls.csv", "HANDLE;url\nhttp://hdl.handle.net/123456789/3;https://repo.example.org/x/99\n")
    tally = desk.json("import", file, "--format", "dspace", "--targets", "urls.csv", "--update", "--again")
    assert (tally["changed"], tally["unchanged"]) == (1, 2), "an address that a name has is not removed"
    assert desk.ok("resolve", "123456789/1") == "https://repo.example.org/x/17\n"
    assert desk.ok("resolve", "123456789/3") == "https://repo.example.org/x/99\n"


def test_the_headings_url_and_title_are_understood(desk: Desk) -> None:
    """So a table that `perdure mint --from` has filled can be imported. A second address keeps its own column."""
    desk.ok("prefix", "add", "777", "--minter", "chosen")
    write(desk, "a.csv", "name,URL,Title,EMAIL\n777/a,https://e.org/a,One,a@e.org\n")
    write(desk, "b.csv", "name,target,URL\n777/b,https://e.org/b,https://e.org/second\n")
    desk.ok("import", "a.csv")
    desk.ok("import", "b.csv")
    values = {
        name: [(one["index"], one["type"]) for one in read_record(desk, name)["values"]] for name in ("777/a", "777/b")
    }
    assert values == {"777/a": [(1, "URL"), (2, "EMAIL")], "777/b": [(1, "URL"), (2, "URL")]}
    assert read_record(desk, "777/a")["about"]["what"] == "One"


@pytest.mark.parametrize(
    ("heading", "format"),
    [("handle_id,handle,resource_type_id,resource_id", "dspace"), ("handle,idx,type,data,ttl", "handles")],
)
def test_a_table_of_another_system_is_recognised(desk: Desk, heading: str, format: str) -> None:
    write(desk, "table.csv", f"{heading}\n1,12345/1,2,3\n")
    assert f"add --format {format}" in desk.refuses("import", "table.csv")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "--target-pattern"),
        (("--target-pattern", "https://example.org/{uuid}"), "the columns are handle_id, handle, resource_type_id"),
        (("--target-pattern", "items/{resource_id}"), "is not an absolute URL"),
        (("--target-pattern", "https://example.org/{resource_id"), "a brace"),
        (("--target-pattern", "https://a.org/", "--target-pattern", "https://b.org/"), "two patterns"),
        (("--targets", "handle.csv"), "a column url"),
        (("--target-pattern", "itme=https://a.org/"), "'itme' is not a type of DSpace: use bitstream"),
        (("--map", "name=handle"), "--map requires the format csv"),
    ],
)
def test_wrong_options_for_dspace_are_refused_before_anything_is_written(
    desk: Desk, options: tuple[str, ...], expected: str
) -> None:
    write(desk, "handle.csv", DSPACE_7)
    assert expected in desk.refuses("import", "handle.csv", "--format", "dspace", *options)


def test_a_format_without_a_file_is_answered_with_the_whole_command(desk: Desk) -> None:
    assert "the file is missing: perdure import dspace FILE" in desk.refuses("import", "dspace")


# A Handle server with MySQL


def test_a_dump_of_mysql_comes_in_with_its_prefix_and_names_in_one_case(desk: Desk) -> None:
    file = write(desk, "handles.tsv", HANDLES)
    question = desk.refuses("import", file, "--format", "handles", "--new-prefixes")
    assert "add --ignore-case; or add --case-sensitive" in question
    options = ("--format", "handles", "--new-prefixes", "--ignore-case")
    done = desk.run("import", file, *options, "--problems", "problems.ndjson")
    assert done.stdout.splitlines()[:2] == [
        "2 created, 0 changed, 0 unchanged, 1 refused",
        "2 addresses are not valid: they were stored verbatim, and lead nowhere. To mend one:",
    ]
    problems = [json.loads(line) for line in (desk.folder / "problems.ndjson").read_text().splitlines()]
    assert [(one["line"], one.get("kind"), one["refused"]) for one in problems] == [
        (2, "prefix", False),
        (2, "verbatim", False),
        (5, None, True),
        (6, "verbatim", False),
    ]
    assert "case is ignored, and the first name stays" in problems[2]["reason"]
    record = {value["index"]: value["data"] for value in read_record(desk, "20.500.99999/ab")["values"]}
    assert record[1]["value"] == "http://www.example.org/annual report.pdf"
    assert record[2]["value"] == 'l\'été\n"à Paris"'
    assert record[100]["value"] == {"handle": "0.NA/20.500.9999", "index": 200, "permissions": "111111111111"}
    assert "imported as it was" in desk.run("resolve", "20.500.99999/AB").stderr
    desk.ok("import", file, "--format", "handles", "--mend", "--update", code=1)
    assert desk.ok("resolve", "20.500.99999/cd") == "http://www.example.org/x\n"
    desk.ok("verify")


HANDLES_IN_LATIN_1 = (
    b"handle\tidx\ttype\tdata\n"
    b"20.500.99999/A\t1\tURL\thttps://example.org/a\n"
    b"20.500.99999/A\t100\tHS_ADMIN\t\x0f\xff\\0\\0\\0\x100.NA/20.500.9999\\0\\0\\0\xc8\n"
    b"20.500.99999/A\t2\tDESC\tl'\xe9t\xe9\n"
    b"20.500.99999/A\t3\tSEAL\t\x01\xff\xfe\n"
)


def test_text_of_handles_in_another_encoding_is_a_question_and_binary_data_is_not(desk: Desk) -> None:
    file = write(desk, "handles.tsv", HANDLES_IN_LATIN_1)
    options = ("--format", "handles", "--new-prefixes", "--ignore-case")
    question = desk.refuses("import", file, *options)
    assert "the file is not UTF-8: line 4 has text in another encoding" in question
    assert "--encoding latin-1" in question
    assert "20.500.99999" not in desk.ok("prefix", "list"), "nothing was written"
    assert desk.json("import", file, *options, "--encoding", "latin-1")["created"] == 1
    record = {value["index"]: value["data"] for value in read_record(desk, "20.500.99999/A")["values"]}
    assert record[2]["value"] == "l'été"
    assert record[100]["value"] == {"handle": "0.NA/20.500.9999", "index": 200, "permissions": "111111111111"}
    assert record[3]["value"] == base64.b64encode(b"\x01\xff\xfe").decode()


def test_text_in_another_encoding_comes_in_as_bytes_on_request_and_is_reported(desk: Desk) -> None:
    file = write(desk, "handles.tsv", HANDLES_IN_LATIN_1)
    done = desk.run("import", "handles", file, "--new-prefixes", "--ignore-case", "--encoding", "utf-8")
    assert "line 4: value 2 (DESC) is not in UTF-8: it was imported as bytes" in done.stderr
    assert "line 3" not in done.stderr, "binary data is as it should be"


def test_a_handle_with_letters_in_another_encoding_is_a_question(desk: Desk) -> None:
    write(desk, "h.csv", b"handle,idx,type,data\n12345/\xe9,1,URL,https://example.org/\n")
    assert "line 2 has text in another encoding" in desk.refuses("import", "handles", "h.csv")
    assert desk.json("import", "handles", "h.csv", "--encoding", "latin-1")["created"] == 1
    assert desk.ok("resolve", "12345/é") == "https://example.org/\n"


def test_a_question_about_the_encoding_names_the_second_table(desk: Desk) -> None:
    write(desk, "handle.csv", "handle,resource_id\n12345/1,1\n")
    write(desk, "links.csv", b"handle,url,title\n12345/1,https://example.org/1,\xc9t\xe9\n")
    question = desk.refuses("import", "dspace", "handle.csv", "--targets", "links.csv")
    assert "the table of targets links.csv is not UTF-8: line 2, byte 31 is 0xC9" in question


def test_the_record_of_a_prefix_comes_in_with_new_prefixes(desk: Desk) -> None:
    write(desk, "h.csv", "handle,idx,type,data\n0.NA/20.5,1,DESC,Our prefix\n20.5/a,1,URL,https://example.org/a\n")
    refused = desk.run("import", "handles", "h.csv")
    assert "or with --new-prefixes" in refused.stderr
    done = desk.run("import", "handles", "h.csv", "--new-prefixes", "--case-sensitive")
    assert done.stdout == "2 created, 0 changed, 0 unchanged, 0 refused\n"
    assert "added the prefix 0.NA (case is ignored)" in done.stderr
    assert read_record(desk, "0.na/20.5")["values"][0]["data"]["value"] == "Our prefix"
    assert "added" in desk.ok("handle-user", "add", "300:20.5/USER1", "--password-stdin", stdin="a long secret").lower()


def test_with_new_prefixes_no_hint_names_this_option(desk: Desk) -> None:
    write(desk, "t.csv", "name,target\na title/with a slash,https://example.org/\n")
    errors = desk.run("import", "t.csv", "--new-prefixes", "--ignore-case").stderr
    assert "is not registered here (add it with perdure prefix add)" in errors


def test_an_address_is_mended_by_hand(desk: Desk) -> None:
    desk.ok("import", write(desk, "names.csv", "name,target\n12345/x,javascript:alert(1)\n"))
    desk.ok("add-value", "12345/x", "EMAIL", "a@example.org")
    desk.ok("set", "12345/x", "https://example.org/x")
    assert desk.ok("resolve", "12345/x") == "https://example.org/x\n"


# Tables of spreadsheet programs


def test_a_table_of_a_german_spreadsheet_needs_its_encoding(desk: Desk) -> None:
    file = write(desk, "buecher.csv", EXCEL)
    refusal = desk.refuses("import", file, *MAP)
    assert "line 2, byte 31 is 0xDC" in refusal
    assert "--encoding latin-1" in refusal
    assert desk.json("import", file, *MAP, "--encoding", "cp1252")["created"] == 2
    first, second = read_record(desk, "12345/1"), read_record(desk, "12345/2")
    assert first["about"]["what"] == "Über die „Lüneburger Heide“"
    assert (first["authority"]["created"], first["values"][0]["index"]) == ("2024-01-31T00:00:00Z", 1)
    assert len(first["values"]) == 1
    assert second["about"]["what"] == "Zeile 1 Zeile 2"
    assert second["authority"]["created"] == "2024-02-01T10:30:00Z"


def test_columns_with_unusual_headings_are_named(desk: Desk) -> None:
    write(desk, "t.csv", "name,target,Titel,EMAIL,10320/loc\n12345/1,https://example.org/1,Heide,a@example.org,\n")
    printed = desk.run("import", "t.csv", "--dry-run").stderr
    assert printed == (
        "perdure: line 1: these columns became values of types with their names: Titel (choose columns with --map)\n"
    )
    assert desk.run("import", "t.csv", "--map", "name=name", "--map", "what=Titel").stderr == ""


def test_a_file_on_standard_input_needs_its_encoding_too(desk: Desk) -> None:
    done = desk.run("import", "-", "--format", "csv", *MAP, stdin=EXCEL)
    assert done.returncode == 2
    assert "line 2, byte 31 is 0xDC" in done.stderr


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_line_ends_and_byte_order_marks_are_recognised(desk: Desk, delimiter: str, end: str) -> None:
    rows = [
        ["name", "target", "state", "reason", "created"],
        ["12345/x", "https://example.org/x", "", "NULL", "2024-01-31 10:00:00"],
        ["12345/y", "\\N", "withdrawn", "a duplicate", "0000-00-00 00:00:00"],
    ]
    text = "\ufeff" + "".join(delimiter.join(row) + end for row in rows)
    assert desk.json("import", write(desk, "t.tsv", text))["created"] == 2
    assert read_record(desk, "12345/x")["authority"]["created"] == "2024-01-31T10:00:00Z"
    gone = read_record(desk, "12345/y")
    assert (gone["state"], gone["tombstone"]["reason"], gone["authority"].get("created")) == (
        "withdrawn",
        "a duplicate",
        None,
    )


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("Name2;Ziel\n12345/x;https://example.org/\n", (), "--map"),
        ("Kennung|Ziel\n12345/x|https://example.org/\n", ("--map", "name=Kennung"), "is no column 'Kennung' for name"),
        ("name,target\n", ("--map", "target=target"), "add --map name=COLUMN"),
        ("name,target\n", ("--encoding", "utf-16"), "use utf-8, latin-1, cp1252"),
        ("name,target\n", ("--encoding", "klingon"), "is not a supported encoding"),
        ("name,target\n", ("--ignore-case",), "require --new-prefixes"),
        ("name,target\n".encode("utf-16"), (), "is in UTF-16; save it as UTF-8 first"),
        ("name,target\n", ("--created", "soon"), "created 'soon' is not ISO 8601"),
    ],
)
def test_a_question_about_a_table_names_an_option_of_the_command(
    desk: Desk, content: str | bytes, options: tuple[str, ...], expected: str
) -> None:
    write(desk, "t.csv", content)
    assert expected in desk.refuses("import", "t.csv", *options)


def test_a_line_of_a_spreadsheet_program_that_states_the_delimiter_is_understood(desk: Desk) -> None:
    write(desk, "t.csv", "\ufeffsep=|\r\nname|target\r\n12345/x|https://example.org/a,b\r\n12345/y|\r\n")
    assert desk.json("import", "t.csv")["created"] == 2
    assert desk.ok("resolve", "12345/x") == "https://example.org/a,b\n"
    write(desk, "pairs.csv", "sep=;\nrepository_name;ibip\nsid.inpe.br/mtc-m18/2009/02.16.17.46;\n")
    assert "is not registered here" in desk.run("import", "pairs.csv").stderr, "it is read as a table of labels"
    write(desk, "handle.csv", "sep=;\nhandle;resource_id\n12345/z;7\n")
    pattern = ("--target-pattern", "https://example.org/{resource_id}")
    assert desk.json("import", "dspace", "handle.csv", *pattern)["created"] == 1


def test_a_filter_by_date_says_that_a_day_is_enough(desk: Desk) -> None:
    assert "a day alone, as in 2026-01-31, is enough" in desk.refuses("list", "--created-since", "31.1.2026")


def test_another_delimiter_can_be_given(desk: Desk) -> None:
    write(desk, "t.csv", "name|target\n12345/x|https://example.org/x\n")
    assert desk.json("import", "t.csv", "--delimiter", "|")["created"] == 1


@pytest.mark.parametrize("format", ["csv", "handles", "dspace", "labels"])
@pytest.mark.parametrize("first", ["-- MySQL dump 10.13", "-- PostgreSQL database dump", "/*!40101 SET NAMES utf8 */;"])
def test_a_dump_of_a_database_is_refused_with_the_command_for_a_table(desk: Desk, format: str, first: str) -> None:
    write(desk, "dump.sql", f"{first}\nINSERT INTO `handle` VALUES (1,'12345/1',2,3);\n")
    options = ("--target-pattern", "https://e.org/{handle}") if format == "dspace" else ()
    refusal = desk.refuses("import", format, "dump.sql", *options)
    assert "this is an SQL dump, not a table" in refusal
    assert "CSV HEADER" in refusal


def test_a_table_with_null_bytes_is_refused_with_the_line(desk: Desk) -> None:
    write(desk, "t.csv", b"name,target\n12345/x,https://example.org/\x00\n")
    assert "the first one in line 2" in desk.refuses("import", "t.csv")


def test_hints_about_refused_lines_name_options_of_the_command(desk: Desk) -> None:
    desk.ok("prefix", "add", "777")
    rows = ("888/x,https://e.org/", "777/x,https://e.org/", "12345/c,,Maria", "12345/c,https://e.org/,,spring")
    write(desk, "t.csv", "\n".join(["name,target,creator,created", *rows]))
    errors = desk.run("import", "t.csv").stderr
    assert "(2010-12-31, 31.12.2010 and 2010-12-31 10:00:00 are understood, too)" in errors
    assert "(the authors of a work belong in a column who)" in errors
    assert "add it with perdure prefix add, or with --new-prefixes" in errors
    assert "(add --any-suffix)" in errors


# Nothing is lost

STRANGE_NAMES = (
    "12345/{i}", "12345/{i} b", "12345/é{i}", "12345/{i}?x=1#y", " 12345/{i} ", "https://hdl.handle.net/12345/{i}",
    "hdl:12345/{i}", "12345//{i}/", "99999/{i}", "{i}", "12345/", "12345/{i}\u202e", "12345/{i}\u200d", "12345/A{i}",
)  # fmt: skip
STRANGE_URLS = (
    "https://example.org/{i}", "http://example.org/annual report {i}.pdf", "www.example.org/{i}", "example.org/{i}",
    "gopher://example.org/{i}", "javascript:alert({i})", "\\\\server\\share\\{i}", "NULL", "", "#REF!", "https://", "n/a",
    "https://e.org/{i} https://e.org/b", "https://e.org/\x07{i}", "https://e.org:99999/{i}", "https://e.org/\u2028{i}",
    "https://e.org/" + "x" * 9_000, "https://e.org/" + "x" * 70_000, "=HYPERLINK(\"https://e.org/{i}\")", "a\nb",
)  # fmt: skip
STRANGE_CELLS = {
    "who": ("", "A;\nB", "x" * 5_000, "\x1b[31mred"),
    "creator": ("", "12345/not-yet", "Maria Müller", "https://orcid.org/0000-0002-1825-0097", "NULL"),
    "created": ("", "2024-01-31", "31.01.2024", "soon", "0000-00-00", "2999-01-01", "1987"),
    "state": ("", "active", "withdrawn", "reserved", "deleted", "WITHDRAWN"),
    "reason": ("", "", "a duplicate"),
    "replaced_by": ("", "", "", "12345/1", "gone"),
    "EMAIL": ("", "x" * 70_000, "\x00", "a@example.org"),
}


def strange_table() -> list[list[str]]:
    """Return 1,000 rows in which each cell is strange at times. Nothing here is random."""
    columns = [STRANGE_NAMES, STRANGE_URLS, *STRANGE_CELLS.values()]
    rows = [["name", "target", *STRANGE_CELLS]]
    for i in range(1_000):
        row = [texts[(i // step) % len(texts)].replace("{i}", str(i)) for step, texts in enumerate(columns, 1)]
        for at in range(2, len(row)):
            if (i + at) % 3:  # most rows have a few strange cells, not all of them
                row[at] = ""
        rows.append([cell.replace("\x00", "") for cell in row])
    return rows


def test_every_strange_row_becomes_a_name_or_is_reported(desk: Desk) -> None:
    rows, lines, text = strange_table(), {}, io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(row)
        lines[text.getvalue().count("\n")] = row[0]  # a row is reported by its last line
    done = desk.run("import", write(desk, "strange.csv", text.getvalue()), "--problems", "problems.ndjson", "--json")
    tally = json.loads(done.stdout)
    assert tally["created"] + tally["changed"] + tally["unchanged"] + tally["refused"] == 1_000
    problems = [json.loads(line) for line in (desk.folder / "problems.ndjson").read_text().splitlines()]
    refused = {one["line"] for one in problems if one["refused"]}
    assert len(refused) == tally["refused"]
    names = set(desk.ok("list", "--under", "12345", "--json").splitlines())
    stored = {json.loads(line)["name"] for line in names}
    del lines[1]
    for line, name in lines.items():
        plain = name.strip().removeprefix("https://hdl.handle.net/").removeprefix("hdl:")
        assert (plain in stored) is not (line in refused), (line, name)
    reasons = {one["code"] for one in problems if one["refused"]}
    assert reasons <= {"invalid-name", "no-such-prefix", "invalid-input", "conflict", None}
    values = [
        one for one in problems if one["refused"] and (one["part"] or "").startswith(("target", "values", "record"))
    ]
    assert not values, "no name is refused because of a value"
    assert "12345/not-yet" in desk.ok("verify", code=1), "the one problem"


def test_an_import_that_is_killed_has_reported_what_it_stored(desk: Desk) -> None:
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "perdure", "import", "-", "--format", "csv", "--problems", "problems.ndjson"]
    problems = desk.folder / "problems.ndjson"
    lines: list[str] = []
    with subprocess.Popen(command, cwd=desk.folder, stdin=reading, stderr=subprocess.DEVNULL) as running:
        os.close(reading)
        with os.fdopen(writing, "wb") as rows:
            rows.write(b"name,target\n" + b"".join(b"12345/%d,%b\n" % (i, b"x" * 99) for i in range(6_000)))
            rows.flush()  # it waits for more rows, after it has reported two parts of 2,000
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and len(lines) < 4_000:
                time.sleep(0.1)
                lines = problems.read_text().splitlines() if problems.exists() else []
            running.kill()
    assert [json.loads(line)["line"] for line in lines] == list(range(2, 4_002))


# Exports


@pytest.mark.parametrize("format", ["ndjson", "csv", "batch", "handles"])
def test_an_export_counts_what_it_wrote_and_overwrites_no_file(desk: Desk, format: str) -> None:
    desk.ok("import", write(desk, "t.csv", "name,target,state,reason\n12345/x,,withdrawn,lost\n"))
    options = ("--format", format, "--under", "12345")
    counts = desk.json("export", "out", *options)
    left_out = 1 if format in ("batch", "handles") else 0
    what = "1 identifier" if left_out else "2 identifiers"
    assert counts == {"exported": 2 - left_out, "left_out": left_out, "format": format, "file": "out"}
    before = (desk.folder / "out").read_bytes()
    assert "out exists already: choose another file, or add --overwrite" in desk.refuses("export", "out", *options)
    assert desk.ok("export", "out", *options, "--force") == f"Exported {what} to out.\n"
    assert (desk.folder / "out").read_bytes() == before
    done = desk.run("export", "-", *options)
    assert done.stdout.encode() == before
    assert done.stderr.endswith(f"Exported {what} to standard output.\n")


# Prefixes


def test_a_terminal_user_decides_about_case_under_a_prefix_with_chosen_names(desk: Desk) -> None:
    for answer, ignores in ((b"y\n", True), (b"n\n", False)):
        name = f"20.500.{9 if ignores else 8}"
        parent, child = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "perdure", "prefix", "add", name, "--minter", "chosen"],
            stdin=child,
            stdout=subprocess.PIPE,
            stderr=child,
            cwd=desk.folder,
        )
        os.close(child)
        os.write(parent, answer)
        process.communicate(timeout=60)
        os.close(parent)
        assert process.returncode == 0
        assert desk.json("prefix", "show", name)["case_sensitive"] is not ignores
    assert desk.ok("prefix", "add", "20.500.7", "--minter", "chosen").startswith("Added")
    assert desk.json("prefix", "show", "20.500.7")["case_sensitive"] is True


def test_a_dry_run_with_new_prefixes_writes_nothing(desk: Desk) -> None:
    write(desk, "t.csv", "name,target\n888/x,https://example.org/\n")
    before = registry_state(desk.folder)
    tally = desk.json("import", "t.csv", "--new-prefixes", "--ignore-case", "--dry-run")
    assert (tally["created"], tally["dry_run"]) == (1, True)
    assert registry_state(desk.folder) == before


def test_at_a_terminal_an_import_asks_about_case_before_it_adds_prefixes(desk: Desk) -> None:
    file = write(desk, "names.csv", "name,url\n777.1/AB,https://e.org/\n")
    options = ("import", str(desk.folder / file), "--new-prefixes", "--registry", str(desk.folder))
    printed = run_at_terminal(*options, typed="\ny\n")
    assert printed.count("Ignore case under the new prefixes?") == 2, "there is no default"
    assert "1 created" in printed
    assert desk.ok("resolve", "777.1/ab") == "https://e.org/\n"
