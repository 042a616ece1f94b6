"""The records of prefixes, homing, lists, and reverse look-up."""

from itertools import chain

import pytest
from tests.registry.handle_identities import admin, handle_identity, pubkey, put_prefix_values, text
from tests.registry_fixture import Office

from perdure.errors import Immutable, InvalidInput, InvalidName, NameTaken, NoSuchPrefix, NotAuthorised, OutOfRange
from perdure.formats.import_entries import ImportEdit
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
    iterate_handles,
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
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY
from perdure.registry.handles.listing import PageCursors

URL = "https://example.org/"
ALL = "1" * 12
WITHOUT_DELETION = "111111110101"
ADMINISTERS = "111111110000"  # list, and everything in the record of the prefix
FOUNDER = "111111110101"  # and create under the prefix; that record cannot be deleted


def list_administrators(office: Office, name: str = "0.NA/12345") -> list[tuple[int, str, int, str]]:
    """Return the administrators that a record shows."""
    values = office.ask(read_handle, name).values
    return [
        (value.index, value.data.value.handle, value.data.value.index, value.data.value.permissions)
        for value in values
        if value.type == "HS_ADMIN"
    ]


@pytest.fixture
def two_prefixes(office: Office) -> Office:
    office.prefix("12345", "chosen", case_sensitive=False)
    return office


def root(office: Office) -> tuple[int, str, int, str]:
    return 300, office.admin.identifier.removeprefix("hdl:"), 200, FOUNDER


# The records


def test_a_prefix_without_a_stored_record_has_a_derived_one(two_prefixes: Office) -> None:
    before = two_prefixes.snapshot()
    view = two_prefixes.ask(read_handle, "0.na/12345")
    assert (view.name, view.version, view.state) == ("0.NA/12345", 0, "active")
    assert list_administrators(two_prefixes) == [root(two_prefixes)]
    assert two_prefixes.snapshot() == before


@pytest.mark.parametrize(
    ("actions", "permissions"),
    [
        (["mint"], "000000000001"),
        (["withdraw"], None),
        (["edit"], "100000000000"),
        (["transfer"], None),
        (["derive"], "000000000100"),
        (["admin"], ADMINISTERS),
        (["mint", "edit"], "100000000001"),
        (["import"], None),
    ],
)
def test_grants_are_shown_as_administrators(two_prefixes: Office, actions: list[str], permissions: str | None) -> None:
    two_prefixes.do(add_agent, "jan", "Jan", identifier="hdl:77.T/jan")
    two_prefixes.hire("piet", "12345", *ACTIONS)  # has no handle
    two_prefixes.do(grant, "jan", "12345", actions)
    expected = [] if permissions is None else [(301, "77.T/jan", 200, permissions)]
    assert list_administrators(two_prefixes) == [root(two_prefixes), *expected]
    two_prefixes.do(grant, "jan", "12345", actions, own=True)
    assert list_administrators(two_prefixes) == [root(two_prefixes)]
    two_prefixes.do(grant, "jan", "12345", actions, until="2027-01-15T09:00:00Z")
    two_prefixes.clock.step(3600)
    assert list_administrators(two_prefixes) == [root(two_prefixes)]


def test_derived_values_that_are_sent_back_are_not_stored(two_prefixes: Office) -> None:
    """Derived values that a client sends back are dropped, so that a revoked grant leaves nothing behind."""
    two_prefixes.do(add_agent, "jan", "Jan", identifier="hdl:77.T/jan")
    two_prefixes.do(grant, "jan", "12345", ["mint"])
    values = [*two_prefixes.ask(read_handle, "0.NA/12345").values, text(1, "DESC", "ours")]
    two_prefixes.do(put_handle, "0.NA/12345", values)
    two_prefixes.do(put_handle, "0.NA/12345", two_prefixes.ask(read_handle, "0.NA/12345").values)
    two_prefixes.do(revoke, "jan", "12345")
    assert list_administrators(two_prefixes) == [root(two_prefixes)]
    with pytest.raises(NotAuthorised):
        two_prefixes.by(handle_identity(200, "77.T/jan"), put_handle, "12345/n", [])
    assert two_prefixes.ask(verify) == []


