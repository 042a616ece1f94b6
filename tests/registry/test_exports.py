"""Exports of everything, and imports into another registry with equal content."""

import asyncio

import pytest
from tests.registry.file_moves import move, write_export
from tests.registry_fixture import NOON, ManualClock, Office, StoreFactory, describe, open_office, set_target

from perdure.errors import NoSuchPrefix, NotAuthorised
from perdure.formats import handles_table
from perdure.formats.import_entries import ImportPut, RejectedLine
from perdure.records.record import About
from perdure.records.value import Admin, AdminRights, Binary, Reference, Text, Value, ValueList
from perdure.registry import (
    AddressChange,
    Statement,
    add_agent,
    add_subsystem,
    change_prefix,
    find_by_value,
    grant,
    history,
    import_entries,
    mint,
    observe,
    reconstruct,
    reinstate,
    reinstate_agent,
    resolve,
    retire_agent,
    revise_reconstruction,
    search,
    show,
    verify,
    withdraw,
)
from perdure.registry.entities import WHOLE_REGISTRY

PREFIX = "12345"
URL = "https://example.org/"
WHEN = "2025-01-09T10:30:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
# Two sources whose person identifiers collide: the second one takes a successor's name.
COLLIDING = tuple(f"https://example.org/archive/{number}" for number in (291994108, 292908847))
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def identifiers(data: bytes) -> list[bytes]:
    """Return the lines of identifiers, without those in which each registry describes its own metadata."""
    return [line for line in data.splitlines() if b'"revisions"' in line and b'"102.100.TYPE/' not in line]


@pytest.fixture
def elsewhere(runner: asyncio.Runner, store_factory: StoreFactory) -> Office:
    return open_office(runner, store_factory("elsewhere"), ManualClock(NOON + 1000))  # imported content is in its past


@pytest.fixture
def library(office: Office) -> Office:
    """Create one of everything, with a history."""
    office.prefix(PREFIX, "chosen")
    office.prefix("12346")
    office.prefix("777", "sequential", pattern="thesis-####", case_sensitive=False, policy="Never again.")
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243", granularity=1)
    office.hire("maria", PREFIX, "mint", "edit")
    values = (
        Value(2, "EMAIL", Text("desk@example.org"), "", 600, "1110"),
        Value(3, "DESC", Text('said "so",\nover two lines; ünïcode')),
        Value(4, "THUMB", Binary(b"\x89PNG\x00")),
        Value(5, "HS_VLIST", ValueList((Reference("12345/a", 300),))),
        Value(6, "NOTE", Text("not for all"), "", 86_400, "1100"),
    )
    office.do(mint, PREFIX, statement=Statement(URL, values, About(what="On lasting")), suffixes=["a"])
    office.clock.step(10)
    office.do(set_target, f"{PREFIX}/a", "https://example.org/new")
    office.clock.step(10)
    office.do(describe, f"{PREFIX}/a", About(who="M. Silva"))
    office.do(mint, "12346", 3, statement=Statement(URL, owners=("https://example.org/people/maria",)))
    office.do(mint, "12346")
    office.do(mint, "777", 2, statement=Statement(URL))
    [withdrawn, back] = office.do(mint, "777", 2, statement=Statement(URL))
    office.clock.step(10)
    office.do(withdraw, withdrawn.name, "retracted", replaced_by=f"{PREFIX}/a")
    office.do(withdraw, back.name, "a mistake")
    office.clock.step(10)
    office.do(reinstate, back.name)
    [pair, _] = office.do(mint, "sid.inpe.br/mtc-m18", 2, statement=Statement("https://example.org/ibi"))
    office.clock.step(10)
    office.do(set_target, pair.alias, "https://example.org/ibi2")
    office.do(change_prefix, "sid.inpe.br/mtc-m18", address=AddressChange(host="mtc-m21b.sid.inpe.br"))
    office.do(mint, "sid.inpe.br/mtc-m18", statement=Statement("https://example.org/ibi3"))
    people = [office.do(observe, url, WHEN, EMPTY) for url in COLLIDING]
    made = office.do(reconstruct, [people[0].name], CURATOR, WHEN)
    office.do(revise_reconstruction, made.name, [one.name for one in people], CURATOR, "2026-01-09T10:30:00Z")
    gone = office.do(observe, "https://example.org/staff/jan", WHEN, "0" * 64)
    office.do(withdraw, gone.name, "asked for by the person")
    return office


def test_an_imported_export_loses_nothing(library: Office, elsewhere: Office) -> None:
    data = write_export(library)
    tally, problems = move(data, "ndjson", elsewhere)
    assert [one for one in problems if isinstance(one, RejectedLine)] == []
    assert tally.refused == 0
    moved = set(identifiers(write_export(elsewhere)))
    assert [line for line in identifiers(data) if line not in moved] == []
    assert elsewhere.ask(verify) == []


