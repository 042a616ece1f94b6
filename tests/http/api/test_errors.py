"""Errors of the API: problem documents that name the invalid part."""

import re
from collections.abc import Iterator

import httpx
import pytest
from tests.http.live_server import LiveServer

from perdure.errors import PerdureError
from perdure.http.api.litestar_app import build_app
from perdure.http.api.openapi import build_openapi, index_operations
from perdure.http.api.schemas.examples import EXAMPLES
from perdure.http.api.schemas.requests import REQUEST_SCHEMAS, parse_body
from perdure.http.routes import API_ROUTES
from perdure.http.shared import problem_json

API = "/api/v1"
ANY = {"If-Match": "*"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def client(server: LiveServer) -> Iterator[httpx.Client]:
    server.perdure("prefix", "add", "12345", "--minter", "uuid")
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def anonymous(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client("") as client:
        yield client


def problem(answer: httpx.Response) -> tuple[int, str, str | None]:
    """Return status, code and part of a response that must be a problem document."""
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == answer.status_code
    assert document["type"] == f"{API}/errors/{document['code']}"
    assert document["title"]
    assert document["detail"]
    return answer.status_code, document["code"], document.get("part")


@pytest.mark.parametrize(("body", "part"), [
    ({}, "prefix"),
    ({"prefix": "12345", "targett": "x"}, "targett"),
    ({"prefix": "12345", "count": "1"}, "count"),
    ({"prefix": "12345", "count": 1001}, "count"),
    ({"prefix": "12345", "target": "nowhere"}, "target"),
    ({"prefix": "12345", "suffix": "a", "suffixes": ["b"]}, "suffixes"),
    ({"prefix": "12345", "suffixes": ["a", "b"], "count": 3}, "count"),
    ({"prefix": "12345", "suffix": "a"}, "suffix"),
    ({"prefix": "12345", "values": [{"index": 1, "type": "T", "data": {"format": "text", "value": ""}}]}, "values[0].data.format"),
    ({"prefix": "12345", "values": [{"index": 2, "type": "URL", "data": {"format": "string", "value": "x"}}]}, "values[2].data"),
    ({"prefix": "12345", "values": [{"index": 2, "type": "HS_SECKEY", "data": {"format": "string", "value": "s"}}]}, "values[2].type"),
    ({"prefix": "12345", "creator": "nobody"}, "creator"),
    ({"prefix": "12345", "about": {"who": "line\nbreak"}}, "about.who"),
])  # fmt: skip
def test_an_error_names_the_invalid_field(client: httpx.Client, body: dict[str, object], part: str) -> None:
    status, _, document = problem(client.post(f"{API}/identifiers", json=body))
    assert (status, document) == (422, part)


@pytest.mark.parametrize(("content", "headers", "expected"), [
    (b"{", JSON, (400, "malformed-request")),
    (b"", JSON, (400, "malformed-request")),
    (b'{"prefix": "\xff"}', JSON, (400, "malformed-request")),
    (b"[" * 100_000, JSON, (422, "invalid-input")),
    (b"{}", {"Content-Type": "text/plain"}, (415, "unsupported-body")),
    (b"{}", {}, (415, "unsupported-body")),
    (b" " * (5 << 20), JSON, (413, "body-too-large")),
])  # fmt: skip
@pytest.mark.parametrize("path", ["/identifiers", "/prefixes"])
def test_a_body_that_cannot_be_read_is_refused(
    client: httpx.Client, path: str, content: bytes, headers: dict[str, str], expected: tuple[int, str]
) -> None:
    assert problem(client.post(f"{API}{path}", content=content, headers=headers))[:2] == expected


@pytest.mark.parametrize(("query", "part"), [
    ("", "q"),
    ("q=", "q"),
    ("q=word&limit=0", "limit"),
    ("q=word&limit=many", "limit"),
    ("q=word&limt=1", "limt"),
    ("q=word&q=other", "q"),
    ("q=%3F%3F%3F", "words"),
])  # fmt: skip
def test_an_error_names_the_invalid_parameter(client: httpx.Client, query: str, part: str) -> None:
    assert problem(client.get(f"{API}/search?{query}")) == (422, "invalid-input", part)


def test_a_query_that_is_not_utf8_is_refused(client: httpx.Client) -> None:
    assert problem(client.get(f"{API}/search?q=%ff"))[:2] == (400, "malformed-request")


@pytest.mark.parametrize(("name", "expected"), [
    ("12345%2Fnone", (404, "no-such-name")),
    ("99999%2Fnone", (404, "no-such-prefix")),
    ("12345%2Fa%ff", (400, "invalid-name")),
    ("12345%2Fa%2", (400, "invalid-name")),
    ("12345%2Fa%00", (400, "invalid-name")),
    ("no-slash", (400, "invalid-name")),
    ("12345%2F" + "x" * 3000, (422, "out-of-range")),
])  # fmt: skip
def test_unknown_and_invalid_names_have_different_errors(
    client: httpx.Client, name: str, expected: tuple[int, str]
) -> None:
    assert problem(client.get(f"{API}/identifiers/{name}"))[:2] == expected


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/identifiers/", "//identifiers", "/search/x", "/agents/you/x", "/agents/you/keys/", "/docs/x.js"],
)
def test_an_unknown_path_is_answered_with_a_problem_document(client: httpx.Client, path: str) -> None:
    assert problem(client.get(f"{API}{path}"))[:2] == (404, "nothing-here")


def test_an_unsupported_method_is_answered_with_the_supported_ones(client: httpx.Client) -> None:
    answer = client.put(f"{API}/identifiers/12345%2Fa")
    assert problem(answer)[:2] == (405, "method-not-allowed")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "OPTIONS", "PATCH", "DELETE"}