def test_stored_values_are_shown_beside_derived_ones(two_prefixes: Office) -> None:
    put_prefix_values(two_prefixes, "12345", admin(300, "12345/adm", 300, ALL), text(1, "DESC", "ours"))
    assert list_administrators(two_prefixes) == [(300, "12345/adm", 300, ALL), (301, *root(two_prefixes)[1:])]
    view = two_prefixes.ask(read_handle, "0.NA/12345")
    assert (view.version, view.values[0].text) == (1, "ours")
    two_prefixes.do(delete_values, "0.NA/12345", [300])
    assert list_administrators(two_prefixes) == [root(two_prefixes)]
    assert two_prefixes.ask(verify) == []


def test_the_prefix_of_prefix_records_is_created_once_on_demand(two_prefixes: Office) -> None:
    assert two_prefixes.read(lambda reader: reader.prefix("0.na")) is None
    put_prefix_values(two_prefixes, "12345", text(1, "DESC", "ours"))
    put_prefix_values(two_prefixes, "12345", text(2, "DESC", "ours"))
    stored = two_prefixes.read(lambda reader: reader.prefix("0.na"))
    assert (stored.name, stored.scheme, stored.minter, stored.case_sensitive) == ("0.NA", "handle", "chosen", False)
    assert [event.subject for event in two_prefixes.events() if event.action == "prefix add"].count("0.NA") == 1


def test_the_record_of_a_prefix_is_not_deleted(two_prefixes: Office) -> None:
    for _ in range(2):
        with pytest.raises(Immutable):
            two_prefixes.do(delete_handle, "0.NA/12345")
        put_prefix_values(two_prefixes, "12345", text(1, "DESC", "ours"))


def test_the_record_of_a_prefix_is_not_withdrawn_through_another_api(two_prefixes: Office) -> None:
    put_prefix_values(two_prefixes, "12345", admin(300, "12345/adm", 300, ALL))
    before = two_prefixes.snapshot()
    for by in (handle_identity(300, "12345/adm"), two_prefixes.admin):
        with pytest.raises(Immutable):
            two_prefixes.by(by, withdraw, "0.na/12345", "gone")
    problems: list = []
    two_prefixes.do(import_entries, [ImportEdit(line=1, name="0.NA/12345", act="delete")], report=problems.append)
    assert "a prefix always has its record" in problems[0].reason
    assert two_prefixes.snapshot()[:3] == before[:3]


def test_a_withdrawn_record_of_a_prefix_gives_no_right(two_prefixes: Office) -> None:
    put_prefix_values(two_prefixes, "12345", text(1, "DESC", "ours"))  # from now on 0.NA exists
    two_prefixes.do(mint, "0.NA", suffixes=["777"], statement=Statement(values=(admin(300, "12345/adm", 300, ALL),)))
    two_prefixes.do(withdraw, "0.NA/777", "before the prefix was kept")
    two_prefixes.prefix("777", "chosen")
    assert list_administrators(two_prefixes, "0.NA/777") == [root(two_prefixes)]
    with pytest.raises(NotAuthorised):
        two_prefixes.by(handle_identity(300, "12345/adm"), put_handle, "777/n", [])
    put_prefix_values(two_prefixes, "777", text(1, "DESC", "again"))
    assert list_administrators(two_prefixes, "0.NA/777") == [root(two_prefixes)]


@pytest.mark.parametrize("name", ["0.NA/POID", "0.NA/unknown", "0.NA/0.NA"])
def test_only_existing_handle_prefixes_have_records(two_prefixes: Office, name: str) -> None:
    with pytest.raises(NoSuchPrefix):
        two_prefixes.ask(read_handle, name)


def test_the_record_of_a_prefix_may_have_keys(two_prefixes: Office) -> None:
    jan = two_prefixes.hire("jan", "12345", *[one for one in ACTIONS if one != "admin"])
    with pytest.raises(NotAuthorised):
        two_prefixes.by(jan, put_values, "0.NA/12345", [pubkey(300)])
    two_prefixes.by(two_prefixes.hire("piet", "12345", "admin"), put_values, "0.NA/12345", [pubkey(300)])


# Homing


