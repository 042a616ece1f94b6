"""Secrets and keys of Handle clients: kept sealed, shown to nobody, and gone the moment they are taken back."""

import pytest
from tests.registry.handle_people import admin, pubkey, seckey, state, text, who
from tests.registry_fixture import Office

from perdure.errors import InvalidInput, InvalidName, NotAuthorised
from perdure.exchange.entry import Edit
from perdure.records import record as records
from perdure.records.value import Text
from perdure.registry import (
    Options,
    Statement,
    add_values,
    delete_handle,
    delete_values,
    export,
    history,
    import_entries,
    key_material,
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
from perdure.registry.handles import identity

WORD = "correct-horse-battery"
USER = "12345/USER"
KEY = "12345/user"


@pytest.fixture
def keyed(office: Office) -> Office:
    office.prefix("12345", "chosen", case_sensitive=False)
    office.do(put_handle, USER, [text(1, "DESC", "a user"), seckey(300, WORD), admin(100, USER, 300)])
    return office


def secret(office: Office, index: int = 300, name: str = USER) -> bytes | None:
    return office.ask(key_material, index, name).secret


def sealed(office: Office) -> list[tuple[str, int]]:
    return [(key, index) for key, index, _ in office.read(lambda reader: reader.secrets())]


def test_a_secret_comes_back_for_checking_only(keyed: Office) -> None:
    found = keyed.ask(key_material, 300, "12345/user")
    assert found.secret == WORD.encode()
    assert (found.identity.id, found.identity.index, found.public_keys) == ("300:12345/user", 300, ())
    assert WORD not in repr(found)
    assert WORD not in repr(found.candidates)


def test_a_secret_is_nowhere_else(keyed: Office) -> None:
    keyed.do(put_values, USER, [seckey(300, WORD + "-2")])
    for by in (None, keyed.admin, who(300, USER)):
        view = keyed.ask(read_handle, USER, by=by, wants_all=True)
        assert WORD not in repr(view)
        assert WORD not in repr(keyed.ask(show, USER, by=by))
        assert WORD not in repr(keyed.ask(history, USER, by=by))
    assert WORD not in repr(keyed.everything())
    shown = next(value for value in keyed.ask(read_handle, USER, by=who(300, USER), wants_all=True).values if value.index == 300)  # fmt: skip
    assert (shown.data, shown.permissions) == (Text(""), "1100")
    assert keyed.ask(read_handle, USER).withheld == 1
    for one in ("ndjson", "csv", "batch", "handles"):

        async def written(one: str = one) -> bytes:
            return b"".join([part async for _, part in export(keyed.registry, keyed.admin, one)])

        assert WORD.encode() not in keyed.run(written())
    _, _, raw = keyed.read(lambda reader: reader.secrets())[0]
    assert WORD.encode() not in raw


def test_a_new_secret_makes_a_version_even_within_the_same_second(keyed: Office) -> None:
    assert keyed.by(who(300, USER), put_values, USER, [seckey(300, "another")]).version == 2
    assert secret(keyed) == b"another"
    assert keyed.by(who(300, USER), put_values, USER, [seckey(300, b"\x00\xff")]).version == 3
    assert secret(keyed) == b"\x00\xff"
    keyed.clock.step(60)
    keyed.by(who(300, USER), put_values, USER, [seckey(300, b"\x00\xff")])
    assert [value.timestamp for value in _kept(keyed) if value.index == 300] == ["2027-01-15T08:01:00Z"]


def _kept(office: Office) -> tuple:
    return records.decode(office.read(lambda reader: reader.find(KEY)).record).values


def test_what_a_client_was_shown_of_a_secret_does_not_change_it(keyed: Office) -> None:
    shown = keyed.ask(read_handle, USER, by=who(300, USER), wants_all=True).values
    assert keyed.by(who(300, USER), put_handle, USER, shown).version == 1
    keyed.by(who(300, USER), put_handle, USER, [*shown, text(2, "DESC", "more")])
    assert secret(keyed) == WORD.encode()


@pytest.mark.parametrize("permissions", ["1111", "1110", "1101"])
def test_a_secret_is_never_public(keyed: Office, permissions: str) -> None:
    keyed.do(put_handle, "12345/other", [seckey(300, WORD, permissions)])
    shown = keyed.ask(read_handle, "12345/other", by=keyed.admin, wants_all=True).values
    assert next(value for value in shown if value.index == 300).permissions == "1100"


@pytest.mark.parametrize("bad", ["", b"", "x" * 1025, b"x" * 1025, "\ud800"], ids=repr)
def test_a_secret_has_1_to_1024_bytes(keyed: Office, bad: str | bytes) -> None:
    with pytest.raises(InvalidInput) as refusal:
        keyed.do(put_values, USER, [seckey(301, bad)])
    assert refusal.value.part == "values[301].data"
    assert "xxx" not in str(refusal.value)
    keyed.do(put_values, USER, [seckey(301, b"x" * 1024)])


def test_an_error_does_not_repeat_a_secret(keyed: Office) -> None:
    for values in (
        [seckey(300, WORD), seckey(300, WORD)],
        [seckey(300, WORD), text(1, "URL", "javascript:x")],
        [seckey(0, WORD)],
        [seckey(300, WORD, "11")],
    ):
        with pytest.raises(Exception) as refusal:  # noqa: PT011
            keyed.do(put_values, USER, values)
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
    "batch remove": lambda office: _batch(office, Edit(line=1, name=USER, act="remove", indexes=(300,))),
    "batch delete": lambda office: _batch(office, Edit(line=1, name=USER, act="delete")),
}


