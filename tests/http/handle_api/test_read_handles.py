"""Records as clients of Handle servers read them."""

import json

import pytest
from tests.http.handle_server import ADMIN, PREFIX, HandleOffice, administrator, basic, code, handle_path, text
from tests.http.raw_client import THROUGH_APPLICATION, connection

JSON = "application/json;charset=utf-8"


@pytest.fixture(scope="module")
def record(office: HandleOffice) -> str:
    return office.make(
        text(1, "URL", "https://example.org/"),
        text(2, "EMAIL", "a@example.org", permissions="1100"),
        text(5, "URL.MIRROR", "https://mirror.example.org/"),
        text(4, "URLS", "no subtype"),
    )


def test_a_record_has_its_values_in_order(office: HandleOffice, record: str) -> None:
    answer = office.get(record)
    body = answer.json()
    assert list(body) == ["responseCode", "handle", "values"]
    assert (answer.status_code, body["responseCode"], body["handle"]) == (200, 1, record)
    indexes = [value["index"] for value in body["values"]]
    assert indexes == sorted(indexes)
    assert {1, 4, 5, 100} <= set(indexes)
    assert answer.headers["content-type"] == JSON
    assert answer.headers["access-control-allow-origin"] == "*"
    first = body["values"][0]
    assert first["data"] == {"format": "string", "value": "https://example.org/"}
    assert first["ttl"] == 86400
    assert first["timestamp"].endswith("Z")
    assert "permissions" not in first


def test_the_handle_is_echoed_as_the_client_wrote_it(office: HandleOffice, record: str) -> None:
    name = record.replace("21.T1", "21.t1").upper()
    answer = office.get(name)
    assert answer.json()["handle"] == name
    encoded = office.anonymous.get(f"/api/handles/{record.replace('/', '%2F')}")
    assert encoded.json()["handle"] == record
    assert encoded.json()["values"] == answer.json()["values"]


def test_the_application_and_the_fast_path_respond_alike(office: HandleOffice, record: str) -> None:
    fast = office.anonymous.get(handle_path(record), headers={"Accept": "*/*"})
    slow = office.anonymous.get(handle_path(record), headers={"Content-Length": "0"})
    assert fast.content == slow.content
    assert {**fast.headers, "date": ""} == {**slow.headers, "date": ""}


def test_a_client_with_the_current_record_gets_not_modified(office: HandleOffice) -> None:
    name = office.make(text(1, "URL", "https://example.org/"))
    held = {"If-None-Match": office.get(name).headers["etag"]}
    same = office.anonymous.get(handle_path(name), headers=held)
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", held["If-None-Match"])
    assert code(office.put(name, [text(1, "URL", "https://example.com/"), administrator()])) == (200, 1)
    assert (
        office.anonymous.get(handle_path(name), headers=held).json()["values"][0]["data"]["value"]
        == "https://example.com/"
    )


@pytest.mark.parametrize(
    ("query", "indexes"),
    [
        ("index=1", [1]),
        ("index=1&index=4", [1, 4]),
        ("type=URL", [1]),
        ("type=url", [1]),
        ("type=URL.", [1, 5]),
        ("index=4&type=URL", [1, 4]),
        ("index=4;type=URL", [1, 4]),
        ("index=1&auth=true&cert&doNotRefer", [1]),
    ],
)
def test_indexes_and_types_can_be_combined(office: HandleOffice, record: str, query: str, indexes: list[int]) -> None:
    body = office.anonymous.get(f"{handle_path(record)}?{query}").json()
    assert [value["index"] for value in body["values"]] == indexes
    assert body["responseCode"] == 1


@pytest.mark.parametrize("query", ["index=77", "type=NOPE", "type=MIRROR.", "type=EMAIL"])
def test_a_query_without_matching_values_has_its_own_success_code(
    office: HandleOffice, record: str, query: str
) -> None:
    answer = office.anonymous.get(f"{handle_path(record)}?{query}")
    assert (answer.status_code, answer.json()) == (200, {"responseCode": 200, "values": [], "handle": record})


