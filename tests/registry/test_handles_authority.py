"""What the HS_ADMIN values of records allow, and what no door leads around."""

import pytest
from tests.registry.handle_people import FULL, KEYLESS, admin, listing, pubkey, seckey, state, text, who
from tests.registry_fixture import Office

from perdure.errors import InvalidInput, NotAuthorised
from perdure.exchange.entry import Edit, Put
from perdure.records.record import About
from perdure.records.value import Reference
from perdure.registry import (
    Statement,
    add_agent,
    add_subsystem,
    add_values,
    bind,
    delete_values,
    derive_prefix,
    grant,
    history,
    import_entries,
    mint,
    observe,
    put_handle,
    put_values,
    read_handle,
    reinstate,
    remove_values,
    revoke,
    show,
    transfer_identifiers,
    update,
    withdraw,
)
from perdure.registry.entities import EVERYWHERE, Agent

URL = "https://example.org/"


@pytest.fixture
def house(office: Office) -> Office:
    """Two prefixes, and a record with an administrator of its own."""
    office.prefix("12345", "chosen", case_sensitive=False)
    office.prefix("99999", "chosen")
    return office


def put(office: Office, name: str, *values: object) -> None:
    office.do(put_handle, name, values)


def refused(office: Office, by: Agent, act: object, *arguments: object, **options: object) -> NotAuthorised:
    before = office.everything()
    with pytest.raises(NotAuthorised) as refusal:
        office.by(by, act, *arguments, **options)
    assert office.everything() == before
    return refusal.value


def may_edit(office: Office, by: Agent, name: str = "12345/a") -> bool:
    try:
        office.by(by, update, name, Statement(values=(text(7, "DESC", "said by me"),)))
    except NotAuthorised:
        return False
    return True


# Who is meant by an HS_ADMIN


@pytest.mark.parametrize(
    ("named", "actor", "is_meant"),
    [
        (("12345/adm", 300), (300, "12345/adm"), True),
        (("12345/adm", 300), (301, "12345/adm"), False),
        (("12345/adm", 0), (301, "12345/adm"), True),
        (("12345/adm", 300), (0, "12345/adm"), False),
        (("12345/adm", 0), (0, "12345/adm"), True),
        (("12345/ADM", 300), (300, "12345/adm"), True),
        (("99999/adm", 300), (300, "99999/ADM"), False),  # its suffixes are compared with case
        (("77.T/adm", 300), (300, "77.t/ADM"), True),  # a prefix that is not kept here
        (("12345/other", 300), (300, "12345/adm"), False),
        (("https://example.org/adm", 300), (300, "12345/adm"), False),
    ],
)
def test_an_administrator_is_one_value_of_one_handle(
    house: Office, named: tuple[str, int], actor: tuple[int, str], is_meant: bool
) -> None:
    put(house, "12345/a", text(1, "URL", URL), admin(100, *named))
    assert may_edit(house, who(*actor)) is is_meant


def test_an_agent_stands_for_every_value_of_its_own_handle(house: Office) -> None:
    agent = house.do(add_agent, "jan", "Jan", identifier="hdl:77.T/jan")
    other = house.hire("piet")
    put(house, "12345/a", text(1, "URL", URL), admin(100, "77.t/JAN", 4711))
    assert may_edit(house, agent)
    assert not may_edit(house, other)


def test_a_derived_administrator_is_for_display_only(house: Office) -> None:
    house.do(add_agent, "jan", "Jan", identifier="hdl:77.T/jan")
    put(house, "12345/a", text(1, "URL", URL))
    house.do(transfer_identifiers, ["12345/a"], "jan")
    house.do(revoke, "jan", "12345")
    shown = house.ask(read_handle, "12345/a").values
    assert [value.data.value.handle for value in shown if value.type == "HS_ADMIN"] == ["77.T/jan"]
    assert not may_edit(house, who(200, "77.T/jan"))
    assert not may_edit(house, house.read(lambda reader: reader.agent("jan")))


def test_a_list_of_administrators_is_followed(house: Office) -> None:
    put(house, "12345/group", listing(200, ("12345/more", 5)), listing(201, ("12345/b", 300)))
    put(house, "12345/more", listing(5, ("12345/group", 200), ("12345/c", 300)))
    put(house, "12345/a", text(1, "URL", URL), admin(100, "12345/group", 200))
    assert may_edit(house, who(300, "12345/c"))
    assert not may_edit(house, who(301, "12345/c"))
    assert not may_edit(house, who(300, "12345/b"))  # on a list that is not the one that was named
    house.do(withdraw, "12345/more", "gone")
    assert not may_edit(house, who(300, "12345/c"))


