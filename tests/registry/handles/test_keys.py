"""Secrets and keys of Handle clients: stored sealed, never shown, and gone as soon as they are removed."""

import pytest
from tests.registry.handle_identities import admin, handle_identity, pubkey, put_prefix_values, seckey, text
from tests.registry_fixture import Office

from perdure.errors import InvalidInput, InvalidName, NotAuthorised
from perdure.formats.import_entries import ImportEdit
from perdure.records import record as records
from perdure.records.value import Text
from perdure.registry import (
    ImportOptions,
    Statement,
    add_values,
    delete_handle,
    delete_values,
    export,
    find_key_material,
    history,
    import_entries,
    put_handle,
    put_values,
    read_handle,
    reinstate,
    remove_values,
    show,
    transfer_identifiers,
    update,
    verify,
    withdraw,
)
from perdure.registry.handles import build_identity

WORD = "correct-horse-battery"
USER = "12345/USER"
KEY = "12345/user"


@pytest.fixture
def office_with_keys(office: Office) -> Office:
    office.prefix("12345", "chosen", case_sensitive=False)
    office.do(put_handle, USER, [text(1, "DESC", "a user"), seckey(300, WORD), admin(100, USER, 300)])
    return office


def secret(office: Office, index: int = 300, name: str = USER) -> bytes | None:
    return office.ask(find_key_material, index, name).secret


def list_secrets(office: Office) -> list[tuple[str, int]]:
    return [(key, index) for key, index, _ in office.read(lambda reader: reader.secrets())]


def test_a_secret_is_returned_only_for_checking(office_with_keys: Office) -> None:
    found = office_with_keys.ask(find_key_material, 300, "12345/user")
    assert found.secret == WORD.encode()
    assert (found.identity.id, found.identity.index, found.public_keys) == ("300:12345/user", 300, ())
    assert WORD not in repr(found)
    assert WORD not in repr(found.candidates)


def test_a_secret_is_stored_nowhere_else(office_with_keys: Office) -> None:
    office_with_keys.do(put_values, USER, [seckey(300, WORD + "-2")])
    for by in (None, office_with_keys.admin, handle_identity(300, USER)):
        view = office_with_keys.ask(read_handle, USER, by=by, wants_all=True)
        assert WORD not in repr(view)
        assert WORD not in repr(office_with_keys.ask(show, USER, by=by))
        assert WORD not in repr(office_with_keys.ask(history, USER, by=by))
    assert WORD not in repr(office_with_keys.snapshot())
    shown = next(value for value in office_with_keys.ask(read_handle, USER, by=handle_identity(300, USER), wants_all=True).values if value.index == 300)  # fmt: skip
    assert (shown.data, shown.permissions) == (Text(""), "1100")
    assert office_with_keys.ask(read_handle, USER).withheld == 1
    for one in ("ndjson", "csv", "batch", "handles"):

        async def write_export(one: str = one) -> bytes:
            return b"".join([part async for _, part in export(office_with_keys.registry, office_with_keys.admin, one)])

        assert WORD.encode() not in office_with_keys.run(write_export())
    _, _, raw = office_with_keys.read(lambda reader: reader.secrets())[0]
    assert WORD.encode() not in raw


def test_a_new_secret_makes_a_version_even_within_the_same_second(office_with_keys: Office) -> None:
    assert office_with_keys.by(handle_identity(300, USER), put_values, USER, [seckey(300, "another")]).version == 2
    assert secret(office_with_keys) == b"another"
    assert office_with_keys.by(handle_identity(300, USER), put_values, USER, [seckey(300, b"\x00\xff")]).version == 3
    assert secret(office_with_keys) == b"\x00\xff"
    office_with_keys.clock.step(60)
    office_with_keys.by(handle_identity(300, USER), put_values, USER, [seckey(300, b"\x00\xff")])
    assert [value.timestamp for value in stored_values(office_with_keys) if value.index == 300] == [
        "2027-01-15T08:01:00Z"
    ]


def stored_values(office: Office) -> tuple:
    return records.decode(office.read(lambda reader: reader.find(KEY)).record).values


