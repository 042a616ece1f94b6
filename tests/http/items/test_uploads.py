"""Uploads over HTTP: a file at its path, a form, and tus; checked, bounded, and by permission only."""

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.http.items.item_server import COLLECTION, SUBSYSTEM, ItemServer, item_server
from tests.http.raw_client import connection, request

from perdure.collections.collection_paths import CollectionPaths
from perdure.collections.item_lock import lock_item

TUS = {"Tus-Resumable": "1.0.0"}
PART = {**TUS, "Content-Type": "application/offset+octet-stream"}
ORIGIN = "https://deposit.example.org"
API = f"/api/v1/items/{COLLECTION}"
SETTINGS = f'upload_bytes = 3000000\ncors_origins = ["{ORIGIN}"]'
UPLOADS = "/api/v1/uploads"


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ItemServer]:
    with item_server(tmp_path_factory.mktemp("items") / "registry", settings=SETTINGS) as served:
        yield served


@pytest.fixture(scope="module")
def maria(items: ItemServer) -> Iterator[httpx.Client]:
    with items.server.client(items.maria) as client:
        yield client


def digest(content: bytes, algorithm: str = "sha256") -> str:
    return base64.b64encode(hashlib.new(algorithm, content).digest()).decode()


def metadata(**fields: str) -> str:
    return ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in fields.items())


def begin(client: httpx.Client, length: int, **fields: str) -> httpx.Response:
    given = {"collection": COLLECTION, "filename": "a.bin", **fields}
    headers = {**TUS, "Upload-Length": str(length), "Upload-Metadata": metadata(**given)}
    return client.post(UPLOADS, headers=headers)


def send(client: httpx.Client, url: str, offset: int, content: bytes, **headers: str) -> httpx.Response:
    return client.patch(url, headers={**PART, "Upload-Offset": str(offset), **headers}, content=content)


def upload_url(answer: httpx.Response, items: ItemServer) -> str:
    assert answer.status_code == 201, answer.text
    return items.server.url + httpx.URL(answer.headers["location"]).path


def item_versions(items: ItemServer, url: str) -> list[dict[str, Any]]:
    answer = items.get(httpx.URL(url).path, headers={"Accept": "application/json"})
    assert answer.status_code == 200, answer.text
    versions: list[dict[str, Any]] = answer.json()["versions"]
    return versions


def test_a_file_is_put_and_read_back(items: ItemServer, maria: httpx.Client) -> None:
    content = b"new" * 500_000
    answer = maria.put(
        f"{API}/{items.label}/new/file.txt",
        content=content,
        headers={"Repr-Digest": f"sha-256=:{digest(content)}:", "Content-Type": "text/x-log"},
    )
    assert answer.status_code == 200, answer.text
    read = items.get(items.path_of("new/file.txt"))
    assert (read.content, read.headers["content-type"]) == (content, "text/x-log")
    assert items.get(items.path_of("page.html")).status_code == 200
    before = answer.json()["version"]
    again = maria.put(f"{API}/{items.label}/new/file.txt", content=content, headers={"Content-Type": "text/x-log"})
    assert again.json()["version"] == before


def test_a_file_with_another_digest_is_not_stored(items: ItemServer, maria: httpx.Client) -> None:
    for header in ("Repr-Digest", "Content-Digest"):
        answer = maria.put(
            f"{API}/{items.label}/wrong.txt", content=b"a", headers={header: f"sha-512=:{digest(b'b', 'sha512')}:"}
        )
        assert (answer.status_code, answer.json()["code"]) == (422, "digest-mismatch")
    assert items.get(items.path_of("wrong.txt")).status_code == 404


@pytest.mark.parametrize("path", ["%2e%2e/x", "a/%2e%2e/b", "CON/", "a//b", "x%00", "%2Fetc%2Fx", "a/"])
def test_a_hostile_path_is_refused(items: ItemServer, maria: httpx.Client, path: str) -> None:
    host, port = items.server.address
    request = maria.build_request("PUT", f"http://{host}:{port}/", content=b"a")
    request.url = request.url.copy_with(raw_path=f"{API}/{items.label}/{path}".encode())
    answer = maria.send(request)
    assert answer.status_code in (400, 404, 422), answer.text