def test_an_administrator_of_everything_homes_a_prefix(office: Office) -> None:
    for name in ("12345", "0.NA/67890"):
        prefix = office.do(home_prefix, name)
        assert (prefix.minter, prefix.case_sensitive) == ("chosen", False)
        with pytest.raises(NameTaken):
            office.do(home_prefix, name)
    office.do(put_handle, "67890/a", [text(1, "URL", URL)])
    assert office.ask(read_handle, "67890/A").name == "67890/a"


def test_an_agent_that_homes_a_prefix_may_create_names_under_it(two_prefixes: Office) -> None:
    root_only = two_prefixes.hire("boss", WHOLE_REGISTRY, "admin")
    two_prefixes.by(root_only, home_prefix, "777")
    two_prefixes.by(root_only, put_handle, "777/a", [text(1, "URL", URL)])
    jan = two_prefixes.hire("jan", "12345", "derive")
    assert two_prefixes.by(jan, home_prefix, "12345.1").parent == "12345"
    two_prefixes.by(jan, put_handle, "12345.1/a", [text(1, "URL", URL)])
    put_prefix_values(two_prefixes, "12345", admin(300, "12345/adm", 300, "000000000100"))
    adm = handle_identity(300, "12345/adm")
    two_prefixes.by(adm, home_prefix, "0.NA/12345.2")
    two_prefixes.by(adm, put_handle, "12345.2/a", [text(1, "URL", URL)])
    assert list_administrators(two_prefixes, "0.NA/12345.2")[0] == (300, "12345/adm", 300, WITHOUT_DELETION)
    two_prefixes.by(adm, home_prefix, "12345.2.1")
    two_prefixes.by(adm, derive_prefix, "12345.2.2", minter="chosen")
    two_prefixes.by(adm, mint, "12345.2.2", suffixes=["a"])
    assert two_prefixes.read(lambda reader: reader.grants(adm.id)) == []


@pytest.mark.parametrize("name", ["777", "12345.1.1", "99999.1", "0.NA.1"])
def test_permission_to_derive_from_a_prefix_does_not_allow_homing_another(two_prefixes: Office, name: str) -> None:
    put_prefix_values(two_prefixes, "12345", admin(300, "12345/adm", 300, ALL))
    jan = two_prefixes.hire("jan", "12345", *ACTIONS)
    before = two_prefixes.snapshot()
    for by in (jan, handle_identity(300, "12345/adm"), None):
        with pytest.raises(NotAuthorised):
            two_prefixes.by(by, home_prefix, name)
    assert two_prefixes.snapshot() == before


@pytest.mark.parametrize("name", ["777", "12345.1.1", "99999.1"])
def test_permission_to_derive_everywhere_covers_only_existing_prefixes(two_prefixes: Office, name: str) -> None:
    jan = two_prefixes.hire("jan", WHOLE_REGISTRY, *[one for one in ACTIONS if one != "admin"])
    before = two_prefixes.snapshot()
    with pytest.raises(NotAuthorised) as refusal:
        two_prefixes.by(jan, home_prefix, name)
    assert (refusal.value.action, refusal.value.scope) == ("admin", WHOLE_REGISTRY)
    assert two_prefixes.snapshot() == before
    two_prefixes.by(jan, home_prefix, "12345.1")


@pytest.mark.parametrize("name", ["0.NA", "0.na/0.na", "", "a/b", "*", "12345..1", "POID"])
def test_an_invalid_prefix_is_not_homed(two_prefixes: Office, name: str) -> None:
    with pytest.raises((InvalidInput, InvalidName, NameTaken)):
        two_prefixes.do(home_prefix, name)


def test_a_prefix_is_never_removed(two_prefixes: Office) -> None:
    for name in ("12345", "0.NA/12345"):
        with pytest.raises(Immutable):
            two_prefixes.do(unhome_prefix, name)
    with pytest.raises(NoSuchPrefix):
        two_prefixes.do(unhome_prefix, "777")
    with pytest.raises(NotAuthorised):
        two_prefixes.by(None, unhome_prefix, "12345")


# Lists


