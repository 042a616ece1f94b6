"""What a reader means who pastes an address of this server, or makes a slip: in the box, in URLs and in the API."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import httpx
import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.resolver.test_pages import BROWSER, JSON, PROBLEM, Outline
from tests.http.sample_registry import fill_registry, open_for_writing
from tests.registry_fixture import ENGINES, need_engine

from perdure.formats.import_entries import ImportPut
from perdure.registry import ImportOptions, Statement, add_prefix, add_subsystem, import_entries, mint, observe

PUBLIC = "https://id.example.org"
TARGET = "https://example.org/thesis"
LABEL = "sid.inpe.br/mtc-m18/2009/02.16.17.46"
WITH_PORT = "sid.inpe.br/mtc-m18@80/2009/02.16.17.47"
NAMES = {"thesis-2020": TARGET, "thesis-2021": f"{TARGET}/2", "a b?c#d": f"{TARGET}/3", "20.500/x": f"{TARGET}/4"}


class Site(NamedTuple):
    server: LiveServer
    person: str


def fill(folder: Path, engine: str) -> str:
    """Create a registry with chosen names, labels and a person, and return the name of the person."""
    from tests.postgres.shared_server import database
    from tests.postgres.spare_schemas import new_schema

    store = {} if engine == "sqlite" else {"store": database().address(new_schema())}
    fill_registry(folder, NAMES, prefix="20.501", **store)

    async def work() -> str:
        async with open_for_writing(folder) as (registry, admin):
            await add_subsystem(registry, admin, "mtc-m18.sid.inpe.br", "150.163.34.243")
            labels = [ImportPut(line=line, name=name, target=TARGET) for line, name in enumerate((LABEL, WITH_PORT))]
            await import_entries(registry, admin, labels, ImportOptions())
            return (await observe(registry, admin, "https://example.org/a", "2025-01-09T10:30:00Z", "0" * 64)).name

    return asyncio.run(work())


@pytest.fixture(scope="module", params=ENGINES)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    need_engine(request.param)
    folder = tmp_path_factory.mktemp("meant") / "registry"
    person = fill(folder, request.param)
    with run_server(folder, settings='trusted_proxies = ["127.0.0.1"]') as server:
        yield Site(server, person)


@pytest.fixture(scope="module")
def client(site: Site) -> Iterator[httpx.Client]:
    with site.server.client("") as one:
        yield one


def type_name(client: httpx.Client, text: str, **headers: str) -> httpx.Response:
    return client.get("/", params={"name": text}, headers={**BROWSER, **headers})


# Addresses of this server


@pytest.mark.parametrize("path", ["20.501/thesis-2020", "hdl/20.501/thesis-2020?info#x", "hdl:20.501/thesis%2D2020"])
def test_the_box_takes_an_address_at_the_host_of_the_request(site: Site, client: httpx.Client, path: str) -> None:
    assert type_name(client, f"{site.server.url}/{path}").headers["location"] == "/20.501/thesis-2020"
    wrapped = type_name(client, f" <{site.server.url}/20.501/thesis-2020>. ")
    assert wrapped.headers["location"] == "/20.501/thesis-2020"


def test_the_host_of_a_request_is_the_one_that_a_proxy_passes_on(client: httpx.Client) -> None:
    forwarded = {"host": "id.example.net", "x-forwarded-proto": "https"}
    for url in ("https://id.example.net/20.501/thesis-2020", "http://id.example.net/20.501/thesis-2020"):
        assert type_name(client, url, **forwarded).headers["location"] == "/20.501/thesis-2020"


def test_the_api_takes_an_address_for_a_name(site: Site, client: httpx.Client) -> None:
    address = f"{site.server.url}/20.501/a%20b%3Fc%23d"
    shown = client.get(f"/api/v1/identifiers/{quote(address, safe='')}")
    assert shown.json()["name"] == "20.501/a b?c#d"
    found = client.get("/api/v1/search", params={"q": f"{site.server.url}/20.501/thesis-2020"})
    assert [one["name"] for one in found.json()["found"]] == ["20.501/thesis-2020"]
    past = client.get(f"/api/v1/history/{quote(address, safe='')}")
    assert (past.status_code, past.json()["name"]) == (200, "20.501/a b?c#d")
    compared = client.get(f"/api/v1/diff/{quote(address, safe='')}", params={"from": 1, "to": 1})
    assert (compared.status_code, compared.json()["name"]) == (200, "20.501/a b?c#d")
    with site.server.client() as admin:
        changed = admin.patch(
            f"/api/v1/identifiers/{quote(address, safe='')}",
            json={"about": {"what": "A thesis"}},
            headers={"if-match": "*"},
        )
        assert changed.json()["name"] == "20.501/a b?c#d"


@pytest.mark.parametrize("host", ["http://example.org", "https://id.example.net.example", "http://localhost:1"])
def test_an_address_of_another_host_is_not_taken_for_ours(client: httpx.Client, host: str) -> None:
    address = f"{host}/20.501/thesis-2020"
    response = type_name(client, address, host="id.example.net")
    assert "20.501/thesis-2020" not in response.headers["location"][:19]
    assert client.get(f"/api/v1/identifiers/{quote(address, safe='')}").status_code == 400


def test_a_person_and_a_label_are_found_by_their_addresses(site: Site, client: httpx.Client) -> None:
    for rest in ("", "/history", ".ttl"):
        assert type_name(client, f"{site.server.url}/{site.person}{rest}").headers["location"] == f"/{site.person}"
    assert type_name(client, f"{site.server.url}/{LABEL}").headers["location"] == f"/{LABEL}"


def test_the_public_address_counts_beside_that_of_the_request(tmp_path: Path) -> None:
    fill_registry(tmp_path / "registry", {"a": TARGET})
    with (
        run_server(tmp_path / "registry", settings=f'public_url = "{PUBLIC}/pid/"') as server,
        server.client("") as client,
    ):
        for base in (f"{PUBLIC}/pid", server.url):
            assert type_name(client, f"{base}/20.500.777/a").headers["location"] == "/20.500.777/a"
        assert type_name(client, f"{PUBLIC}/20.500.777/a").headers["location"] != "/20.500.777/a"
        assert server.perdure("resolve", f"{PUBLIC}/pid/hdl/20.500.777/a") == f"{TARGET}\n"


# The path for handles


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/hdl/20.501/thesis-2020", "/20.501/thesis-2020"),
        ("/HDL/20.501/thesis-2020?info", "/20.501/thesis-2020?info"),
        ("/hdl/20.501/a%20b%3Fc%23d", "/20.501/a%20b%3Fc%23d"),
        ("/hdl%2F20.501%2Fthesis-2020", "/20.501/thesis-2020"),
        (f"/hdl/{LABEL}", f"/{LABEL}"),
        ("/hdl/POID-93b0-4476-560e-5ac1", "/POID-93b0-4476-560e-5ac1"),
        ("/hdl/0.NA/20.501", "/0.NA/20.501"),
        ("/hdl//example.net/x", "/%2Fexample.net/x"),
    ],
)
def test_the_path_for_handles_is_redirected(client: httpx.Client, method: str, path: str, location: str) -> None:
    response = client.request(method, path)
    assert (response.status_code, response.headers["location"]) == (301, location)


def test_the_path_for_handles_needs_a_name(client: httpx.Client) -> None:
    assert client.get("/hdl").status_code == client.get("/hdl/").status_code == 400


def test_a_prefix_hdl_keeps_its_urls(tmp_path: Path) -> None:
    fill_registry(tmp_path / "registry", {"20.501/thesis-2020": TARGET, "x": f"{TARGET}/x"}, prefix="hdl")

    async def add_other() -> None:
        async with open_for_writing(tmp_path / "registry") as (registry, admin):
            await add_prefix(registry, admin, "20.501", minter="chosen")
            await mint(registry, admin, "20.501", statement=Statement(f"{TARGET}/other"), suffixes=["thesis-2020", "y"])

    asyncio.run(add_other())
    with run_server(tmp_path / "registry") as server, server.client("") as client:
        assert client.get("/hdl/20.501/thesis-2020").headers["location"] == TARGET
        assert client.get("/hdl/x").headers["location"] == f"{TARGET}/x"
        assert client.get("/20.501/thesis-2020").headers["location"] == f"{TARGET}/other"
        assert client.get("/hdl/20.501/y").status_code == 404
        assert type_name(client, f"{server.url}/hdl/x").headers["location"] == "/hdl/x"


# Labels in other spellings


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/sid.inpe.br/mtc-m18@80/2009/02.16.17.46", f"/{LABEL}"),
        ("/sid.inpe.br/mtc-m18/2009/02.16.17.46-RPQ?info", f"/{LABEL}?info"),
        ("/sid.inpe.br/mtc-m18/2009/02.16.17.47", f"/{WITH_PORT}"),
        ("/ibi:sid.inpe.br/mtc-m18.80/2009/02.16.17.47.00", f"/{WITH_PORT}"),
    ],
)
def test_another_spelling_of_a_label_is_redirected(client: httpx.Client, path: str, location: str) -> None:
    response = client.get(path)
    assert (response.status_code, response.headers["location"]) == (301, location)


@pytest.mark.parametrize("name", [LABEL, WITH_PORT, *(f"20.501/{suffix}" for suffix in NAMES)])
def test_an_exact_name_is_never_redirected_to_another(client: httpx.Client, name: str) -> None:
    response = client.get(f"/{quote(name)}")
    assert (response.status_code, response.headers["location"][: len(TARGET)]) == (302, TARGET)


def test_the_box_leads_to_the_registered_spelling(client: httpx.Client) -> None:
    assert type_name(client, f"{WITH_PORT}-RPQ").headers["location"] == f"/{WITH_PORT}"


# Slips


def test_a_page_suggests_similar_names_and_keeps_what_was_typed(client: httpx.Client) -> None:
    page = client.get("/20.501/thesis-202", headers=BROWSER)
    outline = Outline(page)
    assert page.status_code == 404
    links = [link["href"] for link in outline.all("a")]
    assert {"/20.501/thesis-2020", "/20.501/thesis-2021"} <= set(links)
    (box,) = outline.all("input")
    assert box["value"] == "20.501/thesis-202"


def test_what_was_typed_is_escaped(client: httpx.Client) -> None:
    hostile = '20.501/"><script>alert(1)</script>'
    for path in (f"/{quote(hostile)}", "/" + quote('"><b>')):
        page = client.get(path, headers=BROWSER)
        outline = Outline(page)
        assert not outline.all("script")
        assert not outline.all("b")
        assert outline.all("input")[0]["value"] in (hostile, '"><b>')
    unreadable = client.get("/20.501/%FF%22%3E", headers=BROWSER)
    assert Outline(unreadable).all("input")[0]["value"] == "20.501/%FF%22%3E"
    assert Outline(client.get("/", headers=BROWSER)).all("input")[0]["value"] == ""


@pytest.mark.parametrize("text", ["20.501/thesis-202", "two words", "20.501/100% <b>", "é", "99.99/none?x#y"])
def test_the_box_still_has_what_was_typed_into_it(client: httpx.Client, text: str) -> None:
    page = client.get("/", params={"name": text}, headers=BROWSER, follow_redirects=True)
    assert page.status_code in (400, 404)
    assert Outline(page).all("input")[0]["value"] == text


@pytest.mark.parametrize("name", ["20.501/thesis-2002", "20.51/thesis-2020", "20.502/thesis-2020"])
def test_programs_get_the_same_suggestions(client: httpx.Client, name: str) -> None:
    for headers, path in ((PROBLEM, f"/{name}"), (JSON, f"/{name}"), (JSON, f"/api/v1/identifiers/{name}")):
        response = client.get(path, headers=headers)
        assert response.status_code == 404
        assert response.json()["suggestions"] == ["20.501/thesis-2020"]
        assert "did you mean 20.501/thesis-2020?" in response.json()["detail"]


def test_many_unknown_names_are_answered_without_suggestions(client: httpx.Client) -> None:
    """The search for suggestions has a budget; the answers go on when it is spent."""
    answers = [client.get(f"/20.501/thesis-{number}x", headers=PROBLEM).status_code for number in range(300)]
    assert set(answers) == {404}


def test_browsers_ask_again_for_redirects_to_names_that_may_change(client: httpx.Client) -> None:
    for path in ("/hdl/20.501/thesis-2020", "/sid.inpe.br/mtc-m18@80/2009/02.16.17.46"):
        assert client.get(path).headers["cache-control"] == "no-cache"
