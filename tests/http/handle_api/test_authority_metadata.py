"""Authority metadata as clients of Handle servers see it, over HTTP and with pyhandle, on both engines."""

import asyncio
import secrets
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from pyhandle.client.resthandleclient import RESTHandleClient
from pyhandle.handleexceptions import HandleNotFoundException
from tests.http.handle_server import (
    ADMIN,
    INDEX,
    PASSWORD,
    PREFIX,
    USUAL,
    HandleOffice,
    code,
    handle_office,
    handle_path,
    text,
)
from tests.postgres.shared_server import database
from tests.registry_fixture import ENGINES, FEW_PARTITIONS, need_engine

from perdure.folder.registry_folder import make_registry
from perdure.settings_file import DEFAULT_STORE

URL = "https://example.org/"
ORCID = "https://orcid.org/0000-0002-1825-0097"
OWNERS = [f"hdl:{ADMIN}", ORCID, "hdl:77.T/press"]
NO_RIGHTS = "000000000000"


@pytest.fixture(scope="module", params=ENGINES)
def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandleOffice]:
    need_engine(request.param)
    folder = tmp_path_factory.mktemp("served") / "registry"
    schema = f"t_{secrets.token_hex(6)}"
    store = DEFAULT_STORE if request.param == "sqlite" else database().address(schema)
    asyncio.run(make_registry(folder, name="Tests", store=store, postgresql=FEW_PARTITIONS))
    with handle_office(folder) as one:
        yield one
    if request.param == "postgres":
        database().drop(schema)


@pytest.fixture(scope="module")
def pyhandle(office: HandleOffice) -> RESTHandleClient:
    return RESTHandleClient.instantiate_with_username_and_password(
        office.server.url, f"{INDEX}:{ADMIN}", PASSWORD, HTTPS_verify=False
    )


def api(office: HandleOffice, method: str, path: str, body: Any = None) -> httpx.Response:
    answer = office.key.request(method, f"/api/v1{path}", json=body, headers={"If-Match": "*"})
    assert answer.is_success, answer.text
    return answer


def owned_name(office: HandleOffice) -> str:
    """Return a new name with several owners."""
    suffix = office.name().partition("/")[2]
    body = {"prefix": PREFIX, "suffix": suffix, "target": URL, "creator": "hdl:77.T/founder", "owners": OWNERS}
    api(office, "POST", "/identifiers", body)
    return f"{PREFIX}/{suffix}"


def test_all_owners_are_in_the_record(office: HandleOffice, pyhandle: RESTHandleClient) -> None:
    name = owned_name(office)
    record = pyhandle.retrieve_handle_record_json(name)
    found = [(value["index"], value["type"], value["data"]["value"]) for value in record["values"]]
    assert found[1:3] == [
        (100, "HS_ADMIN", {"handle": ADMIN, "index": 200, "permissions": NO_RIGHTS}),
        (101, "HS_ADMIN", {"handle": "77.T/press", "index": 200, "permissions": NO_RIGHTS}),
    ]
    assert found[4:] == [(191, "102.100.TYPE/CREATOR", "77.T/founder"), (192, "102.100.TYPE/OWNER", ORCID)]
    meaning = pyhandle.get_value_from_handle("102.100.TYPE/OWNER", "DESC")
    assert meaning.startswith("Identifier owner")


def test_the_newest_timestamp_is_the_last_update(office: HandleOffice) -> None:
    """After each change, from the fast path and from the application, which answer alike."""
    name = owned_name(office)
    path = f"/identifiers/{name.replace('/', '%2F')}"
    updates = []
    for method, where, body in (
        ("POST", f"/values{path.removeprefix('/identifiers')}", {"values": [text(2, "DESC", "a thing")]}),
        ("DELETE", f"/values{path.removeprefix('/identifiers')}?index=2", None),
        ("PATCH", path, {"owners": [ORCID]}),
        ("PATCH", path, {"about": {"what": "a thing"}}),
        ("PATCH", path, {"target": "https://example.org/moved"}),
    ):
        time.sleep(1.01)  # timestamps are in seconds
        api(office, method, where, body)
        updated = api(office, "GET", path).json()["authority"]["updated"]
        fast = office.anonymous.get(handle_path(name))
        slow = office.anonymous.get(handle_path(name), headers={"Content-Length": "0"})
        assert max(value["timestamp"] for value in fast.json()["values"]) == updated
        assert (fast.content, fast.headers["etag"]) == (slow.content, slow.headers["etag"])
        updates.append(updated)
    assert updates == sorted(set(updates))


def test_a_client_changes_what_it_has_created_without_an_administrator(
    office: HandleOffice, pyhandle: RESTHandleClient
) -> None:
    name = office.name()
    assert code(office.put(name, [text(1, "URL", URL)])) == (201, 1)
    rights = {"handle": ADMIN, "index": INDEX, "permissions": USUAL}
    assert office.values(name)[100]["data"] == {"format": "admin", "value": rights}
    pyhandle.modify_handle_value(name, URL="https://example.org/moved", NOTE="new")
    for number in range(2):
        assert code(office.put(name, [text(1, "URL", f"{URL}{number}")])) == (200, 1)
    assert pyhandle.get_value_from_handle(name, "URL") == f"{URL}1"
    pyhandle.delete_handle_value(name, "URL")
    pyhandle.delete_handle(name)


def test_a_withdrawn_name_is_not_found_and_shows_who_was_responsible(
    office: HandleOffice, pyhandle: RESTHandleClient
) -> None:
    name = owned_name(office)
    time.sleep(1.01)
    api(office, "DELETE", f"/identifiers/{name.replace('/', '%2F')}?reason=a%20duplicate")
    answer = office.get(name)
    body = answer.json()
    assert code(answer) == (404, 100)
    assert list(body) == ["responseCode", "handle", "tombstone"]
    tombstone = body["tombstone"]
    assert (tombstone["reason"], tombstone["withdrawn_by"]) == ("a duplicate", "Tests")
    found = {value["type"]: value["data"]["value"] for value in tombstone["values"]}
    assert found["102.100.TYPE/CREATOR"] == "77.T/founder"
    assert found["102.100.TYPE/OWNER"] == ORCID
    assert "URL" not in found
    assert max(value["timestamp"] for value in tombstone["values"]) == tombstone["withdrawn_at"]
    assert pyhandle.retrieve_handle_record_json(name) is None
    with pytest.raises(HandleNotFoundException):
        pyhandle.get_value_from_handle(name, "URL")
    assert office.get(name, callback="show").text.startswith("/**/show({")
    page = office.anonymous.get(f"/{name}", headers={"Accept": "text/html"})
    assert page.status_code == 410
    problem = office.anonymous.get(f"/{name}", headers={"Accept": "application/problem+json"}).json()
    assert (problem["creator"], problem["owners"]) == ("hdl:77.T/founder", OWNERS)
    assert problem["updated"] == problem["withdrawn_at"]
    for party in (*OWNERS, "hdl:77.T/founder", problem["created"]):
        assert party in page.text
    assert code(office.put(name, [text(1, "URL", URL)])) == (201, 1), "a client creates it again"
    assert {"102.100.TYPE/OWNER", "URL"} <= {value["type"] for value in office.values(name).values()}
