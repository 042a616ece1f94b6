"""Nobody becomes the administrator of a prefix step by step, though each of the steps alone looks harmless."""

import pytest
from tests.registry.handle_people import FULL, admin, listing, pubkey, seckey, state, text, who
from tests.registry_fixture import Office

from perdure.errors import NotAuthorised
from perdure.exchange.entry import Put
from perdure.records.value import Value
from perdure.registry import (
    Agent,
    Options,
    Statement,
    add_agent,
    add_values,
    delete_handle,
    delete_values,
    grant,
    import_entries,
    key_material,
    mint,
    put_handle,
    put_values,
    reinstate,
    withdraw,
)

CHIEF = "12345/CHIEF"  # whom the record of the prefix trusts, and who is not there
ADMIN = "12345/ADMIN"  # whom it trusts as well, and who is
ALL = "1" * 12
KEYS = {"secret": seckey(300, "mine"), "public key": pubkey(300), "list": listing(300, ("77.T/jan", 0))}


@pytest.fixture
def house(office: Office) -> Office:
    office.prefix("12345", "chosen", case_sensitive=False)
    office.do(put_handle, ADMIN, [admin(100, ADMIN, 300), seckey(300, "theirs")])
    state(office, "12345", admin(300, CHIEF, 300, ALL), admin(301, ADMIN, 300, ALL))
    return office


def hired(office: Office, *actions: str) -> Agent:
    jan = office.do(add_agent, "jan", "Jan", identifier="hdl:77.T/jan")
    office.do(grant, "jan", "12345", actions)
    return jan


def refused(office: Office, by: Agent, act: object, *arguments: object) -> None:
    before = office.everything()
    with pytest.raises(NotAuthorised):
        office.by(by, act, *arguments)
    assert office.everything() == before


def imported(office: Office, by: Agent, name: str, *values: Value) -> None:
    office.by(by, import_entries, [Put(line=1, name=name, values=values)], Options(strict=True))


MAKING = {
    "Handle client": lambda office, by, value: office.by(by, put_handle, CHIEF, [value]),
    "mint": lambda office, by, value: office.by(by, mint, "12345", suffixes=["chief"], said=Statement(values=(value,))),
    "import": lambda office, by, value: imported(office, by, CHIEF, value),
}


@pytest.mark.parametrize("way", MAKING)
@pytest.mark.parametrize("kind", KEYS)
def test_who_may_make_a_record_does_not_make_the_key_of_somebody_who_is_trusted(
    house: Office, way: str, kind: str
) -> None:
    jan = hired(house, "import" if way == "import" else "mint")
    MAKING[way](house, jan, admin(100, "77.T/jan", 200, ALL))
    refused(house, jan, put_values, CHIEF, [KEYS[kind]])
    refused(house, jan, put_handle, CHIEF, [admin(100, "77.T/jan", 200, ALL), KEYS[kind]])
    if kind != "secret":  # which that door takes from nobody
        refused(house, jan, add_values, CHIEF, [KEYS[kind]])
    house.by(jan, put_values, CHIEF, [text(1, "DESC", "to change what it says is another thing")])
    assert house.ask(key_material, 300, CHIEF).candidates == ()


def test_nor_does_an_identity_that_may_only_create(house: Office) -> None:
    state(house, "12345", admin(302, "12345/WORKER", 300, "000000000001"))
    worker = who(300, "12345/WORKER")
    house.by(worker, put_handle, CHIEF, [admin(100, "12345/WORKER", 300, ALL)])
    for key in KEYS.values():
        refused(house, worker, put_values, CHIEF, [key])
    house.by(worker, delete_handle, CHIEF)  # and again, once it was deleted
    house.by(worker, put_handle, CHIEF, [admin(100, "12345/WORKER", 300, ALL)])
    for key in KEYS.values():
        refused(house, worker, put_values, CHIEF, [key])


def test_who_may_hand_over_a_record_does_not_get_at_its_keys(house: Office) -> None:
    jan = hired(house, "transfer")
    house.by(jan, put_values, ADMIN, [admin(150, "77.T/jan", 200, ALL)])
    for key in KEYS.values():
        refused(house, jan, put_values, ADMIN, [key])
        refused(house, jan, put_handle, ADMIN, [admin(100, "77.T/jan", 200, ALL), key])
    refused(house, jan, put_values, ADMIN, [seckey(301, "mine")])
    refused(house, jan, delete_values, ADMIN, [300])
    house.by(jan, withdraw, ADMIN, "by the HS_ADMIN")
    refused(house, jan, put_handle, ADMIN, [seckey(300, "mine")])
    refused(house, jan, reinstate, ADMIN)


# One's own key


def test_the_holder_of_a_key_puts_another_in_its_place(house: Office) -> None:
    """Also who may change nothing else of the record."""
    house.do(put_handle, "12345/u", [seckey(300, "old"), pubkey(301, b"old"), text(1, "DESC", "a person")])
    house.by(who(300, "12345/U"), put_values, "12345/u", [seckey(300, "new")])
    house.by(who(301, "12345/u"), put_values, "12345/u", [pubkey(301, b"new")])
    assert house.ask(key_material, 300, "12345/u").secret == b"new"
    assert house.ask(key_material, 301, "12345/u").public_keys == (b"new",)


def test_and_nothing_else(house: Office) -> None:
    house.do(
        put_handle,
        "12345/u",
        [seckey(300, "a"), pubkey(301), listing(302, ("12345/v", 1)), admin(100, "12345/u", 300), text(1, "DESC", "x")],
    )
    house.do(put_handle, "12345/v", [seckey(300, "b"), admin(100, "12345/u", 300)])
    user = who(300, "12345/u")
    for name, value in (
        ("12345/u", pubkey(300)),  # of another kind
        ("12345/u", listing(300, ("12345/v", 1))),
        ("12345/u", pubkey(301, b"another's")),
        ("12345/u", listing(302, ("12345/u", 300))),
        ("12345/u", seckey(303, "one more")),
        ("12345/v", seckey(300, "another's")),
    ):
        refused(house, user, put_values, name, [value])
    for index in (300, 301, 302):
        refused(house, user, delete_values, "12345/u", [index])
    refused(house, who(0, "12345/u"), put_values, "12345/u", [seckey(300, "which of them?")])
    refused(house, who(302, "12345/u"), put_values, "12345/u", [listing(302, ("12345/u", 300))])
    refused(house, who(301, "12345/u"), put_values, "12345/u", [text(1, "DESC", "y")])
    refused(house, house.do(add_agent, "u", "U", identifier="hdl:12345/u"), put_values, "12345/u", [pubkey(301, b"y")])


def test_a_key_that_administrators_may_not_write_is_left_to_others(house: Office) -> None:
    house.do(put_handle, "12345/u", [seckey(300, "old", "1000"), admin(100, "12345/u", 300, FULL)])
    refused(house, who(300, "12345/u"), put_values, "12345/u", [seckey(300, "new", "1000")])
