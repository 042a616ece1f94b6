"""Agents, keys and grants over the API."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.person_client import ANY

AGENTS = "/api/v1/agents"
SOON, LATER = "2098-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
_numbers = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with run_server(tmp_path_factory.mktemp("agents") / "registry") as one:
        one.perdure("prefix", "add", "12345", "--minter", "chosen")
        yield one


@pytest.fixture
def admin(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client() as one:
        yield one


@pytest.fixture
def agent(admin: httpx.Client) -> str:
    """Add an agent, and return its id."""
    new = f"agent-{next(_numbers)}"
    added = admin.post(AGENTS, json={"id": new, "name": "Maria Silva"})
    assert added.status_code == 201, added.text
    assert added.headers["location"] == f"{AGENTS}/{new}"
    return new


def acting_as(server: LiveServer, admin: httpx.Client, agent: str, **fields: str) -> httpx.Client:
    """Return a client with a new key of the agent."""
    key = admin.post(f"{AGENTS}/{agent}/keys", json=fields).json()["key"]
    return server.client(key)


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_an_agent_is_added_shown_and_listed(admin: httpx.Client, agent: str) -> None:
    shown = admin.get(f"{AGENTS}/{agent}").json()
    assert (shown["id"], shown["name"], shown["kind"], shown["grants"]) == (agent, "Maria Silva", "person", [])
    described = admin.get(f"/api/v1/identifiers/{shown['identifier'].removeprefix('hdl:')}").json()
    assert described["values"][0]["data"]["value"] == "Maria Silva"
    listed = admin.get(AGENTS).json()["agents"]
    assert shown in listed
    assert [one["id"] for one in listed] == sorted(one["id"] for one in listed)


def test_the_list_has_pages(admin: httpx.Client, agent: str) -> None:
    everyone = [one["id"] for one in admin.get(AGENTS).json()["agents"]]
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = admin.get(AGENTS, params={"limit": 1, "after": after}).json()
        seen += [one["id"] for one in page["agents"]]
        after = page.get("next")
    assert seen == everyone


def test_a_new_key_is_shown_once_and_works_at_once(server: LiveServer, admin: httpx.Client, agent: str) -> None:
    made = admin.post(f"{AGENTS}/{agent}/keys", json={"label": "laptop", "expires": SOON})
    assert made.status_code == 201
    assert "no-store" in made.headers["cache-control"]
    fields = made.json()
    secret = fields.pop("key")
    assert (fields["agent"], fields["label"], fields["expires"]) == (agent, "laptop", SOON)
    with server.client(secret) as client:
        assert client.get(f"{AGENTS}/me").json()["id"] == agent
        assert client.get(f"{AGENTS}/me/keys").json()["keys"] == [fields]
    assert secret not in admin.get(f"{AGENTS}/{agent}/keys").text


def test_a_revoked_key_stops_working_at_once(server: LiveServer, admin: httpx.Client, agent: str) -> None:
    with acting_as(server, admin, agent) as client:
        [key] = client.get(f"{AGENTS}/me/keys").json()["keys"]
        assert code(admin.delete(f"{AGENTS}/admin/keys/{key['id']}")) == (404, "no-such-agent")
        revoked = client.delete(f"{AGENTS}/me/keys/{key['id']}")
        assert revoked.status_code == 200
        assert revoked.json()["revoked"] is not None
        assert client.get(f"{AGENTS}/me").status_code == 401


def test_a_key_that_ends_makes_none_that_does_not(server: LiveServer, admin: httpx.Client, agent: str) -> None:
    admin.post(f"{AGENTS}/{agent}/grants", json={"scope": "*", "actions": ["admin"], "until": LATER})
    with acting_as(server, admin, agent, expires=SOON) as client:
        for whose in ("me", "admin"):
            assert code(client.post(f"{AGENTS}/{whose}/keys", json={"expires": LATER})) == (422, "out-of-range")
        assert client.post(f"{AGENTS}/me/keys", json={}).json()["expires"] == SOON
        lasting = {"scope": "12345", "actions": ["mint"], "until": LATER}
        assert code(client.post(f"{AGENTS}/{agent}/grants", json=lasting)) == (422, "out-of-range")


def test_grants_are_given_and_withdrawn(server: LiveServer, admin: httpx.Client, agent: str) -> None:
    given = admin.post(f"{AGENTS}/{agent}/grants", json={"scope": "12345", "actions": ["mint", "edit"], "own": True})
    assert [(one["scope"], one["action"], one["own"], one["given_by"]) for one in given.json()["grants"]] == [
        ("12345", "mint", True, "admin"), ("12345", "edit", True, "admin"),
    ]  # fmt: skip
    assert {one["action"] for one in admin.get(f"{AGENTS}/{agent}/grants").json()["grants"]} == {"mint", "edit"}
    gone = admin.delete(f"{AGENTS}/{agent}/grants", params={"scope": "12345", "action": ["mint"]})
    assert gone.json() == {"revoked": 1}
    assert admin.delete(f"{AGENTS}/{agent}/grants", params={"scope": "12345"}).json() == {"revoked": 1}
    assert admin.get(f"{AGENTS}/{agent}/grants").json()["grants"] == []


def test_the_last_administrator_stays(admin: httpx.Client) -> None:
    assert code(admin.delete(f"{AGENTS}/me/grants", params={"scope": "*"})) == (409, "conflict")
    assert code(admin.post(f"{AGENTS}/me/retire", json={"reason": "x"}, headers=ANY)) == (409, "conflict")


def test_a_rename_needs_the_tag_of_the_current_state(admin: httpx.Client, agent: str) -> None:
    path = f"{AGENTS}/{agent}"
    tag = admin.get(path).headers["etag"]
    assert code(admin.patch(path, json={"name": "Maria Costa"})) == (428, "precondition-needed")
    renamed = admin.patch(path, json={"name": "Maria Costa"}, headers={"If-Match": tag})
    assert (renamed.status_code, renamed.json()["name"]) == (200, "Maria Costa")
    assert renamed.headers["etag"] == admin.get(path).headers["etag"] != tag
    assert code(admin.patch(path, json={"name": "Maria"}, headers={"If-Match": tag})) == (412, "conflict")
    described = admin.get(f"/api/v1/identifiers/{renamed.json()['identifier'].removeprefix('hdl:')}").json()
    assert described["values"][0]["data"]["value"] == "Maria Costa"


def test_a_retired_agent_is_locked_out_until_it_is_reinstated(
    server: LiveServer, admin: httpx.Client, agent: str
) -> None:
    path = f"{AGENTS}/{agent}"
    admin.post(f"{path}/grants", json={"scope": "12345", "actions": ["mint"]})
    with acting_as(server, admin, agent) as client:
        tag = admin.get(path).headers["etag"]
        retired = admin.post(f"{path}/retire", json={"reason": "left"}, headers={"If-Match": tag})
        assert retired.status_code == 200
        assert retired.json()["retired"]
        assert retired.json()["grants"] == []
        assert retired.headers["etag"] == admin.get(path).headers["etag"]
        assert client.get(f"{AGENTS}/me").status_code == 401
        for refused in (
            admin.post(f"{path}/keys", json={}),
            admin.post(f"{path}/grants", json={"scope": "12345", "actions": ["mint"]}),
        ):
            assert code(refused) == (422, "invalid-input")
        assert code(admin.post(f"{path}/retire", json={"reason": "left"}, headers=ANY)) == (409, "wrong-state")
        back = admin.post(f"{path}/reinstate", headers={"If-Match": retired.headers["etag"]})
        assert back.status_code == 200
        assert "retired" not in back.json()
        assert client.get(f"{AGENTS}/me").status_code == 401
        assert code(admin.post(f"{path}/reinstate", headers=ANY)) == (409, "wrong-state")


def test_administrators_of_a_prefix_see_agents_but_not_their_keys(
    server: LiveServer, admin: httpx.Client, agent: str
) -> None:
    with acting_as(server, admin, agent) as client:
        assert client.get(f"{AGENTS}/{agent}").status_code == client.get(f"{AGENTS}/{agent}/keys").status_code == 200
        assert client.get(AGENTS).status_code == client.get(f"{AGENTS}/admin").status_code == 403
        admin.post(f"{AGENTS}/{agent}/grants", json={"scope": "12345", "actions": ["admin"]})
        assert client.get(AGENTS).status_code == client.get(f"{AGENTS}/admin/grants").status_code == 200
        assert client.get(f"{AGENTS}/admin/keys").status_code == 403


@pytest.mark.parametrize("path", ["", "/admin", "/me", "/me/keys", "/admin/keys", "/admin/grants"])
def test_anonymous_clients_see_no_agents(server: LiveServer, path: str) -> None:
    with server.client("") as client:
        assert client.get(f"{AGENTS}{path}").status_code == 401


@pytest.mark.parametrize(
    ("path", "body", "part"),
    [
        ("", {"id": "Maria", "name": "x"}, "id"),
        ("", {"id": "me", "name": "x"}, "agent"),
        ("", {"id": "someone", "name": "two\nlines"}, "name"),
        ("/admin/keys", {"expires": "tomorrow"}, "expires"),
        ("/admin/keys", {"expires": "2020-01-01T00:00:00Z"}, "expires"),
        ("/admin/grants", {"scope": "12345", "actions": []}, "actions"),
        ("/admin/grants", {"scope": "12345", "actions": ["fly"]}, "actions[0]"),
    ],
)
def test_a_wrong_field_is_named(admin: httpx.Client, path: str, body: dict[str, Any], part: str) -> None:
    refused = admin.post(f"{AGENTS}{path}", json=body)
    assert (refused.status_code, refused.json()["part"]) == (422, part)


def test_unknown_agents_keys_and_prefixes_are_not_found(admin: httpx.Client) -> None:
    for answer in (
        admin.get(f"{AGENTS}/nobody-here"),
        admin.patch(f"{AGENTS}/nobody-here", json={"name": "x"}, headers=ANY),
        admin.post(f"{AGENTS}/nobody-here/keys", json={}),
        admin.delete(f"{AGENTS}/admin/keys/000000000000"),
        admin.post(f"{AGENTS}/admin/grants", json={"scope": "99999", "actions": ["mint"]}),
    ):
        assert answer.status_code == 404


def test_a_new_key_is_not_logged(tmp_path: Path) -> None:
    with run_server(tmp_path / "registry", "--access-log") as server, server.client() as client:
        secret = client.post(f"{AGENTS}/me/keys", json={}).json()["key"]
        server.stop()
        log = (server.folder / "server.log").read_text()
    assert f"{AGENTS}/me/keys" in log
    assert secret.rpartition("_")[2] not in log
