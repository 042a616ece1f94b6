"""Endpoints other than records: lists, prefixes, the site, sessions, verifications and reverse look-up."""

import json
from base64 import b64decode, b64encode
from hashlib import sha1, sha256
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from tests.http.handle_server import (
    ADMIN,
    INDEX,
    PASSWORD,
    HandleOffice,
    administrator,
    basic,
    code,
    handle_office,
    text,
)

from perdure.records import site

CNONCE = bytes(range(16))
IDENTITY = f"{INDEX}:{ADMIN}"


@pytest.fixture(scope="module")
def listed_handles(office: HandleOffice) -> list[str]:
    assert code(office.key.post("/api/prefixes/0.NA/21.T5")) == (201, 1)
    names = [f"21.T5/{letter}" for letter in "aBc"]
    for name in names:
        assert code(office.put(name, [administrator()], office.key)) == (201, 1)
    office.put("21.T5/gone", [administrator()], office.key)
    office.key.delete("/api/handles/21.T5/gone")
    return names


def test_the_handles_of_a_prefix_are_listed_in_pages(office: HandleOffice, listed_handles: list[str]) -> None:
    for prefix in ("21.T5", "0.NA/21.T5"):
        body = office.key.get("/api/handles", params={"prefix": prefix}).json()
        assert list(body) == ["responseCode", "prefix", "totalCount", "page", "pageSize", "handles"]
        assert (body["responseCode"], body["prefix"], body["totalCount"]) == (1, prefix, "3")
        assert sorted(body["handles"]) == sorted(listed_handles)
        assert (body["page"], body["pageSize"]) == (0, -1)
    pages = [
        office.key.get("/api/handles", params={"prefix": "21.T5", "page": page, "pageSize": 2}).json()
        for page in range(3)
    ]
    assert [len(page["handles"]) for page in pages] == [2, 1, 0]
    assert sorted(pages[0]["handles"] + pages[1]["handles"]) == sorted(listed_handles)
    assert [page["totalCount"] for page in pages] == ["3", "3", "3"]


def test_a_page_of_size_0_has_only_the_count(office: HandleOffice, listed_handles: list[str]) -> None:
    body = office.key.get("/api/handles/", params={"prefix": "21.T5", "page": 0, "pageSize": 0}).json()
    assert (body["totalCount"], body["handles"]) == (str(len(listed_handles)), [])
    assert office.key.post("/api/handles", data={"prefix": "21.T5", "pageSize": "0"}).json() == body


@pytest.mark.parametrize(
    "paging", [{}, {"page": 0}, {"pageSize": 1}, {"page": -1, "pageSize": 1}, {"page": 1, "pageSize": -1}]
)
def test_without_a_page_or_its_size_everything_is_listed(
    office: HandleOffice, listed_handles: list[str], paging: dict[str, int]
) -> None:
    handles = office.key.get("/api/handles", params={"prefix": "21.T5", **paging})
    assert sorted(handles.json()["handles"]) == sorted(listed_handles)
    assert (handles.json()["totalCount"], handles.headers["content-type"]) == ("3", "application/json;charset=utf-8")
    assert office.key.post("/api/handles", json={"prefix": "21.T5", **paging}).content == handles.content
    prefixes = office.key.get("/api/prefixes", params=paging).json()
    assert prefixes["totalCount"] == str(len(prefixes["prefixes"]))
    assert "0.NA/21.T5" in prefixes["prefixes"]


def test_a_page_may_be_larger_than_the_server_holds_in_memory(office: HandleOffice, listed_handles: list[str]) -> None:
    for page, expected in ((0, sorted(listed_handles)), (1, []), (9_999_999_999, [])):
        parameters = {"prefix": "21.T5", "page": page, "pageSize": 9_999_999_999}
        body = office.key.get("/api/handles", params=parameters).json()
        assert sorted(body["handles"]) == expected
        assert (body["totalCount"], body["pageSize"]) == ("3", 9_999_999_999)
        prefixes = office.key.get("/api/prefixes", params=parameters).json()
        assert bool(prefixes["prefixes"]) is (page == 0)