def test_sending_back_a_shown_record_does_not_change_the_secret(office_with_keys: Office) -> None:
    shown = office_with_keys.ask(read_handle, USER, by=handle_identity(300, USER), wants_all=True).values
    assert office_with_keys.by(handle_identity(300, USER), put_handle, USER, shown).version == 1
    office_with_keys.by(handle_identity(300, USER), put_handle, USER, [*shown, text(2, "DESC", "more")])
    assert secret(office_with_keys) == WORD.encode()


@pytest.mark.parametrize("permissions", ["1111", "1110", "1101"])
def test_a_secret_is_never_public(office_with_keys: Office, permissions: str) -> None:
    office_with_keys.do(put_handle, "12345/other", [seckey(300, WORD, permissions)])
    shown = office_with_keys.ask(read_handle, "12345/other", by=office_with_keys.admin, wants_all=True).values
    assert next(value for value in shown if value.index == 300).permissions == "1100"


@pytest.mark.parametrize("bad", ["", b"", "x" * 1025, b"x" * 1025, "\ud800"], ids=repr)
def test_a_secret_has_1_to_1024_bytes(office_with_keys: Office, bad: str | bytes) -> None:
    with pytest.raises(InvalidInput) as refusal:
        office_with_keys.do(put_values, USER, [seckey(301, bad)])
    assert refusal.value.part == "values[301].data"
    assert "xxx" not in str(refusal.value)
    office_with_keys.do(put_values, USER, [seckey(301, b"x" * 1024)])


def test_an_error_does_not_repeat_a_secret(office_with_keys: Office) -> None:
    for values in (
        [seckey(300, WORD), seckey(300, WORD)],
        [seckey(300, WORD), text(1, "URL", "javascript:x")],
        [seckey(0, WORD)],
        [seckey(300, WORD, "11")],
    ):
        with pytest.raises(Exception) as refusal:  # noqa: PT011
            office_with_keys.do(put_values, USER, values)
        assert WORD not in repr(refusal.value) + str(refusal.value)


# Taken back


TAKING_BACK = {
    "delete values": lambda office: office.do(delete_values, USER, [300]),
    "whole record": lambda office: office.do(put_handle, USER, [text(1, "DESC", "x")]),
    "another value": lambda office: office.do(put_values, USER, [text(300, "DESC", "x")]),
    "remove values": lambda office: office.do(remove_values, USER, [300]),
    "update": lambda office: office.do(update, USER, Statement(values=(text(300, "DESC", "x"),))),
    "delete": lambda office: office.do(delete_handle, USER),
    "withdraw": lambda office: office.do(withdraw, USER, "gone"),
    "batch remove": lambda office: _batch(office, ImportEdit(line=1, name=USER, act="remove", indexes=(300,))),
    "batch delete": lambda office: _batch(office, ImportEdit(line=1, name=USER, act="delete")),
}


def _batch(office: Office, entry: ImportEdit) -> None:
    assert office.do(import_entries, [entry], ImportOptions(update=True)).changed == 1


@pytest.mark.parametrize("way", TAKING_BACK)
def test_a_secret_is_removed_with_its_value(office_with_keys: Office, way: str) -> None:
    TAKING_BACK[way](office_with_keys)
    assert secret(office_with_keys) is None
    assert list_secrets(office_with_keys) == []
    assert office_with_keys.ask(verify) == []


def test_a_secret_is_not_restored_with_its_handle(office_with_keys: Office) -> None:
    office_with_keys.do(withdraw, USER, "compromised")
    office_with_keys.do(reinstate, USER)
    assert [value.type for value in stored_values(office_with_keys)] == ["DESC", "HS_ADMIN", "HS_SECKEY"]
    assert secret(office_with_keys) is None
    office_with_keys.do(put_values, USER, [seckey(300, "new")])
    assert secret(office_with_keys) == b"new"


def test_other_changes_do_not_change_a_secret(office_with_keys: Office) -> None:
    office_with_keys.hire("jan")
    office_with_keys.do(update, USER, Statement(values=(text(2, "DESC", "x"),)))
    office_with_keys.do(transfer_identifiers, [USER], "jan")
    office_with_keys.do(delete_values, USER, [1])
    assert secret(office_with_keys) == WORD.encode()


