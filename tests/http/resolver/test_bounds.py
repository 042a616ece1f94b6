"""Every request that needs no credentials has bounded costs, and does not delay others."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.http.handle_server import HandleOffice, handle_path, text
from tests.http.sample_registry import open_for_writing

from perdure.folder.registry_folder import make_registry
from perdure.http import pages
from perdure.http.app_context import AppContext
from perdure.http.resolver import resolver
from perdure.http.shared.request import Request
from perdure.http_options import HttpOptions
from perdure.records.value import Text, Value
from perdure.registry import Statement, add_prefix, mint

PAGE = {"accept": "text/html"}


@pytest.fixture(scope="module")
def record(office: HandleOffice) -> str:
    locations = "".join(f'<location id="{number}" href="https://example.org/{number}"/>' for number in range(100))
    return office.make(
        text(1, "10320/loc", f"<locations>{locations}</locations>"),
        *(text(index, f"T.{index % 7}", f"said {index}") for index in range(1000, 2900)),
    )


def query(name: str, values: list[str]) -> str:
    return "&".join(f"{name}={value}" for value in values)


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        (query("type", [f"a{number}." for number in range(65)]), 400),
        (query("type", [f"a{number}" for number in range(65)]), 400),
        (query("type", [f"t.{number % 7}." for number in range(1000)]), 200),
        (query("type", [f"a{number}" for number in range(64)]), 200),
    ],
)
def test_the_number_of_types_in_a_request_is_limited(
    office: HandleOffice, record: str, parameters: str, status: int
) -> None:
    assert office.anonymous.get(f"/{record}?noredirect&{parameters}", headers=PAGE).status_code == status
    assert office.anonymous.get(f"{handle_path(record)}?{parameters}").status_code == status


@pytest.mark.parametrize(("most", "status"), [(2048, 200), (2049, 400)])
def test_the_number_of_indexes_in_a_request_is_limited(
    office: HandleOffice, record: str, most: int, status: int
) -> None:
    indexes = [str(index) for index in (*range(1, most + 1), *range(1, 2000))]  # a repeated index counts once
    assert office.anonymous.post(handle_path(record), data={"index": indexes}).status_code == status


def test_the_number_of_attributes_in_a_request_is_limited(office: HandleOffice, record: str) -> None:
    same = office.anonymous.get(f"/{record}?{query('locatt', ['id:7'] * 300)}")
    assert (same.status_code, same.headers["location"]) == (302, "https://example.org/7")
    others = query("locatt", [f"id:{number}" for number in range(65)])
    assert office.anonymous.get(f"/{record}?{others}").status_code == 400


def test_a_type_with_a_trailing_dot_matches_all_its_subtypes(office: HandleOffice, record: str) -> None:
    below = office.anonymous.get(f"{handle_path(record)}?type=t.&type=T.3.&type=URL.").json()["values"]
    assert len(below) == 1900
    only = office.anonymous.get(f"/{record}?noredirect&type=t.3&index=1000", headers=PAGE).text
    assert {kind: only.count(f">{kind} <") for kind in ("T.3", "T.6", "T.4")} == {"T.3": 271, "T.6": 1, "T.4": 0}


def run_service(folder: Path, values: tuple[Value, ...], ask: Callable[[AppContext], Any]) -> None:
    """Run a service in this process, so that the test can see which thread does the work."""

    async def work() -> None:
        await make_registry(folder, name="Tests")
        async with open_for_writing(folder) as (registry, admin):
            await add_prefix(registry, admin, "12345", minter="chosen")
            await mint(registry, admin, "12345", statement=Statement(values=values), suffixes=["a"])
            service = AppContext(registry, HttpOptions(), folder)
            await service.prefixes.refresh()
            await ask(service)

    asyncio.run(work())


@pytest.mark.parametrize(
    ("values", "is_aside"),
    [
        (tuple(Value(index, "T", Text("https://example.org/")) for index in range(1, 60)), True),
        ((Value(1, "10320/loc", Text("<locations>" + "<location href='x'/>" * 1500 + "</locations>")),), True),
        ((Value(1, "DESC", Text("short")),), False),
    ],
    ids=["many", "long", "small"],
)
def test_large_records_are_processed_on_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: tuple[Value, ...], is_aside: bool
) -> None:
    where: dict[str, bool] = {}

    def watch(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run_watched(*given: Any, **more: Any) -> Any:
            where[name] = threading.current_thread() is not threading.main_thread()
            return work(*given, **more)

        return run_watched

    for module, name in ((pages, "render_page"), (resolver, "choose_target"), (resolver, "list_locations_xml")):
        monkeypatch.setattr(module, name, watch(name, getattr(module, name)))

    async def ask(service: AppContext) -> None:
        for parameters in ("", "action=showurls", "noredirect"):
            scope = {
                "type": "http",
                "method": "GET",
                "scheme": "http",
                "client": ("127.0.0.1", 1),
                "raw_path": b"/12345/a",
                "query_string": parameters.encode(),
                "headers": [(b"host", b"localhost")],
            }
            assert (await resolver.resolve(service, Request(scope, _receive_nothing, service.options))).status == 200

    run_service(tmp_path / "registry", values, ask)
    assert where == dict.fromkeys(("render_page", "choose_target", "list_locations_xml"), is_aside)


async def _receive_nothing() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


@pytest.mark.parametrize("who", ["admin", "key"])
def test_a_tombstone_names_the_agent_who_withdrew_the_handle(office: HandleOffice, who: str) -> None:
    name = office.make(text(1, "URL", "https://example.org/"))
    client: httpx.Client = getattr(office, who)
    assert client.delete(handle_path(name)).status_code == 200
    page = office.anonymous.get(f"/{name}", headers=PAGE)
    problem = office.anonymous.get(f"/{name}", headers={"accept": "application/problem+json"})
    assert (page.status_code, problem.status_code) == (410, 410)
    by = problem.json()["withdrawn_by"]
    assert f"<dt>By</dt><dd>{by}" in page.text
    assert (by == "300:21.T1/ADMIN") == (who == "admin")
    assert ("withdrawn_by_identifier" in problem.json()) == (who == "key")