def test_a_complete_list_can_be_indented_and_has_no_body_for_head(
    office: HandleOffice, listed_handles: list[str]
) -> None:
    office.key.post("/api/prefixes/0.NA/21.T55")
    for parameters in ({"prefix": "21.T5"}, {"prefix": "21.T55"}):
        plain = office.key.get("/api/handles", params=parameters)
        pretty = office.key.get("/api/handles", params=parameters | {"pretty": "true"})
        assert pretty.text == json.dumps(plain.json(), indent=2)
    head = office.key.head("/api/handles", params={"prefix": "21.T5"})
    assert (head.status_code, head.content) == (200, b"")
    assert office.key.head("/api/handles", params={"prefix": "20.9"}).status_code == 400


def test_lists_need_credentials_and_a_registered_prefix(office: HandleOffice) -> None:
    assert code(office.anonymous.get("/api/handles", params={"prefix": "21.T5"})) == (401, 402)
    assert code(office.anonymous.get("/api/prefixes")) == (401, 402)
    assert code(office.key.get("/api/handles", params={"prefix": "20.9"})) == (400, 301)
    for wrong in ({"page": "x"}, {"pageSize": "many"}, {"page": "0", "pageSize": "1" * 11}):
        assert code(office.key.get("/api/handles", params={"prefix": "21.T5", **wrong})) == (400, 4)


def test_a_prefix_is_homed_once_and_then_used(office: HandleOffice) -> None:
    first, second = (office.key.post("/api/prefixes/0.NA/21.T6") for _ in range(2))
    assert (first.status_code, first.json()) == (201, {"responseCode": 1, "handle": "0.NA/21.T6"})
    assert (second.status_code, second.json()) == (200, {"responseCode": 1, "handle": "0.NA/21.T6"})
    body = office.key.get("/api/prefixes").json()
    assert "0.NA/21.T6" in body["prefixes"]
    assert body["totalCount"] == str(len(body["prefixes"]))
    assert code(office.put("21.T6/x", [text(1, "URL", "https://example.org/")], office.key)) == (201, 1)
    assert code(office.anonymous.get("/api/handles/21.t6/X")) == (200, 1)
    assert code(office.anonymous.get("/api/handles/0.NA/21.T6")) == (200, 1)


def test_an_administrator_with_permission_to_derive_can_home_derived_prefixes(office: HandleOffice) -> None:
    assert code(office.admin.post("/api/prefixes/0.NA/21.T1.7")) == (201, 1)
    assert code(office.put("21.T1.7/x", [administrator()])) == (201, 1)
    assert code(office.admin.post("/api/prefixes/0.NA/21.T99")) == (403, 400)
    assert code(office.anonymous.post("/api/prefixes/0.NA/21.T1.8")) == (401, 402)


def test_a_page_of_another_site_homes_nothing_with_a_remembered_password(office: HandleOffice) -> None:
    for header in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert office.admin.post("/api/prefixes/0.NA/21.T1.9", headers=header).status_code == 401


def test_a_registered_prefix_cannot_be_removed(office: HandleOffice) -> None:
    assert code(office.key.delete("/api/prefixes/0.NA/21.T1")) == (403, 401)
    assert code(office.key.delete("/api/handles/0.NA/21.T1")) == (403, 401)
    assert code(office.anonymous.delete("/api/prefixes/0.NA/21.T1")) == (401, 402)
    assert code(office.anonymous.get(f"/api/handles/{ADMIN}")) == (200, 1)


@pytest.mark.parametrize("name", ["", "0.NA/POID", "0.NA/0.NA"])
def test_an_invalid_or_registered_prefix_cannot_be_homed(office: HandleOffice, name: str) -> None:
    answer = office.key.post(f"/api/prefixes/{name}")
    assert answer.status_code in (400, 409)
    assert answer.json()["responseCode"] in (101, 102)


def test_a_prefix_is_not_found_by_get(office: HandleOffice) -> None:
    assert code(office.key.get("/api/prefixes/0.NA/21.T1")) == (404, 4)