UNSTORABLE = ["../x", "a/../b", "/etc/passwd", "CON", "a//b", "x\x00", "a\\b", "\u202ex", "x/" * 40 + "y"]
COLLIDING = ["page.html/x", "PAGE.html", "maps", "Maps/x"]


@pytest.mark.parametrize("path", UNSTORABLE)
def test_an_upload_with_a_name_that_no_item_can_have_does_not_begin(maria: httpx.Client, path: str) -> None:
    answer = begin(maria, 2_000_000, subsystem=SUBSYSTEM, filename=path)
    assert (answer.status_code, answer.json()["code"]) == (422, "refused-file")


@pytest.mark.parametrize("path", COLLIDING)
def test_a_name_that_collides_with_a_file_of_the_item_is_refused_at_once(
    items: ItemServer, maria: httpx.Client, path: str
) -> None:
    begun = begin(maria, 2_000_000, label=items.label, filename=path)
    put = maria.put(f"{API}/{items.label}/{path}", content=b"a")
    for answer in (begun, put):
        assert (answer.status_code, answer.json()["code"]) == (422, "refused-file")
        assert repr(path) in answer.json()["detail"]


@pytest.mark.parametrize(
    ("files", "fields"),
    [
        (["x", "X"], {}),
        (["../x"], {}),
        (["x"], {"main": "y"}),
    ],
)
def test_a_form_that_is_refused_reserves_no_name(
    items: ItemServer, maria: httpx.Client, files: list[str], fields: dict[str, str]
) -> None:
    parts = [("file", (path, b"1")) for path in files]
    assert maria.post(API, data={"subsystem": SUBSYSTEM, **fields}, files=parts).status_code == 422
    with items.server.client() as admin:
        assert admin.get("/api/v1/identifiers", params={"state": "reserved"}).json()["identifiers"] == []


@pytest.mark.parametrize(
    ("field", "text"),
    [("title", "a\x07b"), ("title", "t" * 4_097), ("message", "\x1b[2J"), ("message", "m" * 4_097)],
)
def test_a_text_that_cannot_be_stored_is_refused_before_the_first_byte(
    items: ItemServer, maria: httpx.Client, field: str, text: str
) -> None:
    begun = begin(maria, 2_000_000, subsystem=SUBSYSTEM, **{field: text})
    form = maria.post(API, data={"subsystem": SUBSYSTEM, field: text}, files={"file": ("a", b"1")})
    for answer in (begun, form):
        assert answer.status_code in (413, 422), answer.text
    assert begun.json()["part"] == field
    with items.server.client() as admin:
        assert admin.get("/api/v1/identifiers", params={"state": "reserved"}).json()["identifiers"] == []


def test_a_new_item_needs_a_subsystem_of_labels(items: ItemServer) -> None:
    items.server.perdure("prefix", "add", "12345")
    with items.server.client() as admin:
        for answer in (
            begin(admin, 2_000_000, subsystem="12345"),
            admin.post(API, data={"subsystem": "12345"}, files={"file": ("a", b"1")}),
        ):
            assert (answer.status_code, answer.json()["part"]) == (422, "subsystem")


def test_a_pool_names_a_new_item(items: ItemServer, maria: httpx.Client) -> None:
    items.server.perdure("pool", "add", "main", SUBSYSTEM)
    answer = maria.post(API, data={"subsystem": "main"}, files={"file": ("a", b"1")})
    assert answer.status_code == 201, answer.text
    assert answer.json()["label"].startswith(SUBSYSTEM)
    assert begin(maria, 3, subsystem="main").status_code == 201