def test_imported_content_is_equal_for_every_reader(library: Office, elsewhere: Office) -> None:
    move(write_export(library), "ndjson", elsewhere)
    for row in library.read(lambda reader: reader.identifiers_after("", 1000)):
        if not row.name.startswith("102.100.TYPE/"):
            assert elsewhere.ask(show, row.name, by=elsewhere.admin) == library.ask(show, row.name, by=library.admin)
            assert elsewhere.ask(history, row.name) == library.ask(history, row.name)
    for target in (URL, "https://example.org/ibi", "https://example.org/ibi2", "https://example.org/new"):
        assert elsewhere.ask(find_by_value, target) == library.ask(find_by_value, target)
    assert [one.name for one in elsewhere.ask(search, ["silva"])] == [f"{PREFIX}/a"]


def test_both_labels_of_a_pair_resolve_after_an_import(library: Office, elsewhere: Office) -> None:
    pairs = library.read(lambda reader: [row for row in reader.identifiers_after("", 1000) if row.scheme == "ibi"])
    assert len(pairs) == 6
    move(write_export(library), "ndjson", elsewhere)
    for row in pairs:
        assert elsewhere.ask(resolve, row.name) == library.ask(resolve, row.name)


def test_a_retired_agent_is_imported_as_retired(library: Office, elsewhere: Office) -> None:
    library.do(add_agent, "left", "An agent who left")
    library.do(retire_agent, "left", "moved")
    data = write_export(library)
    move(data, "ndjson", elsewhere)
    there, here = (office.read(lambda reader: reader.agent("left")) for office in (elsewhere, library))
    assert there == here
    assert there is not None
    assert there.retired is not None
    elsewhere.do(reinstate_agent, "left")
    _, problems = move(data, "ndjson", elsewhere)
    assert any("active here, and retired in the file" in getattr(one, "reason", "") for one in problems)


def test_a_grant_of_a_retired_agent_is_not_imported(library: Office, elsewhere: Office) -> None:
    library.do(add_agent, "left", "An agent who left")
    move(write_export(library), "ndjson", elsewhere)
    elsewhere.do(retire_agent, "left", "moved")
    library.do(grant, "left", WHOLE_REGISTRY, ["mint"])
    _, problems = move(write_export(library), "ndjson", elsewhere)
    assert any("the grant was skipped" in getattr(one, "reason", "") for one in problems)
    assert elsewhere.read(lambda reader: reader.grants("left")) == []


def test_pass_through_is_imported(library: Office, elsewhere: Office) -> None:
    library.prefix("888", pass_through=True)
    move(write_export(library), "ndjson", elsewhere)
    there = {one.key: one.pass_through for one in elsewhere.read(lambda reader: reader.prefixes())}
    assert (there["888"], there[PREFIX]) == (True, False)


def test_moving_twice_changes_nothing(library: Office, elsewhere: Office) -> None:
    data = write_export(library)
    move(data, "ndjson", elsewhere)
    before = elsewhere.snapshot()
    tally, _ = move(data, "ndjson", elsewhere)
    assert (tally.created, tally.changed, tally.refused) == (0, 0, 0)
    assert elsewhere.snapshot() == before


def test_a_longer_history_is_continued_by_the_next_import(library: Office, elsewhere: Office) -> None:
    move(write_export(library), "ndjson", elsewhere)
    library.clock.step(10)
    library.do(set_target, f"{PREFIX}/a", "https://example.org/newer")
    tally, _ = move(write_export(library), "ndjson", elsewhere)
    assert (tally.created, tally.changed, tally.refused) == (0, 1, 0)
    assert elsewhere.ask(history, f"{PREFIX}/a") == library.ask(history, f"{PREFIX}/a")
    assert elsewhere.ask(find_by_value, "https://example.org/new") == []


def test_a_different_history_is_refused(library: Office, elsewhere: Office) -> None:
    data = write_export(library)
    move(data, "ndjson", elsewhere)
    elsewhere.clock.step(1000)
    elsewhere.do(set_target, f"{PREFIX}/a", "https://example.org/mine")
    before = elsewhere.snapshot()
    library.do(set_target, f"{PREFIX}/a", "https://example.org/theirs")
    tally, problems = move(write_export(library), "ndjson", elsewhere)
    [refused] = [one for one in problems if isinstance(one, RejectedLine)]
    assert (tally.refused, refused.name) == (1, f"{PREFIX}/a")
    assert elsewhere.snapshot() == before


