"""The record that Handle clients see: its newest timestamp is the last update, and it names all owners."""

from collections.abc import Callable

import msgspec
import pytest
from tests.registry.file_moves import move, write_export
from tests.registry.handle_identities import FULL, admin, handle_identity, put_prefix_values, text
from tests.registry_fixture import Office, StoreFactory, describe, open_office, set_target, set_values

from perdure.errors import InvalidInput, NotAuthorised
from perdure.records.authority_metadata import with_change_time
from perdure.records.fast_json import fast_values_json
from perdure.records.record import About, Record
from perdure.records.value import Admin, AdminRights, Text, Value
from perdure.registry import (
    MintRow,
    Statement,
    add_agent,
    add_values,
    delete_handle,
    grant,
    mint,
    mint_handle,
    mint_rows,
    put_handle,
    put_values,
    read_handle,
    redact_values,
    reinstate,
    remove_values,
    revisions,
    show,
    transfer_identifiers,
    update,
    verify,
    withdraw,
)
from perdure.registry.entities import HandleIdentity

URL = "https://example.org/"
NAME = "12345/a"
TYPES = "102.100.TYPE"
ORCID = "https://orcid.org/0000-0002-1825-0097"
OWNERS = ("hdl:12345/jan", ORCID, "hdl:77.T/press")
HIDDEN = Value(5, "NOTE", Text("for us alone"), permissions="1100")


@pytest.fixture
def sample_office(office: Office) -> Office:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["jan"], statement=Statement(URL))
    office.do(mint, "12345", suffixes=["a"], statement=Statement(URL))
    office.hire("piet")
    return office


def newest(office: Office, name: str = NAME) -> tuple[str | None, str, str]:
    """Return the last update, and the newest timestamps of the record here and as a Handle client reads it."""
    view = office.ask(show, name)
    shown = max(value.timestamp for value in view.handle_record)
    if view.state != "active":
        return view.authority.updated, shown, shown
    return view.authority.updated, shown, max(value.timestamp for value in office.ask(read_handle, name).values)


def administrators(office: Office, name: str = NAME) -> list[tuple[int, str, str, str]]:
    return [
        (value.index, value.data.value.handle, value.data.value.permissions, value.timestamp)
        for value in office.ask(read_handle, name).values
        if isinstance(value.data, Admin)
    ]


ACTS: list[tuple[Callable[..., object], ...]] = [
    (set_target, "https://example.org/moved"),
    (add_values, [Value(4, "DESC", Text("a thing")), HIDDEN]),
    (set_values, [Value(5, "NOTE", Text("for others too"), permissions="1100")]),
    (set_values, [Value(6, "DESC", Text("old"), "1999-01-01T00:00:00Z")]),
    (remove_values, [4]),
    (describe, About(what="a thing")),
    (update, Statement(owners=OWNERS)),
    (transfer_identifiers, "piet"),
    (transfer_identifiers, "admin"),
    (redact_values, [6], "a court order"),
    (withdraw, "gone"),
    (reinstate,),
    (set_target, "https://example.org/back"),
]


def without_change_time(record: Record, *_: object) -> Record:
    """Return a record as an earlier release writes it."""
    return msgspec.structs.replace(record, changed=None)


