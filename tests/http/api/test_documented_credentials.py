"""The OpenAPI document says which operations need credentials, and the page to try the API shows exactly that."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.http.live_server import LiveServer, run_server

from perdure.http.api.litestar_app import build_app
from perdure.http.api.openapi import build_openapi
from perdure.http.routes import API_ROUTES

API = "/api/v1"
DOCUMENT = build_openapi(build_app([route.handler for route in API_ROUTES]))
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
}
VALUES = {"ppid": "PRID-93b0-4476-560e-5ac1", "name": "12345%2Fa", "code": "no-such-name"} | {
    "agent": "admin",
    "key": "0" * 8,
    "id": "none",
    "peer": "id.example.org",
    "collection": "archive",
    "label": "sid.inpe.br%2Fmtc-m18%2F2009%2F02.16.17.46",
    "path": "a.txt",
    "upload": "none",
}
SCHEMES = [{"bearer": []}, {"basic": []}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with run_server(tmp_path_factory.mktemp("registry")) as server:
        yield server


def example_request(operation: dict[str, Any]) -> dict[str, Any]:
    """Return the headers and the body of the documented example."""
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        return {}
    media, body = next(iter(content.items()))
    value = next(iter(body["examples"].values()))["value"]
    if media == "application/json":
        return {"json": value}
    if media == "multipart/form-data":
        return {"files": {name: (None, str(part)) for name, part in value.items()}}
    return {"content": value, "headers": {"Content-Type": media}}


@pytest.mark.parametrize("name", OPERATIONS)
def test_only_operations_that_require_credentials_refuse_an_anonymous_client(server: LiveServer, name: str) -> None:
    operation = OPERATIONS[name]
    method, path = name.split(" ")
    request = example_request(operation)
    request["headers"] = request.get("headers", {}) | {"If-Match": "*"}
    with server.client("") as client:
        answer = client.request(method, API + path.format_map(VALUES), **request)
    security = operation["security"]
    assert (answer.status_code == 401) == (security == SCHEMES), answer.text
    assert security in (SCHEMES, [{}, *SCHEMES], [{}])


def test_operations_that_use_no_credentials_are_those_about_error_codes() -> None:
    unused = {name for name, operation in OPERATIONS.items() if operation["security"] == [{}]}
    assert unused == {"GET /errors", "GET /errors/{code}"}


def test_no_header_has_a_value_that_a_page_would_send_unnoticed() -> None:
    """With an Idempotency-Key from an example, every request to mint returns the names of the first one."""
    headers = [
        (name, parameter)
        for name, operation in OPERATIONS.items()
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "header" and not parameter["required"]
    ]
    assert "Idempotency-Key" in {parameter["name"] for _, parameter in headers}
    for name, parameter in headers:
        for values in (parameter, parameter["schema"]):
            assert not {"example", "examples", "default"} & values.keys(), name
