"""Redirects from an identifier, in any spelling, to its target; on every store."""

import asyncio
import re
from collections.abc import Iterator

import httpx
import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import THROUGH_APPLICATION, RawResponse, connection
from tests.http.resolvable_names import PLAIN, Names, resolvable_registry
from tests.http.sample_registry import open_for_writing
from tests.registry_fixture import ENGINES

from perdure.registry import Statement, add_prefix, mint


@pytest.fixture(scope="module", params=ENGINES)
def server_and_names(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LiveServer, Names]]:
    folder = tmp_path_factory.mktemp("resolving") / "registry"
    with resolvable_registry(folder, request.param) as names, run_server(folder) as server:
        yield server, names


@pytest.fixture(scope="module")
def client(server_and_names: tuple[LiveServer, Names]) -> Iterator[httpx.Client]:
    with server_and_names[0].client("") as one:
        yield one


def led(response: httpx.Response) -> tuple[int, str | None]:
    assert "accept" in response.headers["vary"].lower()
    return response.status_code, response.headers.get("location")


@pytest.mark.parametrize(
    "path",
    [
        "/12345/plain",
        "/12345%2Fplain",
        "/12345%2fpl%61in",
        "/hdl:12345/plain",
        "/HDL:12345/plain",
        "/doi:12345/plain",
        "/hdl%3A12345%2Fplain",
        "/https://hdl.handle.net/12345/plain",
        "/12345/plain?unknown=1",
        "/12345/plain?auth",
        "/12345/plain?auth=true;cert",
        "/12345/plain?noredirect=false",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_handle_leads_to_its_target(client: httpx.Client, method: str, path: str) -> None:
    response = client.request(method, path)
    assert led(response) == (302, PLAIN)
    assert response.headers["etag"] == '"1"'
    assert response.headers["cache-control"] == "no-cache", "a browser asks again, and sees a change at once"


def test_every_character_of_a_name_can_be_written_in_an_address(client: httpx.Client) -> None:
    assert led(client.get("/12345/odd%3Fa%23b%20c/%C3%A9+")) == (302, "https://example.org/odd")
    assert client.get("/12345/odd%3Fa%23b+c/%C3%A9+").status_code == 404, "a plus sign is no space"


def test_both_labels_of_a_pair_lead_there(client: httpx.Client, server_and_names: tuple[LiveServer, Names]) -> None:
    names = server_and_names[1]
    for written in (names.label, names.opaque, names.opaque.lower(), f"ibi:{names.label}", f"ibi:{names.opaque}"):
        assert led(client.get(f"/{written}")) == (302, "https://example.org/ibi"), written


def test_a_case_insensitive_name_is_found_in_any_case(client: httpx.Client) -> None:
    assert led(client.get("/12347/mIxED")) == (302, "https://example.org/mixed")


def test_a_misspelt_pilin_name_redirects_to_the_correct_one(
    client: httpx.Client, server_and_names: tuple[LiveServer, Names]
) -> None:
    name = server_and_names[1].pilin
    prefix, suffix = name.split("/")
    slipped = suffix.lower().replace("0", "o").replace("1", "i")
    assert led(client.get(f"/{prefix}/{slipped}?noredirect")) == (301, f"/{name}?noredirect")
    assert led(client.get(f"/{name}")) == (302, "https://example.org/pilin")


def test_a_person_is_found_in_any_case_and_has_a_page(
    client: httpx.Client, server_and_names: tuple[LiveServer, Names]
) -> None:
    person, observation = server_and_names[1].person, server_and_names[1].observation
    for name in (person, person.upper(), person.lower()):
        response = client.get(f"/{name}", headers={"accept": "text/html"})
        if name != person:
            assert (response.status_code, response.headers["location"]) == (308, f"/{person}")
            response = client.get(response.headers["location"], headers={"accept": "text/html"})
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/html")
        assert observation in response.text
    assert "https://example.org/staff" in client.get(f"/{observation}").text


@pytest.mark.parametrize(
    "path", ["/12345/plain", "/12345/short", "/12345/past", "/12345/several?index=2", "/12345/locations"]
)
def test_a_client_that_has_the_redirect_is_not_sent_it_again(client: httpx.Client, path: str) -> None:
    first = client.get(path)
    assert first.headers["cache-control"] == "no-cache", "whatever the TTL of the value, which is for Handle clients"
    again = client.get(path, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for header in ("cache-control", "etag", "vary"):
        assert again.headers[header] == first.headers[header]
    assert client.get(path, headers={"if-none-match": '"99"'}).headers["location"] == first.headers["location"]


def test_each_of_several_targets_has_its_own_etag(client: httpx.Client) -> None:
    tags = {client.get(f"/12345/several?index={index}").headers["etag"] for index in (2, 3)}
    assert len(tags) == 2


@pytest.mark.parametrize(
    ("query", "target"),
    [
        ("", "https://example.org/first"),
        ("type=URL", "https://example.org/first"),
        ("type=url.fr", "https://example.org/fr"),
        ("type=URL.", "https://example.org/first"),
        ("index=3", "https://example.org/second"),
        ("index=4&index=3", "https://example.org/second"),
        ("type=EMAIL;index=4", "https://example.org/fr"),
    ],
)
def test_parameters_restrict_the_values(client: httpx.Client, query: str, target: str) -> None:
    assert led(client.get(f"/12345/several?{query}")) == (302, target)


def test_subtypes_redirect_only_to_valid_targets(client: httpx.Client) -> None:
    assert led(client.get("/12345/subtypes")) == (302, "https://example.org/y")
    assert client.get("/12345/subtypes?index=1").status_code == 200


def test_appended_text_is_added_to_the_target(client: httpx.Client) -> None:
    for written, target in (
        ("/more", f"{PLAIN}/more"),
        ("%3Fa%3Db%26c", f"{PLAIN}?a=b&c"),
        ("%252F", f"{PLAIN}%2F"),
        ("%25", f"{PLAIN}%25"),
        ("100%25/%2525", f"{PLAIN}100%25/%25"),
        ("%C3%A9", f"{PLAIN}%C3%A9"),
        ("%0D%0Aset-cookie:x", f"{PLAIN}%0D%0Aset-cookie:x"),
        ("%5C%5Cevil", f"{PLAIN}%5C%5Cevil"),
    ):
        response = client.get(f"/12345/plain?urlappend={written}")
        assert led(response) == (302, target)
        assert "set-cookie" not in response.headers


@pytest.mark.parametrize("written", [".evil.example/", "@evil.example/", ":8080/", "%2Eevil.example"])
def test_appended_text_cannot_lead_to_another_host(client: httpx.Client, written: str) -> None:
    response = client.get(f"/12345/roots?urlappend={written}", headers={"accept": "application/json"})
    assert response.status_code == 200, "who asks for the record gets that"
    response = client.get(f"/12345/roots?urlappend={written}", headers={"accept": "application/problem+json"})
    assert (response.status_code, response.json()["code"]) == (400, "malformed-request")
    assert client.get("/12345/letter?urlappend=.evil.example").status_code == 400


def test_an_alias_redirects_to_its_name(client: httpx.Client) -> None:
    assert led(client.get("/12345/alias")) == (301, "/12345/several")
    assert led(client.get("/12345/alias?type=URL&index=3")) == (301, "/12345/several?type=URL&index=3")
    assert led(client.get("/12345/alias?ignore_aliases")) == (302, "https://example.org/own")
    assert led(client.get("/12345/abroad")) == (301, "/99999/elsewhere")
    assert client.get("/12345/alias?info").status_code == 200


@pytest.mark.parametrize("suffix", ["alias", "fleeting", "lasting"])
def test_an_alias_is_followed_anew_at_each_visit(client: httpx.Client, suffix: str) -> None:
    response = client.get(f"/12345/{suffix}")
    assert (response.status_code, response.headers["cache-control"]) == (301, "no-cache")


def test_aliases_that_do_not_end_are_not_followed(
    client: httpx.Client, server_and_names: tuple[LiveServer, Names]
) -> None:
    circles = ("/12345/one", "/12345/self", "/12345/chain11")
    slips = (
        f"/{server_and_names[1].slip}",
        f"/{server_and_names[1].slip.lower()}",
    )  # an alias to its own name, in lower case
    growing = ("/12348/growing", "/12348/growing/on/on")  # where longer names pass through
    merged = ("/12345/back", "/12345/returned", "/12345/returned?ignore_aliases")
    for path in (*circles, *slips, *growing, *merged[:2]):
        response = client.get(path)
        assert (response.status_code, "lias chain too long" in response.text) == (404, True), path
    assert led(client.get(merged[2])) == (301, "/12345/back?ignore_aliases")
    assert led(client.get("/12345/chain10")) == (301, "/12345/chain9")
    assert client.get("/12345/one?ignore_aliases").status_code == 200


def test_a_longer_name_passes_through_if_its_prefix_allows_it(client: httpx.Client) -> None:
    assert led(client.get("/12348/base")) == (302, "https://example.org/base")
    assert led(client.get("/12348/base/page/2")) == (302, "https://example.org/base/page/2")
    assert led(client.get("/12348/base%3Fpage=2")) == (302, "https://example.org/base?page=2")
    assert led(client.get("/12348/base/deep%26y=2%20z")) == (302, "https://example.org/deep?x=1&y=2%20z"), "the longest"
    assert led(client.get("/12348/base/a%25b")) == (302, "https://example.org/base/a%25b")
    assert led(client.get("/12348/base/100%2525")) == (302, "https://example.org/base/100%2525"), "the same text"
    assert led(client.get("/12348/joined/a%25b")) == (301, "/12348/base/a%25b")
    assert led(client.get("/12348/base" + "/x" * 120)) == (302, "https://example.org/base" + "/x" * 120)
    assert led(client.get("/12348/joined/page%3F2?auth")) == (301, "/12348/base/page%3F2?auth")
    assert client.get("/12348/bas").status_code == 404
    assert client.get("/12348/mute/x").status_code == 404, "there is nothing to append it to"
    assert client.get("/12348/root.evil.example/").status_code == 404
    assert client.get("/12345/plain/x").status_code == 404, "other prefixes do not"
    assert "is not registered itself" in client.get("/12348/base/page?info").text


def test_a_merged_identifier_redirects_to_the_survivor(client: httpx.Client) -> None:
    assert led(client.get("/12345/united")) == (301, "/12345/plain")
    assert led(client.get("/12345/united?noredirect")) == (301, "/12345/plain?noredirect")
    page = client.get("/12345/united?info")
    assert (page.status_code, "the same thing" in page.text) == (200, True)


def test_a_prefix_that_another_process_added_is_known_at_once(
    server_and_names: tuple[LiveServer, Names], client: httpx.Client
) -> None:
    async def add() -> None:
        async with open_for_writing(server_and_names[0].folder) as (registry, admin):
            await add_prefix(registry, admin, "54321", minter="chosen")
            await mint(registry, admin, "54321", statement=Statement(PLAIN), suffixes=["new"])

    def redirected_by_the_application() -> list[str]:
        counter = r'^perdure_http_requests_total{interface="resolver",method="GET",status="302"} ([0-9.]+)'
        return re.findall(counter, client.get("/metrics").text, re.MULTILINE)

    def uses_fast_path(path: str) -> bool:
        before = redirected_by_the_application()
        with connection(server_and_names[0]) as raw:
            assert raw.request(path).header("location") == PLAIN
        return redirected_by_the_application() == before

    assert client.get("/54321/new").status_code == 404
    asyncio.run(add())
    assert led(client.get("/54321/new")) == (302, PLAIN)
    assert uses_fast_path("/54321/new") == uses_fast_path("/12345/plain"), "as quickly as any other"


def test_the_fast_path_and_the_application_give_the_same_response(server_and_names: tuple[LiveServer, Names]) -> None:
    """Use the fast path where there is one, the shortcut of the application, and the full resolver."""

    def without_dates(answer: RawResponse) -> RawResponse:
        return answer._replace(headers=[pair for pair in answer.headers if pair[0] not in ("date", "expires")])

    with connection(server_and_names[0]) as raw:
        for path in ("/12345/plain", "/12347/MIXED", "/12345/gone", "/12345/nothing"):
            first = without_dates(raw.request(path))
            assert first == without_dates(raw.request(path, THROUGH_APPLICATION))
            assert first == without_dates(raw.request(f"{path}?auth"))
            assert first == without_dates(raw.request(path, "accept: image/png"))
            assert first.headers == without_dates(raw.request(path, method="HEAD")).headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused_by_name(client: httpx.Client, method: str) -> None:
    response = client.request(method, "/12345/plain")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")
    assert client.request("PUT", "/").headers["allow"] == "GET, HEAD, POST"