def test_the_site_is_this_server(office: HandleOffice) -> None:
    body = office.anonymous.get("/api/site").json()
    assert body["responseCode"] == 1
    shown_site = site.from_json(body["site"])
    host, port = office.server.address
    assert (shown_site.primary_site, shown_site.multi_primary, shown_site.serial_number) == (True, False, 1)
    (server,) = shown_site.servers
    assert (server.address, server.interfaces[0].port, server.interfaces[0].protocol) == (host, port, "HTTP")


def test_the_site_of_a_server_behind_a_proxy_is_the_public_address(tmp_path: Path) -> None:
    with handle_office(tmp_path / "registry", settings='public_url = "https://203.0.113.9/"') as office:
        (server,) = office.anonymous.get("/api/site").json()["site"]["servers"]
    assert server["address"] == "203.0.113.9"
    assert server["interfaces"] == [{"query": True, "admin": True, "protocol": "HTTPS", "port": 443}]


# Sessions.


def proof(nonce: str, secret: str = PASSWORD, alg: str = "SHA1") -> dict[str, str]:
    key, server = secret.encode(), b64decode(nonce)
    digest = (sha1 if alg == "SHA1" else sha256)(key + server + CNONCE + key).digest()
    return {
        "id": IDENTITY,
        "type": "HS_SECKEY",
        "cnonce": b64encode(CNONCE).decode(),
        "alg": alg,
        "signature": b64encode(digest).decode(),
    }


def in_session(session_id: str) -> dict[str, str]:
    return {"Authorization": f'Handle sessionId="{session_id}"'}


def test_a_session_is_created_authenticated_used_and_ended(office: HandleOffice) -> None:
    begun = office.anonymous.post("/api/sessions")
    assert begun.status_code == 201
    assert begun.headers["location"] == "/api/sessions/this"
    session = begun.json()
    assert set(session) == {"sessionId", "nonce"}
    assert len(b64decode(session["nonce"])) == 16
    mine = in_session(session["sessionId"])
    assert office.anonymous.get("/api/sessions/this", headers=mine).json() == session
    assert office.anonymous.put(f"/api/handles/{office.name()}", json=[], headers=mine).status_code == 401
    answered = office.anonymous.put(
        "/api/sessions/this", json={"sessionId": session["sessionId"], **proof(session["nonce"])}
    )
    assert answered.status_code == 200
    assert answered.json() == {**session, "authenticated": True, "id": IDENTITY}
    assert office.anonymous.get("/api/sessions/this", headers=mine).json()["authenticated"] is True
    assert code(office.anonymous.put(f"/api/handles/{office.name()}", json=[], headers=mine)) == (201, 1)
    ended = office.anonymous.delete("/api/sessions/this", headers=mine)
    assert (ended.status_code, ended.content) == (204, b"")
    assert office.anonymous.put(f"/api/handles/{office.name()}", json=[], headers=mine).status_code == 401
    assert office.anonymous.get("/api/sessions/this", headers=mine).status_code == 401


def test_a_session_can_be_authenticated_by_a_form_and_the_session_header(office: HandleOffice) -> None:
    session = office.anonymous.post("/api/sessions").json()
    answered = office.anonymous.put(
        "/api/sessions/this", data=proof(session["nonce"], alg="SHA256"), headers=in_session(session["sessionId"])
    )
    assert answered.json()["id"] == IDENTITY


def test_a_session_that_begins_with_credentials_is_authenticated_at_once(office: HandleOffice) -> None:
    assert office.admin.post("/api/sessions").json()["id"] == IDENTITY


def test_a_wrong_answer_opens_no_session(office: HandleOffice) -> None:
    session = office.anonymous.post("/api/sessions").json()
    wrong = office.anonymous.put(
        "/api/sessions/this", json={"sessionId": session["sessionId"], **proof(session["nonce"], "no")}
    )
    failure = wrong.json()
    assert (wrong.status_code, failure["authenticated"], failure["error"]) == (401, False, "Identity not verified")
    challenge = wrong.headers.get_list("www-authenticate")[1]
    assert f'sessionId="{failure["sessionId"]}", nonce="{failure["nonce"]}"' in challenge
    again = office.anonymous.put(
        "/api/sessions/this", json={"sessionId": failure["sessionId"], **proof(failure["nonce"])}
    )
    assert again.json()["authenticated"] is True
    assert (
        "authenticated"
        not in office.anonymous.get("/api/sessions/this", headers=in_session(session["sessionId"])).json()
    )
    for headers in ({}, in_session("never-begun"), basic()):
        assert office.anonymous.get("/api/sessions/this", headers=headers).status_code == 401


