"""The rights that HS_ADMIN values of records give, and that no API can bypass."""

import pytest
from tests.registry.handle_identities import (
    FULL,
    KEYLESS,
    admin,
    handle_identity,
    pubkey,
    put_prefix_values,
    seckey,
    text,
    value_list,
)
from tests.registry_fixture import Office

from perdure.errors import InvalidInput, NotAuthorised
from perdure.formats.import_entries import ImportEdit, ImportPut
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
from perdure.registry.entities import WHOLE_REGISTRY, Agent

URL = "https://example.org/"


@pytest.fixture
def two_prefixes(office: Office) -> Office:
    """Two prefixes, and a record with an administrator of its own."""
    office.prefix("12345", "chosen", case_sensitive=False)
    office.prefix("99999", "chosen")
    return office


def put(office: Office, name: str, *values: object) -> None:
    office.do(put_handle, name, values)


def require_refusal(office: Office, by: Agent, act: object, *arguments: object, **options: object) -> NotAuthorised:
    before = office.snapshot()
    with pytest.raises(NotAuthorised) as refusal:
        office.by(by, act, *arguments, **options)
    assert office.snapshot() == before
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
        (("77.T/adm", 300), (300, "77.t/ADM"), True),  # a prefix of another registry
        (("12345/other", 300), (300, "12345/adm"), False),
        (("https://example.org/adm", 300), (300, "12345/adm"), False),
    ],
)
def test_an_administrator_is_one_value_of_one_handle(
    two_prefixes: Office, named: tuple[str, int], actor: tuple[int, str], is_meant: bool
) -> None:
    put(two_prefixes, "12345/a", text(1, "URL", URL), admin(100, *named))
    assert may_edit(two_prefixes, handle_identity(*actor)) is is_meant


def test_an_agent_is_every_identity_of_its_own_handle(two_prefixes: Office) -> None:
    agent = two_prefixes.do(add_agent, "jan", "Jan", identifier="hdl:77.T/jan")
    other = two_prefixes.hire("piet")
    put(two_prefixes, "12345/a", text(1, "URL", URL), admin(100, "77.t/JAN", 4711))
    assert may_edit(two_prefixes, agent)
    assert not may_edit(two_prefixes, other)


def test_a_derived_administrator_is_for_display_only(two_prefixes: Office) -> None:
    two_prefixes.do(add_agent, "jan", "Jan", identifier="hdl:77.T/jan")
    put(two_prefixes, "12345/a", text(1, "URL", URL))
    two_prefixes.do(transfer_identifiers, ["12345/a"], "jan")
    two_prefixes.do(revoke, "jan", "12345")
    shown = two_prefixes.ask(read_handle, "12345/a").values
    assert [value.data.value.handle for value in shown if value.type == "HS_ADMIN"] == ["77.T/jan"]
    assert not may_edit(two_prefixes, handle_identity(200, "77.T/jan"))
    assert not may_edit(two_prefixes, two_prefixes.read(lambda reader: reader.agent("jan")))


def test_a_list_of_administrators_is_followed(two_prefixes: Office) -> None:
    put(two_prefixes, "12345/group", value_list(200, ("12345/more", 5)), value_list(201, ("12345/b", 300)))
    put(two_prefixes, "12345/more", value_list(5, ("12345/group", 200), ("12345/c", 300)))
    put(two_prefixes, "12345/a", text(1, "URL", URL), admin(100, "12345/group", 200))
    assert may_edit(two_prefixes, handle_identity(300, "12345/c"))
    assert not may_edit(two_prefixes, handle_identity(301, "12345/c"))
    assert not may_edit(two_prefixes, handle_identity(300, "12345/b"))  # on a list that is not the one that was named
    two_prefixes.do(withdraw, "12345/more", "gone")
    assert not may_edit(two_prefixes, handle_identity(300, "12345/c"))


def test_two_administrators_on_one_list_add_up(two_prefixes: Office) -> None:
    put(two_prefixes, "12345/group", value_list(200, ("12345/c", 300)))
    add, rest = "000001000000", "000000110000"
    put(two_prefixes, "12345/a", admin(100, "12345/group", 200, add), admin(101, "12345/group", 200, rest))
    assert may_edit(two_prefixes, handle_identity(300, "12345/c"))


