"""The records of prefixes, homing, lists, and reverse look-up."""

import pytest
from tests.registry.handle_people import admin, pubkey, state, text, who
from tests.registry_fixture import Office

from perdure.errors import Immutable, InvalidInput, InvalidName, NameTaken, NoSuchPrefix, NotAuthorised, OutOfRange
from perdure.exchange.entry import Edit
from perdure.records.value import Value
from perdure.registry import (
    Statement,
    add_agent,
    delete_handle,
    delete_values,
    derive_prefix,
    find_handles,
    grant,
    home_prefix,
    import_entries,
    list_handles,
    list_prefixes,
    mint,
    put_handle,
    put_values,
    read_handle,
    revoke,
    unhome_prefix,
    verify,
    withdraw,
)
from perdure.registry.entities import ACTIONS, EVERYWHERE
from perdure.registry.handles.listing import Walks

URL = "https://example.org/"
ALL = "1" * 12


def shown(office: Office, name: str = "0.NA/12345") -> list[tuple[int, str, int, str]]:
    """The administrators that a record shows."""
    values = office.ask(read_handle, name).values
    return [
        (value.index, value.data.value.handle, value.data.value.index, value.data.value.permissions)
        for value in values
        if value.type == "HS_ADMIN"
    ]


@pytest.fixture
def house(office: Office) -> Office:
    office.prefix("12345", "chosen", case_sensitive=False)
    return office


def root(office: Office) -> tuple[int, str, int, str]:
    return 300, office.admin.identifier.removeprefix("hdl:"), 200, ALL


# The records


def test_a_prefix_has_a_record_before_anybody_writes_one(house: Office) -> None:
    before = house.everything()
    view = house.ask(read_handle, "0.na/12345")
    assert (view.name, view.version, view.state) == ("0.NA/12345", 0, "active")
    assert shown(house) == [root(house)]
    assert house.everything() == before


@pytest.mark.parametrize(
    ("actions", "permissions"),
    [
        (["mint"], "000000000001"),
        (["withdraw"], "000000000010"),
        (["edit"], "010001110000"),
        (["transfer"], "001110000000"),
        (["derive"], "000000000100"),
        (["admin"], ALL),
        (["mint", "edit"], "010001110001"),
        (["import"], None),
    ],
)
def test_grants_are_shown_as_administrators(house: Office, actions: list[str], permissions: str | None) -> None:
    house.do(add_agent, "jan", "Jan", identifier="hdl:77.T/jan")
    house.hire("piet", "12345", *ACTIONS)  # has no handle
    house.do(grant, "jan", "12345", actions)
    expected = [] if permissions is None else [(301, "77.T/jan", 200, permissions)]
    assert shown(house) == [root(house), *expected]
    house.do(grant, "jan", "12345", actions, own=True)
    assert shown(house) == [root(house)]
    house.do(grant, "jan", "12345", actions, until="2027-01-15T09:00:00Z")
    house.clock.step(3600)
    assert shown(house) == [root(house)]


def test_what_is_shown_is_not_stated(house: Office) -> None:
    """Sent back with the rest it is dropped, so that a grant that is taken back leaves nothing behind."""
    house.do(add_agent, "jan", "Jan", identifier="hdl:77.T/jan")
    house.do(grant, "jan", "12345", ["mint"])
    values = [*house.ask(read_handle, "0.NA/12345").values, text(1, "DESC", "ours")]
    house.do(put_handle, "0.NA/12345", values)
    house.do(put_handle, "0.NA/12345", house.ask(read_handle, "0.NA/12345").values)
    house.do(revoke, "jan", "12345")
    assert shown(house) == [root(house)]
    with pytest.raises(NotAuthorised):
        house.by(who(200, "77.T/jan"), put_handle, "12345/n", [])
    assert house.ask(verify) == []


def test_what_is_stated_stands_beside_it(house: Office) -> None:
    state(house, "12345", admin(300, "12345/adm", 300, ALL), text(1, "DESC", "ours"))
    assert shown(house) == [(300, "12345/adm", 300, ALL), (301, *root(house)[1:])]
    view = house.ask(read_handle, "0.NA/12345")
    assert (view.version, view.values[0].text) == (1, "ours")
    house.do(delete_values, "0.NA/12345", [300])
    assert shown(house) == [root(house)]
    assert house.ask(verify) == []


