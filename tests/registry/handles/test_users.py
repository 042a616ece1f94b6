"""Users of Handle clients: what is added for them, again, for another prefix, and what is removed."""

import pytest
from tests.registry.handle_identities import admin, put_prefix_values
from tests.registry_fixture import Office

from perdure.errors import InvalidInput, NoSuchPrefix, NotAuthorised
from perdure.records.public_key import RsaKey
from perdure.records.value import Admin, Text, Value, ValueList
from perdure.registry import (
    Statement,
    add_agent,
    add_handle_user,
    authenticate,
    find_key_material,
    grant,
    list_handle_users,
    mint,
    new_key,
    put_handle,
    read_handle,
    remove_handle_user,
    verify,
    withdraw,
)
from perdure.registry.entities import ACTIONS
from perdure.registry.handles.handle_slot import find_slot
from perdure.registry.handles.identities import build_identity
from perdure.registry.handles.users import HandleUser, parse_user

USER = HandleUser(300, "777/USER1")
WORD = "a long sécret".encode()
PUBLIC = RsaKey((1 << 2047) + 1, 65537)
EVERYTHING = "111111110101"  # that works: a prefix is never deleted, and neither is its record


@pytest.fixture
def desk(office: Office) -> Office:
    office.prefix("777", "chosen", case_sensitive=False)
    office.prefix("888", "chosen")
    return office


def values(office: Office, name: str) -> dict[int, Value]:
    record = office.read(lambda reader: find_slot(reader, name).record)
    assert record is not None
    return {value.index: value for value in record.values}


def members(office: Office, prefix: str) -> list[str]:
    data = values(office, f"0.NA/{prefix}")[200].data
    assert isinstance(data, ValueList)
    return [f"{one.index}:{one.handle}" for one in data.value]


def test_a_new_user_has_a_handle_a_key_and_permissions(desk: Office) -> None:
    added = desk.do(add_handle_user, USER, WORD)
    assert (added.is_new, added.has_new_key, added.has_new_permission) == (True, True, True)
    own = values(desk, USER.name)
    assert (own[300].type, own[300].permissions) == ("HS_SECKEY", "1100")
    assert isinstance(own[100].data, Admin)
    assert (own[100].data.value.handle, own[100].data.value.index) == (USER.name, 300)
    assert desk.ask(find_key_material, 300, USER.name).secret == WORD
    assert members(desk, "777") == [str(USER)]
    rights = values(desk, "0.NA/777")[100].data
    assert isinstance(rights, Admin)
    assert (rights.value.handle, rights.value.index, rights.value.permissions) == ("0.NA/777", 200, EVERYTHING)
    assert desk.ask(verify) == []


def test_the_user_may_create_and_change_what_others_created(desk: Office) -> None:
    desk.do(add_handle_user, USER, WORD)
    desk.do(add_handle_user, HandleUser(301, "777/USER2"), PUBLIC)
    first, second = build_identity(300, USER.name), build_identity(301, "777/USER2")
    owner = admin(100, "0.NA/777", 200)
    desk.by(first, put_handle, "777/a", [Value(1, "URL", Text("https://example.org/1")), owner])
    desk.by(second, put_handle, "777/a", [Value(1, "URL", Text("https://example.org/2")), owner])
    with pytest.raises(NotAuthorised):
        desk.by(first, put_handle, "888/a", [Value(1, "URL", Text("https://example.org/1"))])


def test_the_same_again_changes_nothing(desk: Office) -> None:
    desk.do(add_handle_user, USER, WORD)
    desk.do(add_handle_user, HandleUser(301, "777/USER2"), PUBLIC)
    before = desk.snapshot()
    for user, key in ((USER, WORD), (HandleUser(300, "777/user1"), WORD), (HandleUser(301, "777/USER2"), PUBLIC)):
        again = desk.do(add_handle_user, user, key)
        assert (again.is_new, again.has_new_key, again.has_new_permission) == (False, False, False)
    assert desk.snapshot() == before