@pytest.mark.parametrize(("depth", "is_meant"), [(10, True), (11, False)])
def test_the_depth_of_nested_lists_is_limited(two_prefixes: Office, depth: int, is_meant: bool) -> None:
    for number in range(1, depth):
        put(two_prefixes, f"12345/list{number}", value_list(1, (f"12345/list{number + 1}", 1)))
    put(two_prefixes, f"12345/list{depth}", value_list(1, ("12345/c", 300)))
    put(two_prefixes, "12345/a", admin(100, "12345/list1", 1))
    assert may_edit(two_prefixes, handle_identity(300, "12345/c")) is is_meant


def test_a_long_list_is_not_followed_to_its_end(two_prefixes: Office) -> None:
    many = [("12345/nobody", number) for number in range(1, 1200)]
    put(two_prefixes, "12345/long", value_list(1, *many, ("12345/c", 300)))
    put(two_prefixes, "12345/a", admin(100, "12345/long", 1))
    assert not may_edit(two_prefixes, handle_identity(300, "12345/c"))
    assert may_edit(two_prefixes, two_prefixes.admin)


def test_a_tombstone_gives_no_right(two_prefixes: Office) -> None:
    put(two_prefixes, "12345/a", text(1, "URL", URL), admin(100, "12345/adm", 300, "1" * 12))
    two_prefixes.do(withdraw, "12345/a", "gone")
    require_refusal(two_prefixes, handle_identity(300, "12345/adm"), reinstate, "12345/a")


# What an HS_ADMIN allows, in the other APIs


@pytest.mark.parametrize("missing", range(12))
def test_each_act_needs_its_own_permissions(two_prefixes: Office, missing: int) -> None:
    """Give all twelve permissions but one, for every act: it is refused if that one is required."""
    permissions = "1" * missing + "0" + "1" * (11 - missing)
    adm = handle_identity(300, "12345/adm")
    put_prefix_values(two_prefixes, "12345", admin(300, "12345/adm", 300, permissions))
    for name in ("a", "b", "c"):
        put(two_prefixes, f"12345/{name}", text(1, "URL", URL), admin(100, "12345/adm", 300, permissions))
    two_prefixes.hire("new-owner")
    acts = {
        "edit": ({5, 6, 7}, lambda: two_prefixes.by(adm, update, "12345/a", Statement(about=About(what="x")))),
        "transfer": ({2, 3, 4}, lambda: two_prefixes.by(adm, transfer_identifiers, ["12345/b"], "new-owner")),
        "withdraw": ({10}, lambda: two_prefixes.by(adm, withdraw, "12345/c", "gone")),
        "mint": ({11}, lambda: two_prefixes.by(adm, mint, "12345", suffixes=["new"])),
        "derive": ({9}, lambda: two_prefixes.by(adm, derive_prefix, "12345.1")),
    }
    for action, (needed, act) in acts.items():
        if missing in needed:
            with pytest.raises(NotAuthorised) as refusal:
                act()
            assert refusal.value.action == action
        else:
            act()
    assert two_prefixes.contradictions() == []


@pytest.mark.parametrize("act", ["import", "admin"])
def test_an_administrator_value_does_not_allow_import_or_admin(two_prefixes: Office, act: str) -> None:
    adm = handle_identity(300, "12345/adm")
    put_prefix_values(two_prefixes, "12345", admin(300, "12345/adm", 300, "1" * 12))
    if act == "import":
        problems = []
        two_prefixes.by(adm, import_entries, [ImportPut(line=1, name="12345/n", target=URL)], report=problems.append)
        assert [problem.name for problem in problems] == ["12345/n"]
    else:
        require_refusal(two_prefixes, adm, grant, "admin", "12345", ["mint"])