def test_two_administrators_on_one_list_add_up(house: Office) -> None:
    put(house, "12345/group", listing(200, ("12345/c", 300)))
    add, rest = "000001000000", "000000110000"
    put(house, "12345/a", admin(100, "12345/group", 200, add), admin(101, "12345/group", 200, rest))
    assert may_edit(house, who(300, "12345/c"))


@pytest.mark.parametrize(("depth", "is_meant"), [(10, True), (11, False)])
def test_lists_in_lists_end_somewhere(house: Office, depth: int, is_meant: bool) -> None:
    for number in range(1, depth):
        put(house, f"12345/list{number}", listing(1, (f"12345/list{number + 1}", 1)))
    put(house, f"12345/list{depth}", listing(1, ("12345/c", 300)))
    put(house, "12345/a", admin(100, "12345/list1", 1))
    assert may_edit(house, who(300, "12345/c")) is is_meant


def test_a_long_list_is_not_followed_to_its_end(house: Office) -> None:
    many = [("12345/nobody", number) for number in range(1, 1200)]
    put(house, "12345/long", listing(1, *many, ("12345/c", 300)))
    put(house, "12345/a", admin(100, "12345/long", 1))
    assert not may_edit(house, who(300, "12345/c"))
    assert may_edit(house, house.admin)


def test_a_tombstone_gives_nobody_a_right(house: Office) -> None:
    put(house, "12345/a", text(1, "URL", URL), admin(100, "12345/adm", 300, "1" * 12))
    house.do(withdraw, "12345/a", "gone")
    refused(house, who(300, "12345/adm"), reinstate, "12345/a")


# What an HS_ADMIN allows, in the other doors


@pytest.mark.parametrize("missing", range(12))
def test_each_act_takes_its_own_permissions(house: Office, missing: int) -> None:
    """Twelve permissions but one, for every act: refused where that one is what it takes."""
    permissions = "1" * missing + "0" + "1" * (11 - missing)
    adm = who(300, "12345/adm")
    state(house, "12345", admin(300, "12345/adm", 300, permissions))
    for name in ("a", "b", "c"):
        put(house, f"12345/{name}", text(1, "URL", URL), admin(100, "12345/adm", 300, permissions))
    house.hire("new-owner")
    acts = {
        "edit": ({5, 6, 7}, lambda: house.by(adm, update, "12345/a", Statement(about=About(what="x")))),
        "transfer": ({2, 3, 4}, lambda: house.by(adm, transfer_identifiers, ["12345/b"], "new-owner")),
        "withdraw": ({10}, lambda: house.by(adm, withdraw, "12345/c", "gone")),
        "mint": ({11}, lambda: house.by(adm, mint, "12345", suffixes=["new"])),
        "derive": ({9}, lambda: house.by(adm, derive_prefix, "12345.1")),
    }
    for action, (needed, act) in acts.items():
        if missing in needed:
            with pytest.raises(NotAuthorised) as refusal:
                act()
            assert refusal.value.action == action
        else:
            act()
    assert house.contradictions() == []


@pytest.mark.parametrize("act", ["import", "admin"])
def test_nobody_imports_or_administers_by_an_administrators_value(house: Office, act: str) -> None:
    adm = who(300, "12345/adm")
    state(house, "12345", admin(300, "12345/adm", 300, "1" * 12))
    if act == "import":
        problems = []
        house.by(adm, import_entries, [Put(line=1, name="12345/n", target=URL)], report=problems.append)
        assert [problem.name for problem in problems] == ["12345/n"]
    else:
        refused(house, adm, grant, "admin", "12345", ["mint"])


def test_an_administrators_value_gives_nothing_beyond_its_record(house: Office) -> None:
    put(house, "12345/a", text(1, "URL", URL), admin(100, "12345/adm", 300, "1" * 12))
    put(house, "12345/b", text(1, "URL", URL))
    adm = who(300, "12345/adm")
    refused(house, adm, update, "12345/b", Statement(URL + "b"))
    refused(house, adm, mint, "12345", suffixes=["n"])
    refused(house, adm, derive_prefix, "12345.1")