@pytest.mark.parametrize("releases", ["this", "earlier", "both"])
def test_the_newest_timestamp_is_the_last_update(
    sample_office: Office, releases: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after changes by an earlier release, whose records do not state when they were changed."""
    for hour, (act, *arguments) in enumerate(ACTS, 9):
        is_earlier = releases == "earlier" or (releases == "both" and hour % 3 == 0)
        monkeypatch.setattr(revisions, "with_change_time", without_change_time if is_earlier else with_change_time)
        before = max(administrators(sample_office), default=(0, "", "", ""))[3] if act is not reinstate else ""
        sample_office.clock.step(3600)
        target = [NAME] if act is transfer_identifiers else NAME
        sample_office.do(act, target, *arguments)
        assert newest(sample_office) == (f"2027-01-15T{hour:02d}:00:00Z",) * 3
        if sample_office.ask(show, NAME).state == "active" and not is_earlier:
            assert all(administrator[3] >= before for administrator in administrators(sample_office))
    monkeypatch.undo()
    assert sample_office.ask(verify) == []


def test_an_ordinary_record_states_no_time_of_change(sample_office: Office) -> None:
    assert b"changed" not in sample_office.read(lambda reader: reader.find(NAME)).record


def test_the_time_of_the_administrator_moves_with_the_owners(sample_office: Office) -> None:
    creator = sample_office.admin.identifier.removeprefix("hdl:")
    assert administrators(sample_office) == [(100, creator, "000000000000", "2027-01-15T08:00:00Z")]
    sample_office.clock.step(3600)
    sample_office.do(update, NAME, Statement(URL + "2", owners=OWNERS))
    expected = [
        (100, "12345/jan", "000000000000", "2027-01-15T09:00:00Z"),
        (101, "77.T/press", "000000000000", "2027-01-15T09:00:00Z"),
    ]
    assert administrators(sample_office) == expected
    sample_office.clock.step(3600)
    sample_office.do(set_target, NAME, "https://example.org/moved")
    assert administrators(sample_office) == expected


@pytest.mark.parametrize("changes", [0, 1])
def test_the_fast_path_shows_what_the_registry_shows(sample_office: Office, changes: int) -> None:
    for _ in range(changes):
        sample_office.clock.step(60)
        sample_office.do(update, NAME, Statement(owners=OWNERS))
        sample_office.do(set_target, NAME, "https://example.org/moved")
    row = sample_office.read(lambda reader: reader.find(NAME))
    fast = fast_values_json(row.record, row.version, TYPES)
    assert fast is not None
    assert max(sample_office.ask(show, NAME).authority.updated, "") in fast.decode()


def test_an_owner_without_a_handle_has_a_value_of_its_own_type(sample_office: Office) -> None:
    sample_office.do(update, NAME, Statement(owners=OWNERS))
    values = sample_office.ask(read_handle, NAME).values
    assert [(value.index, value.type) for value in values] == [
        (1, "URL"),
        (100, "HS_ADMIN"),
        (101, "HS_ADMIN"),
        (190, f"{TYPES}/CREATION_DATE"),
        (191, f"{TYPES}/CREATOR"),
        (192, f"{TYPES}/OWNER"),
    ]
    assert values[-1].data == Text(ORCID)
    assert "not a handle" in (sample_office.ask(show, f"{TYPES}/OWNER").values[0].text or "")


def test_a_creator_without_a_handle_is_no_administrator(sample_office: Office) -> None:
    sample_office.do(mint, "12345", suffixes=["b"], statement=Statement(URL, creator=ORCID))
    assert administrators(sample_office, "12345/b") == []
    assert newest(sample_office, "12345/b") == ("2027-01-15T08:00:00Z",) * 3
    sample_office.clock.step(60)
    sample_office.do(describe, "12345/b", About(what="a thing"))
    assert newest(sample_office, "12345/b") == ("2027-01-15T08:01:00Z",) * 3


def test_owners_are_shown_beside_the_administrators_that_a_record_states(sample_office: Office) -> None:
    own = admin(100, "12345/jan", 300)
    sample_office.do(update, NAME, Statement(values=(own,), owners=OWNERS))
    assert [one[:3] for one in administrators(sample_office)] == [
        (100, "12345/jan", FULL),
        (101, "77.T/press", "000000000000"),
    ]
    row = sample_office.read(lambda reader: reader.find(NAME))
    assert fast_values_json(row.record, row.version, TYPES) is None


# Names that a Handle identity creates


@pytest.fixture
def client(sample_office: Office) -> HandleIdentity:
    sample_office.do(mint, "12345", suffixes=["adm"], statement=Statement(URL))
    put_prefix_values(sample_office, "12345", admin(300, "12345/adm", 301, "100000000001"))
    return handle_identity(301, "12345/adm")


@pytest.mark.parametrize("way", ["put", "mint", "mint as agents do", "mint rows", "again"])
def test_a_client_changes_the_names_that_it_creates(sample_office: Office, client: HandleIdentity, way: str) -> None:
    """Also if it names no administrator, then or in a later write of the whole record."""
    name = "12345/n"
    if way == "mint":
        name = sample_office.by(client, mint_handle, "12345/", [text(1, "URL", URL)]).name
    elif way == "mint as agents do":
        sample_office.by(client, mint, "12345", suffixes=["n"], statement=Statement(URL))
    elif way == "mint rows":

        async def mint_row() -> None:
            async for _ in mint_rows(sample_office.registry, client, "12345", [MintRow(Statement(URL), "n")]):
                pass

        sample_office.run(mint_row())
    else:
        sample_office.by(client, put_handle, name, [text(1, "URL", URL)])
    if way == "again":
        sample_office.by(client, delete_handle, name)
        sample_office.by(client, put_handle, name, [text(1, "URL", URL)])
    view = sample_office.ask(read_handle, name)
    assert view.values[1].data == Admin(AdminRights("12345/adm", 301, FULL))
    for number in range(3):
        sample_office.by(client, put_handle, name, [text(1, "URL", f"{URL}{number}")])
        sample_office.by(client, put_values, name, [text(2, "DESC", f"{number}")])
    with pytest.raises(NotAuthorised):
        sample_office.by(handle_identity(300, "12345/adm"), put_values, name, [text(2, "DESC", "x")])
    sample_office.by(client, delete_handle, name)
    assert sample_office.ask(verify) == []


def test_a_write_of_the_whole_record_leaves_the_administrators_of_others(
    sample_office: Office, client: HandleIdentity
) -> None:
    team = admin(5, "12345/team", 200)
    both = [text(1, "URL", URL), team, admin(100, "12345/adm", 301)]
    sample_office.by(client, put_handle, "12345/n", both)
    sample_office.by(client, put_handle, "12345/n", [text(1, "URL", URL), text(5, "DESC", "x")])
    found = [(one[0], one[1]) for one in administrators(sample_office, "12345/n")]
    assert found == [(6, "12345/team"), (100, "12345/adm")]
    sample_office.by(client, put_handle, "12345/n", [text(1, "URL", URL), team])  # unless it names other ones
    assert [one[1] for one in administrators(sample_office, "12345/n")] == ["12345/team"]


def test_no_administrator_is_shown_with_rights_that_it_lacks(sample_office: Office, client: HandleIdentity) -> None:
    """Agents have grants. What a record shows without storing it names them without permissions."""
    jan = sample_office.do(add_agent, "jan", "Jan", identifier="hdl:12345/jan")
    sample_office.do(grant, "jan", "12345", ["mint"])
    sample_office.by(jan, put_handle, "12345/n", [text(1, "URL", URL)])
    sample_office.do(update, NAME, Statement(owners=("12345/jan",)))
    for name in ("12345/n", NAME):
        assert [one[1:3] for one in administrators(sample_office, name)] == [("12345/jan", "0" * 12)]
        for party in (jan, handle_identity(200, "12345/jan")):
            with pytest.raises(NotAuthorised):
                sample_office.by(party, put_values, name, [text(1, "URL", "https://example.org/other")])


def test_a_client_cannot_change_the_owners_as_values(sample_office: Office) -> None:
    sample_office.do(update, NAME, Statement(owners=OWNERS))
    shown = sample_office.ask(read_handle, NAME).values
    before = sample_office.snapshot()
    sample_office.do(put_handle, NAME, shown)
    sample_office.do(put_values, NAME, shown[-1:])
    for act, values in ((put_handle, [*shown[:-1], text(192, f"{TYPES}/OWNER", URL)]), (add_values, [shown[-1]])):
        with pytest.raises(InvalidInput, match="the owners of an identifier are not values"):
            sample_office.do(act, NAME, values)
    assert sample_office.snapshot() == before


# Exports


@pytest.fixture
def elsewhere(sample_office: Office, store_factory: StoreFactory) -> Office:
    office = open_office(sample_office.runner, store_factory("elsewhere"), sample_office.clock)
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["jan"], statement=Statement(URL))  # an owner must resolve
    return office


@pytest.mark.parametrize("format", ["ndjson", "handles", "batch", "csv"])
def test_several_owners_survive_an_export(sample_office: Office, elsewhere: Office, format: str) -> None:
    creator = Statement(URL, creator="hdl:77.T/founder")
    sample_office.do(mint, "12345", suffixes=["b"], statement=creator)
    sample_office.clock.step(3600)
    sample_office.do(update, "12345/b", Statement(owners=OWNERS))
    sample_office.do(update, "12345/jan", Statement(owners=(ORCID,)))
    sample_office.clock.step(3600)
    for office in (elsewhere, sample_office):
        _, problems = move(write_export(sample_office, format, under="12345"), format, office, update=True)
        assert [problem for problem in problems if "12345/b" in str(problem)] == []
    here, there = (office.ask(show, "12345/b") for office in (sample_office, elsewhere))
    assert set(there.authority.owners) == set(here.authority.owners)
    assert (here.version, here.authority.owners) == (2, OWNERS)
    assert [value.type for value in there.values] == ["URL"]
    assert {(value.type, value.data) for value in there.handle_record} == {
        (value.type, value.data) for value in here.handle_record
    }
    if format in ("ndjson", "handles"):
        assert newest(elsewhere, "12345/b") == newest(sample_office, "12345/b") == ("2027-01-15T09:00:00Z",) * 3
    assert [one for one in elsewhere.ask(verify) if "12345/b" in one] == []


def test_verify_reports_a_record_that_hides_its_last_update(
    sample_office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_office.do(update, NAME, Statement(owners=OWNERS))
    sample_office.clock.step(3600)
    monkeypatch.setattr(revisions, "with_change_time", lambda record, *_: record)
    sample_office.do(describe, NAME, About(what="a thing"))
    problem = f"{NAME}: its newest timestamp is 2027-01-15T08:00:00Z, but it was updated at 2027-01-15T09:00:00Z"
    assert problem in sample_office.ask(verify)


@pytest.mark.parametrize("changed", ["yesterday", "2999-01-01T00:00:00Z"])
def test_an_imported_history_cannot_state_a_wrong_time_of_change(
    sample_office: Office, elsewhere: Office, changed: str
) -> None:
    sample_office.do(update, NAME, Statement(owners=(ORCID,)))
    lines = write_export(sample_office, "ndjson", under="12345").splitlines()
    [line] = [line for line in lines if b'"12345/a"' in line and ORCID.encode() in line]
    forged = line.replace(b'"changed":"2027-01-15T08:00:00Z"', f'"changed":"{changed}"'.encode())
    assert forged != line
    tally, problems = move(forged, "ndjson", elsewhere)
    assert (tally.created, len(problems)) == (0, 1)
