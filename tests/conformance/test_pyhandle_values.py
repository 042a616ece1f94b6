"""pyhandle, and clients that send the same requests as easyhandle: values and credentials that they pass unchanged."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from pyhandle.client.resthandleclient import RESTHandleClient
from pyhandle.handleexceptions import HandleAuthenticationError
from tests.http.handle_server import ADMIN, INDEX, PASSWORD, PREFIX, HandleOffice, administrator, handle_office

IDENTITY = f"{INDEX}:{ADMIN}"
NUMBERS = {"SIZE": 1_048_576, "RATIO": 1.5, "OPEN": True, "CLOSED": False, "TEXT": "42"}
TEXTS = {"SIZE": "1048576", "RATIO": "1.5", "OPEN": "true", "CLOSED": "false", "TEXT": "42"}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandleOffice]:
    with handle_office(tmp_path_factory.mktemp("served") / "registry") as one:
        yield one


def client_of(office: HandleOffice, name: str = IDENTITY) -> RESTHandleClient:
    return RESTHandleClient.instantiate_with_username_and_password(office.server.url, name, PASSWORD, handleowner=name)


@pytest.fixture
def client(office: HandleOffice) -> RESTHandleClient:
    return client_of(office)


def read_texts(client: RESTHandleClient, name: str) -> dict[str, str]:
    return {kind: client.get_value_from_handle(name, kind) for kind in TEXTS}


def test_numbers_and_truth_values_become_their_text(office: HandleOffice, client: RESTHandleClient) -> None:
    name = client.register_handle(office.name(), "https://example.org/1", **NUMBERS)
    assert read_texts(client, name) == TEXTS
    other = client.register_handle_kv(office.name(), **NUMBERS)
    assert read_texts(client, other) == TEXTS
    client.modify_handle_value(name, SIZE=7, OPEN=False, ADDED=-0.25)
    changed = {"SIZE": "7", "OPEN": "false", "ADDED": "-0.25"}
    assert {kind: client.get_value_from_handle(name, kind) for kind in changed} == changed
    entries = [{"index": index, "type": kind, "data": value} for index, (kind, value) in enumerate(NUMBERS.items(), 2)]
    listed = client.register_handle_json(office.name(), entries)
    assert read_texts(client, listed) == TEXTS


def test_a_user_name_with_index_0_may_create_change_and_delete(office: HandleOffice) -> None:
    client = client_of(office, f"0:{ADMIN}")
    name = client.register_handle(office.name(), "https://example.org/1")
    client.modify_handle_value(name, URL="https://example.org/2", NOTE="x")
    assert client.get_value_from_handle(name, "URL") == "https://example.org/2"
    client.delete_handle_value(name, "NOTE")
    client.delete_handle(name)
    assert client.retrieve_handle_record_json(name) is None


def test_a_user_name_with_index_0_and_a_wrong_password_may_do_nothing(office: HandleOffice) -> None:
    client = RESTHandleClient.instantiate_with_username_and_password(office.server.url, f"0:{ADMIN}", "wrong")
    with pytest.raises(HandleAuthenticationError):
        client.register_handle(office.name(), "https://example.org/")


def test_a_url_with_blanks_is_stored_as_it_is_and_redirects(office: HandleOffice, client: RESTHandleClient) -> None:
    url = "https://example.org/annual report 2024.pdf"
    name = client.register_handle(office.name(), url)
    assert client.get_value_from_handle(name, "URL") == url
    redirect = requests.get(f"{office.server.url}/{name}", allow_redirects=False, timeout=30)
    assert redirect.headers["location"] == "https://example.org/annual%20report%202024.pdf"
    client.modify_handle_value(name, CHECKSUM="abc")
    assert client.search_handle(URL=url) == [name]


def test_a_client_with_a_certificate_that_does_not_arrive_may_read(office: HandleOffice, tmp_path: Path) -> None:
    """The server is reached without the proxy that passes certificates on."""
    name = office.make({"index": 1, "type": "URL", "data": "https://example.org/"})
    pair = [tmp_path / "certificate.pem", tmp_path / "key.pem"]
    for file in pair:
        file.write_text("-")
    client = RESTHandleClient(
        handle_server_url=office.server.url,
        certificate_only=str(pair[0]),
        private_key=str(pair[1]),
        handleowner=IDENTITY,
        HTTPS_verify=False,
    )
    assert client.get_value_from_handle(name, "URL") == "https://example.org/"
    with pytest.raises(HandleAuthenticationError):
        client.delete_handle(name)


def test_requests_as_easyhandle_sends_them(office: HandleOffice) -> None:
    """It joins URLs by hand, and sends the whole record with its own HS_ADMIN by PUT."""
    name = office.name()
    url = f"{office.server.url}//api/handles/{name}"
    record = {"values": [{"index": 1, "type": "URL", "data": "https://example.org/"}, administrator()]}
    password = (IDENTITY.replace(":", "%3A"), PASSWORD.encode())
    made = requests.put(url, json=record, auth=password, params={"overwrite": "false"}, timeout=30)
    assert (made.status_code, made.json()) == (201, {"responseCode": 1, "handle": name})
    announced = {"Authorization": 'Handle clientCert="true"'}
    read = requests.get(url, headers=announced, timeout=30).json()
    assert [value["index"] for value in read["values"] if value["index"] < 102] == [1, 100]
    assert requests.put(url, json=record, headers=announced, timeout=30).status_code == 401
    listed = requests.get(f"{office.server.url}//api/handles?prefix={PREFIX}", auth=password, timeout=30).json()
    assert name in listed["handles"]
    assert requests.delete(url, auth=password, timeout=30).json() == {"responseCode": 1, "handle": name}