def test_to_hand_over_by_an_administrators_value_gives_no_grant(house: Office) -> None:
    jan = house.hire("jan")
    put(house, "12345/mine", text(1, "URL", URL))
    house.do(transfer_identifiers, ["12345/mine"], "jan")
    house.do(revoke, "jan", "12345")
    put(house, "12345/a", text(1, "URL", URL), admin(100, "12345/adm", 300, "1" * 12))
    house.by(who(300, "12345/adm"), transfer_identifiers, ["12345/a"], "jan")
    assert house.read(lambda reader: reader.grants("jan")) == []
    refused(house, jan, update, "12345/mine", Statement(URL + "again"))


def test_person_identifiers_and_subsystems_have_no_record_that_lets_others_mint(house: Office) -> None:
    house.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    state(house, "12345", admin(300, "12345/adm", 300, "1" * 12))  # from now on 0.NA is kept
    for name in ("POID", "sid.inpe.br/mtc-m18"):
        house.do(mint, "0.NA", suffixes=[name], said=Statement(values=(admin(300, "12345/adm", 300, "1" * 12),)))
    adm = who(300, "12345/adm")
    refused(house, adm, observe, URL, "2025-01-09T10:30:00Z", "0" * 64)
    refused(house, adm, mint, "sid.inpe.br/mtc-m18")


def test_private_values_are_for_who_may_read_them(house: Office) -> None:
    private = [text(5, "NOTE", "for administrators", "1100"), text(6, "NOTE", "for nobody", "0100")]
    put(house, "12345/a", text(1, "URL", URL), *private, admin(100, "12345/reads", 300, "010000000000"))
    put(house, "12345/b", text(1, "URL", URL), *private, admin(100, "12345/edits", 300, "000001110000"))
    assert _private(house, "12345/a", None) == []
    assert _private(house, "12345/a", who(300, "12345/reads")) == [5]
    assert _private(house, "12345/b", who(300, "12345/edits")) == []
    assert _private(house, "12345/a", house.admin) == [5, 6]
    revisions = house.ask(history, "12345/a", by=who(300, "12345/reads"))
    assert b"for administrators" in revisions[0].record
    assert b"for nobody" not in revisions[0].record


def _private(office: Office, name: str, by: Agent | None) -> list[int]:
    return [value.index for value in office.ask(show, name, by=by).values if not value.is_public]


# Values that carry authority, by a grant: no door leads around


DOORS = {
    "update": lambda office, by, value: office.by(by, update, "12345/a", Statement(values=(value,))),
    "add values": lambda office, by, value: office.by(by, add_values, "12345/a", [value]),
    "bind": lambda office, by, value: office.by(by, bind, "12345/r", Statement(values=(value,))),
    "Handle client": lambda office, by, value: office.by(by, put_values, "12345/a", [value]),
    "whole record": lambda office, by, value: office.by(by, put_handle, "12345/a", [text(1, "URL", URL), value]),
    "import": lambda office, by, value: _bring(office, by, Put(line=1, name="12345/a", values=(value,))),
    "batch file": lambda office, by, value: _bring(office, by, Edit(line=1, name="12345/a", act="add", values=(value,))),
}  # fmt: skip
NEW = {
    "mint": lambda office, by, value: office.by(by, mint, "12345", suffixes=["n"], said=Statement(values=(value,))),
    "Handle client": lambda office, by, value: office.by(by, put_handle, "12345/n", [value]),
    "import": lambda office, by, value: _bring(office, by, Put(line=1, name="12345/n", values=(value,))),
}


def _bring(office: Office, by: Agent, entry: object) -> None:
    from perdure.registry import Options

    problems: list = []
    office.by(by, import_entries, [entry], Options(update=True), report=problems.append)
    if problems:
        assert "has no grant" in problems[0].reason
        raise NotAuthorised(by.id, problems[0].reason.partition("grant to ")[2].partition(" on ")[0], "12345")


@pytest.fixture
def filled(house: Office) -> Office:
    put(house, "12345/a", text(1, "URL", URL))
    house.do(mint, "12345", suffixes=["r"])
    return house


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("value", "needed"),
    [(admin(100, "12345/x", 300), "transfer"), (pubkey(300), "admin"), (listing(300, ("12345/x", 300)), "admin")],
    ids=["administrator", "key", "list"],
)
def test_a_grant_to_edit_is_not_enough_for_values_that_carry_authority(
    filled: Office, door: str, value: object, needed: str
) -> None:
    plain = ("mint", "edit", "withdraw", "derive", "import")
    jan = filled.hire("jan", "12345", *plain, *({"transfer", "admin"} - {needed}))
    before = filled.everything()
    with pytest.raises(NotAuthorised) as refusal:
        DOORS[door](filled, jan, value)
    assert refusal.value.action == needed
    assert _without_marks(filled.everything()) == _without_marks(before)
    DOORS[door](filled, filled.hire("piet", "12345", *plain, needed), value)