def test_an_administrator_value_gives_no_permission_beyond_its_record(two_prefixes: Office) -> None:
    put(two_prefixes, "12345/a", text(1, "URL", URL), admin(100, "12345/adm", 300, "1" * 12))
    put(two_prefixes, "12345/b", text(1, "URL", URL))
    adm = handle_identity(300, "12345/adm")
    require_refusal(two_prefixes, adm, update, "12345/b", Statement(URL + "b"))
    require_refusal(two_prefixes, adm, mint, "12345", suffixes=["n"])
    require_refusal(two_prefixes, adm, derive_prefix, "12345.1")


def test_a_transfer_by_an_administrator_value_gives_no_grant(two_prefixes: Office) -> None:
    jan = two_prefixes.hire("jan")
    put(two_prefixes, "12345/mine", text(1, "URL", URL))
    two_prefixes.do(transfer_identifiers, ["12345/mine"], "jan")
    two_prefixes.do(revoke, "jan", "12345")
    put(two_prefixes, "12345/a", text(1, "URL", URL), admin(100, "12345/adm", 300, "1" * 12))
    two_prefixes.by(handle_identity(300, "12345/adm"), transfer_identifiers, ["12345/a"], "jan")
    assert two_prefixes.read(lambda reader: reader.grants("jan")) == []
    require_refusal(two_prefixes, jan, update, "12345/mine", Statement(URL + "again"))


def test_person_identifiers_and_subsystems_have_no_record_that_lets_others_mint(two_prefixes: Office) -> None:
    two_prefixes.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    put_prefix_values(two_prefixes, "12345", admin(300, "12345/adm", 300, "1" * 12))  # from now on 0.NA exists
    for name in ("POID", "sid.inpe.br/mtc-m18"):
        two_prefixes.do(
            mint, "0.NA", suffixes=[name], statement=Statement(values=(admin(300, "12345/adm", 300, "1" * 12),))
        )
    adm = handle_identity(300, "12345/adm")
    require_refusal(two_prefixes, adm, observe, URL, "2025-01-09T10:30:00Z", "0" * 64)
    require_refusal(two_prefixes, adm, mint, "sid.inpe.br/mtc-m18")


def test_private_values_are_shown_only_with_permission_to_read_them(two_prefixes: Office) -> None:
    private = [text(5, "NOTE", "for administrators", "1100"), text(6, "NOTE", "for no one", "0100")]
    put(two_prefixes, "12345/a", text(1, "URL", URL), *private, admin(100, "12345/reads", 300, "010000000000"))
    put(two_prefixes, "12345/b", text(1, "URL", URL), *private, admin(100, "12345/edits", 300, "000001110000"))
    assert _private(two_prefixes, "12345/a", None) == []
    assert _private(two_prefixes, "12345/a", handle_identity(300, "12345/reads")) == [5]
    assert _private(two_prefixes, "12345/b", handle_identity(300, "12345/edits")) == []
    assert _private(two_prefixes, "12345/a", two_prefixes.admin) == [5, 6]
    revisions = two_prefixes.ask(history, "12345/a", by=handle_identity(300, "12345/reads"))
    assert b"for administrators" in revisions[0].record
    assert b"for no one" not in revisions[0].record


def _private(office: Office, name: str, by: Agent | None) -> list[int]:
    return [value.index for value in office.ask(show, name, by=by).values if not value.is_public]


# Values that carry authority, by a grant: no API bypasses the check


APIS = {
    "update": lambda office, by, value: office.by(by, update, "12345/a", Statement(values=(value,))),
    "add values": lambda office, by, value: office.by(by, add_values, "12345/a", [value]),
    "bind": lambda office, by, value: office.by(by, bind, "12345/r", Statement(values=(value,))),
    "Handle client": lambda office, by, value: office.by(by, put_values, "12345/a", [value]),
    "whole record": lambda office, by, value: office.by(by, put_handle, "12345/a", [text(1, "URL", URL), value]),
    "import": lambda office, by, value: import_entry(office, by, ImportPut(line=1, name="12345/a", values=(value,))),
    "batch file": lambda office, by, value: import_entry(office, by, ImportEdit(line=1, name="12345/a", act="add", values=(value,))),
}  # fmt: skip
NEW = {
    "mint": lambda office, by, value: office.by(
        by, mint, "12345", suffixes=["n"], statement=Statement(values=(value,))
    ),
    "Handle client": lambda office, by, value: office.by(by, put_handle, "12345/n", [value]),
    "import": lambda office, by, value: import_entry(office, by, ImportPut(line=1, name="12345/n", values=(value,))),
}