def test_writing_requires_credentials(anonymous: httpx.Client) -> None:
    """Check every operation that changes something, before its body is read."""
    app = build_app([route.handler for route in API_ROUTES])
    for path, methods in index_operations(app, build_openapi(app)).items():
        for method in methods.keys() - {"GET"}:
            where = path.replace("{ppid}", "POID-93b0-4476-560e-5ac1").replace("{name}", "12345%2Fa")
            answer = anonymous.request(method, f"{API}{where}")
            if method == "HEAD":  # a response without a body
                assert answer.status_code == 401, path
            else:
                assert problem(answer)[:2] == (401, "credentials-needed"), (method, path)
            assert "Basic" in answer.headers["www-authenticate"]


@pytest.mark.parametrize("path", ["/identifiers", "/exports", "/agents/me"])
def test_private_data_requires_credentials(anonymous: httpx.Client, path: str) -> None:
    answer = anonymous.get(f"{API}{path}")
    assert problem(answer)[:2] == (401, "credentials-needed")
    assert [one.split()[0] for one in answer.headers.get_list("www-authenticate")] == ["Bearer", "Basic", "Handle"]


def test_wrong_credentials_are_refused_even_if_none_are_needed(server: LiveServer) -> None:
    with server.client(server.key[:-4] + "0000") as client:
        answer = client.get(f"{API}/prefixes")
        assert problem(answer)[:2] == (401, "bad-key")
        assert answer.headers.get_list("www-authenticate")[0] == 'Bearer realm="perdure", error="invalid_token"'


def test_errors_of_the_api_do_not_mention_commands(client: httpx.Client) -> None:
    """An HTTP client may have neither the command nor a shell at the server."""
    assert client.post(f"{API}/prefixes", json={"prefix": "45678", "minter": "chosen"}).status_code == 201
    local = {"host": "ibi.example.org", "ip": "127.0.0.1"}
    secret = {"index": 2, "type": "HS_SECKEY", "data": {"format": "string", "value": "s"}}
    entry = b'{"name": "54322/a", "target": "https://example.org/"}\n{"name": "99998/a"}'
    table = {"Content-Type": "text/csv"}
    assert client.post(f"{API}/prefixes", json={"prefix": "54322"}).status_code == 201
    for answer in (
        client.get(f"{API}/identifiers/99998%2Fnone"),
        client.post(f"{API}/identifiers", json={"prefix": "99998"}),
        client.post(f"{API}/identifiers", json={"prefix": "45678"}),
        client.post(f"{API}/identifiers", json={"prefix": "POID"}),
        client.post(f"{API}/identifiers", json={"prefix": "12345", "suffix": "a"}),
        client.post(f"{API}/identifiers", json={"prefix": "12345", "values": [secret]}),
        client.post(f"{API}/transfers", json={"to": "nobody", "names": ["12345/a"]}),
        client.post(f"{API}/prefixes", json=local),
        client.post(f"{API}/prefixes", json={"prefix": "88888", "pattern": "#"}),
        client.post(f"{API}/imports", content=entry, headers={"Content-Type": "application/x-ndjson"}),
        client.post(f"{API}/observations", content=b"a,b\n1,2\n", headers=table),
        client.get("/99998/none", headers={"Accept": "application/problem+json"}),
        client.put("/api/handles/54322/a", json=[]),
    ):
        assert answer.status_code >= 400 or "refused" in answer.text, answer.request.url
        assert re.search(r"perdure [a-z]|--[a-z]", answer.text) is None, answer.text