def test_the_main_file_and_the_reason_of_a_version_can_be_stated(items: ItemServer, maria: httpx.Client) -> None:
    files = [("file", (name, b"1")) for name in ("a.txt", "b.txt")]
    stored = maria.post(API, data={"subsystem": SUBSYSTEM, "main": "b.txt", "message": "first"}, files=files).json()
    assert stored["main_file"] == "b.txt"
    assert items.get(f"/{stored['label']}").headers["location"] == stored["url"] + "b.txt"
    url = upload_url(begin(maria, 1, label=stored["label"], filename="c.txt", main="a.txt", message="more"), items)
    assert send(maria, url, 0, b"c").status_code == 204
    assert items.get(f"/{stored['label']}").headers["location"] == stored["url"] + "a.txt"
    assert [one["message"] for one in item_versions(items, stored["url"])] == ["more", "first"]
    assert "(main file)" in items.get(httpx.URL(stored["url"]).path).text
    url = upload_url(begin(maria, 1, label=stored["label"], filename="d.txt", main="/"), items)
    assert send(maria, url, 0, b"d").status_code == 204
    assert items.get(f"/{stored['label']}").headers["location"] == stored["url"]
    assert begin(maria, 1, label=stored["label"], main="e.txt").json()["part"] == "main"


def test_a_part_of_a_file_is_not_stored_as_the_file(items: ItemServer, maria: httpx.Client) -> None:
    answer = maria.put(
        f"{API}/{items.label}/page.html", content=b"rest", headers={"Content-Range": "bytes 100-103/104"}
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request")
    assert items.get(items.path_of("page.html")).content != b"rest"


def test_conditions_protect_a_file_from_being_overwritten(items: ItemServer, maria: httpx.Client) -> None:
    address = f"{API}/{items.label}/guarded.txt"

    def put(content: bytes, **conditions: str) -> int:
        return maria.put(address, content=content, headers=conditions).status_code

    new, old = {"If-None-Match": "*"}, {"If-Match": "*"}
    assert (put(b"0", **old), put(b"1", **new), put(b"2", **new)) == (412, 200, 412)
    tag = items.get(items.path_of("guarded.txt")).headers["etag"]
    assert put(b"2", **{"If-Match": '"another"'}) == 412
    assert put(b"2", **{"If-Match": tag}) == 200
    assert put(b"3", **{"If-Match": tag}) == 412
    assert items.get(items.path_of("guarded.txt")).content == b"2"
    first = [f"{address}-{number}" for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda one: maria.put(f"{address}-new", content=one.encode(), headers=new), first))
    assert [answer.status_code for answer in answers].count(200) == 1
    assert {answer.status_code for answer in answers} == {200, 412}


def test_a_page_of_another_origin_learns_where_its_upload_went(items: ItemServer, maria: httpx.Client) -> None:
    url = upload_url(begin(maria, 1, label=items.label, filename="shown.txt"), items)
    origin = {"Origin": ORIGIN}
    for answer in (
        send(maria, url, 0, b"1", **origin),
        maria.put(f"{API}/{items.label}/shown.txt", content=b"1", headers=origin),
    ):
        exposed = ", ".join(answer.headers.get_list("access-control-expose-headers"))
        assert {"location", "content-location"} <= set(exposed.split(", "))
        assert "content-location" in answer.headers


def test_an_agent_who_may_edit_only_its_own_items_stores_them(items: ItemServer) -> None:
    items.server.perdure("agent", "add", "ana", "--name", "Ana")
    items.server.perdure("agent", "grant", "ana", SUBSYSTEM, "mint")
    key = items.server.perdure("agent", "key", "ana").split()[0]
    files = {"file": ("a", b"1")}
    with items.server.client(key) as ana:
        assert ana.post(API, data={"subsystem": SUBSYSTEM}, files=files).status_code == 403
        items.server.perdure("agent", "grant", "ana", SUBSYSTEM, "edit", "--own")
        answer = ana.post(API, data={"subsystem": SUBSYSTEM}, files=files)
        assert answer.status_code == 201, answer.text
        assert ana.put(f"{API}/{answer.json()['label']}/b", content=b"2").status_code == 200
        assert ana.put(f"{API}/{items.label}/b", content=b"2").status_code == 403


