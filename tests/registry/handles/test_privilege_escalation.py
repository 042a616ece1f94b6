"""Privilege escalation: no agent becomes the administrator of a prefix by steps that look harmless one by one."""

import pytest
from tests.registry.handle_identities import (
    FULL,
    admin,
    handle_identity,
    pubkey,
    put_prefix_values,
    seckey,
    text,
    value_list,
)
from tests.registry_fixture import Office

from perdure.errors import NotAuthorised
from perdure.formats.import_entries import ImportPut
from perdure.records.value import Value
from perdure.registry import (
    Agent,
    ImportOptions,
    Statement,
    add_agent,
    add_values,
    delete_handle,
    delete_values,
    find_key_material,
    grant,
    import_entries,
    mint,
    put_handle,
    put_values,
    reinstate,
    withdraw,
)

CHIEF = "12345/CHIEF"  # trusted by the record of the prefix, and does not exist
ADMIN = "12345/ADMIN"  # trusted as well, and exists
ALL = "1" * 12
KEYS = {"secret": seckey(300, "mine"), "public key": pubkey(300), "list": value_list(300, ("77.T/jan", 0))}


@pytest.fixture
def house(office: Office) -> Office:
    office.prefix("12345", "chosen", case_sensitive=False)
    office.do(put_handle, ADMIN, [admin(100, ADMIN, 300), seckey(300, "theirs")])
    put_prefix_values(office, "12345", admin(300, CHIEF, 300, ALL), admin(301, ADMIN, 300, ALL))
    return office


def hire_jan(office: Office, *actions: str) -> Agent:
    jan = office.do(add_agent, "jan", "Jan", identifier="hdl:77.T/jan")
    office.do(grant, "jan", "12345", actions)
    return jan


def require_refusal(office: Office, by: Agent, act: object, *arguments: object) -> None:
    before = office.snapshot()
    with pytest.raises(NotAuthorised):
        office.by(by, act, *arguments)
    assert office.snapshot() == before


def import_values(office: Office, by: Agent, name: str, *values: Value) -> None:
    office.by(by, import_entries, [ImportPut(line=1, name=name, values=values)], ImportOptions(strict=True))


MAKING = {
    "Handle client": lambda office, by, value: office.by(by, put_handle, CHIEF, [value]),
    "mint": lambda office, by, value: office.by(
        by, mint, "12345", suffixes=["chief"], statement=Statement(values=(value,))
    ),
    "import": lambda office, by, value: import_values(office, by, CHIEF, value),
}


@pytest.mark.parametrize("way", MAKING)
@pytest.mark.parametrize("kind", KEYS)
def test_permission_to_create_a_record_does_not_allow_the_key_of_a_trusted_administrator(
    house: Office, way: str, kind: str
) -> None:
    jan = hire_jan(house, "import" if way == "import" else "mint")
    MAKING[way](house, jan, admin(100, "77.T/jan", 200, ALL))
    require_refusal(house, jan, put_values, CHIEF, [KEYS[kind]])
    require_refusal(house, jan, put_handle, CHIEF, [admin(100, "77.T/jan", 200, ALL), KEYS[kind]])
    if kind != "secret":  # which that API never accepts
        require_refusal(house, jan, add_values, CHIEF, [KEYS[kind]])
    house.by(jan, put_values, CHIEF, [text(1, "DESC", "to change what it says is another thing")])
    assert house.ask(find_key_material, 300, CHIEF).candidates == ()


def test_an_identity_that_may_only_create_cannot_set_the_key_of_an_administrator(house: Office) -> None:
    put_prefix_values(house, "12345", admin(302, "12345/WORKER", 300, "000000000001"))
    worker = handle_identity(300, "12345/WORKER")
    house.by(worker, put_handle, CHIEF, [admin(100, "12345/WORKER", 300, ALL)])
    for key in KEYS.values():
        require_refusal(house, worker, put_values, CHIEF, [key])
    house.by(worker, delete_handle, CHIEF)  # and again, once it was deleted
    house.by(worker, put_handle, CHIEF, [admin(100, "12345/WORKER", 300, ALL)])
    for key in KEYS.values():
        require_refusal(house, worker, put_values, CHIEF, [key])


def test_permission_to_transfer_a_record_does_not_allow_changing_its_keys(house: Office) -> None:
    jan = hire_jan(house, "transfer")
    house.by(jan, put_values, ADMIN, [admin(150, "77.T/jan", 200, ALL)])
    for key in KEYS.values():
        require_refusal(house, jan, put_values, ADMIN, [key])
        require_refusal(house, jan, put_handle, ADMIN, [admin(100, "77.T/jan", 200, ALL), key])
    require_refusal(house, jan, put_values, ADMIN, [seckey(301, "mine")])
    require_refusal(house, jan, delete_values, ADMIN, [300])
    house.by(jan, withdraw, ADMIN, "by the HS_ADMIN")
    require_refusal(house, jan, put_handle, ADMIN, [seckey(300, "mine")])
    require_refusal(house, jan, reinstate, ADMIN)


# One's own key


def test_the_holder_of_a_key_replaces_it(house: Office) -> None:
    """This also works for a holder who may change nothing else in the record."""
    house.do(put_handle, "12345/u", [seckey(300, "old"), pubkey(301, b"old"), text(1, "DESC", "a person")])
    house.by(handle_identity(300, "12345/U"), put_values, "12345/u", [seckey(300, "new")])
    house.by(handle_identity(301, "12345/u"), put_values, "12345/u", [pubkey(301, b"new")])
    assert house.ask(find_key_material, 300, "12345/u").secret == b"new"
    assert house.ask(find_key_material, 301, "12345/u").public_keys == (b"new",)


def test_the_holder_of_a_key_can_replace_no_other_value(house: Office) -> None:
    house.do(
        put_handle,
        "12345/u",
        [
            seckey(300, "a"),
            pubkey(301),
            value_list(302, ("12345/v", 1)),
            admin(100, "12345/u", 300),
            text(1, "DESC", "x"),
        ],
    )
    house.do(put_handle, "12345/v", [seckey(300, "b"), admin(100, "12345/u", 300)])
    user = handle_identity(300, "12345/u")
    for name, value in (
        ("12345/u", pubkey(300)),  # of another kind
        ("12345/u", value_list(300, ("12345/v", 1))),
        ("12345/u", pubkey(301, b"another's")),
        ("12345/u", value_list(302, ("12345/u", 300))),
        ("12345/u", seckey(303, "one more")),
        ("12345/v", seckey(300, "another's")),
    ):
        require_refusal(house, user, put_values, name, [value])
    for index in (300, 301, 302):
        require_refusal(house, user, delete_values, "12345/u", [index])
    require_refusal(house, handle_identity(0, "12345/u"), put_values, "12345/u", [seckey(300, "which of them?")])
    require_refusal(house, handle_identity(302, "12345/u"), put_values, "12345/u", [value_list(302, ("12345/u", 300))])
    require_refusal(house, handle_identity(301, "12345/u"), put_values, "12345/u", [text(1, "DESC", "y")])
    require_refusal(
        house, house.do(add_agent, "u", "U", identifier="hdl:12345/u"), put_values, "12345/u", [pubkey(301, b"y")]
    )


def test_an_identity_cannot_replace_a_key_without_write_permission(house: Office) -> None:
    house.do(put_handle, "12345/u", [seckey(300, "old", "1000"), admin(100, "12345/u", 300, FULL)])
    require_refusal(house, handle_identity(300, "12345/u"), put_values, "12345/u", [seckey(300, "new", "1000")])