@pytest.mark.parametrize("query", ["index=x", "index=1.5", "index=", "publicOnly=maybe", "pretty=perhaps", "index=%FF"])
def test_a_parameter_that_makes_no_sense_is_a_protocol_error(office: HandleOffice, record: str, query: str) -> None:
    answer = office.anonymous.get(f"{handle_path(record)}?{query}")
    assert code(answer) == (400, 4)
    assert answer.json()["message"]


def test_a_missing_handle_and_an_unknown_prefix_have_different_codes(office: HandleOffice) -> None:
    missing = office.get(f"{PREFIX}/missing")
    assert (missing.status_code, missing.json()) == (404, {"responseCode": 100, "handle": f"{PREFIX}/missing"})
    for elsewhere in ("20.1000/100", "noslash"):
        answer = office.get(elsewhere)
        assert code(answer) == (400, 301)
        assert answer.json()["message"] == "That prefix doesn't live here"
        assert answer.json()["handle"] == elsewhere
    for empty in ("/api/handles/", "/api/handles"):
        answer = office.anonymous.get(empty)
        assert code(answer) == (400, 102)
        assert "Empty handle invalid" in answer.json()["message"]


def test_the_record_of_a_prefix_elsewhere_is_not_here(office: HandleOffice) -> None:
    """Also if this registry has stored the record of one of its own prefixes, and so knows 0.NA."""
    assert code(office.get(f"0.NA/{PREFIX}")) == (200, 1)
    for answer in (
        office.get("0.NA/20.1000"),
        office.get("0.na/20.1000", index=1),
        office.get("0.NA/20.1000", office.key),
        office.put("0.NA/20.1000", [text(1, "DESC", "x")], office.key, index=1),
        office.key.delete(handle_path("0.NA/20.1000")),
    ):
        assert code(answer) == (400, 301)
        assert answer.json()["message"] == "That prefix doesn't live here"


@pytest.mark.parametrize("slashes", ["//", "///"])
def test_a_slash_too_many_in_front_is_removed(office: HandleOffice, record: str, slashes: str) -> None:
    with connection(office.server) as client:
        for headers in ((), (THROUGH_APPLICATION,)):
            answer = client.request(f"{slashes}api/handles/{record}", *headers)
            assert answer.body == office.get(record).content
        body = json.dumps([administrator(), text(1, "DESC", "x")]).encode()
        name, kind = office.name(), "content-type: application/json"
        authorization = f"authorization: {basic()['Authorization']}"
        made = client.request(f"{slashes}api/handles/{name}", kind, authorization, method="PUT", body=body)
        assert made.status == 201
        assert client.request(f"{slashes}api/handles/{PREFIX}//x").status == 404


@pytest.mark.parametrize("path", ["21.T1/%zz", "21.T1/%FF%FE", "21.T1/", "21.T1/%00"])
def test_text_that_is_not_a_handle_is_an_invalid_handle(office: HandleOffice, path: str) -> None:
    assert code(office.anonymous.get(f"/api/handles/{path}")) == (400, 102)


def test_a_reserved_name_is_not_found(office: HandleOffice) -> None:
    office.server.perdure("prefix", "add", "21.T2", "--minter", "chosen")
    office.server.perdure("mint", "21.T2", "--suffix", "later")
    assert code(office.get("21.T2/later")) == (404, 100)


def test_a_plus_in_a_name_is_a_plus(office: HandleOffice) -> None:
    name = f"{PREFIX}/a+b c"
    assert office.admin.put("/api/handles/21.T1/a+b%20c", json=[administrator()]).json()["handle"] == name
    assert office.anonymous.get("/api/handles/21.T1/a+b%20c").json()["handle"] == name
    assert code(office.anonymous.get("/api/handles/21.T1/a%20b%20c")) == (404, 100)