def test_a_form_makes_a_new_item(items: ItemServer, maria: httpx.Client) -> None:
    files = [("file", ("a/one.txt", b"1", "text/plain")), ("file", ("b.html", b"<p>", "text/html"))]
    answer = maria.post(API, data={"subsystem": SUBSYSTEM, "title": "A new item"}, files=files)
    assert answer.status_code == 201, answer.text
    stored = answer.json()
    [version] = item_versions(items, stored["url"])
    assert {(one["path"], one["media_type"]) for one in version["files"]} == {
        ("a/one.txt", "text/plain"),
        ("b.html", "text/html"),
    }
    assert "A new item" in items.get(httpx.URL(stored["url"]).path).text
    assert items.get(f"/{stored['label']}").headers["location"] == stored["url"]


def test_an_item_with_one_file_leads_to_that_file(items: ItemServer, maria: httpx.Client) -> None:
    answer = maria.post(API, data={"subsystem": SUBSYSTEM}, files={"file": ("only.txt", b"1")})
    stored = answer.json()
    assert stored["main_file"] == "only.txt"
    assert items.get(f"/{stored['label']}").headers["location"] == stored["url"] + "only.txt"


@pytest.mark.parametrize(
    ("data", "files", "part"),
    [
        ({}, {"file": ("a", b"1")}, "label"),
        ({"subsystem": SUBSYSTEM, "label": "8JMKD3MGP8W/34PGRBS"}, {"file": ("a", b"1")}, "label"),
        ({"subsystem": SUBSYSTEM, "colour": "red"}, {"file": ("a", b"1")}, "colour"),
        ({"label": "8JMKD3MGP8W/34PGRBS", "title": "Another"}, {"file": ("a", b"1")}, "title"),
    ],
)
def test_a_wrong_form_is_refused(maria: httpx.Client, data: dict[str, str], files: dict[str, Any], part: str) -> None:
    answer = maria.post(API, data=data, files=files)
    assert (answer.status_code, answer.json()["part"]) == (422, part)


