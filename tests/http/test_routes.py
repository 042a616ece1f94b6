"""The table of URLs agrees with the dispatch, with the OpenAPI document, and with the paths that modules parse."""

from types import SimpleNamespace
from typing import Any

import pytest

from perdure.http.api.litestar_app import build_app
from perdure.http.api.openapi import build_openapi
from perdure.http.persons.person_address import parse_person_address
from perdure.http.persons.vocabulary import CONTEXT_PATH
from perdure.http.routes import API_ROUTES, RESOLVER, ROUTES, Match, Route, Routes
from perdure.http.shared.api_roots import API_ROOT, RESERVED_SEGMENTS
from perdure.http.transport import fast_path
from perdure.rdf import Namespaces

PPID = "PRID-93b0-4476-560e-5ac1"
VOCABULARY = "/vocabulary"
NAMESPACES = Namespaces(ppidv=f"https://example.org{VOCABULARY}#", ppidt="https://example.org/types#")


@pytest.fixture(scope="module")
def routes() -> Routes:
    registry = SimpleNamespace(settings=SimpleNamespace(namespaces=NAMESPACES))
    return Routes(SimpleNamespace(registry=registry))  # type: ignore[arg-type]


def find(routes: Routes, path: str) -> tuple[Route, str]:
    request: Any = SimpleNamespace(path=path, rest="")
    return routes.find(request), request.rest


def test_the_operations_are_those_of_the_openapi_document() -> None:
    document = build_openapi(build_app([route.handler for route in API_ROUTES]))
    documented = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert sorted((route.method, route.path) for route in API_ROUTES) == sorted(documented)


def test_every_operation_is_listed_with_the_method_and_path_that_its_handler_declares() -> None:
    for route in API_ROUTES:
        declared = {path.replace(":str", "").replace(":int", "") for path in route.handler.paths}
        assert (route.handler.http_methods, declared) == ({route.method}, {route.path})


def test_every_operation_is_dispatched_to_the_api(routes: Routes) -> None:
    for operation in API_ROUTES:
        route, _ = find(
            routes,
            API_ROOT
            + operation.path.format(
                name="12345%2Fa",
                ppid=PPID,
                code="error",
                id="0123456789",
                agent="maria",
                key="0f3a",
                collection="archive",
                label="8JMKD3MGP8W/34PGRBS",
                path="a.txt",
                upload="0" * 32,
                peer="id.example.org",
            ),
        )
        assert route.interface == "v1"
        assert route.has_time_limit is not operation.is_bulk


def test_every_url_is_dispatched_to_its_handler(routes: Routes) -> None:
    for route in routes.all:
        if route.match in (Match.EXACT, Match.FORMATS):
            assert find(routes, route.url)[0] is route
        elif route.match is Match.BELOW:
            assert find(routes, f"{route.url}/some/thing") == (route, "/some/thing")


def test_the_vocabulary_is_at_the_paths_of_its_namespaces_in_every_format(routes: Routes) -> None:
    handlers = {
        find(routes, path)[0].handler for path in (VOCABULARY, f"{VOCABULARY}.ttl", f"{VOCABULARY}.x", "/types")
    }
    assert len(handlers) == 1
    assert RESOLVER.handler not in handlers
    assert find(routes, f"{VOCABULARY}.")[0] is RESOLVER
    assert any(route.url == CONTEXT_PATH for route in ROUTES)


def test_the_urls_of_persons_are_those_that_are_parsed(routes: Routes) -> None:
    listed = {route.url for route in ROUTES if route.match is Match.NAME and route is not RESOLVER}
    for url in listed:
        path = url.format(ppid=PPID, version=7)
        assert find(routes, path)[0] is RESOLVER
        assert parse_person_address(path[1:]) is not None
        assert parse_person_address(f"{path[1:]}.ttl") is not None
    for part in ("", "/v1", "/claims", "/observations", "/history", "/links", "/merge", "/versions", "/v0", "/V"):
        is_listed = f"/{{ppid}}{part}".replace("v1", "v{version}") in listed
        assert (parse_person_address(f"{PPID}{part}") is not None) is is_listed


@pytest.mark.parametrize(
    "path",
    [
        "/12345/a",
        "/healthzz",
        "/metricsx/a",
        "/api.html",
        "/apis",
        "/hrls",
        "/hrls/handle",
        "/robots.txt/a",
        "/%2F",
        "//",
        "//12345/a",
        "//apis",
        "//metrics",
        "//healthz",
    ],
)
def test_any_other_url_is_a_name_to_resolve(routes: Routes, path: str) -> None:
    assert find(routes, path)[0] is RESOLVER


@pytest.mark.parametrize(
    "path", ["/api/handles/12345/a//b/", "/api/v1/prefixes", "/api", "/hrls/handles/", "/api/nope"]
)
def test_a_slash_too_many_in_front_of_an_api_changes_nothing(routes: Routes, path: str) -> None:
    for slashes in ("/", "//"):
        assert find(routes, slashes + path) == find(routes, path)


def test_the_fast_path_answers_for_urls_of_the_table(routes: Routes) -> None:
    assert find(routes, f"{fast_path._RECORDS.decode()}12345/a")[0].url == "/api/handles"


def test_the_fast_path_resolves_no_prefix_that_is_a_url_of_its_own(routes: Routes) -> None:
    first_segments = {route.url.split("/")[1] for route in routes.all if route.match is Match.BELOW}
    assert first_segments == RESERVED_SEGMENTS
