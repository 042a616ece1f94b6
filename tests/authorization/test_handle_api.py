"""The Handle API: every write of every endpoint, by every actor, with keys of agents and of handles."""

import pytest
from tests.authorization.actors import KEY, NAME_AND_KEY, by_administrator, by_grant
from tests.authorization.attempts import try_over_http
from tests.authorization.handle_writes import HANDLE_WRITES, HANDLES, PREFIXES, RECORDS_OF_PREFIXES
from tests.authorization.preparation import URL, with_active
from tests.authorization.served_registry import ServedRegistry

from perdure.http.handle_api import endpoint
from perdure.http.routes import ROUTES

WRITES = {**HANDLE_WRITES, **{f"records of prefixes: {name}": write for name, write in RECORDS_OF_PREFIXES.items()}}
ENDPOINTS = [HANDLES, PREFIXES, "/api/site", "/api/sessions", "/api/verifications", "/hrls/handles"]
READING = {"GET", "HEAD", "OPTIONS"}
# Methods that may write elsewhere and do not here: they query, or change a session, which is not part of the registry.
NO_WRITES = {
    *(f"POST {path}" for path in (HANDLES, "/api/site", "/api/verifications")),
    *(f"{method} /api/sessions" for method in ("POST", "PUT", "DELETE")),
    *(f"{method} /api/whatever" for method in ("POST", "PUT", "DELETE")),
}
OTHER_PATHS = ["/", "/healthz", "/readyz", "/metrics", "/api/v1/openapi.json", "/api/v1/docs"]


@pytest.mark.parametrize("write", WRITES)
def test_only_permitted_actors_succeed(served_registry: ServedRegistry, write: str) -> None:
    row = WRITES[write]
    expected = {**by_grant(row.needs, ways=(KEY, NAME_AND_KEY)), **by_administrator(row.stated)}
    try_over_http(served_registry, row.prepare, expected, row.request_for)


def test_the_table_of_this_test_has_every_endpoint() -> None:
    assert set(ENDPOINTS) == {route.url for route in ROUTES if route.format_error is endpoint.format_error}


def test_every_method_that_writes_is_tried(served_registry: ServedRegistry) -> None:
    taken = {
        f"{method} {path}"
        for path in (*ENDPOINTS, "/api/whatever")
        for method in served_registry.client.options(path).headers["allow"].split(", ")
        if method not in READING
    }
    assert {write.operation for write in WRITES.values()} | NO_WRITES == taken


@pytest.mark.parametrize("operation", sorted(NO_WRITES))
def test_requests_that_only_read_write_nothing(served_registry: ServedRegistry, operation: str) -> None:
    method, path = operation.split(" ")
    name = with_active(served_registry).name
    details = {HANDLES: f"/{name}", "/api/verifications": f"/300:{name}", "/api/sessions": "/this"}
    before = served_registry.watch.state()
    served_registry.admin_client.request(method, path + details.get(path, ""), json=[], params={"index": 1})
    assert served_registry.watch.state() == before


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_other_paths_refuse_writes(served_registry: ServedRegistry, method: str) -> None:
    """This holds even for the administrator of the whole registry; a form query is answered."""
    name = with_active(served_registry).name
    before = served_registry.watch.state()
    for path in (*OTHER_PATHS, f"/{name}", f"/hrls/handles/{name}"):
        served_registry.admin_client.request(method, path, json=[])
        served_registry.admin_client.request(method, path, data={"url": URL})
    assert served_registry.watch.state() == before
