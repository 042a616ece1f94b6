"""Upload of an observation with its file: the file is hashed while it streams, within limits."""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.http.live_server import LiveServer, run_server
from tests.http.person_client import API, problem, source
from tests.http.raw_client import RawResponse, connection, request

from perdure.errors import PerdureError
from perdure.folder.registry_folder import open_registry
from perdure.http.api.multipart import ObservationForm
from perdure.registry import add_agent, authenticate, new_key

BOUNDS = """
body_bytes = 10_000
content_bytes = 300_000
header_seconds = 1.5
request_seconds = 2.0
content_seconds = 5.0
"""
POID = f"{API}/poid"
JSON = "application/json"
BOUNDARY = "----a-boundary-of-our-own"
FORM = f"content-type: multipart/form-data; boundary={BOUNDARY}"
PAGE = b"<p>Jan de Vries</p>\r\n--" + BOUNDARY.encode()[:-1] + b"\r\n\0\xff"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with run_server(tmp_path_factory.mktemp("bounded") / "registry", settings=BOUNDS) as one:
        yield one
        assert "Traceback" not in (one.folder / "server.log").read_text()


@pytest.fixture(scope="module")
def client(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def observation_fields(**fields: object) -> dict[str, Any]:
    """Return the fields of an observation without its content hash."""
    return {key: value for key, value in source(**fields).items() if key != "content_hash" or key in fields}


def part(name: str, body: bytes, *headers: str) -> bytes:
    lines = [f"--{BOUNDARY}", f'Content-Disposition: form-data; name="{name}"', *headers, "", ""]
    return "\r\n".join(lines).encode() + body + b"\r\n"


def observation(fields: dict[str, Any], *headers: str) -> bytes:
    return part("observation", json.dumps(fields).encode(), *(headers or (f"Content-Type: {JSON}",)))


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def post_form(client: httpx.Client, body: object, **headers: str) -> httpx.Response:
    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    return client.post(POID, content=body, headers=kind | {key.replace("_", "-"): value for key, value in headers.items()})  # type: ignore[arg-type]  # fmt: skip


def is_new(client: httpx.Client, fields: dict[str, Any], content: bytes = PAGE) -> bool:
    """Create this observation, and return whether it is new."""
    answer = client.post(POID, json=fields | {"content_hash": sha256(content).hexdigest()})
    assert answer.status_code in (200, 201), answer.text
    return answer.status_code == 201


# Valid forms


@pytest.mark.parametrize("is_observation_first", [True, False])
def test_an_upload_makes_the_same_observation_as_its_hash(client: httpx.Client, is_observation_first: bool) -> None:
    fields = observation_fields(claims=[{"type": "name", "value": "Jan"}])
    parts = [("observation", (None, json.dumps(fields), JSON)), ("content", ("page.html", PAGE, "text/html"))]
    files = parts if is_observation_first else parts[::-1]
    first, again = (client.post(POID, files=files) for _ in range(2))
    by_hash = client.post(POID, json=fields | {"content_hash": sha256(PAGE).hexdigest()})
    assert [first.status_code, again.status_code, by_hash.status_code] == [201, 200, 200]
    assert first.json() == again.json() == by_hash.json()
    for header in ("location", "etag", "content-type", "cache-control"):
        assert first.headers[header] == by_hash.headers[header]
    stored = client.get(first.headers["location"]).json()["observation"]
    assert stored == fields | {"content_hash": sha256(PAGE).hexdigest()}


def test_a_form_of_curl_without_a_content_type_is_read(client: httpx.Client) -> None:
    bare = part("observation", json.dumps(observation_fields()).encode())
    assert post_form(client, form(bare, part("content", PAGE))).status_code == 201


def test_an_empty_file_is_accepted(client: httpx.Client) -> None:
    fields = observation_fields()
    assert post_form(client, form(observation(fields), part("content", b""))).status_code == 201
    assert not is_new(client, fields, b"")


def test_a_hash_that_is_also_sent_must_be_that_of_the_file(client: httpx.Client) -> None:
    fields = observation_fields()
    wrong = post_form(client, form(observation(fields | {"content_hash": "0" * 64}), part("content", PAGE)))
    assert problem(wrong) == (422, "invalid-input")
    assert wrong.json()["part"] == "content_hash"
    assert sha256(PAGE).hexdigest() in wrong.json()["detail"]
    right = {"content_hash": sha256(PAGE).hexdigest()}
    assert post_form(client, form(part("content", PAGE), observation(fields | right))).status_code == 201


def test_an_upload_may_take_longer_than_other_requests(client: httpx.Client) -> None:
    body = form(observation(observation_fields()), part("content", PAGE))

    def slowly() -> Iterator[bytes]:
        for first in range(0, len(body), len(body) // 5):
            yield body[first : first + len(body) // 5]
            time.sleep(0.5)

    assert post_form(client, slowly()).status_code == 201


@given(st.binary(max_size=2_000), st.lists(st.integers(0, 2_500), max_size=30), st.booleans())
def test_a_form_is_read_correctly_for_every_split_into_pieces(
    content: bytes, cuts: list[int], is_content_first: bool
) -> None:
    parts = [observation({"a": 1}), part("content", content)]
    body = form(*(parts[::-1] if is_content_first else parts))
    positions = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    reader = ObservationForm(FORM.partition(": ")[2], 10_000, 10_000)
    for first, last in pairwise(positions):
        reader.feed(body[first:last])
    if f"\r\n--{BOUNDARY}".encode() not in content:
        assert reader.finish() == (b'{"a": 1}', sha256(content).hexdigest())


@given(st.lists(st.sampled_from([
    b"--" + BOUNDARY.encode(), b"--", b"\r\n", b"\n", b"\r", b'Content-Disposition: form-data; name="content"', b": ",
    b'Content-Disposition: form-data; name="observation"', b"Content-Length: 3", b"\xff", b"x", b" ", b"\0",
]), max_size=20))  # fmt: skip
def test_every_malformed_form_is_refused(pieces: list[bytes]) -> None:
    reader = ObservationForm(FORM.partition(": ")[2], 10_000, 10_000)
    with suppress(PerdureError):
        for piece in pieces:
            reader.feed(piece)
        reader.finish()


def test_a_large_file_is_not_held_in_memory(tmp_path: Path) -> None:
    with run_server(tmp_path / "registry") as server, server.client() as client:

        def resident_kilobytes() -> int:
            found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text())
            assert found
            return int(found[1])

        fields, whole, piece = observation_fields(), sha256(), b"0123456789abcdef" * 4_096
        assert post_form(client, form(observation(observation_fields()), part("content", PAGE))).status_code == 201
        before = resident_kilobytes()

        def long() -> Iterator[bytes]:
            yield observation(fields) + part("content", b"").removesuffix(b"\r\n")
            for _ in range(1_600):
                whole.update(piece)
                yield piece
            yield b"\r\n" + form()

        answer = post_form(client, long())
        assert answer.status_code == 201, answer.text
        stored = client.get(answer.headers["location"]).json()["observation"]
        assert stored["content_hash"] == whole.hexdigest()
        assert resident_kilobytes() - before < 20_000  # of 100 MiB


# Invalid forms


@pytest.mark.parametrize(
    ("parts", "refused", "part_named"),
    [
        ([observation(observation_fields())], (422, "invalid-input"), "content"),
        ([part("content", PAGE)], (422, "invalid-input"), "observation"),
        ([], (422, "invalid-input"), "observation"),
        (
            [observation(observation_fields()), observation(observation_fields()), part("content", PAGE)],
            (422, "invalid-input"),
            "observation",
        ),
        (
            [observation(observation_fields()), part("content", PAGE), part("content", PAGE)],
            (422, "invalid-input"),
            "content",
        ),
        ([observation(observation_fields()), part("Content", PAGE)], (422, "invalid-input"), "Content"),
        ([observation(observation_fields(content="SmFu")), part("content", PAGE)], (422, "invalid-input"), "content"),
        ([observation(observation_fields(shoe=44)), part("content", PAGE)], (422, "invalid-input"), "shoe"),
        (
            [observation(observation_fields(source_url="nowhere")), part("content", PAGE)],
            (422, "invalid-input"),
            "source_url",
        ),
        (
            [observation(observation_fields()), part("content", b"SmFu", "Content-Transfer-Encoding: base64")],
            (422, "invalid-input"),
            "content",
        ),
        ([part("observation", b"{"), part("content", PAGE)], (400, "malformed-request"), None),
        (
            [observation(observation_fields(), "Content-Type: text/csv"), part("content", PAGE)],
            (415, "unsupported-body"),
            None,
        ),
        ([observation(observation_fields(), "no header"), part("content", PAGE)], (400, "malformed-request"), None),
        (
            [observation(observation_fields(), f"X: {'x' * 5_000}"), part("content", PAGE)],
            (400, "malformed-request"),
            None,
        ),
        (
            [observation(observation_fields(), *(["X: x"] * 20)), part("content", PAGE)],
            (400, "malformed-request"),
            None,
        ),
        (
            [observation(observation_fields()).replace(b"\r\n", b"\n"), part("content", PAGE)],
            (400, "malformed-request"),
            None,
        ),
    ],
)
def test_the_error_of_a_wrong_form_names_the_part(
    client: httpx.Client, parts: list[bytes], refused: tuple[int, str], part_named: str | None
) -> None:
    answer = post_form(client, form(*parts))
    assert problem(answer) == refused, answer.text
    assert answer.json().get("part") == part_named


@pytest.mark.parametrize("kind", [
    "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=another",
    f"multipart/form-data; boundary={'x' * 71}", 'multipart/form-data; boundary="a\tb"',
])  # fmt: skip
def test_a_wrong_boundary_is_refused(client: httpx.Client, kind: str) -> None:
    fields = observation_fields()
    answer = post_form(client, form(observation(fields), part("content", PAGE)), Content_Type=kind)
    assert problem(answer) == (400, "malformed-request")
    assert "boundary" in answer.json()["detail"]
    assert is_new(client, fields)


def test_a_form_without_its_end_is_refused(client: httpx.Client) -> None:
    """The hash of a truncated file would be wrong, though the request is complete."""
    fields = observation_fields()
    whole = form(observation(fields), part("content", PAGE))
    for missing in (5, 20, len(BOUNDARY) + 30):
        assert problem(post_form(client, whole[:-missing])) == (400, "malformed-request")
    assert is_new(client, fields)


def test_other_media_types_are_refused_and_so_are_forms_at_other_endpoints(client: httpx.Client) -> None:
    answer = client.post(POID, content=b"a=b", headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert problem(answer) == (415, "unsupported-body")
    assert "application/json or multipart/form-data" in answer.json()["detail"]
    elsewhere = client.post(f"{API}/prid", files={"observation": b"{}", "content": b""})
    assert problem(elsewhere) == (415, "unsupported-body")
    assert "multipart" not in elsewhere.json()["detail"]


# Bounds


def test_a_file_that_is_too_large_is_refused_with_and_without_a_content_length(client: httpx.Client) -> None:
    fields = observation_fields()
    body = form(observation(fields), part("content", b"x" * 300_001))
    for sending in (body, iter([body])):
        answer = post_form(client, sending)
        assert problem(answer) == (413, "body-too-large")
        assert answer.json()["part"] == "content"
        assert "300000 bytes" in answer.json()["detail"]
        assert "content_hash" in answer.json()["detail"]
    assert post_form(client, form(observation(fields), part("content", b"x" * 300_000))).status_code == 201


def test_a_content_length_that_is_too_large_is_refused_before_the_body_is_sent(server: LiveServer) -> None:
    with connection(server) as one:
        one.send(request(POID, FORM, "content-length: 1000000000", credentials(server), method="POST"))
        answer = one.read()
    assert answer is not None
    assert answer.status == 413


def test_an_observation_that_is_too_large_is_refused(client: httpx.Client) -> None:
    answer = post_form(client, form(part("content", PAGE), observation(observation_fields(source_name="x" * 10_000))))
    assert problem(answer) == (413, "body-too-large")
    assert answer.json()["part"] == "observation"


@pytest.mark.parametrize("is_before", [True, False])
def test_the_size_of_text_around_the_parts_is_limited(client: httpx.Client, is_before: bool) -> None:
    body, around = form(observation(observation_fields()), part("content", PAGE)), (b"x" * 99_998 + b"\r\n") * 4
    assert problem(post_form(client, iter([around + body] if is_before else [body, around]))) == (413, "body-too-large")


def test_an_upload_that_stops_times_out(server: LiveServer, client: httpx.Client) -> None:
    fields = observation_fields()
    answer = cut_short(server, form(observation(fields), part("content", PAGE)))
    assert answer is not None
    assert (answer.status, json.loads(answer.body)["code"]) == (408, "body-too-slow")
    assert is_new(client, fields)


def test_an_upload_that_is_too_slow_times_out(server: LiveServer, client: httpx.Client) -> None:
    fields, started = observation_fields(), time.monotonic()
    body = form(observation(fields), part("content", PAGE))
    with connection(server) as one:
        one.send(request(POID, FORM, credentials(server), "content-length: 10000", method="POST") + body[:-10])
        while time.monotonic() - started < 6.5:
            one.send(body[-10:-9])
            time.sleep(0.2)
        answer = one.read()
    assert answer is not None
    assert answer.status == 408
    assert is_new(client, fields)


def test_an_upload_whose_client_disconnects_writes_nothing(server: LiveServer, client: httpx.Client) -> None:
    fields = observation_fields()
    cut_short(server, form(observation(fields), part("content", PAGE)), is_awaited=False)
    time.sleep(0.3)
    assert is_new(client, fields)


def credentials(server: LiveServer) -> str:
    return f"authorization: Bearer {server.key}"


def cut_short(server: LiveServer, body: bytes, *, is_awaited: bool = True) -> RawResponse | None:
    """Send all but the last byte of a form. Return the response, if it is awaited."""
    head = request(POID, FORM, credentials(server), f"content-length: {len(body)}", method="POST")
    with connection(server) as one:
        one.send(head + body.rstrip()[:-1])
        return one.read() if is_awaited else None


# Permissions


def test_permission_is_checked_before_the_body_is_read(server: LiveServer) -> None:
    async def stranger() -> str:
        async with open_registry(server.folder) as registry:
            admin = await authenticate(registry, server.key)
            await add_agent(registry, admin, "stranger", "A stranger")
            return (await new_key(registry, admin, "stranger"))[1]

    key = asyncio.run(stranger())
    for status, header in ((403, f"authorization: Bearer {key}"), (401, "x-anonymous: 1")):
        with connection(server) as one:
            one.send(request(POID, FORM, header, "content-length: 1000", method="POST"))
            answer = one.read()
        assert answer is not None
        assert answer.status == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "same-origin", "Origin": "https://behind-a-proxy.example"}, 201),
        ({"Sec_Fetch_Site": "none"}, 201),
    ],
)
def test_a_page_of_another_site_cannot_write_with_the_credentials_of_a_browser(
    client: httpx.Client, headers: dict[str, str], status: int
) -> None:
    answer = post_form(client, form(observation(observation_fields()), part("content", PAGE)), **headers)
    assert answer.status_code == status, answer.text
    if status == 403:
        assert problem(answer) == (403, "from-another-site")


def test_a_page_of_the_same_origin_may_write(server: LiveServer, client: httpx.Client) -> None:
    body = form(observation(observation_fields()), part("content", PAGE))
    assert post_form(client, body, Origin=server.url).status_code == 201