def test_another_password_replaces_the_old_one_in_a_new_version(desk: Office) -> None:
    desk.do(add_handle_user, USER, WORD)
    again = desk.do(add_handle_user, USER, b"another")
    assert (again.is_new, again.has_new_key, again.has_new_permission) == (False, True, False)
    assert desk.ask(find_key_material, 300, USER.name).secret == b"another"
    assert desk.ask(read_handle, USER.name).version == 2
    desk.do(add_handle_user, USER, PUBLIC)
    material = desk.ask(find_key_material, 300, USER.name)
    assert material.secret is None
    assert len(material.public_keys) == 1
    assert desk.read(lambda reader: reader.secrets()) == []


def test_a_user_may_administer_several_prefixes(desk: Office) -> None:
    desk.do(add_handle_user, USER, WORD)
    other = desk.do(add_handle_user, USER, WORD, prefix="888")
    assert (other.has_new_key, other.has_new_permission, other.prefix.name) == (False, True, "888")
    listed = desk.ask(list_handle_users)
    assert [(one.prefix, one.user, one.key) for one in listed] == [
        ("777", str(USER), "password"),
        ("888", str(USER), "password"),
    ]


def test_a_user_is_added_to_the_list_that_exists(desk: Office) -> None:
    put_prefix_values(desk, "777", admin(100, "777/OLD", 300))
    desk.do(add_handle_user, USER, WORD)
    desk.do(add_handle_user, HandleUser(300, "777/USER2"), WORD)
    assert members(desk, "777") == [str(USER), "300:777/USER2"]
    assert {one.user for one in desk.ask(list_handle_users, "777")} == {str(USER), "300:777/USER2", "300:777/OLD"}
    assert values(desk, "0.NA/777")[100].data == admin(100, "777/OLD", 300).data


def test_values_of_an_existing_handle_stay(desk: Office) -> None:
    desk.do(mint, "777", suffixes=["USER1"], statement=Statement(target="https://example.org/me"))
    added = desk.do(add_handle_user, USER, WORD)
    assert added.is_new
    assert values(desk, USER.name)[1].text == "https://example.org/me"


def test_a_withdrawn_or_reserved_handle_is_used_again(desk: Office) -> None:
    desk.do(mint, "777", suffixes=["reserved"])
    desk.do(mint, "777", suffixes=["gone"], statement=Statement(target="https://example.org/"))
    desk.do(withdraw, "777/gone", "x")
    for name in ("777/reserved", "777/gone"):
        assert desk.do(add_handle_user, HandleUser(300, name), WORD).is_new
        assert desk.ask(find_key_material, 300, name).secret == WORD


def test_a_prefix_with_generated_names_holds_the_key_in_its_own_record(desk: Office) -> None:
    desk.prefix("999", "pilin")
    before = desk.snapshot()
    with pytest.raises(InvalidInput, match=r"300:0\.NA/999"):
        desk.do(add_handle_user, HandleUser(300, "999/USER1"), WORD)
    assert desk.snapshot() == before
    added = desk.do(add_handle_user, HandleUser(300, "0.NA/999"), WORD)
    assert (added.prefix.name, added.is_new) == ("999", True)
    assert desk.ask(find_key_material, 300, "0.NA/999").secret == WORD
    assert desk.do(remove_handle_user, HandleUser(300, "0.NA/999"))
    assert desk.ask(find_key_material, 300, "0.NA/999").secret is None


def test_an_index_with_other_data_is_not_overwritten(desk: Office) -> None:
    desk.do(mint, "777", suffixes=["USER1"], statement=Statement(values=(Value(300, "EMAIL", Text("a@b.c")),)))
    before = desk.snapshot()
    with pytest.raises(InvalidInput, match="EMAIL"):
        desk.do(add_handle_user, USER, WORD)
    assert desk.snapshot() == before


