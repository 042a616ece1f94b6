"""Attempts of an agent with one small permission to administer a prefix, or to act as another agent."""

import re

import httpx
import pytest
from tests.http.handle_server import (
    ADMIN,
    EVERYTHING,
    PREFIX,
    HandleOffice,
    administrator,
    basic,
    code,
    text,
)

ANY = {"If-Match": "*"}
MINE = text(300, "HS_SECKEY", "mine", permissions="1100")


def hire_agent(office: HandleOffice, id: str, scope: str, *actions: str) -> tuple[httpx.Client, str]:
    """Create an agent with these grants. Return a client with its key, and its handle."""
    office.server.perdure("agent", "add", id, "--name", id.title())
    key = re.search(r"perdure_\S+", office.server.perdure("agent", "key", id))
    office.server.perdure("agent", "grant", id, scope, *actions)
    row = next(line for line in office.server.perdure("agent", "list").splitlines() if line.startswith(f"{id}\t"))
    assert key
    return office.server.client(key[0]), row.split("\t")[2].removeprefix("hdl:")


def test_permission_to_mint_does_not_allow_creating_the_handle_of_an_administrator(office: HandleOffice) -> None:
    chief = f"{PREFIX}/CHIEF"
    assert (
        code(office.put(f"0.NA/{PREFIX}", administrator(102, chief, 300, EVERYTHING), office.key, index=102))[0] == 201
    )
    minter, name = hire_agent(office, "minter", PREFIX, "mint")
    with minter:
        assert code(office.put(chief, [MINE], minter))[0] == 403
        assert code(office.put(chief, [administrator(100, name, 200, EVERYTHING)], minter)) == (201, 1)
        assert code(office.put(chief, [MINE], minter, index=300))[0] == 403
        listed = {
            "index": 300,
            "type": "HS_VLIST",
            "data": {"format": "vlist", "value": [{"handle": name, "index": 0}]},
        }
        assert minter.post(f"/api/v1/values/{chief}", headers=ANY, json={"values": [listed]}).status_code == 403
    with httpx.Client(base_url=office.server.url, headers=basic(300, chief, "mine")) as impostor:
        refused = office.put(f"0.NA/{PREFIX}", administrator(103, chief, 300, EVERYTHING), impostor, index=103)
        assert refused.status_code == 401


def test_permission_to_transfer_does_not_allow_changing_a_password(office: HandleOffice) -> None:
    mover, name = hire_agent(office, "mover", PREFIX, "transfer")
    with mover:
        assert code(office.put(ADMIN, [administrator(150, name, 200, EVERYTHING)], mover, index=150)) == (201, 1)
        assert code(office.put(ADMIN, [MINE], mover, index=300))[0] == 403
    assert code(office.put(ADMIN, [administrator()], index=100)) == (200, 1)  # the password is what it was


def test_the_owner_of_a_password_can_change_it(office: HandleOffice) -> None:
    name = f"{PREFIX}/USER"
    assert code(office.put(name, [text(300, "HS_SECKEY", "old", permissions="1100")], office.key)) == (201, 1)
    with httpx.Client(base_url=office.server.url, headers=basic(300, name, "old")) as user:
        assert code(office.put(name, [text(300, "HS_SECKEY", "new", permissions="1100")], user, index=300)) == (200, 1)
        assert office.put(name, [MINE], user, index=300).status_code == 401
    with httpx.Client(base_url=office.server.url, headers=basic(300, name, "new")) as user:
        assert code(office.put(name, [MINE], user, index=300)) == (200, 1)


def test_the_rest_api_does_not_withdraw_the_record_of_a_prefix(office: HandleOffice) -> None:
    for client in (office.admin, office.key):
        answer = client.delete(f"/api/v1/identifiers/0.NA/{PREFIX}", params={"reason": "x"}, headers=ANY)
        assert (answer.status_code, answer.json()["code"]) == (409, "immutable")
    office.make(text(1, "URL", "https://example.org/"))


@pytest.mark.parametrize("kind", ["CREATOR", "CREATION_DATE"])
def test_the_rest_api_accepts_no_other_origin(office: HandleOffice, kind: str) -> None:
    name = office.make(text(1, "URL", "https://example.org/"))
    forged = text(195, f"102.100.TYPE/{kind}", "1999-01-01T00:00:00Z")
    answer = office.key.post(f"/api/v1/values/{name}", headers=ANY, json={"values": [forged]})
    assert (answer.status_code, answer.json()["part"]) == (422, "values[195].data")
    values = office.values(name, type=f"102.100.TYPE/{kind}")
    assert 195 not in values
    assert len(values) == 1


def test_permission_to_derive_everywhere_does_not_allow_a_prefix_without_a_parent(office: HandleOffice) -> None:
    deriver, _ = hire_agent(office, "deriver", "*", "derive")
    with deriver:
        assert code(deriver.post("/api/prefixes/0.NA/99999"))[0] == 403
        assert code(deriver.post(f"/api/prefixes/0.NA/{PREFIX}.1")) == (201, 1)