@pytest.mark.parametrize("use_case", [add_values, put_values])
def test_other_apis_refuse_secrets(office_with_keys: Office, use_case: object) -> None:
    value = seckey(301, WORD)
    if use_case is add_values:
        with pytest.raises(InvalidInput, match="secret"):
            office_with_keys.do(add_values, USER, [value])
        office_with_keys.do(add_values, USER, [seckey(301, "")])
        assert secret(office_with_keys, 301) is None
        with pytest.raises(InvalidInput):
            office_with_keys.do(add_values, USER, [seckey(302, "", "1110")])
    else:
        office_with_keys.do(put_values, USER, [value])
        assert secret(office_with_keys, 301) == WORD.encode()


def test_a_secret_is_changed_by_administrators_only(office_with_keys: Office) -> None:
    office_with_keys.do(put_values, USER, [admin(101, "12345/helper", 300, "000001110000")])
    jan = office_with_keys.hire("jan", "12345", "edit", "mint", "transfer", "withdraw", "import")
    for by in (jan, handle_identity(300, "12345/helper"), handle_identity(301, USER)):
        for act in (
            lambda by=by: office_with_keys.by(by, put_values, USER, [seckey(300, "mine")]),
            lambda by=by: office_with_keys.by(by, delete_values, USER, [300]),
        ):
            with pytest.raises(NotAuthorised):
                act()
    assert secret(office_with_keys) == WORD.encode()


# Whose keys


def test_public_keys_are_returned_as_they_were_written(office_with_keys: Office) -> None:
    office_with_keys.do(put_values, USER, [pubkey(301, b"key of 301"), pubkey(302, b"key of 302")])
    assert office_with_keys.ask(find_key_material, 301, USER).public_keys == (b"key of 301",)
    assert office_with_keys.ask(find_key_material, 301, USER).secret is None
    assert office_with_keys.ask(find_key_material, 303, USER).candidates == ()


def test_without_an_index_each_key_proves_the_identity_of_its_own_index(office_with_keys: Office) -> None:
    """The holder of one key of a handle must not be accepted as the holder of another."""
    assert office_with_keys.ask(find_key_material, 0, USER).identity.index == 300  # it has only one
    office_with_keys.do(put_values, USER, [pubkey(301, b"key of 301"), seckey(302, "second")])
    found = office_with_keys.ask(find_key_material, 0, USER)
    assert found.identity.index == 0
    assert [(one.identity.id, one.secret, one.public_keys) for one in found.candidates] == [
        (f"300:{USER}", WORD.encode(), ()),
        (f"301:{USER}", None, (b"key of 301",)),
        (f"302:{USER}", b"second", ()),
    ]


@pytest.mark.parametrize("name", ["12345/nobody", "777/x", "0.NA/12345", "0.NA/nothing"])
def test_an_unknown_identity_has_no_keys(office_with_keys: Office, name: str) -> None:
    found = office_with_keys.ask(find_key_material, 300, name)
    assert (found.secret, found.public_keys, found.candidates) == (None, (), ())


def test_the_record_of_a_prefix_can_have_keys(office_with_keys: Office) -> None:
    put_prefix_values(
        office_with_keys, "12345", pubkey(300, b"key"), seckey(301, WORD), admin(302, "0.NA/12345", 300, "1" * 12)
    )
    assert office_with_keys.ask(find_key_material, 300, "0.na/12345").public_keys == (b"key",)
    assert secret(office_with_keys, 301, "0.NA/12345") == WORD.encode()
    office_with_keys.by(handle_identity(300, "0.NA/12345"), put_handle, "12345/new", [text(1, "DESC", "x")])


def test_an_identity_needs_a_valid_index_and_handle() -> None:
    made = build_identity(300, "12345/User")
    assert (made.id, made.name, made.identifier) == ("300:12345/User", "12345/User", "hdl:12345/User")
    with pytest.raises(InvalidName):
        build_identity(300, "nothing")
    with pytest.raises(InvalidInput):
        build_identity(-1, "12345/User")