def test_a_form_of_another_site_is_refused(maria: httpx.Client) -> None:
    answer = maria.post(
        API, data={"subsystem": SUBSYSTEM}, files={"file": ("a", b"1")}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert answer.status_code in (401, 403)


def test_nothing_is_stored_without_permission(items: ItemServer) -> None:
    for key in ("", items.maria):
        with items.server.client(key) as client:
            answers = [
                client.put(
                    f"{API}/{items.label}/a.txt" if not key else "/api/v1/items/other/" + items.label + "/a",
                    content=b"a",
                ),
                begin(client, 1, collection="other", subsystem=SUBSYSTEM)
                if key
                else begin(client, 1, subsystem=SUBSYSTEM),
            ]
        assert [answer.status_code for answer in answers] == ([404, 404] if key else [401, 401])


def test_too_large_files_are_refused_at_once(items: ItemServer, maria: httpx.Client) -> None:
    assert maria.put(f"{API}/{items.label}/big", content=bytes(3_000_001)).status_code == 413
    assert begin(maria, 3_000_001, subsystem=SUBSYSTEM).status_code == 413


def test_the_server_states_what_it_supports(maria: httpx.Client) -> None:
    answer = maria.options(UPLOADS)
    assert answer.status_code == 204
    assert answer.headers["tus-version"] == "1.0.0"
    assert set(answer.headers["tus-extension"].split(",")) == {"creation", "checksum", "termination", "expiration"}
    assert answer.headers["tus-max-size"] == "3000000"
    assert "sha1" in answer.headers["tus-checksum-algorithm"].split(",")


def test_an_upload_in_parts_becomes_a_new_item(items: ItemServer, maria: httpx.Client) -> None:
    content = b"x" * 1_500_000
    url = upload_url(begin(maria, len(content), subsystem=SUBSYSTEM, title="In parts", filetype="text/plain"), items)
    first = send(maria, url, 0, content[:600_000])
    assert (first.status_code, first.headers["upload-offset"]) == (204, "600000")
    shown = maria.head(url, headers=TUS)
    assert (shown.headers["upload-offset"], shown.headers["upload-length"]) == ("600000", "1500000")
    assert shown.headers["cache-control"] == "no-store"
    assert "upload-expires" in shown.headers
    last = send(maria, url, 600_000, content[600_000:])
    assert last.status_code == 204
    item = last.headers["content-location"]
    [version] = item_versions(items, item)
    assert [(one["path"], one["size"], one["media_type"]) for one in version["files"]] == [
        ("a.bin", 1_500_000, "text/plain")
    ]
    assert maria.head(url, headers=TUS).headers["content-location"] == item


def test_an_upload_adds_a_file_to_an_item(items: ItemServer, maria: httpx.Client) -> None:
    url = upload_url(begin(maria, 3, label=items.label, filename="added/by tus.txt"), items)
    assert send(maria, url, 0, b"abc").status_code == 204
    assert items.get(items.path_of("added/by tus.txt")).content == b"abc"
    assert items.get(items.path_of("page.html")).status_code == 200


def test_an_empty_upload_is_complete_at_once(items: ItemServer, maria: httpx.Client) -> None:
    answer = begin(maria, 0, label=items.label, filename="empty.txt")
    assert answer.status_code == 201
    assert items.get(items.path_of("empty.txt")).content == b""


def test_a_part_at_another_offset_is_refused(items: ItemServer, maria: httpx.Client) -> None:
    url = upload_url(begin(maria, 6, subsystem=SUBSYSTEM), items)
    assert send(maria, url, 0, b"abc").status_code == 204
    answer = send(maria, url, 2, b"def")
    assert (answer.status_code, answer.json()["code"], answer.headers["tus-resumable"]) == (
        409,
        "wrong-offset",
        "1.0.0",
    )
    assert send(maria, url, 3, b"defg").status_code == 413
    assert maria.head(url, headers=TUS).headers["upload-offset"] == "3"


def test_a_damaged_part_is_discarded(items: ItemServer, maria: httpx.Client) -> None:
    url = upload_url(begin(maria, 6, label=items.label, filename="checked.txt"), items)
    wrong = send(maria, url, 0, b"abX", **{"Upload-Checksum": f"sha1 {digest(b'abc', 'sha1')}"})
    assert (wrong.status_code, wrong.json()["code"]) == (460, "checksum-mismatch")
    assert maria.head(url, headers=TUS).headers["upload-offset"] == "0"
    for algorithm, offset, part in (("sha1", 0, b"abc"), ("sha512", 3, b"def")):
        right = send(maria, url, offset, part, **{"Upload-Checksum": f"{algorithm} {digest(part, algorithm)}"})
        assert right.status_code == 204
    assert items.get(items.path_of("checked.txt")).content == b"abcdef"
    assert send(maria, url, 0, b"", **{"Upload-Checksum": "crc32 AAAA"}).status_code == 400


def test_the_method_can_be_stated_in_a_header_of_post(items: ItemServer, maria: httpx.Client) -> None:
    """Some proxies pass on GET and POST only (tus 1.0.0, X-HTTP-Method-Override)."""
    url = upload_url(begin(maria, 3, label=items.label, filename="overridden.txt"), items)

    def post(method: str, content: bytes = b"", **headers: str) -> httpx.Response:
        return maria.post(url, headers={**PART, "X-HTTP-Method-Override": method, **headers}, content=content)

    assert post("PATCH", b"ab", **{"Upload-Offset": "0"}).status_code == 204
    shown = post("HEAD")
    assert (shown.status_code, shown.headers["upload-offset"], shown.content) == (200, "2", b"")
    assert [post(method).status_code for method in ("GET", "PUT", "POST")] == [400, 400, 405]
    assert post("patch", b"c", **{"Upload-Offset": "2"}).status_code == 204
    assert items.get(items.path_of("overridden.txt")).content == b"abc"
    assert post("DELETE").status_code == 204
    assert maria.head(url, headers=TUS).status_code == 404
    with items.server.client("") as nobody:
        assert nobody.post(url, headers={**TUS, "X-HTTP-Method-Override": "HEAD"}).status_code == 401
        preflight = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
        allowed = nobody.options(url, headers=preflight).headers["access-control-allow-headers"]
    assert "x-http-method-override" in allowed.split(", ")


def test_refused_requests_state_the_version_of_the_protocol(items: ItemServer, maria: httpx.Client) -> None:
    url = upload_url(begin(maria, 3, label=items.label, filename="refused.txt"), items)
    with items.server.client("") as nobody:
        refused = (nobody.head(url, headers=TUS), send(nobody, url, 0, b"a"), maria.get(url), maria.post(url))
    assert [one.status_code for one in refused] == [401, 401, 405, 405]
    assert {one.headers.get("tus-resumable") for one in refused} == {"1.0.0"}


def test_a_removed_upload_is_gone(items: ItemServer, maria: httpx.Client) -> None:
    url = upload_url(begin(maria, 6, subsystem=SUBSYSTEM), items)
    assert maria.delete(url, headers=TUS).status_code == 204
    assert [maria.head(url, headers=TUS).status_code, maria.delete(url, headers=TUS).status_code] == [404, 404]


def test_another_agent_cannot_continue_an_upload(items: ItemServer, maria: httpx.Client) -> None:
    url = upload_url(begin(maria, 6, subsystem=SUBSYSTEM), items)
    with items.server.client() as admin, items.server.client("") as nobody:
        assert admin.head(url, headers=TUS).status_code == 404
        assert send(admin, url, 0, b"abc").status_code == 404
        assert admin.delete(url, headers=TUS).status_code == 404
        assert send(nobody, url, 0, b"abc").status_code == 401
    assert maria.head(url, headers=TUS).headers["upload-offset"] == "0"


def test_another_version_of_the_protocol_is_refused(items: ItemServer, maria: httpx.Client) -> None:
    url = upload_url(begin(maria, 6, subsystem=SUBSYSTEM), items)
    for headers in ({"Tus-Resumable": "0.2.2"}, {}):
        answer = maria.head(url, headers=headers)
        assert (answer.status_code, answer.headers["tus-version"]) == (412, "1.0.0")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"label": "8JMKD3MGP8W/34PGRBS", "subsystem": SUBSYSTEM},
        {"subsystem": SUBSYSTEM, "collection": ""},
        {"subsystem": SUBSYSTEM, "filename": ""},
    ],
)
def test_incomplete_metadata_is_refused(maria: httpx.Client, fields: dict[str, str]) -> None:
    assert begin(maria, 6, **fields).status_code == 422