@pytest.mark.parametrize("name", ["q?u", "h#h", "sl/ash//double/", "%41", "é", "a b", "dot/../dot", "+", "&=;"])
def test_any_name_can_be_created_and_read(office: HandleOffice, name: str) -> None:
    from urllib.parse import quote

    path = f"/api/handles/{PREFIX}/{quote(name, safe='')}"
    assert code(office.admin.put(path, json=[administrator()])) == (201, 1)
    assert office.anonymous.get(path).json()["handle"] == f"{PREFIX}/{name}"


# Values that are not public.


def test_private_values_are_for_administrators_only(office: HandleOffice, record: str) -> None:
    assert 2 not in office.values(record)
    assert office.values(record, office.admin)[2]["permissions"] == "1100"
    assert 2 not in office.values(record, office.admin, publicOnly="true")
    assert 2 in office.values(record, office.admin, publicOnly="false")
    assert office.get(record, type="EMAIL").json()["values"] == []


def test_a_request_for_private_values_needs_credentials(office: HandleOffice, record: str) -> None:
    answer = office.get(record, publicOnly="false")
    assert code(answer) == (401, 402)
    challenges = answer.headers.get_list("www-authenticate")
    assert challenges[0] == 'Basic realm="handle"'
    assert challenges[1].startswith('Handle sessionId="')
    assert 'nonce="' in challenges[1]
    assert "a@example.org" not in answer.text


def test_a_record_without_private_values_needs_no_credentials(office: HandleOffice) -> None:
    name = office.make(text(1, "URL", "https://example.org/"))
    assert code(office.get(name, publicOnly="false")) == (200, 1)


def test_a_secret_is_never_shown(office: HandleOffice) -> None:
    for client in (office.anonymous, office.admin, office.key):
        answer = office.get(ADMIN, client)
        assert "a word" not in answer.text
    shown = office.values(ADMIN, office.admin)[300]
    assert (shown["type"], shown["data"]) == ("HS_SECKEY", {"format": "string", "value": ""})


def test_responses_for_one_caller_are_not_cached(office: HandleOffice, record: str) -> None:
    assert office.get(record, office.admin).headers["cache-control"] == "no-store"
    assert "etag" not in office.get(record, office.admin).headers


# Forms of asking and of answering.


def test_post_reads_a_handle_like_get(office: HandleOffice, record: str) -> None:
    expected = office.get(record, index=[1, 4]).json()
    assert office.anonymous.post(handle_path(record), data={"index": ["1", "4"]}).json() == expected
    assert office.anonymous.post(handle_path(record), json={"index": [1, "4"]}).json() == expected
    assert office.anonymous.post(f"{handle_path(record)}?index=1", json={"index": 4}).json() == expected
    assert office.anonymous.post(handle_path(record)).json() == office.get(record).json()
    assert code(office.anonymous.post(handle_path(record), json={"publicOnly": False})) == (401, 402)


def test_the_parameters_of_a_post_without_a_content_type_are_a_form_or_json(office: HandleOffice, record: str) -> None:
    expected = office.get(record, index=[1, 4]).json()
    for body in (b"index=1&index=4", b'{"index": [1, 4]}', b'\xef\xbb\xbf {"index": ["1", 4]}'):
        assert office.anonymous.post(handle_path(record), content=body).json() == expected


def test_an_announced_certificate_that_is_missing_does_not_prevent_a_read(office: HandleOffice, record: str) -> None:
    announced = {"Authorization": 'Handle clientCert="true"'}
    answer = office.anonymous.get(handle_path(record), headers=announced)
    assert answer.content == office.get(record).content
    assert code(office.anonymous.put(handle_path(record), json=[], headers=announced)) == (401, 402)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", b"index=1"),
        ("", b"type=%FF"),
        ("", b"{"),
        ("application/json", b"[1]"),
        ("application/json", b'{"index":{"a":1}}'),
        ("application/json", b"{"),
        ("application/json", b"[" * 100_000),
        ("application/x-www-form-urlencoded", b"type=%FF"),
    ],
)
def test_a_query_that_cannot_be_parsed_is_a_protocol_error(
    office: HandleOffice, record: str, kind: str, body: bytes
) -> None:
    answer = office.anonymous.post(handle_path(record), content=body, headers={"Content-Type": kind} if kind else {})
    assert code(answer) == (400, 4)