def import_entry(office: Office, by: Agent, entry: object) -> None:
    from perdure.registry import ImportOptions

    problems: list = []
    office.by(by, import_entries, [entry], ImportOptions(update=True), report=problems.append)
    if problems:
        assert "has no grant" in problems[0].reason
        raise NotAuthorised(by.id, problems[0].reason.partition("grant to ")[2].partition(" on ")[0], "12345")


@pytest.fixture
def filled_office(two_prefixes: Office) -> Office:
    put(two_prefixes, "12345/a", text(1, "URL", URL))
    two_prefixes.do(mint, "12345", suffixes=["r"])
    return two_prefixes


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("value", "needed"),
    [(admin(100, "12345/x", 300), "transfer"), (pubkey(300), "admin"), (value_list(300, ("12345/x", 300)), "admin")],
    ids=["administrator", "key", "list"],
)
def test_a_grant_to_edit_is_not_enough_for_values_that_carry_authority(
    filled_office: Office, api: str, value: object, needed: str
) -> None:
    plain = ("mint", "edit", "withdraw", "derive", "import")
    jan = filled_office.hire("jan", "12345", *plain, *({"transfer", "admin"} - {needed}))
    before = filled_office.snapshot()
    with pytest.raises(NotAuthorised) as refusal:
        APIS[api](filled_office, jan, value)
    assert refusal.value.action == needed
    assert _without_marks(filled_office.snapshot()) == _without_marks(before)
    APIS[api](filled_office, filled_office.hire("piet", "12345", *plain, needed), value)


def _without_marks(everything: object) -> object:
    return everything[:3]


@pytest.mark.parametrize("api", NEW)
@pytest.mark.parametrize("value", [pubkey(300), value_list(300, ("12345/x", 300))], ids=["key", "list"])
def test_permission_to_mint_does_not_allow_the_key_of_an_administrator(
    two_prefixes: Office, api: str, value: object
) -> None:
    jan = two_prefixes.hire("jan", "12345", "mint", "import", "edit", "transfer")
    with pytest.raises(NotAuthorised):
        NEW[api](two_prefixes, jan, value)
    assert two_prefixes.read(lambda reader: reader.find("12345/n")) is None
    NEW[api](two_prefixes, two_prefixes.hire("piet", "12345", "mint", "import", "admin"), value)


@pytest.mark.parametrize("api", NEW)
def test_an_agent_that_mints_can_set_the_administrator_of_the_new_name(two_prefixes: Office, api: str) -> None:
    NEW[api](two_prefixes, two_prefixes.hire("jan", "12345", "mint", "import"), admin(100, "12345/x", 300))
    assert may_edit(two_prefixes, handle_identity(300, "12345/x"), "12345/n")


def test_creating_keys_by_an_administrator_value_needs_all_its_permissions(
    two_prefixes: Office,
) -> None:
    put_prefix_values(two_prefixes, "12345", admin(300, "12345/adm", 300, FULL), admin(301, "12345/low", 300, KEYLESS))
    two_prefixes.by(
        handle_identity(300, "12345/low"),
        put_handle,
        "12345/plain",
        [text(1, "URL", URL), admin(100, "12345/low", 300)],
    )
    for key in (pubkey(300), seckey(300, "word")):
        require_refusal(two_prefixes, handle_identity(300, "12345/low"), put_handle, "12345/new", [key])
    two_prefixes.by(handle_identity(300, "12345/adm"), put_handle, "12345/new", [seckey(300, "word")])