def test_a_wrong_password_begins_no_authenticated_session(office: HandleOffice) -> None:
    with httpx.Client(base_url=office.server.url, headers=basic(word="wrong")) as client:
        refused = client.post("/api/sessions")
    assert refused.status_code == 401
    failure = refused.json()
    assert set(failure) == {"sessionId", "nonce", "authenticated", "error"}
    assert failure["authenticated"] is False
    assert (
        "authenticated"
        not in office.anonymous.get("/api/sessions/this", headers=in_session(failure["sessionId"])).json()
    )


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_request_without_a_session_needs_credentials(office: HandleOffice, method: str) -> None:
    for headers in ({}, {"Authorization": 'Handle clientCert="true"'}, basic()):
        answer = office.anonymous.request(method, "/api/sessions/this", headers=headers)
        assert code(answer) == (401, 402)
        assert len(answer.headers.get_list("www-authenticate")) == 2
    ended = office.anonymous.request(method, "/api/sessions/this", headers=in_session("never-begun"))
    assert (ended.status_code, ended.json()["authenticated"]) == (401, False)


@pytest.mark.parametrize("id", [f"0:{ADMIN}", ADMIN])
def test_an_identity_without_an_index_is_that_of_its_key(office: HandleOffice, id: str) -> None:
    session = office.anonymous.post("/api/sessions").json()
    answer = {"sessionId": session["sessionId"], **proof(session["nonce"]), "id": id}
    assert office.anonymous.put("/api/sessions/this", json=answer).json()["id"] == IDENTITY
    mine = in_session(session["sessionId"])
    assert code(office.anonymous.put(f"/api/handles/{office.name()}", json=[], headers=mine)) == (201, 1)
    password = {"Authorization": "Basic " + b64encode(f"{quote(id)}:{PASSWORD}".encode()).decode()}
    name = office.name()
    for at, expected in ((0, (201, 1)), (INDEX, (200, 1))):  # it may also name itself as the administrator, with 0
        written = office.anonymous.put(f"/api/handles/{name}", json=[administrator(at=at)], headers=password)
        assert code(written) == expected


def test_a_challenge_can_be_answered_with_the_request_itself(office: HandleOffice) -> None:
    refused = office.anonymous.put(f"/api/handles/{office.name()}", json=[])
    challenge = refused.headers.get_list("www-authenticate")[1]
    parts = dict(part.split("=", 1) for part in challenge.removeprefix("Handle ").split(", "))
    session_id, nonce = parts["sessionId"].strip('"'), parts["nonce"].strip('"')
    credentials = ", ".join(f'{name}="{value}"' for name, value in {"sessionId": session_id, **proof(nonce)}.items())
    headers = {"Authorization": f"Handle {credentials}"}
    assert code(office.anonymous.put(f"/api/handles/{office.name()}", json=[], headers=headers)) == (201, 1)


# Verifications.


def test_a_proof_is_verified_for_other_servers(office: HandleOffice) -> None:
    nonce = b64encode(b"n" * 16).decode()
    parameters = {"nonce": nonce, **proof(nonce)}
    url = f"/api/verifications/{IDENTITY}"
    response = office.anonymous.get(url, params=parameters)
    assert response.json() == {"responseCode": 1, "isValid": True, "handle": ADMIN}
    assert office.anonymous.post(url, json=parameters).json() == response.json()
    wrong = office.anonymous.get(url, params={**parameters, "nonce": b64encode(b"m" * 16).decode()})
    assert wrong.json() == {"responseCode": 1, "isValid": False, "handle": ADMIN}


@pytest.mark.parametrize("path", ["", ADMIN, "x:21.T1/ADMIN", "300:noslash"])
def test_only_an_identity_can_be_verified(office: HandleOffice, path: str) -> None:
    answer = office.anonymous.get(f"/api/verifications/{path}")
    assert answer.status_code == 400
    assert answer.json()["responseCode"] in (102, 301)