def test_minting_continues_after_the_last_exported_name(library: Office, elsewhere: Office) -> None:
    move(write_export(library), "ndjson", elsewhere)
    old = {row.key for row in library.read(lambda reader: reader.identifiers_after("", 1000))}
    assert elsewhere.do(mint, "777")[0].name == "777/thesis-0005"
    for prefix in ("12346", "sid.inpe.br/mtc-m18"):
        assert not {one.name for one in elsewhere.do(mint, prefix, 3)} & old
    assert elsewhere.ask(verify) == []


def test_people_and_their_grants_move_and_their_keys_do_not(library: Office, elsewhere: Office) -> None:
    data = write_export(library)
    assert library.key.encode() not in data
    assert b"digest" not in data
    move(data, "ndjson", elsewhere)
    actions = elsewhere.read(lambda reader: {(one.scope, one.action) for one in reader.grants("maria")})
    assert actions == {(PREFIX, "mint"), (PREFIX, "edit")}
    assert elsewhere.read(lambda reader: reader.keys("maria")) == []


@pytest.mark.parametrize("format", ["batch", "handles"])
def test_the_formats_of_handle_servers_preserve_all_supported_values(
    library: Office, elsewhere: Office, format: str
) -> None:
    left_out: list[str] = []
    data = write_export(library, format, under=PREFIX, left_out=left_out.append)
    elsewhere.clock.step(10**6)
    elsewhere.prefix(PREFIX, "chosen")
    creator = library.admin.identifier
    tally, problems = move(data, format, elsewhere)
    assert (tally.created, problems) == (1, [])
    there = elsewhere.ask(show, f"{PREFIX}/a", by=elsewhere.admin)
    here = library.ask(show, f"{PREFIX}/a", by=library.admin)
    assert there.target == here.target == "https://example.org/new"
    assert (there.authority.creator, there.authority.created) == (creator, here.authority.created)
    if format == "handles":
        assert there.values == here.values
        assert left_out == []
    else:
        indexes = [value.index for value in there.values]
        assert indexes == [1, 2, 5, 6]
        assert len(left_out) == 2
        assert [(one.type, one.data, one.ttl, one.permissions) for one in there.values] == [
            (one.type, one.data, one.ttl, one.permissions) for one in here.values if one.index in indexes
        ]


@pytest.mark.parametrize("format", ["batch", "handles"])
def test_moving_out_and_in_again_changes_nothing(library: Office, format: str) -> None:
    data = write_export(library, format, under=PREFIX)
    before = library.snapshot()
    tally, problems = move(data, format, library, update=True)
    assert (tally.unchanged, tally.changed, problems) == (1, 0, [])
    assert library.snapshot() == before


def test_the_batch_format_writes_the_permissions_of_an_administrator_in_reverse(library: Office) -> None:
    administrator = Value(100, "HS_ADMIN", Admin(AdminRights("0.NA/12345", 300, "011111110011")))
    library.do(mint, PREFIX, statement=Statement(URL, (administrator,)), suffixes=["b"])
    creator = library.admin.identifier.removeprefix("hdl:")
    text = write_export(library, "batch", under=PREFIX).decode()
    assert text.startswith(f"CREATE {PREFIX}/a\n1 URL 86400 1110 UTF8 https://example.org/new\n")
    assert f"100 HS_ADMIN 86400 1110 ADMIN 200:000000000000:{creator}\n" in text  # derived: it gives no permission
    assert "100 HS_ADMIN 86400 1110 ADMIN 300:110011111110:0.NA/12345\n" in text
    assert text.endswith("\n\n")


def test_the_handles_form_has_binary_data_in_hexadecimal(library: Office) -> None:
    text = write_export(library, "handles", under=PREFIX).decode()
    assert text.splitlines()[0] == ",".join(handles_table.HANDLE_COLUMNS)
    assert f"{PREFIX}/a,4,THUMB,\\x89504e4700,0,86400,1800000000,,1,1,1,0" in text
    assert f"{PREFIX}/a,100,HS_ADMIN,\\x0000" in text


def test_an_imported_administrator_is_stored_unchanged(library: Office, elsewhere: Office) -> None:
    admin = Value(100, "HS_ADMIN", Admin(AdminRights("0.NA/12345", 300, "1" * 12)))
    library.do(mint, PREFIX, statement=Statement(URL, (admin,)), suffixes=["old"])
    elsewhere.prefix(PREFIX, "chosen")
    move(write_export(library, "handles", under=PREFIX), "handles", elsewhere)
    assert elsewhere.ask(show, f"{PREFIX}/old").values[1].data == admin.data