def test_changing_keys_needs_an_administrator_of_both_prefix_and_record(two_prefixes: Office) -> None:
    """The record itself is not enough, because its creator wrote it."""
    put(
        two_prefixes,
        "12345/a",
        pubkey(300),
        admin(100, "12345/v", 300, "000001110000"),
        admin(101, "12345/f", 300, "1" * 12),
    )
    changed = pubkey(300, b"another")
    most = "111111111110"  # all but "add handle"
    put_prefix_values(two_prefixes, "12345", admin(300, "12345/v", 300, FULL), admin(301, "12345/p", 300, FULL))
    for name in ("12345/v", "12345/f", "12345/p"):
        require_refusal(two_prefixes, handle_identity(300, name), put_values, "12345/a", [changed])
        require_refusal(
            two_prefixes, handle_identity(300, name), put_values, "12345/a", [value_list(301, ("12345/x", 300))]
        )
        require_refusal(two_prefixes, handle_identity(300, name), delete_values, "12345/a", [300])
        require_refusal(two_prefixes, handle_identity(300, name), remove_values, "12345/a", [300])
    put_prefix_values(two_prefixes, "12345", admin(302, "12345/f", 300, most))
    require_refusal(two_prefixes, handle_identity(300, "12345/f"), put_values, "12345/a", [changed])
    put_prefix_values(two_prefixes, "12345", admin(302, "12345/f", 300, FULL))
    two_prefixes.by(handle_identity(300, "12345/f"), put_values, "12345/a", [changed])


def test_a_grant_to_administer_own_names_does_not_allow_keys(two_prefixes: Office) -> None:
    two_prefixes.hire("jan", "12345", "mint", "edit")
    two_prefixes.do(grant, "jan", "12345", ["admin"], own=True)
    jan = two_prefixes.read(lambda reader: reader.agent("jan"))
    two_prefixes.by(jan, put_handle, "12345/n", [text(1, "URL", URL)])
    require_refusal(two_prefixes, jan, put_values, "12345/n", [pubkey(300)])


def test_the_administrator_of_a_prefix_can_change_the_keys_in_its_record(two_prefixes: Office) -> None:
    put_prefix_values(
        two_prefixes, "12345", pubkey(1), admin(300, "12345/f", 300, FULL), admin(301, "12345/v", 300, "001110000000")
    )
    require_refusal(two_prefixes, handle_identity(300, "12345/v"), put_values, "0.NA/12345", [pubkey(1, b"another")])
    two_prefixes.by(handle_identity(300, "12345/f"), put_values, "0.NA/12345", [pubkey(1, b"another")])


def test_a_value_that_becomes_an_administrator_is_checked_like_one(filled_office: Office) -> None:
    jan = filled_office.hire("jan", "12345", "edit")
    require_refusal(filled_office, jan, put_values, "12345/a", [admin(1, "12345/jan", 300)])
    filled_office.do(put_values, "12345/a", [admin(1, "12345/jan", 300)])
    require_refusal(filled_office, jan, put_values, "12345/a", [text(1, "URL", URL)])


@pytest.mark.parametrize("spelling", ["hs_admin", "Hs_Admin"])
def test_types_are_compared_without_case(filled_office: Office, spelling: str) -> None:
    jan = filled_office.hire("jan", "12345", "edit")
    value = admin(100, "12345/jan", 300)
    lower = type(value)(value.index, spelling, value.data)
    require_refusal(filled_office, jan, add_values, "12345/a", [lower])
    filled_office.do(add_values, "12345/a", [lower])
    assert may_edit(filled_office, handle_identity(300, "12345/jan"))


def test_a_value_without_write_permission_is_not_changed(two_prefixes: Office) -> None:
    put(
        two_prefixes,
        "12345/a",
        text(1, "URL", URL),
        text(2, "DESC", "fixed", "1010"),
        admin(100, "12345/adm", 300, "1" * 12),
    )
    adm = handle_identity(300, "12345/adm")
    for act in (
        lambda: two_prefixes.by(adm, put_values, "12345/a", [text(2, "DESC", "other")]),
        lambda: two_prefixes.by(adm, update, "12345/a", Statement(values=(text(2, "DESC", "other"),))),
        lambda: two_prefixes.by(adm, remove_values, "12345/a", [2]),
        lambda: two_prefixes.by(adm, put_handle, "12345/a", [admin(100, "12345/adm", 300, "1" * 12)]),
        lambda: two_prefixes.do(put_values, "12345/a", [text(2, "DESC", "other")]),
    ):
        with pytest.raises(NotAuthorised, match="value 2"):
            act()
    two_prefixes.by(adm, put_values, "12345/a", [text(1, "URL", URL + "moved")])
    two_prefixes.do(update, "12345/a", Statement(values=(text(2, "DESC", "by a grant, in the registry's own API"),)))