def _without_marks(everything: object) -> object:
    return everything[:3]


@pytest.mark.parametrize("door", NEW)
@pytest.mark.parametrize("value", [pubkey(300), listing(300, ("12345/x", 300))], ids=["key", "list"])
def test_who_may_mint_may_not_make_the_key_of_an_administrator(house: Office, door: str, value: object) -> None:
    jan = house.hire("jan", "12345", "mint", "import", "edit", "transfer")
    with pytest.raises(NotAuthorised):
        NEW[door](house, jan, value)
    assert house.read(lambda reader: reader.find("12345/n")) is None
    NEW[door](house, house.hire("piet", "12345", "mint", "import", "admin"), value)


@pytest.mark.parametrize("door", NEW)
def test_who_mints_names_the_administrator_of_what_is_new(house: Office, door: str) -> None:
    NEW[door](house, house.hire("jan", "12345", "mint", "import"), admin(100, "12345/x", 300))
    assert may_edit(house, who(300, "12345/x"), "12345/n")


def test_who_may_create_by_an_administrators_value_makes_keys_only_with_all_that_administrators_have(
    house: Office,
) -> None:
    state(house, "12345", admin(300, "12345/adm", 300, FULL), admin(301, "12345/low", 300, KEYLESS))
    house.by(who(300, "12345/low"), put_handle, "12345/plain", [text(1, "URL", URL), admin(100, "12345/low", 300)])
    for key in (pubkey(300), seckey(300, "word")):
        refused(house, who(300, "12345/low"), put_handle, "12345/new", [key])
    house.by(who(300, "12345/adm"), put_handle, "12345/new", [seckey(300, "word")])


def test_keys_are_changed_by_whom_the_prefix_trusts_and_the_record_names(house: Office) -> None:
    """What a record says of itself is not enough: whoever made it has said it."""
    put(house, "12345/a", pubkey(300), admin(100, "12345/v", 300, "000001110000"), admin(101, "12345/f", 300, "1" * 12))
    changed = pubkey(300, b"another")
    most = "111111111110"  # all but "add handle"
    state(house, "12345", admin(300, "12345/v", 300, FULL), admin(301, "12345/p", 300, FULL))
    for name in ("12345/v", "12345/f", "12345/p"):
        refused(house, who(300, name), put_values, "12345/a", [changed])
        refused(house, who(300, name), put_values, "12345/a", [listing(301, ("12345/x", 300))])
        refused(house, who(300, name), delete_values, "12345/a", [300])
        refused(house, who(300, name), remove_values, "12345/a", [300])
    state(house, "12345", admin(302, "12345/f", 300, most))
    refused(house, who(300, "12345/f"), put_values, "12345/a", [changed])
    state(house, "12345", admin(302, "12345/f", 300, FULL))
    house.by(who(300, "12345/f"), put_values, "12345/a", [changed])


def test_a_grant_to_administer_what_is_ones_own_gives_no_keys(house: Office) -> None:
    house.hire("jan", "12345", "mint", "edit")
    house.do(grant, "jan", "12345", ["admin"], own=True)
    jan = house.read(lambda reader: reader.agent("jan"))
    house.by(jan, put_handle, "12345/n", [text(1, "URL", URL)])
    refused(house, jan, put_values, "12345/n", [pubkey(300)])


def test_the_keys_in_the_record_of_a_prefix_are_its_administrators_to_change(house: Office) -> None:
    state(house, "12345", pubkey(1), admin(300, "12345/f", 300, FULL), admin(301, "12345/v", 300, "001110000000"))
    refused(house, who(300, "12345/v"), put_values, "0.NA/12345", [pubkey(1, b"another")])
    house.by(who(300, "12345/f"), put_values, "0.NA/12345", [pubkey(1, b"another")])


def test_a_value_that_turns_into_an_administrator_is_one(filled: Office) -> None:
    jan = filled.hire("jan", "12345", "edit")
    refused(filled, jan, put_values, "12345/a", [admin(1, "12345/jan", 300)])
    filled.do(put_values, "12345/a", [admin(1, "12345/jan", 300)])
    refused(filled, jan, put_values, "12345/a", [text(1, "URL", URL)])


@pytest.mark.parametrize("spelling", ["hs_admin", "Hs_Admin"])
def test_types_are_compared_without_case(filled: Office, spelling: str) -> None:
    jan = filled.hire("jan", "12345", "edit")
    value = admin(100, "12345/jan", 300)
    lower = type(value)(value.index, spelling, value.data)
    refused(filled, jan, add_values, "12345/a", [lower])
    filled.do(add_values, "12345/a", [lower])
    assert may_edit(filled, who(300, "12345/jan"))