def test_handles_are_listed_page_by_page(two_prefixes: Office) -> None:
    two_prefixes.do(mint, "12345", suffixes=[f"N{number:04}" for number in range(1205)], statement=Statement(URL))
    two_prefixes.do(mint, "12345", suffixes=["reserved"])
    two_prefixes.do(withdraw, "12345/n0003", "gone")
    assert two_prefixes.do(list_handles, "12345") == (1204, [])
    total, names = two_prefixes.do(list_handles, "0.NA/12345", 0, 4)
    assert (total, names) == (1204, ["12345/N0000", "12345/N0001", "12345/N0002", "12345/N0004"])
    assert two_prefixes.do(list_handles, "12345", 300, 4)[1] == [f"12345/N{number}" for number in range(1201, 1205)]
    assert two_prefixes.do(list_handles, "12345", 301, 4)[1] == []
    assert len(two_prefixes.do(list_handles, "12345", 0, 2000)[1]) == 1204
    assert two_prefixes.do(list_handles, "12345", 1, 1100)[1][0] == "12345/N1101"


def list_all(office: Office, *arguments: int) -> list[list[str]]:
    async def collect() -> list[list[str]]:
        return [part async for part in iterate_handles(office.registry, office.admin, "12345", *arguments)]

    return office.run(collect())


def test_all_handles_are_listed_in_parts(two_prefixes: Office) -> None:
    assert list_all(two_prefixes) == []
    names = [f"12345/n{number:04}" for number in range(2_500)]
    suffixes = [name.partition("/")[2] for name in names]
    two_prefixes.do(mint, "12345", suffixes=suffixes, statement=Statement(URL))
    two_prefixes.do(mint, "12345", suffixes=["reserved"])
    parts = list_all(two_prefixes)
    assert [len(part) for part in parts] == [1_000, 1_000, 500]
    assert list(chain(*parts)) == names
    for first, most in ((0, 1), (0, 1_000), (0, 1_001), (1, 2_000), (1_234, 1_000), (2_499, 9), (2_500, 9)):
        assert list(chain(*list_all(two_prefixes, first, most))) == names[first : first + most], (first, most)


def test_permission_is_checked_for_every_part_of_a_list(two_prefixes: Office) -> None:
    suffixes = [f"n{number:04}" for number in range(1_500)]
    two_prefixes.do(mint, "12345", suffixes=suffixes, statement=Statement(URL))
    jan = two_prefixes.hire("jan", "12345", "edit")

    async def collect() -> None:
        parts = iterate_handles(two_prefixes.registry, jan, "12345")
        assert len(await anext(parts)) == 1_000
        await revoke(two_prefixes.registry, two_prefixes.admin, "jan", "12345", ["edit"])
        with pytest.raises(NotAuthorised):
            await anext(parts)

    two_prefixes.run(collect())
    for by in (two_prefixes.hire("c", "12345", "mint"), None):
        with pytest.raises(NotAuthorised):
            two_prefixes.run(anext(iterate_handles(two_prefixes.registry, by, "12345")))


def test_the_next_page_begins_after_the_last_name_of_the_page(two_prefixes: Office) -> None:
    """Pages follow each other by key, so no name is listed twice or left out if names were added before it meanwhile."""
    two_prefixes.do(mint, "12345", suffixes=[f"n{number}" for number in range(9)], statement=Statement(URL))
    walks = PageCursors()
    pages = []
    for page in range(5):
        pages.append(two_prefixes.do(list_handles, "12345", page, 3, cursors=walks))
        two_prefixes.do(mint, "12345", suffixes=[f"a{page}"], statement=Statement(URL))
    names = [f"12345/n{number}" for number in range(9)]
    assert pages == [(9, names[:3]), (9, names[3:6]), (9, names[6:]), (9, []), (9, [])]
    assert two_prefixes.do(list_handles, "12345", 0, 2, cursors=walks) == (14, ["12345/a0", "12345/a1"])
    assert two_prefixes.do(list_handles, "12345", 1, 3) == (14, ["12345/a3", "12345/a4", "12345/n0"])


def test_the_oldest_list_positions_are_discarded(two_prefixes: Office) -> None:
    walks = PageCursors()
    for number in range(1001):
        walks.remember(number, total=1, key="a")
    assert walks.find(0) is None
    assert walks.find(1) == walks.find(1000) == (1, "a")