def test_a_part_of_another_media_type_is_refused(items: ItemServer, maria: httpx.Client) -> None:
    url = upload_url(begin(maria, 6, subsystem=SUBSYSTEM), items)
    assert send(maria, url, 0, b"abc", **{"Content-Type": "text/plain"}).status_code == 415


def test_the_quota_of_an_agent_holds_in_every_way(items: ItemServer, maria: httpx.Client) -> None:
    items.server.perdure("agent", "quota", "maria", "--limit", "1000", "--used", "900")
    try:
        assert maria.put(f"{API}/{items.label}/quota.txt", content=bytes(101)).json()["code"] == "quota-exceeded"
        first = begin(maria, 60, subsystem=SUBSYSTEM)
        assert first.status_code in (201, 507)
        assert begin(maria, 60, subsystem=SUBSYSTEM).status_code == 507
        answer = maria.post(API, data={"subsystem": SUBSYSTEM}, files={"file": ("a", bytes(101))})
        assert answer.status_code == 507
    finally:
        items.server.perdure("agent", "quota", "maria", "--no-limit", "--used", "0")
    assert maria.put(f"{API}/{items.label}/quota.txt", content=bytes(101)).status_code == 200


def test_a_body_of_unstated_length_is_refused_as_soon_as_it_is_beyond_the_quota(items: ItemServer) -> None:
    items.server.perdure("agent", "quota", "maria", "--limit", "1000", "--used", "0")
    key, chunked = f"authorization: Bearer {items.maria}", "transfer-encoding: chunked"
    form = "content-type: multipart/form-data; boundary=b"
    begun = f'--b\r\nContent-Disposition: form-data; name="subsystem"\r\n\r\n{SUBSYSTEM}\r\n'
    begun += '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    sent = [
        (request(f"{API}/{items.label}/endless.bin", key, chunked, method="PUT"), b""),
        (request(API, key, chunked, form, method="POST"), begun.encode()),
    ]
    try:
        for head, beginning in sent:
            with connection(items.server) as client:
                client.send(head)
                for piece in (beginning, bytes(2_000_000)):  # and more would follow
                    client.send(b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b"")
                answer = client.read()
                assert answer is not None
                assert (answer.status, json.loads(answer.body)["code"]) == (507, "quota-exceeded")
    finally:
        items.server.perdure("agent", "quota", "maria", "--no-limit", "--used", "0")