def test_the_prefix_of_records_is_made_once_and_on_demand(house: Office) -> None:
    assert house.read(lambda reader: reader.prefix("0.na")) is None
    state(house, "12345", text(1, "DESC", "ours"))
    state(house, "12345", text(2, "DESC", "ours"))
    kept = house.read(lambda reader: reader.prefix("0.na"))
    assert (kept.name, kept.scheme, kept.minter, kept.case_sensitive) == ("0.NA", "handle", "chosen", False)
    assert [event.subject for event in house.events() if event.action == "prefix add"].count("0.NA") == 1


def test_the_record_of_a_prefix_is_not_deleted(house: Office) -> None:
    for _ in range(2):
        with pytest.raises(Immutable):
            house.do(delete_handle, "0.NA/12345")
        state(house, "12345", text(1, "DESC", "ours"))


def test_the_record_of_a_prefix_is_not_withdrawn_in_another_door(house: Office) -> None:
    state(house, "12345", admin(300, "12345/adm", 300, ALL))
    before = house.everything()
    for by in (who(300, "12345/adm"), house.admin):
        with pytest.raises(Immutable):
            house.by(by, withdraw, "0.na/12345", "gone")
    problems: list = []
    house.do(import_entries, [Edit(line=1, name="0.NA/12345", act="delete")], report=problems.append)
    assert "a prefix that is kept has its record" in problems[0].reason
    assert house.everything()[:3] == before[:3]


def test_a_record_of_a_prefix_that_was_withdrawn_gives_nobody_a_right(house: Office) -> None:
    state(house, "12345", text(1, "DESC", "ours"))  # from now on 0.NA is kept
    house.do(mint, "0.NA", suffixes=["777"], said=Statement(values=(admin(300, "12345/adm", 300, ALL),)))
    house.do(withdraw, "0.NA/777", "before the prefix was kept")
    house.prefix("777", "chosen")
    assert shown(house, "0.NA/777") == [root(house)]
    with pytest.raises(NotAuthorised):
        house.by(who(300, "12345/adm"), put_handle, "777/n", [])
    state(house, "777", text(1, "DESC", "again"))
    assert shown(house, "0.NA/777") == [root(house)]


@pytest.mark.parametrize("name", ["0.NA/POID", "0.NA/unknown", "0.NA/0.NA"])
def test_only_handle_prefixes_that_are_kept_have_records(house: Office, name: str) -> None:
    with pytest.raises(NoSuchPrefix):
        house.ask(read_handle, name)


def test_keys_in_the_record_of_a_prefix(house: Office) -> None:
    jan = house.hire("jan", "12345", *[one for one in ACTIONS if one != "admin"])
    with pytest.raises(NotAuthorised):
        house.by(jan, put_values, "0.NA/12345", [pubkey(300)])
    house.by(house.hire("piet", "12345", "admin"), put_values, "0.NA/12345", [pubkey(300)])


# Homing


def test_an_administrator_of_everything_homes_a_prefix(office: Office) -> None:
    for name in ("12345", "0.NA/67890"):
        prefix = office.do(home_prefix, name)
        assert (prefix.minter, prefix.case_sensitive) == ("chosen", False)
        with pytest.raises(NameTaken):
            office.do(home_prefix, name)
    office.do(put_handle, "67890/a", [text(1, "URL", URL)])
    assert office.ask(read_handle, "67890/A").name == "67890/a"


def test_who_homes_a_prefix_may_create_under_it(house: Office) -> None:
    root_only = house.hire("boss", EVERYWHERE, "admin")
    house.by(root_only, home_prefix, "777")
    house.by(root_only, put_handle, "777/a", [text(1, "URL", URL)])
    jan = house.hire("jan", "12345", "derive")
    assert house.by(jan, home_prefix, "12345.1").parent == "12345"
    house.by(jan, put_handle, "12345.1/a", [text(1, "URL", URL)])
    state(house, "12345", admin(300, "12345/adm", 300, "000000000100"))
    adm = who(300, "12345/adm")
    house.by(adm, home_prefix, "0.NA/12345.2")
    house.by(adm, put_handle, "12345.2/a", [text(1, "URL", URL)])
    assert shown(house, "0.NA/12345.2")[0] == (300, "12345/adm", 300, ALL)
    house.by(adm, home_prefix, "12345.2.1")
    house.by(adm, derive_prefix, "12345.2.2", minter="chosen")
    house.by(adm, mint, "12345.2.2", suffixes=["a"])
    assert house.read(lambda reader: reader.grants(adm.id)) == []


