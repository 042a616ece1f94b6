"""Tables of IBI labels: reading, and writing what can be read again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import ibi
from perdure.errors import InvalidInput
from perdure.formats.csv_rows import read_rows
from perdure.formats.identifiers_csv import protect_cells, unprotect_cells
from perdure.formats.import_entries import ImportPut, RejectedLine
from perdure.formats.label_table import LABEL_COLUMNS, is_label_table, label_row, read_labels
from perdure.records.record import About

READABLE, OPAQUE, LEGACY = "sid.inpe.br/mtc-m18/2009/02.16.17.46", "8JMKD3MGP8W/34PGRBS", "83LX3pFwXQZ5Jpy/Bkjzd"
OLD_SPELLING = "SID.inpe.br/mtc-m18@80/2009/02.16.17.46"
URL = "https://example.org/thing"


def read(*lines: str, header: str = "repository_name,ibip,target") -> list[object]:
    return list(read_labels(read_rows([f"{line}\n" for line in (header, *lines)])))


def labels_of(entry: object) -> tuple[str, ...]:
    assert isinstance(entry, ImportPut)
    assert entry.is_label
    assert entry.joins_names
    return entry.names


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (f"{READABLE},{OPAQUE},{URL}", (READABLE, OPAQUE)),
        (f"{READABLE},,{URL}", (READABLE,)),
        (f",{OPAQUE},{URL}", (OPAQUE,)),
        (f"NULL, {LEGACY} ,{URL}", (LEGACY,)),
        (f"{OLD_SPELLING},{OPAQUE}-RPQ,{URL}", (OLD_SPELLING, f"{OPAQUE}-RPQ")),
    ],
)
def test_a_row_has_one_label_or_two(line: str, names: tuple[str, ...]) -> None:
    [entry] = read(line)
    assert labels_of(entry) == names
    assert isinstance(entry, ImportPut)
    assert (entry.target, entry.line) == (URL, 2)


def test_the_columns_have_any_order_and_case_and_may_be_one() -> None:
    [entry] = read(f"A title,{OPAQUE},{READABLE},creator", header="Title,IBIp,Repository_Name,CREATOR")
    assert labels_of(entry) == (READABLE, OPAQUE)
    assert isinstance(entry, ImportPut)
    assert (entry.about, entry.creator) == (About(what="A title"), "creator")
    assert labels_of(*read(OPAQUE, header="ibip")) == (OPAQUE,)
    assert labels_of(*read(READABLE, header="repository_name")) == (READABLE,)


def test_more_labels_are_in_one_column() -> None:
    [entry] = read(f"{READABLE},{OPAQUE},{LEGACY} {OPAQUE} 8JMKD3MGP8W/34PGRBT", header="repository_name,ibip,aliases")
    assert labels_of(entry) == (READABLE, OPAQUE, LEGACY, "8JMKD3MGP8W/34PGRBT")


@pytest.mark.parametrize(
    ("line", "part", "reason"),
    [
        (f",,{URL}", "repository_name", "neither a repository_name nor an ibip"),
        (f"{OPAQUE},,{URL}", "repository_name", "not a repository name"),
        (f",{READABLE},{URL}", "ibip", "not an IBIp"),
        (f"{READABLE},12345/abc,{URL}", "ibip", "not an IBI label"),
        (f"sid.inpe.br/mtc-m18/2009/02.31.17.46,{OPAQUE},{URL}", "repository_name", "not an IBI label"),
    ],
)
def test_a_wrong_label_refuses_its_row_alone(line: str, part: str, reason: str) -> None:
    wrong, right = read(line, f"{READABLE},{OPAQUE},{URL}")
    assert isinstance(wrong, RejectedLine)
    assert (wrong.line, wrong.part, reason in wrong.reason) == (2, part, True)
    assert labels_of(right) == (READABLE, OPAQUE)


def test_rows_that_cannot_be_read_are_refused_and_empty_ones_are_skipped() -> None:
    entries = read(",,", f'{READABLE},"never closed', f"{READABLE},{OPAQUE},{URL},more", "", f",{OPAQUE},{URL}")
    assert [type(one) for one in entries] == [RejectedLine, RejectedLine, ImportPut]
    assert [one.line for one in entries if isinstance(one, RejectedLine | ImportPut)] == [3, 4, 6]


@pytest.mark.parametrize("header", ["name,ibip", "target", "ibip,IBIp", "repository_name,ibip,repository_name", "name"])
def test_headings_of_another_table_are_refused(header: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read("a,b,c", header=header)
    assert refusal.value.part == "columns"


def test_a_table_of_labels_is_recognised_by_its_headings() -> None:
    assert is_label_table(["Target", " Repository_name"])
    assert is_label_table(["IBIP"])
    assert not is_label_table(["name", "ibip"])
    assert not is_label_table(["name", "target"])


dates = st.integers(807_235_200, 4_000_000_000)
readable = st.builds(lambda date: str(ibi.repository_name("mtc-m18.sid.inpe.br", 80, date)), dates)
opaque = st.builds(lambda date: str(ibi.opaque_name("150.163.34.243", 800, date)), dates)
plain = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])).map(str.strip)
texts = st.none() | plain.filter(lambda text: text not in ("", "NULL", "\\N"))


@given(st.lists(readable, max_size=3), st.lists(opaque, max_size=3), texts, texts, st.booleans())
def test_what_is_written_is_read_again(
    names: list[str], ibips: list[str], target: str | None, title: str | None, for_spreadsheet: bool
) -> None:
    labels = tuple(dict.fromkeys([*names, *ibips]))
    if not labels:
        return
    about = None if title is None else About(what=title)
    put = ImportPut(line=2, name=labels[0], aliases=labels[1:], target=target, about=about)
    row = label_row(put)
    assert len(row) == len(LABEL_COLUMNS)
    rows = [(1, list(LABEL_COLUMNS)), (2, protect_cells(row) if for_spreadsheet else row)]
    [entry] = read_labels(unprotect_cells(rows) if for_spreadsheet else rows)
    assert isinstance(entry, ImportPut)
    assert set(labels_of(entry)) == set(labels)
    assert (entry.target, entry.about) == (target, about)
