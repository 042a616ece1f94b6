"""Responses to clients that are not redirected: pages for people, and documents for programs."""

import asyncio
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urlsplit

import httpx
import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.resolvable_names import PLAIN, Names, resolvable_registry
from tests.http.sample_registry import open_for_writing

from perdure.records.value import Text, Value
from perdure.registry import Statement, mint, show, update

JSON = {"accept": "application/json"}
PROBLEM = {"accept": "application/problem+json"}
BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
LINK = re.compile(r'<([^<>" ]+)>((?:; [a-z]+="[^"]+")+)(?:, |$)')


@pytest.fixture(scope="module")
def server_and_names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveServer, Names]]:
    folder = tmp_path_factory.mktemp("pages") / "registry"
    with (
        resolvable_registry(folder, "sqlite") as names,
        run_server(folder, settings='contact = "keeper@example.org"') as server,
    ):
        yield server, names


@pytest.fixture(scope="module")
def names(server_and_names: tuple[LiveServer, Names]) -> Names:
    return server_and_names[1]


@pytest.fixture(scope="module")
def client(server_and_names: tuple[LiveServer, Names]) -> Iterator[httpx.Client]:
    with server_and_names[0].client("") as one:
        yield one


class Outline(HTMLParser):
    """The tags of a page. Tags that are not closed in order are an error."""

    EMPTY = frozenset({"meta", "br", "input", "wbr"})

    def __init__(self, page: httpx.Response) -> None:
        super().__init__()
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page.text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def signposts(response: httpx.Response) -> dict[str, list[tuple[str, dict[str, str]]]]:
    """Return the typed links of a response, parsed strictly by RFC 8288."""
    header, position, found = response.headers["link"], 0, {}
    while position < len(header):
        match = LINK.match(header, position)
        assert match, header[position:]
        parameters = dict(re.findall(r'; ([a-z]+)="([^"]+)"', match[2]))
        found.setdefault(parameters.pop("rel"), []).append((match[1], parameters))
        position = match.end()
    return found


PAGES = [
    "/",
    "/value-types",
    "/12345/told?info",
    "/12345/gone",
    "/12345/bare",
    "/12345/hostile",
    "/12345/nothing",
    "/nothing",
    "/12345/several?noredirect",
]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_complete_and_loads_no_other_resource(client: httpx.Client, path: str) -> None:
    response = client.get(path, headers=BROWSER)
    outline = Outline(response)
    assert outline.all("html") == [{"lang": "en"}]
    assert len(outline.all("h1")) == len(outline.all("main")) == len(outline.all("title")) == 1
    assert not any(outline.all(tag) for tag in ("script", "img", "link", "iframe", "object"))
    for field in outline.all("input"):
        assert {"for": field["id"]} in outline.all("label")
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert response.headers["vary"] == "accept"
    assert "keeper@example.org" in response.text


def test_the_security_policy_has_the_hash_of_the_stylesheet(client: httpx.Client) -> None:
    import base64
    import hashlib

    page = client.get("/")
    style = page.text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page.headers["content-security-policy"]


def test_a_page_escapes_the_content_of_records(client: httpx.Client) -> None:
    page = client.get("/12345/hostile")
    outline = Outline(page)
    assert not outline.all("script")
    assert not outline.all("b")
    assert "&lt;script&gt;" in page.text
    assert all(not (link["href"] or "").lower().startswith("javascript") for link in outline.all("a"))
    outside = [link for link in outline.all("a") if (link["href"] or "").startswith("https://example.org/")]
    assert outside
    assert all(link["rel"] == "nofollow noopener" for link in outside)
    assert "&lt;mistake&gt;" in client.get("/12345/gone").text


@pytest.mark.parametrize("query", ["noredirect", "action=showvalues", "info", "noredirect=true;auth"])
def test_the_values_are_shown_on_demand(client: httpx.Client, query: str) -> None:
    page = client.get(f"/12345/several?{query}")
    assert page.status_code == 200
    assert "https://example.org/second" in page.text
    assert "for administrators" not in page.text, "it is not public"
    assert "archive@example.org" not in client.get(f"/12345/several?{query}&type=URL").text