@pytest.mark.parametrize("name", ["777", "12345.1.1", "99999.1", "0.NA.1"])
def test_who_may_derive_from_one_prefix_homes_no_other(house: Office, name: str) -> None:
    state(house, "12345", admin(300, "12345/adm", 300, ALL))
    jan = house.hire("jan", "12345", *ACTIONS)
    before = house.everything()
    for by in (jan, who(300, "12345/adm"), None):
        with pytest.raises(NotAuthorised):
            house.by(by, home_prefix, name)
    assert house.everything() == before


@pytest.mark.parametrize("name", ["777", "12345.1.1", "99999.1"])
def test_to_derive_everywhere_is_to_derive_from_what_is_kept(house: Office, name: str) -> None:
    jan = house.hire("jan", EVERYWHERE, *[one for one in ACTIONS if one != "admin"])
    before = house.everything()
    with pytest.raises(NotAuthorised) as refusal:
        house.by(jan, home_prefix, name)
    assert (refusal.value.action, refusal.value.scope) == ("admin", EVERYWHERE)
    assert house.everything() == before
    house.by(jan, home_prefix, "12345.1")


@pytest.mark.parametrize("name", ["0.NA", "0.na/0.na", "", "a/b", "*", "12345..1", "POID"])
def test_what_is_no_prefix_is_not_homed(house: Office, name: str) -> None:
    with pytest.raises((InvalidInput, InvalidName, NameTaken)):
        house.do(home_prefix, name)


def test_a_prefix_is_never_given_up(house: Office) -> None:
    for name in ("12345", "0.NA/12345"):
        with pytest.raises(Immutable):
            house.do(unhome_prefix, name)
    with pytest.raises(NoSuchPrefix):
        house.do(unhome_prefix, "777")
    with pytest.raises(NotAuthorised):
        house.by(None, unhome_prefix, "12345")


# Lists


def test_handles_are_listed_page_by_page(house: Office) -> None:
    house.do(mint, "12345", suffixes=[f"N{number:04}" for number in range(1205)], said=Statement(URL))
    house.do(mint, "12345", suffixes=["reserved"])
    house.do(withdraw, "12345/n0003", "gone")
    assert house.do(list_handles, "12345") == (1204, [])
    total, names = house.do(list_handles, "0.NA/12345", 0, 4)
    assert (total, names) == (1204, ["12345/N0000", "12345/N0001", "12345/N0002", "12345/N0004"])
    assert house.do(list_handles, "12345", 300, 4)[1] == [f"12345/N{number}" for number in range(1201, 1205)]
    assert house.do(list_handles, "12345", 301, 4)[1] == []
    assert len(house.do(list_handles, "12345", 0, 2000)[1]) == 1204
    assert house.do(list_handles, "12345", 1, 1100)[1][0] == "12345/N1101"


def test_a_page_that_follows_another_begins_behind_its_last_name(house: Office) -> None:
    """Also if names came before it meanwhile: page follows page by key, so no name is listed twice or left out."""
    house.do(mint, "12345", suffixes=[f"n{number}" for number in range(9)], said=Statement(URL))
    walks = Walks()
    pages = []
    for page in range(5):
        pages.append(house.do(list_handles, "12345", page, 3, walks=walks))
        house.do(mint, "12345", suffixes=[f"a{page}"], said=Statement(URL))
    names = [f"12345/n{number}" for number in range(9)]
    assert pages == [(9, names[:3]), (9, names[3:6]), (9, names[6:]), (9, []), (9, [])]
    assert house.do(list_handles, "12345", 0, 2, walks=walks) == (14, ["12345/a0", "12345/a1"])
    assert house.do(list_handles, "12345", 1, 3) == (14, ["12345/a3", "12345/a4", "12345/n0"])


def test_of_lists_that_are_walked_the_oldest_are_forgotten(house: Office) -> None:
    walks = Walks()
    for number in range(1001):
        walks.keep(number, total=1, key="a")
    assert walks.find(0) is None
    assert walks.find(1) == walks.find(1000) == (1, "a")


def test_lists_are_for_who_may_see_them(house: Office) -> None:
    state(
        house, "12345", admin(300, "12345/lists", 300, "100000000000"), admin(301, "12345/mints", 300, "000000000001")
    )
    for by in (who(300, "12345/lists"), house.hire("a", "12345", "edit"), house.hire("b", "12345", "admin")):
        assert house.by(by, list_handles, "12345") == (0, [])
    for by in (who(300, "12345/mints"), house.hire("c", "12345", "mint"), None):
        with pytest.raises(NotAuthorised):
            house.by(by, list_handles, "12345")