# The records of prefixes


def test_changing_the_record_of_a_prefix_needs_its_administrator(two_prefixes: Office) -> None:
    """Every API refuses everything but `admin` on this prefix; otherwise an agent could gain any right."""
    put_prefix_values(two_prefixes, "12345", text(1, "DESC", "ours"))
    most = ("mint", "edit", "withdraw", "transfer", "derive", "import")
    mine = admin(300, "12345/jan", 300, "1" * 12)
    two_prefixes.hire("jan", "12345", *most)
    two_prefixes.do(grant, "jan", "0.NA", (*most, "admin"))
    two_prefixes.do(grant, "jan", "99999", (*most, "admin"))
    two_prefixes.do(grant, "jan", WHOLE_REGISTRY, most)
    jan = two_prefixes.read(lambda reader: reader.agent("jan"))
    for act in (
        lambda: two_prefixes.by(jan, put_handle, "0.NA/12345", [mine]),
        lambda: two_prefixes.by(jan, put_values, "0.na/12345", [mine]),
        lambda: two_prefixes.by(jan, update, "0.NA/12345", Statement(values=(mine,))),
        lambda: two_prefixes.by(jan, add_values, "0.NA/12345", [mine]),
        lambda: two_prefixes.by(jan, withdraw, "0.NA/12345", "gone"),
        lambda: two_prefixes.by(jan, transfer_identifiers, ["0.NA/12345"], "jan"),
        lambda: two_prefixes.by(jan, mint, "0.NA", suffixes=["99999"], statement=Statement(values=(mine,))),
        lambda: two_prefixes.by(jan, put_handle, "0.NA/0.NA", [mine]),
        lambda: two_prefixes.by(jan, put_handle, "0.NA/unknown", [mine]),
        lambda: import_entry(two_prefixes, jan, ImportPut(line=1, name="0.NA/99999", values=(mine,))),
        lambda: import_entry(two_prefixes, jan, ImportEdit(line=1, name="0.NA/12345", act="add", values=(mine,))),
    ):
        with pytest.raises(NotAuthorised):
            act()
    two_prefixes.do(grant, "jan", "12345", ["admin"])
    two_prefixes.by(jan, put_values, "0.NA/12345", [mine])
    two_prefixes.by(handle_identity(300, "12345/jan"), mint, "12345", suffixes=["n"])


def test_an_administrator_value_does_not_allow_records_of_prefixes(two_prefixes: Office) -> None:
    put_prefix_values(two_prefixes, "12345", text(1, "DESC", "ours"))
    two_prefixes.do(put_handle, "0.NA/0.NA", [admin(300, "12345/root", 300, "1" * 12)])
    root = handle_identity(300, "12345/root")
    require_refusal(two_prefixes, root, put_handle, "0.NA/99999", [admin(300, "12345/root", 300, "1" * 12)])
    require_refusal(two_prefixes, root, mint, "0.NA", suffixes=["99999"])


def test_the_administrator_of_a_prefix_changes_its_record(two_prefixes: Office) -> None:
    put_prefix_values(two_prefixes, "12345", admin(300, "12345/adm", 300, "1" * 12))
    adm = handle_identity(300, "12345/adm")
    two_prefixes.by(adm, put_values, "0.NA/12345", [admin(301, "12345/new", 300, "1" * 12)])
    two_prefixes.by(handle_identity(300, "12345/new"), remove_values, "0.NA/12345", [300])
    require_refusal(two_prefixes, adm, put_values, "0.NA/12345", [admin(300, "12345/adm", 300, "1" * 12)])


def test_a_reference_is_checked_like_any_other_value(two_prefixes: Office) -> None:
    with pytest.raises(InvalidInput):
        put(two_prefixes, "12345/a", value_list(1, Reference("", 3)))