def test_a_page_uses_standard_terms(client: httpx.Client) -> None:
    page = client.get("/12345/several?info").text
    headings = re.findall(r"<(?:h2|th scope=\"col\")[^>]*>([^<]*)<", page)
    assert headings == ["Authority metadata", "Values", "Index", "Type", "Data", "TTL", "Last modified"]


def test_private_values_are_neither_followed_nor_shown(client: httpx.Client) -> None:
    for query in ("", "?info", "?noredirect", "?index=1", "?type=URL", "?action=showurls"):
        for accept in (BROWSER, JSON):
            response = client.get(f"/12345/hidden{query}", headers=accept)
            assert response.status_code == 200
            assert "example.org/hidden" not in response.text
            assert "often" not in response.text


def test_a_name_without_a_target_has_a_page(client: httpx.Client) -> None:
    for path in ("/12345/bare", "/12345/several?type=EMAIL"):
        page = client.get(path)
        assert (page.status_code, "archive@example.org" in page.text) == (200, True)
    assert "no values that match" in client.get("/12345/several?type=NONE").text


def test_a_bad_parameter_is_named(client: httpx.Client) -> None:
    for query, word in (("index=x", "index"), ("locatt=country", "locatt"), ("type=%ff", "UTF-8")):
        response = client.get(f"/12345/plain?{query}", headers=PROBLEM)
        assert response.status_code == 400
        assert word in response.json()["detail"]


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "APPLICATION/JSON",
        "application/json, text/plain, */*",
        "text/html;q=0.5, application/json;q=0.6",
    ],
)
def test_a_program_gets_the_record(client: httpx.Client, accept: str) -> None:
    response = client.get("/12345/told", headers={"accept": accept})
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    record = response.json()
    assert (record["name"], record["target"], record["version"]) == ("12345/told", PLAIN, 1)
    assert record["about"]["who"] == "Ada <Lovelace>"
    assert response.headers["vary"] == "accept"


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "text/html",
        "application/json;q=0",
        "application/json;q=x",
        "image/png",
        "*/*, application/json;q=0.9",
        BROWSER["accept"],
    ],
)
def test_a_client_that_accepts_anything_or_an_unknown_type_is_redirected(client: httpx.Client, accept: str) -> None:
    assert client.get("/12345/told", headers={"accept": accept}).status_code == 302


def test_a_program_gets_a_record_of_every_scheme(client: httpx.Client, names: Names) -> None:
    for name in (names.pilin, names.label, names.opaque):
        assert client.get(f"/{name}", headers=JSON).json()["name"] == name
    for name in (names.observation, names.person):  # as section 6.2 of PPID has it: JSON-LD
        record = client.get(f"/{name}", headers=JSON).json()
        assert record["identifier"] == name
    assert names.observation in str(record["hasObservation"])
    assert "for administrators" not in client.get("/12345/several", headers=JSON).text
    own = client.get("/api/v1/identifiers/12345/several")
    assert own.json() == client.get("/12345/several", headers=JSON).json(), (
        "wherever a record is asked for, it is the same"
    )
    assert [value["index"] for value in client.get("/12345/several?index=2", headers=JSON).json()["values"]] == [2]
    assert client.get("/12345/alias", headers=JSON).json()["name"] == "12345/alias"