@pytest.mark.parametrize(("page", "size"), [(-1, 5), (0, -1), (0, 100_001)])
def test_a_page_has_its_bounds(house: Office, page: int, size: int) -> None:
    for act in (lambda: house.do(list_handles, "12345", page, size), lambda: house.do(list_prefixes, page, size)):
        with pytest.raises(OutOfRange):
            act()


def test_prefixes_are_listed_to_who_is_known(house: Office) -> None:
    state(house, "12345", admin(300, "12345/adm", 300, "000000000001"))
    home = house.registry.home
    expected = ["0.NA/102.100.TYPE", "0.NA/12345", f"0.NA/{home}"]
    for by in (house.admin, house.hire("jan", "12345", "mint", own=True), who(300, "12345/adm")):
        assert house.by(by, list_prefixes, 0, 10) == (3, expected)
    assert house.by(house.hire("piet", "12345", "mint"), list_prefixes, 1, 2) == (3, expected[2:])
    lapsed = house.hire("lapsed", "12345", "mint", until="2027-01-15T09:00:00Z")
    house.clock.step(3600)
    for by in (house.hire("new"), who(301, "12345/adm"), lapsed, None):
        with pytest.raises(NotAuthorised):
            house.by(by, list_prefixes)


# Reverse look-up


@pytest.fixture
def stocked(house: Office) -> Office:
    def put(name: str, *values: Value) -> None:
        house.do(put_handle, f"12345/{name}", values)

    put("a", text(1, "URL", "https://www.dkrz.de/data/1"), text(2, "CHECKSUM", "abc123"), text(3, "TITLE", "Ice cores"))
    put("b", text(1, "URL", "https://www.dkrz.de/data/2"), text(2, "CHECKSUM", "def456"))
    put("c", text(1, "URL", "https://example.org/dkrz"), text(2, "URL", "https://example.org/x"))
    put("d", text(1, "URL", "https://www.dkrz.de/private", "1100"), text(2, "CHECKSUM", "private1", "1100"))
    put("e", text(1, "URL", "https://www.dkrz.de/gone"))
    house.do(withdraw, "12345/e", "gone")
    return house


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ([("URL", "https://www.dkrz.de/data/1")], "a"),
        ([("url", "https://example.org/x")], "c"),
        ([("URL", "noturldoesnotexist")], ""),
        ([("URL", "*dkrz*")], "abc"),
        ([("URL", "*dkrz")], "c"),
        ([("URL", "https://www.dkrz.de/*")], "ab"),
        ([("URL", "https://*.dkrz.de/data/*")], "ab"),
        ([("URL", "https://www.dkrz.de/data/1*")], "a"),
        ([("URL", "*dkrz*"), ("CHECKSUM", "*abc*")], "a"),
        ([("CHECKSUM", "def456"), ("URL", "*dkrz*")], "b"),
        ([("CHECKSUM", "def456"), ("URL", "*example*")], ""),
        ([("URL", "*dkrz*"), ("CHECKSUM", "*1111111111111*")], ""),
        ([("CHECKSUM", "*1111111111111*")], ""),
        ([("CHECKSUM", "private1")], ""),
        ([("TITLE", "Ice cores")], "a"),
        ([("TITLE", "ice cores")], ""),
        ([("TITLE", "Ice*")], "a"),
        ([("CHECKSUM", "*"), ("URL", "*dkrz*")], "ab"),
        ([("URL", "*dkrz*de*data*2")], "b"),
    ],
)
def test_handles_are_found_by_what_they_say(stocked: Office, wanted: list[tuple[str, str]], found: str) -> None:
    names = stocked.do(find_handles, wanted)
    assert sorted(names) == [f"12345/{letter}" for letter in found]
    assert stocked.do(find_handles, wanted) == names


@pytest.mark.parametrize(
    "wanted",
    [[], [("URL", "*")], [("URL", "*ab*")], [("URL", "x" * 9000)], [("URL", "a\x00b")], [("URL", "abc")] * 21],
)
def test_a_question_that_would_cost_too_much_is_refused(stocked: Office, wanted: list[tuple[str, str]]) -> None:
    with pytest.raises(InvalidInput):
        stocked.do(find_handles, wanted)


def test_as_many_are_found_as_were_asked_for(stocked: Office) -> None:
    assert len(stocked.do(find_handles, [("URL", "*dkrz*")], 2)) == 2
    with pytest.raises(InvalidInput):
        stocked.do(find_handles, [("URL", "*dkrz*")], 1001)
    with pytest.raises(NotAuthorised):
        stocked.by(None, find_handles, [("URL", "*dkrz*")])