def test_a_list_at_another_type_is_refused_with_everything_else(desk: Office) -> None:
    put_prefix_values(desk, "777", Value(200, "DESC", Text("x")))
    before = desk.snapshot()
    with pytest.raises(InvalidInput, match="not a list of users"):
        desk.do(add_handle_user, USER, WORD)
    assert desk.snapshot() == before


def test_a_removed_user_has_no_key_and_no_permission(desk: Office) -> None:
    desk.do(add_handle_user, USER, WORD)
    desk.do(add_handle_user, USER, WORD, prefix="888")
    desk.do(add_handle_user, HandleUser(300, "777/USER2"), WORD)
    assert desk.do(remove_handle_user, USER, prefix="888") == ["0.NA/888"]
    assert desk.ask(find_key_material, 300, USER.name).secret == WORD
    assert desk.do(remove_handle_user, USER) == ["0.NA/777", USER.name]
    assert desk.ask(find_key_material, 300, USER.name).secret is None
    assert members(desk, "777") == ["300:777/USER2"]
    assert members(desk, "888") == []
    assert desk.read(lambda reader: [key for key, _, _ in reader.secrets()]) == ["777/user2"]
    with pytest.raises(InvalidInput, match="nothing was removed"):
        desk.do(remove_handle_user, USER)
    assert desk.do(add_handle_user, USER, b"new").is_new


def test_an_administrator_named_directly_is_removed_too(desk: Office) -> None:
    put_prefix_values(desk, "777", admin(100, "777/USER1", 300), admin(101, "777/OLD", 300))
    desk.do(remove_handle_user, USER)
    assert [one.user for one in desk.ask(list_handle_users, "777")] == ["300:777/OLD"]


def test_only_a_lasting_administrator_of_the_prefix_makes_and_removes_users(desk: Office) -> None:
    jan = desk.do(add_agent, "jan", "Jan")
    desk.do(grant, "jan", "777", [action for action in ACTIONS if action != "admin"])
    desk.do(add_handle_user, HandleUser(300, "777/USER2"), WORD)
    before = desk.snapshot()
    for attempt in ((add_handle_user, USER, WORD), (remove_handle_user, HandleUser(300, "777/USER2"))):
        with pytest.raises(NotAuthorised):
            desk.by(jan, *attempt)
    desk.do(grant, "jan", "777", ["admin"])
    temporary = desk.ask(authenticate, desk.do(new_key, "jan", expires="2030-01-01T00:00:00Z")[1])
    with pytest.raises(NotAuthorised):
        desk.by(temporary, add_handle_user, USER, WORD)
    with pytest.raises(NotAuthorised):
        desk.by(jan, add_handle_user, USER, WORD, prefix="888")
    assert desk.read(lambda reader: reader.find("777/user1")) is None
    desk.by(jan, add_handle_user, USER, WORD)
    assert before != desk.snapshot()


@pytest.mark.parametrize("key", [b"", b"two\nlines", b"\xff\xfe", b"x" * 1025, b"a\x00b"])
def test_a_bad_password_is_refused_before_anything_is_written(desk: Office, key: bytes) -> None:
    before = desk.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        desk.do(add_handle_user, USER, key)
    assert key.decode("latin-1") not in str(refusal.value) or not key
    assert desk.snapshot() == before


def test_the_prefix_must_be_one_of_this_registry(desk: Office) -> None:
    for arguments in ((HandleUser(300, "999/USER1"), WORD), (USER, WORD)):
        with pytest.raises(NoSuchPrefix):
            desk.do(add_handle_user, *arguments, prefix="999")
    with pytest.raises(InvalidInput):
        desk.do(add_handle_user, USER, WORD, prefix="POID")


@pytest.mark.parametrize("text", ["777/USER1", "300:", "300", "0:777/USER1", "x:777/USER1", "9999999999:777/a", ""])
def test_a_user_is_an_index_and_a_handle(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_user(text)


def test_a_user_is_parsed_as_handle_clients_write_it() -> None:
    assert parse_user(" 300:777/USER1\n") == USER
    assert str(parse_user("301:0.NA/777")) == "301:0.NA/777"
