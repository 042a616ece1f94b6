"""Pages of other origins: all may read, and those of the origins in the settings may write with what they send."""

from collections.abc import Iterator

import httpx
import pytest
from tests.http.handle_server import HandleOffice, administrator, basic, code, handle_office, handle_path, text

from perdure.errors import InvalidInput
from perdure.http_options import HttpOptions, check_http_options

LISTED, OTHER = "https://deposit.example.org", "https://elsewhere.example"
PATHS = ("/api/handles/21.T1/x", "/api/prefixes/0.NA/21.T2", "/api/sessions/this", "/api/v1/identifiers", "/21.T1/x")
ALLOW_ORIGIN = "access-control-allow-origin"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandleOffice]:
    folder = tmp_path_factory.mktemp("served") / "registry"
    with handle_office(folder, settings=f'cors_origins = ["https://first.example", "{LISTED}"]') as one:
        yield one


def preflight(office: HandleOffice, path: str, origin: str, method: str) -> httpx.Response:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization, content-type",
    }
    return office.anonymous.options(path, headers=headers)


def page(origin: str) -> dict[str, str]:
    """Return the headers that a browser adds to a request of a page."""
    return {"Origin": origin, "Sec-Fetch-Site": "cross-site"}


@pytest.mark.parametrize("path", PATHS)
def test_the_preflight_of_a_listed_origin_allows_writes_with_credentials(office: HandleOffice, path: str) -> None:
    for method in ("PUT", "DELETE", "POST", "PATCH"):
        answer = preflight(office, path, LISTED, method)
        assert answer.status_code == 204
        assert answer.headers[ALLOW_ORIGIN] == "*"
        assert method in answer.headers["access-control-allow-methods"].split(", ")
        allowed = answer.headers["access-control-allow-headers"].split(", ")
        assert {"authorization", "content-type", "if-match", "idempotency-key", "accept"} <= set(allowed)
        assert "access-control-allow-credentials" not in answer.headers, "a browser adds no stored password"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", [OTHER, "null", f"{LISTED}:444", LISTED.replace("https", "http")])
def test_the_preflight_of_any_other_origin_allows_reads_only(office: HandleOffice, path: str, origin: str) -> None:
    answer = preflight(office, path, origin, "PUT")
    assert (answer.status_code, answer.headers[ALLOW_ORIGIN]) == (204, "*")
    assert answer.headers["access-control-allow-methods"] == "GET, HEAD, OPTIONS"
    assert "authorization" not in answer.headers["access-control-allow-headers"]
    assert answer.headers["vary"] == "origin"


def test_a_page_of_a_listed_origin_writes_and_reads_the_response(office: HandleOffice) -> None:
    name = office.name()
    values = [administrator(), text(1, "EMAIL", "a@example.org", permissions="1100")]
    for headers, expected in ((page(LISTED), (201, 1)), (page(LISTED), (200, 1))):
        made = office.admin.put(handle_path(name), json=values, headers=headers)
        assert code(made) == expected
        assert made.headers[ALLOW_ORIGIN] == "*"
    private = office.admin.get(handle_path(name), headers=page(LISTED))
    assert "a@example.org" in private.text
    refused = office.anonymous.put(handle_path(name), json=values, headers=page(LISTED))
    assert (refused.status_code, refused.headers[ALLOW_ORIGIN]) == (401, "*")
    assert code(office.admin.delete(handle_path(name), headers=page(LISTED))) == (200, 1)
    minted = office.key.post("/api/v1/identifiers", json={"prefix": "21.T1", "suffixes": ["c"]}, headers=page(LISTED))
    assert minted.headers[ALLOW_ORIGIN] == "*"


def test_a_page_of_any_other_origin_writes_nothing_with_a_stored_password(office: HandleOffice) -> None:
    name = office.name()
    for headers in (page(OTHER), {"Origin": OTHER}, {"Sec-Fetch-Site": "cross-site"}):
        refused = office.admin.put(handle_path(name), json=[], headers=headers)
        assert refused.status_code == 401
        assert "pages of other sites are ignored" in refused.json()["message"]
        assert "cors_origins" in refused.json()["message"]
        assert ALLOW_ORIGIN not in refused.headers
    assert code(office.get(name)) == (404, 100)


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_a_form_of_a_listed_origin_cannot_use_a_stored_password(office: HandleOffice, kind: str | None) -> None:
    """Browsers send it without a preflight, and with the password."""
    more = {} if kind is None else {"Content-Type": kind}
    refused = office.admin.post("/api/prefixes/0.NA/21.T1.3", headers=page(LISTED) | more)
    assert code(refused) == (401, 402)
    assert "sent with a form are ignored" in refused.json()["message"]
    with_json = page(LISTED) | {"Content-Type": "application/json"}
    assert office.admin.post("/api/prefixes/0.NA/21.T1.4", headers=with_json).status_code in (200, 201)


def test_an_upload_of_a_listed_origin_needs_a_key(office: HandleOffice) -> None:
    files = {"observation": ("", b"{}", "application/json"), "content": ("a.txt", b"x")}
    sent = {
        origin: office.key.post("/api/v1/poid", files=files, headers=page(origin)).status_code
        for origin in (LISTED, OTHER)
    }
    assert (sent[LISTED] != 403, sent[OTHER]) == (True, 403)
    stored = {"Authorization": basic()["Authorization"]} | page(LISTED)
    assert office.anonymous.post("/api/v1/poid", files=files, headers=stored).status_code == 401


def test_reads_have_the_same_headers_for_every_origin(office: HandleOffice) -> None:
    name = office.make(text(1, "URL", "https://example.org/"))
    for path in (handle_path(name), f"/{name}", "/healthz"):
        seen = [
            {**office.anonymous.get(path, headers=headers).headers, "date": ""}
            for headers in ({}, {"Origin": LISTED}, {"Origin": OTHER})
        ]
        assert seen[0] == seen[1] == seen[2]
        assert seen[0][ALLOW_ORIGIN] == "*"
    assert ALLOW_ORIGIN not in office.anonymous.get("/metrics", headers={"Origin": LISTED}).headers


@pytest.mark.parametrize(
    "origin", ["*", "null", "", "example.org", "https://example.org/", "https://Example.org", "ftp://x", "https://a b"]
)
def test_only_an_origin_can_be_listed(origin: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_http_options(HttpOptions(cors_origins=(origin,)))
    assert refusal.value.part == "cors_origins"


def test_no_origin_is_listed_by_default() -> None:
    assert HttpOptions().cors_origins == ()
    check_http_options(HttpOptions(cors_origins=("http://localhost:3000", "https://[::1]:8443")))