def test_the_pretty_format_has_the_same_content(office: HandleOffice, record: str) -> None:
    plain, pretty = office.get(record), office.get(record, pretty="true")
    assert pretty.json() == plain.json()
    assert b"\n" not in plain.content
    assert pretty.content.count(b"\n") > 10
    assert office.anonymous.get(f"{handle_path(record)}?pretty").content == pretty.content
    assert office.get(record, pretty="false").content == plain.content


def test_a_script_calls_the_function_of_the_page(office: HandleOffice, record: str) -> None:
    answer = office.get(record, callback="show<1>.me$")
    assert answer.headers["content-type"] == "application/javascript;charset=utf-8"
    assert answer.text.startswith("/**/show_1__me$(")
    assert answer.text.endswith(");")
    assert json.loads(answer.text.partition("(")[2][:-2]) == office.get(record).json()


def test_a_script_contains_nothing_private_because_any_page_may_load_it(office: HandleOffice, record: str) -> None:
    assert "a@example.org" not in office.get(record, office.admin, callback="f").text
    assert office.get(record, office.admin, callback="f", publicOnly="false").status_code == 401
    assert office.put(record, [administrator()], callback="f").status_code == 401


def test_a_script_holds_no_line_separators(office: HandleOffice) -> None:
    name = office.make(text(1, "DESC", "a\u2028b\u2029c"))
    answer = office.get(name, callback="f")
    assert "\u2028" not in answer.text
    assert json.loads(answer.text.partition("(")[2][:-2])["values"][0]["data"]["value"] == "a\u2028b\u2029c"


def test_head_is_get_without_the_body(office: HandleOffice, record: str) -> None:
    for query in ("", "?index=1", "?index=77"):
        head, got = (
            office.anonymous.head(handle_path(record) + query),
            office.anonymous.get(handle_path(record) + query),
        )
        assert head.content == b""
        assert (head.status_code, head.headers["content-length"]) == (got.status_code, got.headers["content-length"])
    assert office.anonymous.head(f"/api/handles/{PREFIX}/missing").status_code == 404


def test_options_lists_the_allowed_methods(office: HandleOffice, record: str) -> None:
    answer = office.anonymous.options(handle_path(record))
    assert answer.status_code == 200
    assert answer.headers["allow"] == "GET, HEAD, POST, PUT, DELETE, OPTIONS"


@pytest.mark.parametrize("method", ["PATCH", "TRACE", "PROPFIND"])
def test_other_methods_are_not_supported(office: HandleOffice, record: str, method: str) -> None:
    assert code(office.anonymous.request(method, handle_path(record))) == (501, 5)


def test_a_method_that_an_endpoint_does_not_have_is_refused(office: HandleOffice) -> None:
    answer = office.admin.put("/api/site", json={})
    assert code(answer) == (405, 4)
    assert answer.headers["allow"] == "GET, HEAD, POST, OPTIONS"


def test_other_addresses_are_unknown(office: HandleOffice) -> None:
    answer = office.anonymous.get("/api/nope")
    assert (answer.status_code, answer.json()) == (
        404,
        {"responseCode": 4, "message": "Unknown HTTP API endpoint GET /api/nope"},
    )
    for method, path in (("GET", "/api/site/x"), ("GET", "/api/prefixes/0.NA/21.T1"), ("GET", "/api/sessions")):
        assert code(office.anonymous.request(method, path)) == (404, 4)
