"""A compressed body is refused at every door that reads one, and nothing is done."""

import gzip
import json
from collections.abc import Iterator

import httpx
import pytest
from tests.http.handle_office import PREFIX, HandleOffice, place

LINE = json.dumps({"entry": "put", "name": f"{PREFIX}/line", "target": "https://example.org/"}).encode()
VALUES = json.dumps({"values": []}).encode()
FORM = (
    b'--x\r\nContent-Disposition: form-data; name="observation"\r\nContent-Type: application/json\r\n\r\n{}\r\n'
    b'--x\r\nContent-Disposition: form-data; name="content"; filename="a"\r\n\r\na\r\n--x--\r\n'
)
DOORS = {
    "to mint": ("POST", "/api/v1/identifiers", "application/json", b'{"prefix": "%b"}' % PREFIX.encode()),
    "to make a prefix": ("POST", "/api/v1/prefixes", "application/json", b'{"prefix": "99999"}'),
    "to change": ("PATCH", f"/api/v1/identifiers/{PREFIX}%2Fa", "application/json", b"{}"),
    "to import": ("POST", "/api/v1/imports", "application/x-ndjson", LINE),
    "to observe many": ("POST", "/api/v1/observations", "application/x-ndjson", b"{}\n"),
    "to observe": ("POST", "/api/v1/poid", "application/json", b"{}"),
    "to observe with a file": ("POST", "/api/v1/poid", "multipart/form-data; boundary=x", FORM),
    "of Handle clients, to write": ("PUT", place(f"{PREFIX}/zipped"), "application/json", VALUES),
    "of Handle clients, to read": ("POST", "/api/handles", "application/x-www-form-urlencoded", b"prefix=12345"),
    "of readers": ("POST", "/", "application/x-www-form-urlencoded", b"name=12345/a"),
}


@pytest.fixture(scope="module")
def client(office: HandleOffice) -> Iterator[httpx.Client]:
    with office.server.client() as one:
        yield one


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity, br", "x-nothing"])
def test_a_compressed_body_is_refused(client: httpx.Client, door: str, encoding: str) -> None:
    method, path, kind, body = DOORS[door]
    headers = {"Content-Type": kind, "Content-Encoding": encoding, "Accept": "application/json"}
    if method == "PATCH":
        headers["If-Match"] = "*"
    answer = client.request(method, path, content=gzip.compress(body), headers=headers)
    assert answer.status_code == 415, answer.text
    said = answer.json()
    assert said.get("code") == "encoded-body" or said.get("responseCode") == 4, said
    assert "Content-Encoding" in (said.get("detail") or said.get("message"))


@pytest.mark.parametrize("encoding", ["identity", "IDENTITY", ""])
def test_a_body_that_is_said_to_be_as_it_is_is_read(client: httpx.Client, encoding: str) -> None:
    name = place(f"{PREFIX}/plain-{len(encoding)}{encoding[:1]}")
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    assert client.put(name, content=VALUES, headers=headers).status_code in (200, 201)


def test_nothing_was_written(client: httpx.Client) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    name = place(f"{PREFIX}/never")
    assert client.put(name, content=VALUES, headers=headers).status_code == 415
    assert client.get(name).status_code == 404