def test_a_record_that_the_client_has_is_not_sent_again(client: httpx.Client) -> None:
    tag = client.get("/12345/told", headers=JSON).headers["etag"]
    again = client.get("/12345/told", headers={**JSON, "if-none-match": f'"x", W/{tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert tag != client.get("/12345/told").headers["etag"], "a redirect is something else"
    assert client.get("/12345/told", headers={**JSON, "if-none-match": '"0-json"'}).status_code == 200


def test_a_tombstone_has_agent_time_reason_and_replacement(client: httpx.Client) -> None:
    page = client.get("/12345/gone", headers=BROWSER)
    assert page.status_code == 410
    assert "The Library of Tests" in page.text
    assert {"href": "/12345/plain"} in Outline(page).all("a")
    assert "<time datetime=" in page.text
    for accept in (JSON, PROBLEM):
        response = client.get("/12345/gone?info", headers=accept)
        body = response.json()
        assert (response.status_code, response.headers["content-type"]) == (410, "application/problem+json")
        assert (body["code"], body["reason"], body["replaced_by"]) == (
            "withdrawn",
            "it was a <mistake>",
            "hdl:12345/plain",
        )
        assert body["withdrawn_by"] == "The Library of Tests"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", body["withdrawn_at"])
    assert "replaced_by" not in client.get("/12345/gone-alone", headers=JSON).json()


def test_the_types_that_the_registry_defines_are_a_page_and_json(client: httpx.Client) -> None:
    assert {"href": "/value-types"} in Outline(client.get("/", headers=BROWSER)).all("a")
    page = client.get("/value-types", headers=BROWSER)
    assert {"href": "/102.100.TYPE/CREATOR"} in Outline(page).all("a")
    assert "Identifier owner" in page.text
    assert client.get("/102.100.TYPE/OWNER?info", headers=BROWSER).status_code == 200
    document = client.get("/value-types", headers=JSON).json()
    assert document == client.get("/api/v1/value-types").json()
    assert document["prefix"] == "102.100.TYPE"
    names = [one["name"] for one in document["types"]]
    assert names == sorted(names)
    assert {"102.100.TYPE/CREATION_DATE", "102.100.TYPE/CREATOR", "102.100.TYPE/OWNER"} <= set(names)
    assert all(one["description"] and one["created"] for one in document["types"])


def test_a_type_links_to_its_handle_or_is_shown_as_unregistered(client: httpx.Client, names: Names) -> None:
    here = client.get("/12345/plain?info", headers=BROWSER)
    assert {"href": "/102.100.TYPE/CREATOR"} in Outline(here).all("a")
    assert {"href": "/value-types"} in Outline(here).all("a")
    assert "not registered" not in here.text
    elsewhere = client.get("/12345/locations?info", headers=BROWSER)
    link = {"href": "https://hdl.handle.net/10320/loc", "rel": "nofollow noopener"}
    assert link in Outline(elsewhere).all("a")
    assert client.get("/12345/hostile?info", headers=BROWSER).text.count("(not registered)") == 2


def test_a_reserved_name_and_an_unknown_one_have_different_errors(client: httpx.Client) -> None:
    reserved, unknown = client.get("/12345/kept", headers=JSON), client.get("/12345/unkept", headers=JSON)
    assert (reserved.status_code, reserved.json()["code"]) == (404, "reserved")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "no-such-name")
    assert "is reserved" in client.get("/12345/kept").text


def test_a_name_that_is_nearly_right_is_suggested(client: httpx.Client, names: Names) -> None:
    page = client.get("/12345/PLAIN")
    assert (page.status_code, {"href": "/12345/plain"} in Outline(page).all("a")) == (404, True)
    assert client.get("/12345/PLAIN", headers=JSON).json()["suggestions"] == ["12345/plain"]
    wrong = names.observation[:-1] + ("1" if names.observation[-1] != "1" else "2")
    answer = client.get(f"/{wrong}")
    assert (answer.status_code, names.observation in answer.text) == (400, True), "the check digit was wrong"


def test_a_prefix_has_its_own_page(client: httpx.Client) -> None:
    page = client.get("/0.NA/12345")
    assert (page.status_code, "HS_ADMIN" in page.text, len(Outline(page).all("table"))) == (200, True, 1)
    record = client.get("/hdl:0.na/12345", headers=JSON).json()
    assert (record["name"], {value["type"] for value in record["values"]}) == ("0.NA/12345", {"HS_ADMIN"})
    assert client.get("/0.NA/99999").status_code == 404


def test_a_subsystem_has_a_page_with_its_label_prefixes(client: httpx.Client, names: Names) -> None:
    opaque = names.opaque.partition("/")[0]
    for path in ("example.org/archive", opaque, opaque.lower()):
        page = client.get(f"/{path}")
        assert (page.status_code, len(Outline(page).all("table"))) == (200, 1), path
        assert all(part in page.text for part in ("example.org/archive", opaque, "in use", "the IP address"))
    record = client.get(f"/{opaque}", headers=JSON).json()
    assert (record["name"], record["scheme"]) == ("example.org/archive", "ibi")
    assert [(one["label"], one["kind"], one["ended"]) for one in record["periods"]] == [
        ("example.org/archive", "name", None),
        (opaque, "address", None),
    ]
    assert client.get(f"/{opaque}", headers={"Accept": "text/turtle"}).status_code == 200
    assert client.get("/example.org/other").status_code == 404


def test_a_foreign_prefix_is_not_found(client: httpx.Client) -> None:
    response = client.get("/99999/x", headers=JSON)
    assert (response.status_code, response.json()["code"]) == (404, "no-such-prefix")
    assert "Unknown prefix" in client.get("/99999/x").text


@pytest.mark.parametrize(
    "path", ["/nothing", "/12345/a%zz", "/12345/%ff", "//12345/plain", "/12345/", "/12345/%00", "/12345/" + "a" * 3000]
)
def test_text_that_is_not_a_name_is_refused(client: httpx.Client, path: str) -> None:
    response = client.get(path, headers=PROBLEM)
    assert response.status_code in (400, 422)
    assert response.headers["content-type"] == "application/problem+json"


def test_landing_pages_have_signposts(client: httpx.Client, server_and_names: tuple[LiveServer, Names]) -> None:
    url, names = server_and_names[0].url, server_and_names[1]
    for name, target in (
        ("12345/told", PLAIN),
        ("12345/bare", None),
        (names.person, None),
        (names.label, "https://example.org/ibi"),
    ):
        for method in ("GET", "HEAD"):
            posts = signposts(client.request(method, f"/{name}?info"))
            is_citable = name != names.person  # persons are named at public_url, which this server does not have
            assert posts.get("cite-as") == ([(f"{url}/{name}", {})] if is_citable else None)
            assert posts["describedby"] == [(f"{url}/api/v1/identifiers/{name}", {"type": "application/json"})]
            assert posts["type"] == [("https://schema.org/AboutPage", {})]
            assert [one for one, _ in posts.get("item", [])] == ([target] if target else [])
            ((author, _),) = posts["author"]
            assert client.get(urlsplit(author).path).status_code < 400
    assert "link" not in client.get("/12345/told").headers, "a redirect is no landing page"


def test_both_labels_of_a_pair_have_one_citation_url(
    client: httpx.Client, server_and_names: tuple[LiveServer, Names]
) -> None:
    url, names = server_and_names[0].url, server_and_names[1]
    for label in (names.label, names.opaque):
        assert signposts(client.get(f"/{label}?info"))["cite-as"] == [(f"{url}/{names.label}", {})]


def test_a_page_shows_the_targets_that_the_resolver_uses(
    client: httpx.Client, server_and_names: tuple[LiveServer, Names]
) -> None:
    """With a list of locations, or an alias, the resolver does not redirect to the URL beside it."""

    def items(path: str) -> list[str]:
        response = client.get(path)
        urls = [target for target, _ in signposts(response).get("item", [])]
        assert re.findall(r'class="go"><a href="([^"]*)"', response.text) == urls
        return urls

    locations = [f"https://example.org/{one}" for one in ("never", "often", "british", "data")]
    assert items("/12345/locations?info") == locations
    assert items("/12345/locations?info&type=URL") == ["https://example.org/legacy"]
    assert items("/12345/broken?info") == ["https://example.org/whole"], "a list that cannot be read has no say"
    assert items("/12345/hidden?info") == []
    assert items("/12345/alias?info") == [f"{server_and_names[0].url}/12345/several"]
    assert items("/12345/alias?ignore_aliases&noredirect") == ["https://example.org/own"]
    record = client.get("/12345/locations", headers={"accept": "application/json"})
    assert record.json()["locations"] == locations
    assert [target for target, _ in signposts(record)["item"]] == locations
    assert record.json() == client.get("/api/v1/identifiers/12345/locations").json()


def test_the_length_of_the_link_header_is_limited(
    client: httpx.Client, server_and_names: tuple[LiveServer, Names]
) -> None:
    many = "".join(f'<location href="https://example.org/{number:0400}"/>' for number in range(50))

    async def write() -> None:
        async with open_for_writing(server_and_names[0].folder) as (registry, admin):
            statement = Statement(values=(Value(1, "10320/loc", Text(f"<locations>{many}</locations>")),))
            await mint(registry, admin, "12345", statement=statement, suffixes=["many"])

    asyncio.run(write())
    response = client.get("/12345/many?info")
    assert 1 < len(signposts(response)["item"]) < 15
    assert response.text.count('class="go"') == 50


def test_the_author_link_leads_to_the_creator_in_another_system(
    server_and_names: tuple[LiveServer, Names], client: httpx.Client
) -> None:
    async def write() -> None:
        async with open_for_writing(server_and_names[0].folder) as (registry, admin):
            for suffix, creator in (("web", "https://example.org/ada,b"), ("hdl", "hdl:20.1000/ad a")):
                statement = Statement(PLAIN, creator=creator)
                await mint(registry, admin, "12345", statement=statement, suffixes=[suffix])

    asyncio.run(write())
    assert signposts(client.get("/12345/web?info"))["author"] == [("https://example.org/ada,b", {})]
    assert signposts(client.get("/12345/hdl?info"))["author"] == [("https://hdl.handle.net/20.1000/ad%20a", {})]


def test_signposts_have_public_urls(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("public") / "registry"
    settings = 'public_url = "https://id.example.org/"\nupstream = "https://hdl.handle.net/"'
    with (
        resolvable_registry(folder, "sqlite"),
        run_server(folder, settings=settings) as server,
        server.client("") as client,
    ):
        assert signposts(client.get("/12345/bare"))["cite-as"] == [("https://id.example.org/12345/bare", {})]
        elsewhere = client.get("/hdl:99999/a%20b?noredirect&index=1")
        assert elsewhere.status_code == 302
        assert elsewhere.headers["location"] == "https://hdl.handle.net/99999/a%20b?noredirect&index=1"
        name = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
        assert client.get(f"/IBI:{name}").headers["location"] == f"https://hdl.handle.net/{name}"
        assert client.get("/12345/nothing").status_code == 404, "a prefix of this registry is not looked up elsewhere"
        assert client.get("/nothing").status_code == 400


def test_a_pasted_name_is_recognised(client: httpx.Client, names: Names) -> None:
    for pasted, path in (
        ("12345/plain", "/12345/plain"),
        (" <https://hdl.handle.net/12345/plain>. ", "/12345/plain"),
        ("hdl:12345/odd?a#b c/é+", "/12345/odd%3Fa%23b%20c/%C3%A9+"),
        (names.person.lower(), f"/{names.person}"),
        (names.pilin.lower(), f"/{names.pilin}"),
        ("doi:10.1000/182", "/10.1000/182"),
        ("//evil.example/x", "/%2F/evil.example/x"),
        ("nothing at all", "/nothing%20at%20all"),
    ):
        for field in ("name", "hdl"):
            sent = client.get("/", params={field: pasted})
            assert (sent.status_code, sent.headers["location"]) == (302, path)
        posted = client.post("/", data={"hdl": pasted, "noredirect": "on"})
        assert (posted.status_code, posted.headers["location"]) == (303, f"{path}?noredirect=on")
    assert client.get("/", params={"name": "  "}).status_code == 200


def test_a_malformed_form_is_refused(client: httpx.Client) -> None:
    assert client.post("/", json={"hdl": "12345/plain"}).status_code == 415
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/", content=b"hdl=%ff", headers=form).status_code == 400
    assert client.post("/", content=b"hdl=\xff", headers=form).status_code == 400
    assert client.post("/", content=b"hdl=" + b"a" * 100_000, headers=form).status_code == 413


def test_robots_txt_and_favicon_are_answered(client: httpx.Client) -> None:
    robots = client.get("/robots.txt")
    assert (robots.status_code, "Disallow: /api/" in robots.text) == (200, True)
    assert client.get("/favicon.ico").status_code == 204


def test_a_page_shows_the_latest_change(server_and_names: tuple[LiveServer, Names], client: httpx.Client) -> None:
    async def change() -> int:
        async with open_for_writing(server_and_names[0].folder) as (registry, admin):
            await mint(registry, admin, "12345", statement=Statement(PLAIN), suffixes=["moving"])
            await update(registry, admin, "12345/moving", Statement("https://example.org/moved"))
            return (await show(registry, "12345/moving")).version

    assert asyncio.run(change()) == 2
    assert "https://example.org/moved" in client.get("/12345/moving?info").text
    assert client.get("/12345/moving").headers["etag"] == '"2"'