def test_a_file_that_an_item_has_already_does_not_count_again(items: ItemServer, maria: httpx.Client) -> None:
    remove_unfinished_uploads(items, maria)
    items.server.perdure("agent", "quota", "maria", "--limit", "1000", "--used", "0")
    try:
        for _ in range(4):
            answer = maria.put(f"{API}/{items.label}/again.txt", content=bytes(400))
            assert answer.status_code == 200, answer.text
        assert "400 bytes" in items.server.perdure("agent", "quota", "maria")
        assert maria.put(f"{API}/{items.label}/again.txt", content=bytes(601)).json()["code"] == "quota-exceeded"
    finally:
        items.server.perdure("agent", "quota", "maria", "--no-limit", "--used", "0")


def test_uploads_that_begin_together_stay_within_the_quota(items: ItemServer, maria: httpx.Client) -> None:
    remove_unfinished_uploads(items, maria)
    items.server.perdure("agent", "quota", "maria", "--limit", "1000", "--used", "0")
    try:
        with ThreadPoolExecutor(8) as threads:
            begun = list(threads.map(lambda _: begin(maria, 300, subsystem=SUBSYSTEM).status_code, range(16)))
        assert begun.count(201) <= 3
        assert set(begun) <= {201, 507}
    finally:
        items.server.perdure("agent", "quota", "maria", "--no-limit", "--used", "0")


def test_writers_that_wait_for_an_item_do_not_delay_downloads(items: ItemServer, maria: httpx.Client) -> None:
    stored = maria.post(API, data={"subsystem": SUBSYSTEM}, files={"file": ("a", b"1")}).json()
    label = stored["label"]
    lock = CollectionPaths(items.server.folder.parent / "collection").lock(label)
    with ThreadPoolExecutor(20) as threads:
        with lock_item(lock, label, patience=1):
            waiting = [threads.submit(maria.put, f"{API}/{label}/{number}", content=b"1") for number in range(20)]
            time.sleep(1)
            started = time.monotonic()
            assert items.get(items.path_of("page.html")).status_code == 200
            taken = time.monotonic() - started
            assert not any(one.done() for one in waiting)
        assert {one.result().status_code for one in waiting} == {200}
    assert taken < 3


def remove_unfinished_uploads(items: ItemServer, client: httpx.Client) -> None:
    for upload in (items.server.folder / "uploads" / "unfinished").iterdir():
        client.delete(f"{UPLOADS}/{upload.name}", headers=TUS)