def test_names_that_the_server_could_not_resolve_have_no_prefix(client: httpx.Client) -> None:
    for path in ("/api/site", "/hrls/handles", "/healthz", "/readyz", "/metrics"):
        prefix = path.split("/")[1]
        assert client.get(path).status_code != 404, "it is an address of the server"
        for body in ({"prefix": prefix}, {"prefix": prefix.upper(), "minter": "chosen"}):
            answer = client.post(f"{API}/prefixes", json=body)
            assert problem(answer)[:2] == (400, "invalid-name")
            assert "resolved" in answer.json()["detail"]
        homed = client.post(f"/api/prefixes/0.NA/{prefix}")
        assert (homed.status_code, homed.json()["responseCode"]) == (400, 102)
    assert client.post(f"{API}/prefixes", json={"prefix": "api.1", "minter": "uuid"}).status_code == 201


def test_an_agent_without_a_grant_is_refused(client: httpx.Client, server: LiveServer) -> None:
    server.perdure("agent", "add", "reader", "--name", "Reader", "--identifier", "https://example.org/reader")
    key = re.search(r"perdure_\w+", server.perdure("agent", "key", "reader"))
    assert key is not None
    made = client.post(f"{API}/identifiers", json={"prefix": "12345", "target": "https://example.org/"})
    assert made.status_code == 201, made.text
    url = made.headers["location"]
    with server.client(key[0]) as reader:
        assert reader.get(url).status_code == 200
        for answer in (
            reader.post(f"{API}/identifiers", json={"prefix": "12345"}),
            reader.patch(url, json={"target": "https://example.org/2"}, headers=ANY),
            reader.delete(url, params={"reason": "x"}, headers=ANY),
            reader.post(f"{API}/prefixes", json={"prefix": "77777"}),
            reader.post(f"{API}/imports", content=b"", headers={"Content-Type": "application/x-ndjson"}),
            reader.get(f"{API}/exports"),
            reader.get(f"{API}/identifiers", params={"prefix": "12345"}),
        ):
            assert problem(answer)[:2] == (403, "not-authorised"), answer.request.url


@pytest.mark.parametrize("tag", ["3", '"1", "2"', "", "'1'"])
def test_an_if_match_without_a_valid_tag_is_refused(client: httpx.Client, tag: str) -> None:
    answer = client.patch(f"{API}/identifiers/12345%2Fa", json={"target": "https://e.org/"}, headers={"If-Match": tag})
    assert problem(answer)[:2] == (400, "malformed-request")


def test_documented_fields_of_a_problem_exist() -> None:
    """Titles are the first lines of docstrings of errors, which may mention details that only Python code sees."""
    kinds = {PerdureError}
    while below := {one for kind in kinds for one in kind.__subclasses__()} - kinds:
        kinds |= below
    for kind in kinds:
        title, _, rest = (kind.__doc__ or "").partition("\n")
        assert "`" not in title, kind
        assert set(re.findall(r"`(\w+)`", rest)) <= {*problem_json._DETAILS, *problem_json._MORE_DETAILS}, kind


def test_every_error_code_has_a_meaning(client: httpx.Client) -> None:
    document = client.get(f"{API}/identifiers/12345%2Fnone").json()
    meaning = client.get(document["type"]).json()
    assert (meaning["code"], meaning["statuses"]) == ("no-such-name", [404])
    codes = {one["code"]: one for one in client.get(f"{API}/errors").json()["errors"]}
    assert codes["conflict"]["statuses"] == [409, 412]
    assert all(one["meaning"] for one in codes.values())
    assert problem(client.get(f"{API}/errors/none"))[:2] == (404, "nothing-here")