def test_a_value_that_administrators_may_not_write_is_left_alone(house: Office) -> None:
    put(house, "12345/a", text(1, "URL", URL), text(2, "DESC", "fixed", "1010"), admin(100, "12345/adm", 300, "1" * 12))
    adm = who(300, "12345/adm")
    for act in (
        lambda: house.by(adm, put_values, "12345/a", [text(2, "DESC", "other")]),
        lambda: house.by(adm, update, "12345/a", Statement(values=(text(2, "DESC", "other"),))),
        lambda: house.by(adm, remove_values, "12345/a", [2]),
        lambda: house.by(adm, put_handle, "12345/a", [admin(100, "12345/adm", 300, "1" * 12)]),
        lambda: house.do(put_values, "12345/a", [text(2, "DESC", "other")]),
    ):
        with pytest.raises(NotAuthorised, match="value 2"):
            act()
    house.by(adm, put_values, "12345/a", [text(1, "URL", URL + "moved")])
    house.do(update, "12345/a", Statement(values=(text(2, "DESC", "by a grant, in the registry's own door"),)))


# The records of prefixes


def test_the_record_of_a_prefix_takes_its_administrator(house: Office) -> None:
    """Everything but `admin` on the very prefix is refused, in every door; afterwards anything would be possible."""
    state(house, "12345", text(1, "DESC", "ours"))
    most = ("mint", "edit", "withdraw", "transfer", "derive", "import")
    mine = admin(300, "12345/jan", 300, "1" * 12)
    house.hire("jan", "12345", *most)
    house.do(grant, "jan", "0.NA", (*most, "admin"))
    house.do(grant, "jan", "99999", (*most, "admin"))
    house.do(grant, "jan", EVERYWHERE, most)
    jan = house.read(lambda reader: reader.agent("jan"))
    for act in (
        lambda: house.by(jan, put_handle, "0.NA/12345", [mine]),
        lambda: house.by(jan, put_values, "0.na/12345", [mine]),
        lambda: house.by(jan, update, "0.NA/12345", Statement(values=(mine,))),
        lambda: house.by(jan, add_values, "0.NA/12345", [mine]),
        lambda: house.by(jan, withdraw, "0.NA/12345", "gone"),
        lambda: house.by(jan, transfer_identifiers, ["0.NA/12345"], "jan"),
        lambda: house.by(jan, mint, "0.NA", suffixes=["99999"], said=Statement(values=(mine,))),
        lambda: house.by(jan, put_handle, "0.NA/0.NA", [mine]),
        lambda: house.by(jan, put_handle, "0.NA/unknown", [mine]),
        lambda: _bring(house, jan, Put(line=1, name="0.NA/99999", values=(mine,))),
        lambda: _bring(house, jan, Edit(line=1, name="0.NA/12345", act="add", values=(mine,))),
    ):
        with pytest.raises(NotAuthorised):
            act()
    house.do(grant, "jan", "12345", ["admin"])
    house.by(jan, put_values, "0.NA/12345", [mine])
    house.by(who(300, "12345/jan"), mint, "12345", suffixes=["n"])


def test_nobody_adds_records_of_prefixes_by_an_administrators_value(house: Office) -> None:
    state(house, "12345", text(1, "DESC", "ours"))
    house.do(put_handle, "0.NA/0.NA", [admin(300, "12345/root", 300, "1" * 12)])
    root = who(300, "12345/root")
    refused(house, root, put_handle, "0.NA/99999", [admin(300, "12345/root", 300, "1" * 12)])
    refused(house, root, mint, "0.NA", suffixes=["99999"])


def test_the_administrator_of_a_prefix_changes_its_record(house: Office) -> None:
    state(house, "12345", admin(300, "12345/adm", 300, "1" * 12))
    adm = who(300, "12345/adm")
    house.by(adm, put_values, "0.NA/12345", [admin(301, "12345/new", 300, "1" * 12)])
    house.by(who(300, "12345/new"), remove_values, "0.NA/12345", [300])
    refused(house, adm, put_values, "0.NA/12345", [admin(300, "12345/adm", 300, "1" * 12)])


def test_a_reference_is_checked_as_any_other_value(house: Office) -> None:
    with pytest.raises(InvalidInput):
        put(house, "12345/a", listing(1, Reference("", 3)))