def test_a_proof_that_lacks_something_is_a_protocol_error(office: HandleOffice) -> None:
    assert code(office.anonymous.get(f"/api/verifications/{IDENTITY}", params={"alg": "SHA1"})) == (400, 4)


# Reverse look-up.


def find(client: httpx.Client, **conditions: object) -> httpx.Response:
    return client.get("/hrls/handles/", params=conditions)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def findable(office: HandleOffice) -> list[str]:
    return [
        office.make(
            text(1, "URL", f"https://www.dkrz.de/{number}"),
            text(2, "CHECKSUM", f"abc{number % 2}"),
            text(3, "URL", "https://secret.example.org/", permissions="1100"),
        )
        for number in range(4)
    ]


def test_handles_are_found_by_their_values(office: HandleOffice, findable: list[str]) -> None:
    assert find(office.admin, URL="https://www.dkrz.de/2").json() == [findable[2]]
    assert sorted(find(office.admin, URL="*dkrz*").json()) == findable
    assert sorted(find(office.admin, URL="*dkrz*", CHECKSUM="abc1").json()) == [findable[1], findable[3]]
    assert find(office.admin, URL="nowhere").json() == []
    assert office.admin.get("/hrls/handles?URL=https://www.dkrz.de/2").json() == [findable[2]]


def test_private_values_are_not_found(office: HandleOffice, findable: list[str]) -> None:
    assert find(office.admin, URL="https://secret.example.org/").json() == []
    assert find(office.admin, URL="*secret*").json() == []


def test_parameters_of_the_response_are_not_search_conditions(office: HandleOffice, findable: list[str]) -> None:
    pages = [
        find(office.admin, URL="*dkrz*", limit=3, page=page, enforcesearchlimit="true").json() for page in (0, 1, 2)
    ]
    assert [len(page) for page in pages] == [3, 1, 0]
    assert sorted(pages[0] + pages[1]) == findable
    assert find(office.admin, URL="*dkrz*", prefix="21.T5").json() == []
    assert len(find(office.admin, URL="*dkrz*", prefix="21.t1").json()) == 4


def test_a_search_by_prefix_fills_its_pages(office: HandleOffice) -> None:
    assert code(office.key.post("/api/prefixes/0.NA/21.T66")) == (201, 1)
    for number in range(4):  # by turns, so that the names of one prefix are never the newest
        for prefix in ("21.T66", "21.T1"):
            values = [administrator(), text(1, "URL", f"https://mixed.example.org/{number}")]
            assert code(office.put(f"{prefix}/mixed{number}", values, office.key)) == (201, 1)
    pages = [find(office.admin, URL="*mixed*", prefix="21.T66", limit=3, page=page).json() for page in (0, 1, 2)]
    assert pages == [["21.T66/mixed3", "21.T66/mixed2", "21.T66/mixed1"], ["21.T66/mixed0"], []]


def test_reverse_look_up_needs_credentials_and_a_condition(office: HandleOffice) -> None:
    assert code(find(office.anonymous, URL="*dkrz*")) == (401, 402)
    with httpx.Client(base_url=office.server.url, headers=basic(word="wrong")) as client:
        assert find(client, URL="*dkrz*").status_code == 401
    for conditions in ({}, {"limit": 5}, {"URL": "*"}, {"URL": "*dkrz*", "limit": "x"}):
        assert code(find(office.admin, **conditions)) == (400, 4)
    assert find(office.admin, retrieverecords="true", URL="*dkrz*").status_code == 400


def test_the_fast_path_and_the_application_show_the_record_of_a_prefix_alike(office: HandleOffice) -> None:
    assert code(office.key.post("/api/prefixes/0.NA/21.T8")) == (201, 1)  # from now on this process knows 0.NA itself
    for name in ("0.NA/21.T1", "0.NA/21.T8"):
        fast = office.anonymous.get(f"/api/handles/{name}", headers={"Accept": "*/*"})
        slow = office.anonymous.get(f"/api/handles/{name}", headers={"Content-Length": "0"})
        assert fast.json() == slow.json()
        assert "etag" not in fast.headers