@pytest.mark.parametrize("text", ["carriage\rreturn", "a\r\nb", "tab\there", '"', "'", ",", "\\x41", "0x41"])
def test_any_text_survives_the_handles_table(library: Office, elsewhere: Office, text: str) -> None:
    library.do(mint, PREFIX, statement=Statement(values=(Value(1, "DESC", Text(text)),)), suffixes=["odd"])
    elsewhere.prefix(PREFIX, "chosen")
    _, problems = move(write_export(library, "handles", under=PREFIX), "handles", elsewhere)
    assert problems == []
    assert elsewhere.ask(show, f"{PREFIX}/odd").values[0].data == Text(text)


@pytest.mark.parametrize("creator", [COLLIDING[0], CURATOR])
def test_creators_of_any_scheme_survive_the_batch_language(library: Office, elsewhere: Office, creator: str) -> None:
    if creator == COLLIDING[0]:
        creator = elsewhere.do(observe, creator, WHEN, EMPTY).name
    library.do(mint, "777", statement=Statement(URL, creator=creator))
    elsewhere.prefix("777", "chosen")
    _, problems = move(write_export(library, "batch", under="777"), "batch", elsewhere)
    assert problems == []
    assert elsewhere.ask(show, "777/thesis-0005").authority.creator == creator


def test_a_table_of_identifiers_can_be_imported_again(library: Office, elsewhere: Office) -> None:
    notices: list[str] = []
    data = write_export(library, "csv", under="12346", left_out=notices.append)
    elsewhere.prefix("12346", "chosen")
    tally, problems = move(data, "csv", elsewhere)
    assert (tally.created, problems, notices) == (4, [], [])
    for row in library.read(lambda reader: reader.identifiers_after("", 100, "12346/")):
        here, there = library.ask(show, row.name), elsewhere.ask(show, row.name)
        assert (there.state, there.target, there.about) == (here.state, here.target, here.about)
        for part in ("creator", "created", "owners"):
            assert getattr(there.authority, part) == getattr(here.authority, part)


@pytest.mark.parametrize("format", ["csv", "ndjson"])
def test_tombstones_and_verbatim_addresses_come_back(library: Office, elsewhere: Office, format: str) -> None:
    entries = [
        ImportPut(line=1, name="888/a", state="withdrawn", reason="stolen", replaced_by="888/b", target="www.b"),
        ImportPut(line=2, name="888/b", target="www.example.org/a b"),
    ]
    for office in (library, elsewhere):
        office.prefix("888", "chosen")
    library.do(import_entries, entries)
    tally, _ = move(write_export(library, format, under="888"), format, elsewhere)
    assert (tally.created, tally.refused) == (2, 0)
    for name in ("888/a", "888/b"):
        here, there = library.ask(show, name), elsewhere.ask(show, name)
        assert (there.state, there.tombstone, there.target) == (here.state, here.tombstone, here.target)
        assert [(one.data, one.verbatim) for one in there.values] == [(one.data, one.verbatim) for one in here.values]
    assert move(write_export(library, format, under="888"), format, elsewhere)[0].unchanged == 2


@pytest.mark.parametrize("format", ["csv", "batch", "handles"])
def test_names_that_a_format_cannot_represent_are_reported(library: Office, format: str) -> None:
    notices: list[str] = []
    data = write_export(library, format, left_out=notices.append)
    is_csv = format == "csv"  # the other two are for Handle servers
    assert (b"777/thesis-0003," in data) == is_csv
    assert any("777/thesis-0003" in one and "withdrawn" in one for one in notices) != is_csv
    assert any("POID-" in one for one in notices)


def test_an_export_of_one_prefix_has_only_its_names(library: Office) -> None:
    names = [line.split(b'"name":"')[1].split(b'"')[0] for line in write_export(library, under="777").splitlines()]
    assert names == [f"777/thesis-000{number}".encode() for number in range(1, 5)]
    assert len(write_export(library, under="POID").splitlines()) == 3
    assert len(write_export(library, under="sid.inpe.br/mtc-m18").splitlines()) == 3
    with pytest.raises(NoSuchPrefix):
        write_export(library, under="888")


def test_an_export_needs_an_administrator_of_the_exported_names(library: Office) -> None:
    maria = library.hire("jan", PREFIX, "mint", "edit", "import")
    for options in ({}, {"under": PREFIX}):
        with pytest.raises(NotAuthorised):
            write_export(library, by=maria, **options)
    library.do(grant, "jan", PREFIX, ["admin"])
    assert len(write_export(library, by=maria, under=PREFIX).splitlines()) == 1
    with pytest.raises(NotAuthorised):
        write_export(library, by=maria)


def test_an_export_of_many_is_complete_and_in_order(office: Office) -> None:
    office.prefix("778", "sequential", pattern="####")
    office.do(mint, "778", 2500)
    names = [
        line.split(b'"name":"')[1].split(b'"')[0].decode() for line in write_export(office, under="778").splitlines()
    ]
    assert names == [f"778/{number:04}" for number in range(1, 2501)]
