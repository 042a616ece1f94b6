"""Records as clients of Handle servers create, change and delete them."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.http.handle_server import (
    ADMIN,
    EVERYTHING,
    INDEX,
    PREFIX,
    HandleOffice,
    administrator,
    basic,
    code,
    handle_office,
    handle_path,
    text,
)

from perdure.folder.registry_folder import make_registry

URL = text(1, "URL", "https://example.org/")


def test_a_handle_is_created_and_then_overwritten(office: HandleOffice) -> None:
    name = office.name()
    made = office.put(name, {"values": [administrator(), URL]})
    assert (made.status_code, made.json()) == (201, {"responseCode": 1, "handle": name})
    again = office.put(name, {"values": [administrator(), text(2, "DESC", "other")]})
    assert (again.status_code, again.json()) == (200, {"responseCode": 1, "handle": name})
    assert {1, 2} & set(office.values(name)) == {2}


def test_three_forms_of_a_body_are_accepted(office: HandleOffice) -> None:
    bodies: list[Any] = [[URL], {"values": [URL]}, URL]
    for body in bodies:
        name = office.name()
        assert code(office.put(name, body)) == (201, 1)
        assert office.values(name)[1]["data"]["value"] == "https://example.org/"


def test_a_body_may_name_its_handle_and_must_name_the_right_one(office: HandleOffice) -> None:
    name = office.name()
    assert code(office.put(name, {"handle": name.upper(), "values": [URL]})) == (201, 1)
    assert code(office.put(office.name(), {"handle": name, "values": [URL]})) == (400, 4)


def test_an_empty_record_may_be_created(office: HandleOffice) -> None:
    for body in ([], {"values": []}):
        assert code(office.put(office.name(), body)) == (201, 1)


def test_without_overwrite_nothing_is_overwritten(office: HandleOffice) -> None:
    name = office.make(URL)
    before = office.get(name).content
    assert code(office.put(name, [text(1, "URL", "https://example.com/")], overwrite="false")) == (409, 101)
    taken = office.put(name, [text(1, "URL", "https://example.com/")], index=1, overwrite="false")
    assert code(taken) == (409, 201)
    assert taken.json()["message"] == "Index conflict for 1"
    assert office.get(name).content == before
    assert code(office.put(office.name(), [URL], overwrite="false")) == (201, 1)


def test_values_are_added_and_changed_by_index(office: HandleOffice) -> None:
    name = office.make(URL)
    assert code(office.put(name, [text(2, "DESC", "new")], index=2)) == (201, 1)
    assert code(office.put(name, [text(2, "DESC", "newer")], index=2)) == (200, 1)
    assert code(office.put(name, text(3, "DESC", "alone"), index="various")) == (201, 1)
    values = office.values(name)
    assert values[1]["data"]["value"] == "https://example.org/"
    assert (values[2]["data"]["value"], values[3]["data"]["value"]) == ("newer", "alone")


def test_the_indexes_of_the_url_must_be_those_of_the_body(office: HandleOffice) -> None:
    name = office.make(URL)
    for indexes in ([2], [1, 2], [1, 2, 3]):
        answer = office.put(name, [URL, text(3, "DESC", "x")], index=indexes)
        assert code(answer) == (400, 4)
        assert answer.json()["message"] == "Mismatched indexes in PUT request"
    assert code(office.put(name, [URL, text(3, "DESC", "x")], index=[3, 1])) == (201, 1)


def test_values_cannot_be_put_into_a_missing_handle(office: HandleOffice) -> None:
    assert code(office.put(office.name(), [URL], index=1)) == (404, 100)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([URL, text(1, "DESC", "twice")], (409, 201)),
        ([text(0, "URL", "https://example.org/")], (400, 202)),
        ([text(-4, "URL", "https://example.org/")], (400, 202)),
        ([text(2**31, "DESC", "x")], (400, 202)),
        ([text("one", "DESC", "x")], (400, 4)),
        ([text(1.5, "DESC", "x")], (400, 4)),
        ([{"type": "URL", "data": "https://example.org/"}], (400, 4)),
        ([{"index": 1, "data": "https://example.org/"}], (400, 4)),
        ([{"index": 1, "type": "URL"}], (400, 4)),
        ([text(1, "URL", ["https://example.org/"])], (400, 4)),
        ([{"index": 1, "type": "URL", "data": ["https://example.org/"]}], (400, 4)),
        ([{"index": 1, "type": "X", "data": {"value": "x"}}], (400, 4)),
        ([{"index": 1, "type": "X", "data": {"format": "yaml", "value": "x"}}], (400, 4)),
        ([{"index": 1, "type": "X", "data": {"format": "base64", "value": "???"}}], (400, 4)),
        ([{"index": 1, "type": "X", "data": {"format": "hex", "value": "0g"}}], (400, 4)),
        *(
            ([text(1, "URL", target)], (400, 202))
            for target in (
                "javascript:alert(1)",
                "irods://a.example/b",
                "urn:isbn:0-330-25864-8",
                "www.example.org",
                "",
            )
        ),
        ([text(1, "X", "x", permissions="11")], (400, 202)),
        ([text(1, "X", "x", ttl=-1)], (400, 202)),
        ([text(1, "X", "x", ttl="tomorrow")], (400, 202)),
        ([text(1, "", "x")], (400, 202)),
        ([administrator(permissions="111")], (400, 202)),
        ([{"index": 1, "type": "HS_ADMIN", "data": "me"}], (400, 202)),
        ([{"index": 1, "type": "HS_ADMIN", "data": {"format": "admin", "value": {"handle": "x"}}}], (400, 4)),
        ([{"index": 1, "type": "HS_PUBKEY", "data": {"format": "key", "value": {"kty": "EC"}}}], (400, 202)),
        ([{"index": 1, "type": "HS_SITE", "data": {"format": "site", "value": {}}}], (400, 202)),
        ([text(number, "X", "x") for number in range(1, 2050)], (400, 202)),
        ({}, (400, 4)),
        ({"values": None}, (400, 4)),
        ("text", (400, 4)),
        (7, (400, 4)),
    ],
)
def test_an_invalid_body_is_refused_and_nothing_is_written(
    office: HandleOffice, body: Any, expected: tuple[int, int]
) -> None:
    name = office.name()
    answer = office.put(name, body)
    assert code(answer) == expected
    assert answer.json()["message"]
    assert answer.json()["handle"] == name
    assert code(office.get(name)) == (404, 100)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'["\xff"]', b"[" * 100_000, b'[{"index":1,"type":"\\ud800"}]'])
def test_a_body_that_is_not_json_is_a_protocol_error(office: HandleOffice, body: bytes) -> None:
    answer = office.admin.put(handle_path(office.name()), content=body, headers={"Content-Type": "application/json"})
    assert code(answer) == (400, 4)


@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-www-form-urlencoded"])
def test_a_body_of_another_kind_is_a_protocol_error(office: HandleOffice, kind: str) -> None:
    headers = {"Content-Type": kind} if kind else {}
    assert code(office.admin.put(handle_path(office.name()), content=b"[]", headers=headers)) == (400, 4)
    fine = {"Content-Type": "Application/JSON; charset=UTF-8"}
    assert code(office.admin.put(handle_path(office.name()), content=b"[]", headers=fine)) == (201, 1)


def test_the_size_of_a_body_is_limited(office: HandleOffice) -> None:
    answer = office.put(office.name(), [text(1, "X", "x" * (5 << 20))])
    assert code(answer) == (413, 4)


def test_other_url_schemes_are_accepted_if_the_settings_name_them(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    asyncio.run(make_registry(folder, name="Tests"))
    file = folder / "perdure.toml"
    wider = '[limits]\nschemes = ["https", "irods", "urn", "javascript"]'
    file.write_text(file.read_text().replace("[limits]", wider, 1))
    with handle_office(folder) as other:
        for url in ("irods://a.example/b", "urn:isbn:0-330-25864-8"):
            name = other.make(text(1, "URL", url))
            assert other.values(name)[1]["data"]["value"] == url
        assert code(other.put(other.name(), [text(1, "URL", "javascript:alert(1)")])) == (400, 202), "never"


def test_errors_name_the_part_of_the_body(office: HandleOffice) -> None:
    assert "values[7].data" in office.put(office.name(), [text(7, "URL", "nowhere")]).json()["message"]
    assert "$.values[1]" in office.put(office.name(), {"values": [URL, {"index": 3}]}).json()["message"]


def test_a_new_suffix_is_minted(office: HandleOffice) -> None:
    for beginning in (f"{PREFIX}/", f"{PREFIX}/pre-"):
        answer = office.put(beginning, [administrator(), URL], mintNewSuffix="true")
        assert code(answer) == (201, 1)
        name = answer.json()["handle"]
        assert re.fullmatch(
            re.escape(beginning) + r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", name
        )
        assert 1 in office.values(name)
    assert code(office.put(f"{PREFIX}/", [URL], mintNewSuffix="true", index=1)) == (400, 4)


def test_names_under_a_pilin_prefix_are_minted_and_not_chosen(office: HandleOffice) -> None:
    office.server.perdure("prefix", "add", "777")
    refused = office.put("777/chosen", [URL], office.key)
    assert code(refused) == (400, 102)
    assert "mintNewSuffix=true" in refused.json()["message"]
    assert code(office.put("777/thesis-", [URL], office.key, mintNewSuffix="true")) == (400, 102)
    minted = office.put("777/", [administrator(), URL], office.key, mintNewSuffix="true")
    assert code(minted) == (201, 1)
    name = minted.json()["handle"]
    assert re.fullmatch(r"777/[0-9BCDFGHJKLMNPQRSTVWXYZ]{9}", name)
    assert code(office.put(name, [administrator(), text(2, "DESC", "x")], office.key)) == (200, 1)


def test_values_are_deleted_all_or_none(office: HandleOffice) -> None:
    name = office.make(URL, text(2, "DESC", "x"), text(3, "DESC", "y"))
    missing = office.admin.delete(handle_path(name), params={"index": [2, 9]})
    assert code(missing) == (400, 200)
    assert missing.json()["handle"] == name
    assert {2, 3} <= set(office.values(name))
    assert code(office.admin.delete(handle_path(name), params={"index": [2, 3]})) == (200, 1)
    assert {1, 2, 3} & set(office.values(name)) == {1}
    assert code(office.admin.delete(handle_path(name), params={"index": "various"})) == (400, 4)


def test_a_deleted_handle_is_gone_for_handle_clients_and_its_history_stays(office: HandleOffice) -> None:
    name = office.make(URL)
    done = office.admin.delete(handle_path(name))
    assert (done.status_code, done.json()) == (200, {"responseCode": 1, "handle": name})
    body = office.get(name).json()
    assert (body["responseCode"], body["handle"], body["tombstone"]["reason"]) == (
        100,
        name,
        "deleted through the Handle API",
    )
    for client in (office.admin, office.key):
        assert code(office.get(name, client)) == (404, 100)
    gone = office.admin.delete(handle_path(name))
    assert (gone.status_code, gone.json()) == (404, {"responseCode": 100, "handle": name})
    assert "withdraw" in office.server.perdure("history", name)
    assert code(office.put(name, [administrator(), URL], overwrite="false")) == (201, 1)
    assert 1 in office.values(name)


def test_a_reserved_name_is_not_found_by_get_and_delete(office: HandleOffice) -> None:
    name = f"{PREFIX}/kept-free"
    office.server.perdure("mint", PREFIX, "--suffix", "kept-free")
    for answer in (office.get(name, office.key), office.key.delete(handle_path(name))):
        assert code(answer) == (404, 100)
    assert "reserved" in office.server.perdure("show", name)
    assert code(office.put(name, [administrator(), URL], office.key)) == (201, 1)


def test_a_missing_handle_cannot_be_deleted(office: HandleOffice) -> None:
    assert code(office.admin.delete(handle_path(office.name()))) == (404, 100)
    assert code(office.admin.delete("/api/handles/20.1000/100")) == (400, 301)
    assert code(office.admin.delete("/api/handles/")) == (400, 102)


# Conditions.


def test_a_write_with_a_false_condition_is_refused(office: HandleOffice) -> None:
    name = office.make(URL)
    tag = office.get(name).headers["etag"]
    new = [administrator(), text(1, "URL", "https://example.com/")]
    for condition in ({"If-Match": '"99-record"'}, {"If-Match": '"1"'}, {"If-None-Match": "*"}, {"If-None-Match": tag}):
        for method, body, parameters in (
            ("PUT", new, {}),
            ("PUT", [administrator(), URL], {}),  # which would change nothing
            ("PUT", [text(2, "DESC", "x")], {"index": 2}),
            ("DELETE", None, {}),
            ("DELETE", None, {"index": 1}),
        ):
            answer = office.admin.request(method, handle_path(name), json=body, params=parameters, headers=condition)
            assert code(answer) == (412, 4), (condition, method)
            assert answer.json()["handle"] == name
    assert office.get(name).headers["etag"] == tag


def test_a_write_with_a_true_condition_is_done(office: HandleOffice) -> None:
    name = office.name()
    body = [administrator(), URL]

    def put(path: str, **headers: str) -> tuple[int, int]:
        written = {key.replace("_", "-"): value for key, value in headers.items()}
        return code(office.admin.put(path, json=body, headers=written))

    assert put(handle_path(name), If_Match="*") == (412, 4), "nothing is there yet"
    assert put(handle_path(name), If_Match='"1-record"') == (412, 4)
    assert put(handle_path(name), If_None_Match="*") == (201, 1)
    body = [*body, text(2, "DESC", "x")]
    assert put(handle_path(name), If_Match='"7-record", W/"1-record"') == (200, 1)
    assert put(handle_path(name), If_Match="*", If_None_Match='"1-record"') == (200, 1)
    assert put(handle_path(name), If_Match="nonsense") == (400, 4)
    assert code(office.admin.delete(handle_path(name), headers={"If-Match": '"2-record"'})) == (200, 1)
    assert put(handle_path(name), If_Match='"3-record"') == (412, 4), "to Handle clients it is gone"
    assert put(handle_path(name), If_None_Match="*") == (201, 1)
    assert put(f"/api/handles/{PREFIX}/?mintNewSuffix=true", If_None_Match="*") == (201, 1)
    assert put(f"/api/handles/{PREFIX}/?mintNewSuffix=true", If_Match="*") == (412, 4)


def test_permission_is_checked_before_a_condition(office: HandleOffice) -> None:
    name = office.make(URL)
    answer = office.anonymous.put(handle_path(name), json=[URL], headers={"If-Match": '"99-record"'})
    assert code(answer) == (401, 402)
    missing = office.admin.delete(handle_path(office.name()), headers={"If-Match": "*"})
    assert code(missing) == (404, 100)


def test_the_record_of_a_prefix_always_exists(office: HandleOffice) -> None:
    body = [administrator(101, permissions=EVERYTHING)]
    for condition, expected in (
        ({"If-Match": "*"}, 200),
        ({"If-None-Match": "*"}, 412),
        ({"If-Match": '"1-record"'}, 412),
    ):
        answer = office.key.put(handle_path(f"0.NA/{PREFIX}"), json=body, params={"index": 101}, headers=condition)
        assert answer.status_code == expected, condition


# Who may.


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_write_without_credentials_is_refused(office: HandleOffice, method: str) -> None:
    name = office.make(URL)
    answer = office.anonymous.request(method, handle_path(name), json=[URL])
    assert code(answer) == (401, 402)
    assert len(answer.headers.get_list("www-authenticate")) == 2
    assert answer.json()["handle"] == name


def test_a_wrong_password_is_answered_without_a_body(office: HandleOffice) -> None:
    for headers in (basic(word="wrong"), basic(index=301), basic(name=f"{PREFIX}/NOBODY")):
        with httpx.Client(base_url=office.server.url, headers=headers) as client:
            for answer in (office.get(ADMIN, client), office.put(office.name(), [URL], client)):
                assert (answer.status_code, answer.content) == (401, b"")
                basic_challenge, handle_challenge = answer.headers.get_list("www-authenticate")
                assert basic_challenge == 'Basic realm="handle"'
                assert 'error="Identity not verified"' in handle_challenge


def test_an_identity_that_is_not_an_administrator_is_refused(office: HandleOffice) -> None:
    other = f"{PREFIX}/OTHER"
    secret = text(INDEX, "HS_SECKEY", "another", permissions="1100")
    assert code(office.put(other, [administrator(name=other), secret], office.key)) == (201, 1)
    name = office.make(URL)
    with httpx.Client(base_url=office.server.url, headers=basic(name=other, word="another")) as client:
        assert code(office.put(office.name(), [URL], client)) == (403, 400)
        assert code(office.put(name, [URL], client)) == (403, 400)
        assert code(office.put(name, [URL], client, index=1)) == (403, 400)
        assert code(client.delete(handle_path(name))) == (403, 400)
        assert code(client.get("/api/handles", params={"prefix": PREFIX})) == (403, 400)
        assert code(client.post("/api/prefixes/0.NA/21.T77")) == (403, 400)
        assert code(office.get(name, client)) == (200, 1)


def test_the_key_of_an_administrator_has_all_permissions_of_the_administrator(office: HandleOffice) -> None:
    name = office.name()
    assert code(office.put(name, [administrator(permissions=EVERYTHING), URL], office.key)) == (201, 1)
    assert code(office.put(name, text(2, "DESC", "x"), office.key, index=2)) == (201, 1)
    assert code(office.key.delete(handle_path(name), params={"index": 2})) == (200, 1)
    assert code(office.key.delete(handle_path(name))) == (200, 1)


def test_a_changed_secret_is_accepted_at_once_and_the_old_one_is_refused(office: HandleOffice) -> None:
    name = f"{PREFIX}/CHANGING"
    secrets = ("xyzzy-the-first", "xyzzy-the-next")
    for secret in secrets:
        values = [administrator(name=name), text(INDEX, "HS_SECKEY", secret, permissions="1100")]
        assert code(office.put(name, values, office.key))[1] == 1
        for tried in secrets:
            with httpx.Client(base_url=office.server.url, headers=basic(name=name, word=tried)) as client:
                assert client.get(handle_path(name)).status_code == (200 if tried == secret else 401)
    contents = [path.read_bytes() for path in office.server.folder.rglob("*") if path.is_file()]
    assert any(b"CHANGING" in content for content in contents)
    assert not any(b"xyzzy" in content for content in contents)


@pytest.mark.parametrize("body", [
    '{"values": [VALUE], "values": [VALUE]}',
    '[{"index": 1, "index": 2, "type": "DESC", "data": "x"}]',
    '[{"index": 1, "type": "DESC", "data": {"format": "string", "value": "x", "value": "y"}}]',
    r'{"index": 1, "type": "DESC", "data": "x", "typ\u0065": "URL"}',
])  # fmt: skip
def test_a_key_that_is_given_twice_is_refused(office: HandleOffice, body: str) -> None:
    name = office.name()
    content = body.replace("VALUE", '{"index": 1, "type": "DESC", "data": "x"}')
    answer = office.admin.put(handle_path(name), content=content, headers={"Content-Type": "application/json"})
    assert code(answer) == (400, 4)
    assert "is given twice" in answer.json()["message"]
    assert office.get(name).status_code == 404


def test_a_parameter_that_a_body_gives_twice_is_refused(office: HandleOffice) -> None:
    content, kind = '{"index": 1, "index": 2}', {"Content-Type": "application/json"}
    answer = office.anonymous.post(handle_path(ADMIN), content=content, headers=kind)
    assert answer.status_code == 400, answer.text
    assert "the key 'index' is given twice" in answer.text