def test_lists_are_shown_only_with_permission(two_prefixes: Office) -> None:
    put_prefix_values(
        two_prefixes,
        "12345",
        admin(300, "12345/lists", 300, "100000000000"),
        admin(301, "12345/mints", 300, "000000000001"),
    )
    for by in (
        handle_identity(300, "12345/lists"),
        two_prefixes.hire("a", "12345", "edit"),
        two_prefixes.hire("b", "12345", "admin"),
    ):
        assert two_prefixes.by(by, list_handles, "12345") == (0, [])
    for by in (handle_identity(300, "12345/mints"), two_prefixes.hire("c", "12345", "mint"), None):
        with pytest.raises(NotAuthorised):
            two_prefixes.by(by, list_handles, "12345")


@pytest.mark.parametrize(("page", "size"), [(-1, 5), (0, -1), (0, 100_001)])
def test_the_size_of_a_page_is_limited(two_prefixes: Office, page: int, size: int) -> None:
    for act in (
        lambda: two_prefixes.do(list_handles, "12345", page, size),
        lambda: two_prefixes.do(list_prefixes, page, size),
    ):
        with pytest.raises(OutOfRange):
            act()


def test_prefixes_are_listed_to_known_agents_only(two_prefixes: Office) -> None:
    put_prefix_values(two_prefixes, "12345", admin(300, "12345/adm", 300, "000000000001"))
    home = two_prefixes.registry.home
    expected = ["0.NA/102.100.TYPE", "0.NA/12345", f"0.NA/{home}"]
    for by in (
        two_prefixes.admin,
        two_prefixes.hire("jan", "12345", "mint", own=True),
        handle_identity(300, "12345/adm"),
    ):
        assert two_prefixes.by(by, list_prefixes, 0, 10) == (3, expected)
    assert two_prefixes.by(two_prefixes.hire("piet", "12345", "mint"), list_prefixes, 1, 2) == (3, expected[2:])
    lapsed = two_prefixes.hire("lapsed", "12345", "mint", until="2027-01-15T09:00:00Z")
    two_prefixes.clock.step(3600)
    for by in (two_prefixes.hire("new"), handle_identity(301, "12345/adm"), lapsed, None):
        with pytest.raises(NotAuthorised):
            two_prefixes.by(by, list_prefixes)


# Reverse look-up


@pytest.fixture
def searchable_office(two_prefixes: Office) -> Office:
    def put(name: str, *values: Value) -> None:
        two_prefixes.do(put_handle, f"12345/{name}", values)

    put("a", text(1, "URL", "https://www.dkrz.de/data/1"), text(2, "CHECKSUM", "abc123"), text(3, "TITLE", "Ice cores"))
    put("b", text(1, "URL", "https://www.dkrz.de/data/2"), text(2, "CHECKSUM", "def456"))
    put("c", text(1, "URL", "https://example.org/dkrz"), text(2, "URL", "https://example.org/x"))
    put("d", text(1, "URL", "https://www.dkrz.de/private", "1100"), text(2, "CHECKSUM", "private1", "1100"))
    put("e", text(1, "URL", "https://www.dkrz.de/gone"))
    two_prefixes.do(withdraw, "12345/e", "gone")
    return two_prefixes


@pytest.mark.parametrize(
    ("conditions", "found"),
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
def test_handles_are_found_by_their_values(
    searchable_office: Office, conditions: list[tuple[str, str]], found: str
) -> None:
    names = searchable_office.do(find_handles, conditions)
    assert sorted(names) == [f"12345/{letter}" for letter in found]
    assert searchable_office.do(find_handles, conditions) == names


@pytest.mark.parametrize(
    "conditions",
    [[], [("URL", "*")], [("URL", "*ab*")], [("URL", "x" * 9000)], [("URL", "a\x00b")], [("URL", "abc")] * 21],
)
def test_an_expensive_query_is_refused(searchable_office: Office, conditions: list[tuple[str, str]]) -> None:
    with pytest.raises(InvalidInput):
        searchable_office.do(find_handles, conditions)


def test_the_number_of_hits_is_limited(searchable_office: Office) -> None:
    assert len(searchable_office.do(find_handles, [("URL", "*dkrz*")], 2)) == 2
    with pytest.raises(InvalidInput):
        searchable_office.do(find_handles, [("URL", "*dkrz*")], 1001)
    with pytest.raises(NotAuthorised):
        searchable_office.by(None, find_handles, [("URL", "*dkrz*")])
