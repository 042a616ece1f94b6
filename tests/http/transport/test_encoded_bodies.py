"""Compressed request bodies: every endpoint that reads a body refuses them and changes nothing."""

import gzip
import json
from collections.abc import Iterator

import httpx
import pytest
from tests.http.handle_server import PREFIX, HandleOffice, handle_path

LINE = json.dumps({"entry": "put", "name": f"{PREFIX}/line", "target": "https://example.org/"}).encode()
VALUES = json.dumps({"values": []}).encode()
FORM = (
    b'--x\r\nContent-Disposition: form-data; name="observation"\r\nContent-Type: application/json\r\n\r\n{}\r\n'
    b'--x\r\nContent-Disposition: form-data; name="content"; filename="a"\r\n\r\na\r\n--x--\r\n'
)
ENDPOINTS = {
    "mint": ("POST", "/api/v1/identifiers", "application/json", b'{"prefix": "%b"}' % PREFIX.encode()),
    "create a prefix": ("POST", "/api/v1/prefixes", "application/json", b'{"prefix": "99999"}'),
    "update": ("PATCH", f"/api/v1/identifiers/{PREFIX}%2Fa", "application/json", b"{}"),
    "import": ("POST", "/api/v1/imports", "application/x-ndjson", LINE),
    "observe in bulk": ("POST", "/api/v1/observations", "application/x-ndjson", b"{}\n"),
    "observe": ("POST", "/api/v1/poid", "application/json", b"{}"),
    "observe with a file": ("POST", "/api/v1/poid", "multipart/form-data; boundary=x", FORM),
    "write, Handle API": ("PUT", handle_path(f"{PREFIX}/zipped"), "application/json", VALUES),
    "read, Handle API": ("POST", "/api/handles", "application/x-www-form-urlencoded", b"prefix=12345"),
    "resolver": ("POST", "/", "application/x-www-form-urlencoded", b"name=12345/a"),
}


@pytest.fixture(scope="module")
def client(office: HandleOffice) -> Iterator[httpx.Client]:
    with office.server.client() as http_client:
        yield http_client


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity, br", "x-nothing"])
def test_a_compressed_body_is_refused(client: httpx.Client, endpoint: str, encoding: str) -> None:
    method, path, kind, body = ENDPOINTS[endpoint]
    headers = {"Content-Type": kind, "Content-Encoding": encoding, "Accept": "application/json"}
    if method == "PATCH":
        headers["If-Match"] = "*"
    response = client.request(method, path, content=gzip.compress(body), headers=headers)
    assert response.status_code == 415, response.text
    problem = response.json()
    assert problem.get("code") == "encoded-body" or problem.get("responseCode") == 4, problem
    assert "Content-Encoding" in (problem.get("detail") or problem.get("message"))


@pytest.mark.parametrize("encoding", ["identity", "IDENTITY", ""])
def test_a_body_with_the_identity_coding_is_read(client: httpx.Client, encoding: str) -> None:
    name = handle_path(f"{PREFIX}/plain-{len(encoding)}{encoding[:1]}")
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    assert client.put(name, content=VALUES, headers=headers).status_code in (200, 201)


def test_a_refused_body_writes_nothing(client: httpx.Client) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    name = handle_path(f"{PREFIX}/never")
    assert client.put(name, content=VALUES, headers=headers).status_code == 415
    assert client.get(name).status_code == 404
