"""Downloads over HTTP: whole files, ranges, conditions, versions, and the zip file, from a running server."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterator
from email.parser import BytesParser
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.http.items.item_server import BIG, COLLECTION, FILES, PUBLIC_URL, SUBSYSTEM, ItemServer, item_server

BIG_PATH = "maps/amazon basin.tif"
NOTES = "notes/\N{LATIN SMALL LETTER A WITH TILDE}o.txt"


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ItemServer]:
    with item_server(tmp_path_factory.mktemp("items") / "registry") as served:
        yield served


@pytest.fixture(scope="module")
def client(items: ItemServer) -> Iterator[httpx.Client]:
    with items.server.client("") as client:
        yield client


def digest_of(answer: httpx.Response, header: str) -> bytes:
    return base64.b64decode(answer.headers[header].removeprefix("sha-512=:").removesuffix(":"))


def test_a_file_is_downloaded_with_its_digest_and_its_name(items: ItemServer, client: httpx.Client) -> None:
    answer = client.get(items.path_of(BIG_PATH))
    assert (answer.status_code, answer.content) == (200, BIG)
    assert digest_of(answer, "repr-digest") == digest_of(answer, "content-digest") == hashlib.sha512(BIG).digest()
    assert answer.headers["content-type"] == "image/tiff"
    assert answer.headers["content-disposition"] == 'inline; filename="amazon basin.tif"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in answer.headers


def test_head_has_the_headers_of_get(items: ItemServer, client: httpx.Client) -> None:
    got, head = client.get(items.path_of(BIG_PATH)), client.head(items.path_of(BIG_PATH))
    assert head.content == b""
    without_date = [{**dict(one.headers), "date": ""} for one in (got, head)]
    assert without_date[0] == without_date[1]
    assert head.headers["content-length"] == str(len(BIG))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(BIG) + 10), st.integers(0, len(BIG) + 10))
def test_any_range_is_that_part_of_the_file(items: ItemServer, client: httpx.Client, first: int, last: int) -> None:
    answer = client.get(items.path_of(BIG_PATH), headers={"Range": f"bytes={first}-{last}"})
    if last < first:
        assert (answer.status_code, answer.content) == (200, BIG)
    elif first >= len(BIG):
        assert (answer.status_code, answer.headers["content-range"]) == (416, f"bytes */{len(BIG)}")
    else:
        assert (answer.status_code, answer.content) == (206, BIG[first : last + 1])
        assert answer.headers["content-range"] == f"bytes {first}-{min(last, len(BIG) - 1)}/{len(BIG)}"
        assert "content-digest" not in answer.headers


def test_several_ranges_are_parts_of_one_body(items: ItemServer, client: httpx.Client) -> None:
    answer = client.get(items.path_of(BIG_PATH), headers={"Range": "bytes=0-3, -2, 300000-700000"})
    assert answer.status_code == 206
    message = BytesParser().parsebytes(
        b"Content-Type: " + answer.headers["content-type"].encode() + b"\r\n\r\n" + answer.content
    )
    parts = [(part["content-range"], part.get_payload(decode=True)) for part in message.get_payload()]  # type: ignore[union-attr]
    size = len(BIG)
    assert parts == [
        (f"bytes 0-3/{size}", BIG[:4]),
        (f"bytes {size - 2}-{size - 1}/{size}", BIG[-2:]),
        (f"bytes 300000-700000/{size}", BIG[300_000:700_001]),
    ]


def test_a_range_of_another_version_is_not_sent(items: ItemServer, client: httpx.Client) -> None:
    path, part = items.path_of(BIG_PATH), {"Range": "bytes=0-0"}
    whole = client.head(path)
    for condition, status in (
        (whole.headers["etag"], 206),
        (f"W/{whole.headers['etag']}", 200),
        ('"another"', 200),
        (whole.headers["last-modified"], 206),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 200),
    ):
        assert client.get(path, headers={**part, "If-Range": condition}).status_code == status


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("If-None-Match", "{etag}", 304),
        ("If-None-Match", "W/{etag}", 304),
        ("If-None-Match", '"x"', 200),
        ("If-Match", "{etag}", 200),
        ("If-Match", '"x"', 412),
        ("If-Modified-Since", "{date}", 304),
        ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT", 200),
        ("If-Unmodified-Since", "{date}", 200),
        ("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT", 412),
    ],
)
def test_conditions_are_evaluated(
    items: ItemServer, client: httpx.Client, header: str, value: str, status: int
) -> None:
    path = items.path_of(BIG_PATH)
    whole = client.head(path)
    filled = value.format(etag=whole.headers["etag"], date=whole.headers["last-modified"])
    assert client.get(path, headers={header: filled}).status_code == status


@pytest.mark.parametrize(
    ("path", "content", "media_type"),
    [
        ("a.txt", "S\N{LATIN SMALL LETTER A WITH TILDE}o".encode(), "text/plain; charset=utf-8"),
        ("a.csv", b"x" * 65_535 + "\N{EURO SIGN}".encode(), "text/csv; charset=utf-8"),
        ("b.txt", "S\N{LATIN SMALL LETTER A WITH TILDE}o".encode("latin-1"), "text/plain"),
        ("c.txt", b"Sao", "text/plain"),
        ("a.html", "S\N{LATIN SMALL LETTER A WITH TILDE}o".encode(), "text/html"),
    ],
)
def test_the_encoding_of_a_text_in_utf_8_is_stated(
    items: ItemServer, client: httpx.Client, path: str, content: bytes, media_type: str
) -> None:
    """Otherwise browsers show another encoding."""
    with items.server.client(items.maria) as maria:
        stored = maria.post(
            f"/api/v1/items/{COLLECTION}", data={"subsystem": SUBSYSTEM}, files={"file": (path, content)}
        )
        assert stored.status_code == 201, stored.text
    address = f"/items/{COLLECTION}/{stored.json()['label']}/{path}"
    answers = client.get(address), client.head(address), client.get(address, headers={"Range": "bytes=1-1"})
    assert [answer.headers["content-type"] for answer in answers] == [media_type] * 3


def test_an_old_version_keeps_its_files(items: ItemServer, client: httpx.Client) -> None:
    path = items.path_of(NOTES)
    assert [client.get(path, params=query).content for query in ({}, {"version": "1"}, {"version": "2"})] == [
        b"second notes",
        b"first notes",
        b"second notes",
    ]
    assert client.get(path, params={"version": "3"}).status_code == 404
    assert client.get(path, params={"version": "-1"}).status_code == 400


def test_the_zip_file_has_all_files_of_a_version(items: ItemServer, client: httpx.Client) -> None:
    answer = client.get(items.item.removesuffix("/") + ".zip")
    assert answer.headers["content-type"] == "application/zip"
    folder = items.label.replace("/", "_")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        read = {name.removeprefix(f"{folder}/"): archive.read(name) for name in archive.namelist()}
    assert read == {**FILES, NOTES: b"second notes"}


def test_the_description_has_every_version_and_file(items: ItemServer, client: httpx.Client) -> None:
    answer = client.get(items.item, headers={"Accept": "application/json"})
    item = answer.json()
    assert answer.headers["vary"] == "accept"
    assert (item["label"], item["collection"], item["role"], item["version"]) == (
        items.label,
        COLLECTION,
        "original",
        2,
    )
    assert [version["version"] for version in item["versions"]] == [2, 1]
    described = {one["path"]: (one["size"], one["sha512"]) for one in item["versions"][1]["files"]}
    assert described == {path: (len(content), hashlib.sha512(content).hexdigest()) for path, content in FILES.items()}
    assert item["versions"][0]["files"][0]["url"].startswith(PUBLIC_URL)
    assert client.get(items.item.removesuffix("/") + ".json").json() == item
    again = client.get(items.item, headers={"Accept": "application/json", "If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


def test_the_page_lists_files_and_versions(items: ItemServer, client: httpx.Client) -> None:
    page = client.get(items.item, headers={"Accept": "text/html"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "Maps of the Amazon" in page.text
    assert items.path_of(BIG_PATH) in page.text
    assert 'rel="cite-as"' in page.headers["link"]
    old = client.get(items.item, params={"version": "1"})
    assert "old version" in old.text
    assert items.path_of(NOTES) + "?version=1" in old.text


def test_the_label_leads_to_the_item_and_to_its_files(items: ItemServer, client: httpx.Client) -> None:
    def location(path: str) -> str:
        answer = client.get(path)
        assert answer.status_code in (301, 302, 308)
        return str(answer.headers["location"])

    assert location(f"/{items.label}") == PUBLIC_URL + items.item
    assert location(f"/{items.label}/{NOTES}") == PUBLIC_URL + items.path_of(NOTES)
    assert location(f"/{items.alias}/page.html?version=1") == PUBLIC_URL + items.path_of("page.html") + "?version=1"
    assert location(f"/{items.label}?versions") == PUBLIC_URL + items.item + "?versions#versions"
    assert location(items.item.removesuffix("/")) == items.item
    assert location(f"/items/{COLLECTION}/{items.alias}/page.html") == items.path_of("page.html")


def test_a_missing_file_names_the_item(items: ItemServer, client: httpx.Client) -> None:
    answer = client.get(items.path_of("missing.txt"), headers={"Accept": "application/json"})
    assert answer.status_code == 404
    assert (answer.json()["code"], answer.json()["name"]) == ("no-such-file", items.label)


@pytest.mark.parametrize(
    "path",
    [
        "../0=ocfl_object_1.1",
        "..%2F0=ocfl_object_1.1",
        "%2e%2e/inventory.json",
        "inventory.json",
        "v1/content/page.html",
        "//etc/passwd",
        "%2Fetc%2Fpasswd",
        "maps",
        "maps/",
        "maps//amazon%20basin.tif",
        "page.html/",
        "page.html%00",
        "PAGE.HTML",
        "..\\..\\x",
    ],
)
def test_no_other_path_is_a_file(items: ItemServer, path: str) -> None:
    host, port = items.server.address
    with httpx.Client() as client:
        request = client.build_request("GET", f"http://{host}:{port}/")
        request.url = request.url.copy_with(raw_path=(items.item + path).encode())
        answer = client.send(request)
    assert answer.status_code in (400, 404)
    assert b"root:" not in answer.content


def test_other_collections_and_methods_are_refused(items: ItemServer, client: httpx.Client) -> None:
    assert client.get(f"/items/other/{items.label}/").status_code == 404
    assert client.get("/items/").status_code == 404
    assert client.get("/items").status_code == 404
    assert client.put(items.path_of("page.html"), content=b"x").status_code == 405


def test_a_link_on_disk_is_not_followed(items: ItemServer, client: httpx.Client) -> None:
    [page] = (items.server.folder.parent / "collection").rglob("page.html")
    secret = items.server.folder / "admin.key"
    content = page.read_bytes()
    page.unlink()
    try:
        page.symlink_to(secret)
        answer = client.get(items.path_of("page.html"))
        assert answer.status_code == 503
        assert secret.read_bytes() not in answer.content
    finally:
        page.unlink()
        page.write_bytes(content)


def test_a_withdrawn_item_is_gone(tmp_path: Path) -> None:
    with item_server(tmp_path / "registry") as served, served.server.client() as admin:
        answer = admin.request(
            "DELETE", f"/api/v1/identifiers/{served.label}", headers={"If-Match": "*"}, params={"reason": "a mistake"}
        )
        assert answer.status_code == 200
        assert [served.get(path).status_code for path in (served.item, served.path_of("page.html"))] == [410, 410]