def test_the_openapi_document_lists_every_response_of_every_operation() -> None:
    document = build_openapi(build_app([route.handler for route in API_ROUTES]))
    assert document["openapi"].startswith("3.1")
    for item in document["paths"].values():
        for operation in item.values():
            assert operation["summary"]
            assert operation["description"]
            assert operation["security"]
            for status, response in operation["responses"].items():
                assert response["description"]
                if int(status) >= 400:
                    kind = "text/plain" if status in ("414", "431") else "application/problem+json"
                    assert list(response["content"]) == [kind]


def test_the_examples_of_the_document_can_be_read() -> None:
    app = build_app([route.handler for route in API_ROUTES])
    document = build_openapi(app)
    known = index_operations(app, document)
    tried = 0
    for path, item in document["paths"].items():
        for method, operation in item.items():
            body = known[path][method.upper()].body
            for media, content in operation.get("requestBody", {}).get("content", {}).items():
                for example in content["examples"].values():
                    if body is not None:
                        value = example["value"]["observation"] if media == "multipart/form-data" else example["value"]
                        parse_body(body, httpx.Request("POST", "http://x", json=value).read())
                        tried += 1
    forms = 1
    assert tried == sum(len(examples) for examples in EXAMPLES.values()) + forms
    assert len(EXAMPLES) == len(REQUEST_SCHEMAS)


def test_the_page_to_try_the_api_loads_nothing_from_other_hosts(anonymous: httpx.Client) -> None:
    page = anonymous.get(f"{API}/docs")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "http" not in policy
    assert "://" not in page.text
    for name in ("swagger-ui.css", "swagger-ui-bundle.js", "try.js", "favicon.svg"):
        assert f"docs/{name}" in page.text
        assert anonymous.get(f"{API}/docs/{name}").status_code == 200
    assert "openapi.json" in anonymous.get(f"{API}/docs/try.js").text
    assert anonymous.get(API).headers["location"] == f"{API}/docs"


def test_pages_of_other_origins_may_read_and_nothing_else(anonymous: httpx.Client) -> None:
    preflight = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    answer = anonymous.options(f"{API}/identifiers", headers=preflight)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-methods"] == "GET, HEAD, OPTIONS"
    assert anonymous.get(f"{API}/prefixes").headers["access-control-allow-origin"] == "*"


def test_head_is_get_without_its_body(anonymous: httpx.Client) -> None:
    got, head = anonymous.get(f"{API}/prefixes"), anonymous.head(f"{API}/prefixes")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]


@pytest.mark.parametrize(("method", "path", "body", "part"), [
    ("POST", "/identifiers", '{"prefix": "12345", "prefix": "12345"}', "prefix"),
    ("POST", "/identifiers", '{"prefix": "12345", "about": {"who": "a", "who": "b"}}', "about.who"),
    ("POST", "/identifiers", r'{"prefix": "12345", "target": "https://example.org/", "\u0074arget": "https://example.org/"}', "target"),
    ("POST", "/prefixes", '{"prefix": "12399", "minter": "uuid", "minter": "chosen"}', "minter"),
    ("PATCH", "/prefixes/12345", '{"policy": "a", "policy": "b"}', "policy"),
    ("PATCH", "/identifiers/NAME", '{"target": "https://example.org/1", "target": "https://example.org/2"}', "target"),
    ("POST", "/values/NAME", '{"values": [{"index": 3, "index": 4, "type": "DESC", "data": {"format": "string", "value": "x"}}]}', "values[0].index"),
])  # fmt: skip
def test_a_key_that_is_given_twice_is_refused(
    client: httpx.Client, method: str, path: str, body: str, part: str
) -> None:
    name = client.post(f"{API}/identifiers", json={"prefix": "12345"}).json()["identifiers"][0]["name"]
    before = client.get(f"{API}/identifiers").json()
    headers = JSON if path in ("/identifiers", "/prefixes") else JSON | ANY
    answer = client.request(method, f"{API}{path.replace('NAME', name)}", content=body, headers=headers)
    assert problem(answer) == (422, "invalid-input", part)
    assert "is given twice" in answer.json()["detail"]
    assert client.get(f"{API}/identifiers").json() == before
