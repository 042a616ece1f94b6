"""What another system resolved for years comes in with a file, and nothing of it is lost."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.registry_fixture import Office

from perdure.errors import Conflict, InvalidInput, NoTarget, NotAuthorised
from perdure.formats.import_entries import Entry, ImportEdit, ImportPut, Notice, RejectedLine
from perdure.records.record import About, Record
from perdure.records.target import plain_target
from perdure.records.validation import Limits, check_values
from perdure.records.value import Binary, Text, Value
from perdure.registry import (
    ImportOptions,
    Statement,
    Tally,
    add_values,
    history,
    import_entries,
    put_handle,
    resolve,
    show,
    update,
    verify,
)
from perdure.registry.importing.admission import admit_values

PREFIX = "12345"
GOOD = "https://example.org/"
BAD = [
    "http://example.org/annual report.pdf",
    "www.example.org/x",
    "gopher://example.org/",
    "javascript:alert(1)",
    "see the catalogue",
    " http://example.org/",
    f"https://example.org/{'x' * 9000}",
    "https://",
]


@pytest.fixture
def library(office: Office) -> Office:
    office.prefix(PREFIX, "chosen")
    return office


def run_import(office: Office, entries: Iterable[Entry], **settings: Any) -> tuple[Tally, list[RejectedLine | Notice]]:
    problems: list[RejectedLine | Notice] = []
    agent = settings.pop("by", office.admin)
    tally = office.by(agent, import_entries, entries, ImportOptions(**settings), report=problems.append)
    return tally, problems


def put(name: str, target: str | None = GOOD, line: int = 1, **fields: Any) -> ImportPut:
    return ImportPut(line=line, name=f"{PREFIX}/{name}" if "/" not in name else name, target=target, **fields)


def url(text: str, index: int = 1) -> Value:
    return Value(index, "URL", Text(text))


def value_texts(office: Office, name: str) -> list[str | None]:
    return [value.text for value in office.ask(show, f"{PREFIX}/{name}").values]


# Addresses that are not valid


def test_an_address_that_is_not_valid_comes_in_verbatim_and_leads_nowhere(library: Office) -> None:
    entries = [put(f"n{at}", None, at, values=(url(text),)) for at, text in enumerate(BAD)]
    tally, problems = run_import(library, entries)
    assert (tally.created, tally.refused, tally.verbatim) == (len(BAD), 0, len(BAD))
    assert [(one.line, one.kind, one.before) for one in problems if isinstance(one, Notice)] == [
        (at, "verbatim", text) for at, text in enumerate(BAD)
    ]
    for at, text in enumerate(BAD):
        assert value_texts(library, f"n{at}") == [text]
        assert library.ask(show, f"{PREFIX}/n{at}").target is None
        with pytest.raises(NoTarget, match="imported as it was"):
            library.ask(resolve, f"{PREFIX}/n{at}")
    assert library.ask(verify) == []


def test_a_second_address_that_is_valid_is_the_target(library: Office) -> None:
    run_import(library, [put("a", None, values=(url("www.example.org/x"), url(GOOD, 2)))])
    assert library.ask(resolve, f"{PREFIX}/a").target == GOOD


def test_an_import_of_the_same_bad_address_again_changes_nothing(library: Office) -> None:
    run_import(library, [put("a", BAD[0])])
    tally, _ = run_import(library, [put("a", BAD[0])], update=True)
    assert (tally.unchanged, tally.changed) == (1, 0)


def test_other_values_can_be_edited_and_the_address_replaced(library: Office) -> None:
    name = f"{PREFIX}/a"
    run_import(library, [put("a", BAD[0])])
    library.do(add_values, name, [Value(5, "EMAIL", Text("a@example.org"))])
    sent_back = (url(BAD[0]), Value(5, "EMAIL", Text("b@example.org")))
    library.do(update, name, Statement(values=sent_back))
    library.do(put_handle, name, [url(BAD[0]), Value(5, "EMAIL", Text("c@example.org"))])
    assert value_texts(library, "a") == [BAD[0], "c@example.org"]
    with pytest.raises(NoTarget):
        library.ask(resolve, name)
    library.do(update, name, Statement(GOOD))
    assert library.ask(resolve, name).target == GOOD
    assert library.ask(verify) == []


@pytest.mark.parametrize("index", [1, 2])
def test_a_client_writes_no_new_address_that_is_not_valid(library: Office, index: int) -> None:
    run_import(library, [put("a", BAD[0])])
    other = url("www.example.org/other", index)
    with pytest.raises(InvalidInput):
        library.do(update, f"{PREFIX}/a", Statement(values=(other,)))
    with pytest.raises(InvalidInput):
        library.do(put_handle, f"{PREFIX}/a", [other])
    assert len(library.ask(history, f"{PREFIX}/a")) == 1


def test_an_address_that_the_settings_allow_later_is_mended_by_the_next_edit(library: Office) -> None:
    name, address = f"{PREFIX}/a", "gopher://example.org/"
    run_import(library, [put("a", address)])
    library.registry = library.with_settings(limits=Limits(schemes=("https", "gopher")))
    assert library.ask(verify) == []
    library.do(add_values, name, [Value(5, "EMAIL", Text("a@example.org"))])
    assert library.ask(resolve, name).target == address
    assert library.ask(verify) == []


@given(
    st.one_of(st.text(max_size=30), st.sampled_from(BAD)),
    st.booleans(),
)
def test_every_text_of_an_address_is_admitted_and_valid_afterwards(text: str, mend: bool) -> None:
    (value,), notices = admit_values([url(text)], 1, "12345/a", Limits(), mend=mend)
    assert check_values([value], Limits()) == (value,)
    record = Record(state="active", creator="hdl:12345/a", values=(value,))
    if value.verbatim:
        assert plain_target(record) is None
        assert (value.data.value.decode() if isinstance(value.data, Binary) else value.text) == text
    else:
        assert plain_target(record) == value.text
        assert (value.text == text) != bool(notices)


def test_a_valid_address_that_is_marked_in_a_file_is_a_target(library: Office) -> None:
    marked = Value(1, "URL", Text(GOOD), verbatim=True)
    run_import(library, [put("a", None, values=(marked,))])
    assert library.ask(resolve, f"{PREFIX}/a").target == GOOD


def test_the_operations_of_a_batch_file_lose_no_value(library: Office) -> None:
    run_import(library, [put("a")])
    added = ImportEdit(line=2, name=f"{PREFIX}/a", act="add", values=(url("ftp:", 3), Value(4, "DESC", Text("\x1b"))))
    tally, _ = run_import(library, [added])
    assert (tally.changed, tally.verbatim, tally.notices) == (1, 1, 2)
    assert [value.data for value in library.ask(show, f"{PREFIX}/a").values[1:]] == [Text("ftp:"), Binary(b"\x1b")]


def test_text_with_control_characters_is_stored_as_bytes(library: Office) -> None:
    values = (url("http://example.org/\x07"), Value(2, "DESC", Text("a\x00b")), Value(3, "DESC", Text("caf\udce9")))
    tally, problems = run_import(library, [put("a", None, values=values)])
    assert tally.created == 1
    assert [one.kind for one in problems if isinstance(one, Notice)] == ["verbatim", "bytes", "bytes"]
    stored = [value.data for value in library.ask(show, f"{PREFIX}/a").values]
    assert stored == [Binary(b"http://example.org/\x07"), Binary(b"a\x00b"), Binary(b"caf\xe9")]


def test_a_description_of_several_lines_becomes_one_line(library: Office) -> None:
    tally, _ = run_import(library, [put("a", about=About(what="First line\nsecond\x1b[31m", who="x" * 5000))])
    assert (tally.created, tally.notices) == (1, 1)
    about = library.ask(show, f"{PREFIX}/a").about
    assert about is not None
    assert about.what == "First line second [31m"
    assert len(about.who or "") == library.registry.settings.limits.text_characters


# Values that cannot be stored


def test_a_name_comes_in_without_a_value_that_cannot_be_stored(library: Office) -> None:
    longer = "x" * (library.registry.settings.limits.value_bytes + 1)
    values = (url(GOOD), Value(2, "DESC", Text(longer)), Value(3, "", Text("x")), Value(4, "DESC", Text("y"), ttl=-1))
    tally, problems = run_import(library, [put("a", None, 7, values=values), put("b", longer, 8)])
    assert (tally.created, tally.refused, tally.left_out) == (2, 0, 4)
    assert [(one.line, one.kind) for one in problems if isinstance(one, Notice)] == [(7, "left-out")] * 3 + [
        (8, "left-out")
    ]
    assert value_texts(library, "a") == [GOOD]
    assert library.ask(show, f"{PREFIX}/b").state == "reserved"
    assert run_import(library, [put("a", None, values=values)])[0].unchanged == 1
    assert library.ask(verify) == []


def test_indexes_that_are_not_valid_are_replaced_by_free_ones(library: Office) -> None:
    values = (url("https://e.org/0", 0), url(GOOD, 1), url("https://e.org/1", 1), url("https://e.org/-", -5))
    tally, problems = run_import(library, [put("a", None, values=values)])
    assert (tally.created, tally.notices, tally.left_out) == (1, 3, 0)
    assert "index 0 is not valid: the value ('URL') has the index 2" in problems[0].reason
    stored = {value.index: value.text for value in library.ask(show, f"{PREFIX}/a").values}
    assert stored == {1: GOOD, 2: "https://e.org/0", 3: "https://e.org/1", 4: "https://e.org/-"}


def test_times_that_cannot_be_are_replaced_by_that_of_the_import(library: Office) -> None:
    values = (
        Value(1, "URL", Text(GOOD), "2011-02-03T04:05:06Z"),
        Value(2, "DESC", Text("x"), "2999-01-01T00:00:00Z"),
        Value(4, "DESC", Text("y"), "1995"),
        Value(3, "102.100.TYPE/CREATION_DATE", Text("2999-01-01T00:00:00Z"), "2999-01-01T00:00:00Z"),
    )
    tally, problems = run_import(library, [put("a", None, values=values)])
    assert (tally.created, [one.kind for one in problems if isinstance(one, Notice)]) == (1, ["changed"] * 4)
    view = library.ask(show, f"{PREFIX}/a")
    assert view.authority.created == "2011-02-03T04:05:06Z"
    assert view.values[0].timestamp == "2011-02-03T04:05:06Z"
    assert all("2011" < value.timestamp < "2999" for value in view.values[1:])
    assert library.ask(history, f"{PREFIX}/a")[0].at == "2011-02-03T04:05:06.000000Z"
    assert run_import(library, [put("a", None, values=values)])[0].unchanged == 1


def test_the_longest_values_of_a_record_that_is_too_long_are_left_out(library: Office) -> None:
    library.registry = library.with_settings(limits=Limits(record_bytes=2_000, values=40))
    long = tuple(Value(index, "DESC", Text("x" * 100 * index)) for index in range(2, 12))
    many = tuple(Value(index, "DESC", Text("y")) for index in range(2, 60))
    tally, _ = run_import(
        library, [put("a", None, values=(url(GOOD), *long)), put("b", None, values=(url(GOOD), *many))]
    )
    assert (tally.created, tally.refused) == (2, 0)
    assert [value.index for value in library.ask(show, f"{PREFIX}/a").values] == [1, 2, 3, 4]
    assert library.ask(show, f"{PREFIX}/b").target == GOOD
    assert tally.left_out == 7 + 59 - len(library.ask(show, f"{PREFIX}/b").values)


def test_a_change_with_a_value_that_cannot_be_stored_is_refused(library: Office) -> None:
    run_import(library, [put("a")])
    changed = ImportEdit(line=2, name=f"{PREFIX}/a", act="add", values=(Value(0, "DESC", Text("x")),))
    assert run_import(library, [changed])[0].refused == 1


# Repairs


def test_addresses_with_one_sure_repair_are_mended_and_the_repair_is_recorded(library: Office) -> None:
    tally, problems = run_import(library, [put(f"n{at}", text, at) for at, text in enumerate(BAD)], mend=True)
    assert (tally.mended, tally.verbatim) == (3, len(BAD) - 3)
    changes = {one.before: one.after for one in problems if isinstance(one, Notice) and one.kind == "mended"}
    assert changes == {
        BAD[0]: "http://example.org/annual%20report.pdf",
        BAD[1]: "http://www.example.org/x",
        BAD[5]: "http://example.org/",
    }
    assert library.ask(resolve, f"{PREFIX}/n0").target == changes[BAD[0]]
    (version,) = library.ask(history, f"{PREFIX}/n1")
    assert version.note == "imported from a file; mended: 'www.example.org/x' became http://www.example.org/x"


def test_a_verbatim_address_is_mended_by_a_later_import_with_update(library: Office) -> None:
    run_import(library, [put("a", BAD[0])])
    tally, _ = run_import(library, [put("a", BAD[0])], mend=True, update=True)
    assert tally.changed == 1
    assert library.ask(resolve, f"{PREFIX}/a").target == "http://example.org/annual%20report.pdf"


# Creators and dates


def test_a_creator_that_is_not_here_yet_is_recorded_and_reported_once(library: Office) -> None:
    entries = [put(f"n{at}", line=at, creator=f"{PREFIX}/people") for at in range(3)]
    tally, problems = run_import(library, [*entries, put("people", line=9)])
    assert (tally.created, tally.notices) == (4, 1)
    assert problems == [Notice(0, "hdl:12345/people does not resolve here, or not yet", f"{PREFIX}/n0", "party")]
    assert library.ask(show, f"{PREFIX}/n2").authority.creator == "hdl:12345/people"
    assert library.ask(verify) == []


def test_a_creator_that_never_comes_is_one_problem_of_verify(library: Office) -> None:
    run_import(library, [put(f"n{at}", line=at, creator=f"hdl:{PREFIX}/nobody") for at in range(3)])
    (problem,) = library.ask(verify)
    assert "hdl:12345/nobody is named in its authority metadata" in problem


def test_metadata_in_an_unknown_form_stays_a_value(library: Office) -> None:
    values = (
        url(GOOD),
        Value(5, "102.100.TYPE/CREATOR", Text("Jan de Vries"), "2010-01-01T00:00:00Z"),
        Value(6, "102.100.TYPE/CREATION_DATE", Text("spring of 1995"), "2010-01-01T00:00:00Z"),
    )
    tally, _ = run_import(library, [put("a", None, values=values)])
    assert (tally.created, tally.notices) == (1, 2)
    view = library.ask(show, f"{PREFIX}/a")
    assert [value.text for value in view.values] == [GOOD, "Jan de Vries", "spring of 1995"]
    assert view.authority.creator == library.admin.identifier


def test_names_without_a_date_or_creator_get_those_of_the_options(library: Office) -> None:
    dated = Value(1, "URL", Text(GOOD), "2011-02-03T04:05:06Z")
    entries = [
        put("a"),
        put("b", created="2012-01-01T00:00:00Z", creator="https://example.org/b"),
        put("c", None, values=(dated,)),
    ]
    run_import(library, entries, created="2010-01-01T00:00:00Z", creator="https://example.org/people")
    found = [library.ask(show, f"{PREFIX}/{name}").authority for name in "abc"]
    assert [(one.created, one.creator) for one in found] == [
        ("2010-01-01T00:00:00Z", "https://example.org/people"),
        ("2012-01-01T00:00:00Z", "https://example.org/b"),
        ("2011-02-03T04:05:06Z", "https://example.org/people"),
    ]
    tally, _ = run_import(library, entries)
    assert tally.unchanged == len(entries)


@pytest.mark.parametrize("options", [{"creator": "nobody"}, {"created": "2100-01-01T00:00:00Z"}, {"created": "1995"}])
def test_a_wrong_default_is_refused_before_anything_is_written(library: Office, options: dict[str, str]) -> None:
    before = library.snapshot()
    with pytest.raises(InvalidInput):
        run_import(library, [put("a")], **options)
    assert library.snapshot() == before


# Withdrawn names


def test_a_withdrawn_name_comes_in_as_a_tombstone(library: Office) -> None:
    gone = put("a", state="withdrawn", reason="stolen", replaced_by=f"{PREFIX}/b")
    tally, _ = run_import(library, [gone, put("b", line=2), put("c", None, line=3, state="withdrawn")])
    assert (tally.created, tally.notices) == (3, 1)
    view = library.ask(show, f"{PREFIX}/a")
    assert (view.state, view.target, view.values[0].text) == ("withdrawn", None, GOOD)
    assert view.tombstone is not None
    assert (view.tombstone.reason, view.tombstone.replaced_by) == ("stolen", f"hdl:{PREFIX}/b")
    assert library.ask(verify) == []
    tally, _ = run_import(library, [gone, put("c", None, line=3, state="withdrawn")], source="another file")
    assert tally.unchanged == 2


def test_an_update_withdraws_a_name_for_an_agent_who_may(library: Office) -> None:
    run_import(library, [put("a")])
    loader = library.hire("loader", PREFIX, "import", "edit")
    row = put("a", None, state="withdrawn", reason="lost")
    assert run_import(library, [row], update=True, by=loader)[0].refused == 1
    assert run_import(library, [row])[0].refused == 1
    assert run_import(library, [row], update=True)[0].changed == 1
    assert [one.action for one in library.ask(history, f"{PREFIX}/a")] == ["import", "withdraw"]
    assert library.ask(show, f"{PREFIX}/a").values[0].text == GOOD


# New prefixes, and names that differ only in case


def test_unknown_prefixes_are_added_as_the_options_say(office: Office) -> None:
    entries = [put("20.500.99999.1/x", line=2), put("20.500.99999/Ab"), put("http/x y", line=3), put("0.NA/1", line=4)]
    tally, problems = run_import(office, entries, new_prefixes="ignore-case")
    assert (tally.created, tally.refused) == (4, 0)
    added = [one.reason for one in problems if isinstance(one, Notice)]
    assert sorted(added) == [
        "added the prefix 0.NA (case is ignored)",
        "added the prefix 20.500.99999 (case is ignored)",
        "added the prefix 20.500.99999.1 (case is ignored)",
        "added the prefix http (case is ignored)",
    ]
    assert office.ask(resolve, "20.500.99999/aB").name == "20.500.99999/Ab"
    prefix = office.read(lambda reader: reader.prefix("20.500.99999.1"))
    assert prefix is not None
    assert (prefix.minter, prefix.parent, prefix.case_sensitive) == ("chosen", "20.500.99999", False)
    assert office.ask(verify) == []


def test_a_dry_run_adds_no_prefix(office: Office) -> None:
    before = office.snapshot()
    entries = [put(f"20.500.99999/{at}", line=at) for at in range(2500)]
    tally, problems = run_import(office, entries, new_prefixes="case-sensitive", dry_run=True)
    assert (tally.created, tally.refused, len(problems)) == (2500, 0, 1)
    assert office.snapshot() == before


def test_only_an_administrator_of_everything_adds_prefixes(library: Office) -> None:
    loader = library.hire("loader", PREFIX, "import", "admin")
    with pytest.raises(NotAuthorised):
        run_import(library, [put("a"), put("777/a")], new_prefixes="ignore-case", by=loader)


def test_names_that_differ_only_in_case_are_reported_and_the_first_stays(office: Office) -> None:
    office.prefix("777", "chosen", case_sensitive=False)
    entries = [
        put("777/Ab", line=1),
        put("777/aB", line=2),
        put("777/AB", "https://example.org/other", line=3),
    ]
    for update_names in (False, True):
        tally, problems = run_import(office, entries, update=update_names)
        assert tally.refused == 1
        assert [(one.line, type(one)) for one in problems] == [(2, Notice), (3, RejectedLine)]
        assert "777/aB is 777/Ab, with equal content" in problems[0].reason
        assert "case is ignored, and the first name stays" in problems[1].reason
        assert office.ask(resolve, "777/ab").target == GOOD


def test_conflicts_name_their_error(library: Office) -> None:
    run_import(library, [put("a")])
    _, problems = run_import(library, [put("a", "https://example.org/other"), put("888/a")])
    assert [one.code for one in problems if isinstance(one, RejectedLine)] == [Conflict.code, "no-such-prefix"]