def _batch(office: Office, entry: Edit) -> None:
    assert office.do(import_entries, [entry], Options(update=True)).changed == 1


@pytest.mark.parametrize("way", TAKING_BACK)
def test_a_secret_goes_with_its_value(keyed: Office, way: str) -> None:
    TAKING_BACK[way](keyed)
    assert secret(keyed) is None
    assert sealed(keyed) == []
    assert keyed.ask(verify) == []


def test_a_secret_does_not_come_back_with_its_handle(keyed: Office) -> None:
    keyed.do(withdraw, USER, "compromised")
    keyed.do(reinstate, USER)
    assert [value.type for value in _kept(keyed)] == ["DESC", "HS_ADMIN", "HS_SECKEY"]
    assert secret(keyed) is None
    keyed.do(put_values, USER, [seckey(300, "new")])
    assert secret(keyed) == b"new"


def test_other_changes_leave_a_secret_alone(keyed: Office) -> None:
    keyed.hire("jan")
    keyed.do(update, USER, Statement(values=(text(2, "DESC", "x"),)))
    keyed.do(transfer_identifiers, [USER], "jan")
    keyed.do(delete_values, USER, [1])
    assert secret(keyed) == WORD.encode()


@pytest.mark.parametrize("door", [add_values, put_values])
def test_other_doors_take_no_secret(keyed: Office, door: object) -> None:
    value = seckey(301, WORD)
    if door is add_values:
        with pytest.raises(InvalidInput, match="secret"):
            keyed.do(add_values, USER, [value])
        keyed.do(add_values, USER, [seckey(301, "")])
        assert secret(keyed, 301) is None
        with pytest.raises(InvalidInput):
            keyed.do(add_values, USER, [seckey(302, "", "1110")])
    else:
        keyed.do(put_values, USER, [value])
        assert secret(keyed, 301) == WORD.encode()


def test_a_secret_is_changed_by_who_administers_and_nobody_else(keyed: Office) -> None:
    keyed.do(put_values, USER, [admin(101, "12345/helper", 300, "000001110000")])
    jan = keyed.hire("jan", "12345", "edit", "mint", "transfer", "withdraw", "import")
    for by in (jan, who(300, "12345/helper"), who(301, USER)):
        for act in (
            lambda by=by: keyed.by(by, put_values, USER, [seckey(300, "mine")]),
            lambda by=by: keyed.by(by, delete_values, USER, [300]),
        ):
            with pytest.raises(NotAuthorised):
                act()
    assert secret(keyed) == WORD.encode()


# Whose keys


def test_public_keys_come_as_they_were_written(keyed: Office) -> None:
    keyed.do(put_values, USER, [pubkey(301, b"key of 301"), pubkey(302, b"key of 302")])
    assert keyed.ask(key_material, 301, USER).public_keys == (b"key of 301",)
    assert keyed.ask(key_material, 301, USER).secret is None
    assert keyed.ask(key_material, 303, USER).candidates == ()


def test_without_an_index_every_key_proves_its_own_identity(keyed: Office) -> None:
    """The holder of one key of a handle must not pass for the holder of another."""
    assert keyed.ask(key_material, 0, USER).identity.index == 300  # it has only one
    keyed.do(put_values, USER, [pubkey(301, b"key of 301"), seckey(302, "second")])
    found = keyed.ask(key_material, 0, USER)
    assert found.identity.index == 0
    assert [(one.identity.id, one.secret, one.public_keys) for one in found.candidates] == [
        (f"300:{USER}", WORD.encode(), ()),
        (f"301:{USER}", None, (b"key of 301",)),
        (f"302:{USER}", b"second", ()),
    ]


@pytest.mark.parametrize("name", ["12345/nobody", "777/x", "0.NA/12345", "0.NA/nothing"])
def test_who_is_not_there_has_no_keys(keyed: Office, name: str) -> None:
    found = keyed.ask(key_material, 300, name)
    assert (found.secret, found.public_keys, found.candidates) == (None, (), ())


def test_the_record_of_a_prefix_can_have_keys(keyed: Office) -> None:
    state(keyed, "12345", pubkey(300, b"key"), seckey(301, WORD), admin(302, "0.NA/12345", 300, "1" * 12))
    assert keyed.ask(key_material, 300, "0.na/12345").public_keys == (b"key",)
    assert secret(keyed, 301, "0.NA/12345") == WORD.encode()
    keyed.by(who(300, "0.NA/12345"), put_handle, "12345/new", [text(1, "DESC", "x")])


def test_an_identity_is_well_formed() -> None:
    made = identity(300, "12345/User")
    assert (made.id, made.name, made.identifier) == ("300:12345/User", "12345/User", "hdl:12345/User")
    with pytest.raises(InvalidName):
        identity(300, "nothing")
    with pytest.raises(InvalidInput):
        identity(-1, "12345/User")
