"""Requests for another protocol: the server answers in HTTP/1.1, and the end of each message is never ambiguous."""

import json
import shutil
import subprocess
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.http.live_server import LiveServer
from tests.http.numbered_names import TARGETS
from tests.http.proxy import keeping_haproxy, websocket_nginx
from tests.http.raw_client import Connection, connection, request, send_separately
from tests.http.sample_registry import PREFIX
from tests.system_packages import require_package

UPGRADES = {
    "anything": ("connection: Upgrade", "upgrade: anything"),
    "a WebSocket": ("connection: keep-alive, Upgrade", "upgrade: websocket", "sec-websocket-version: 13"),
    "curl --http2": (
        "connection: Upgrade, HTTP2-Settings",
        "upgrade: h2c",
        "http2-settings: AAMAAABkAAQCAAAAAAIAAAAA",
    ),
    "a Java client": (
        "connection: Upgrade, HTTP2-Settings",
        "http2-settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA",
        "upgrade: h2c",
        "user-agent: Java-http-client/21",
    ),
    "two headers": ("connection: upgrade", "upgrade: a", "upgrade: b, c"),
    "two connections": ("connection: keep-alive", "upgrade: a", "connection: upgrade"),
    "in capitals": ("CONNECTION: UPGRADE", "UPGRADE: H2C"),
}
SMUGGLED = request(f"/{PREFIX}/n7")
SENTINEL = request(f"/{PREFIX}/n19")


def read_locations(client: Connection, count: int) -> list[str | None]:
    responses = [client.read() for _ in range(count)]
    return [answer and (answer.header("location") or str(answer.status)) for answer in responses]


def assert_answers(client: Connection, *suffixes: str) -> None:
    """Read a response for each of these and for nothing else: the next one is for the sentinel."""
    client.send(SENTINEL)
    expected = [TARGETS[suffix] for suffix in (*suffixes, "n19")]
    assert read_locations(client, len(expected)) == expected


def with_body(suffix: str, body: bytes, *headers: str) -> tuple[bytes, bytes]:
    """Return the head and the body of a request whose response is a redirect."""
    return request(f"/{PREFIX}/{suffix}", *headers, f"content-length: {len(body)}"), body


def chunked_request(suffix: str, body: bytes, *headers: str, trailer: bytes = b"") -> tuple[bytes, bytes]:
    head = request(f"/{PREFIX}/{suffix}", *headers, "transfer-encoding: chunked")
    return head, b"%x;name=value\r\n%b\r\n0\r\n%b\r\n" % (len(body), body, trailer)


@pytest.mark.parametrize("headers", UPGRADES.values(), ids=UPGRADES.keys())
class TestUpgradeIsIgnored:
    """The message is read as if the header were absent."""

    def test_a_body_in_a_later_packet_is_not_a_request(
        self, numbered_server: LiveServer, headers: tuple[str, ...]
    ) -> None:
        with connection(numbered_server) as client:
            send_separately(client, *with_body("n1", SMUGGLED, *headers))
            assert_answers(client, "n1")

    def test_a_body_in_the_same_packet_is_not_a_request(
        self, numbered_server: LiveServer, headers: tuple[str, ...]
    ) -> None:
        with connection(numbered_server) as client:
            client.send(b"".join(with_body("n1", SMUGGLED, *headers)))
            assert_answers(client, "n1")

    def test_a_long_body_in_one_packet_is_not_a_request(
        self, numbered_server: LiveServer, headers: tuple[str, ...]
    ) -> None:
        with connection(numbered_server) as client:
            client.send(b"".join(with_body("n1", SMUGGLED * 600, *headers)))
            assert_answers(client, "n1")

    def test_chunks_are_read(self, numbered_server: LiveServer, headers: tuple[str, ...]) -> None:
        for pieces in (
            chunked_request("n1", SMUGGLED, *headers),
            (b"".join(chunked_request("n1", SMUGGLED * 600, *headers)),),
        ):
            with connection(numbered_server) as client:
                send_separately(client, *pieces)
                assert_answers(client, "n1")

    def test_pipelined_requests_after_an_upgrade_are_answered(
        self, numbered_server: LiveServer, headers: tuple[str, ...]
    ) -> None:
        messages = (
            request(f"/{PREFIX}/n1", *headers),
            *chunked_request("n2", SMUGGLED, *headers, trailer=b"connection: upgrade\r\nupgrade: h2c\r\n"),
            request(f"/{PREFIX}/n3"),
            *with_body("n4", SMUGGLED, *headers),
            request(f"/{PREFIX}/n5", *headers),
        )
        with connection(numbered_server) as client:
            client.send(b"".join(messages))
            assert_answers(client, "n1", "n2", "n3", "n4", "n5")


def test_hundreds_of_upgrades_in_one_packet_are_answered(numbered_server: LiveServer) -> None:
    with connection(numbered_server) as client:
        client.send(f"GET /{PREFIX}/n1 HTTP/1.1\r\nhost:\r\nconnection:upgrade\r\nupgrade:a\r\n\r\n".encode() * 400)
        assert_answers(client, *["n1"] * 400)


def test_an_upgrade_is_read_correctly_for_every_split_into_packets(numbered_server: LiveServer) -> None:
    """The data is split into two packets at every byte."""
    headers = UPGRADES["curl --http2"]
    data = b"".join(
        (
            *with_body("n1", SMUGGLED, *headers),
            *chunked_request("n2", b"x", *headers, trailer=b"a: b\r\n"),
            request(f"/{PREFIX}/n3", *headers),
        )
    )
    for cut in range(1, len(data)):
        with connection(numbered_server) as client:
            send_separately(client, data[:cut], data[cut:], seconds=0.001)
            assert_answers(client, "n1", "n2", "n3")


def test_an_http_1_0_request_is_answered_and_the_connection_is_closed(numbered_server: LiveServer) -> None:
    with connection(numbered_server) as client:
        head = f"GET /{PREFIX}/n1 HTTP/1.0\r\nconnection: upgrade\r\nupgrade: h2c\r\ncontent-length: {len(SMUGGLED)}"
        client.send(f"{head}\r\n\r\n".encode() + SMUGGLED + SENTINEL)
        assert read_locations(client, 2) == [TARGETS["n1"], None]


def test_a_connection_that_is_to_be_closed_is_closed(numbered_server: LiveServer) -> None:
    with connection(numbered_server) as client:
        client.send(b"".join(with_body("n1", SMUGGLED, "connection: upgrade, close", "upgrade: h2c")) + SENTINEL)
        assert read_locations(client, 2) == [TARGETS["n1"], None]


def test_a_client_that_waits_to_continue_gets_100_continue(numbered_server: LiveServer) -> None:
    body = json.dumps({"values": [{"index": 1, "type": "URL", "data": "https://example.org/expected"}]}).encode()
    headers = (
        *UPGRADES["curl --http2"],
        f"authorization: Bearer {numbered_server.key}",
        "content-type: application/json",
    )
    head = request(
        f"/api/handles/{PREFIX}/expected",
        *headers,
        f"content-length: {len(body)}",
        "expect: 100-continue",
        method="PUT",
    )
    with connection(numbered_server) as client:
        client.send(head)
        assert client.socket.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(body)
        answer = client.read()
        assert answer is not None
        assert answer.status == 201
        assert_answers(client)


def test_the_limits_of_a_head_apply(numbered_server: LiveServer) -> None:
    headers = UPGRADES["anything"]
    for many, status in (((), "302"), (("x-long: " + "a" * 40_000,), "431"), (("a: b",) * 150, "431")):
        with connection(numbered_server) as client:
            client.send(request(f"/{PREFIX}/n1", *headers, *many))
            answer = client.read()
            assert answer is not None
            assert str(answer.status) == status
    largest = 32_768 - sum(len(header) for header in headers) - 100
    with connection(numbered_server) as client:
        client.send(request(f"/{PREFIX}/n1", *headers, f"a: {'a' * largest}"))
        assert_answers(client, "n1")


@pytest.mark.parametrize(
    "framing",
    [
        ("content-length: 5", "transfer-encoding: chunked"),
        ("transfer-encoding: chunked", "content-length: 5"),
        ("content-length: 5", "content-length: 5"),
        ("content-length: +5",),
        ("transfer-encoding: gzip, chunked",),
        ("transfer-encoding: identity",),
        ("transfer-encoding: chunked", "transfer-encoding: chunked"),
        ("transfer-encoding: xchunked",),
    ],
    ids=lambda headers: ", ".join(headers),
)
def test_ambiguous_framing_with_an_upgrade_is_refused(numbered_server: LiveServer, framing: tuple[str, ...]) -> None:
    with connection(numbered_server) as client:
        client.send(request(f"/{PREFIX}/n1", *UPGRADES["anything"], *framing) + b"0\r\n\r\n" + SMUGGLED)
        answer = client.read()
        assert answer is not None
        assert answer.status in (400, 501)
        assert client.read() is None


def test_a_connect_request_is_refused_and_nothing_after_it_is_read(numbered_server: LiveServer) -> None:
    head = b"CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n"
    for pieces in ((head + SMUGGLED,), (head, SMUGGLED)):
        with connection(numbered_server) as client:
            send_separately(client, *pieces)
            assert read_locations(client, 2) == ["501", None]


def test_a_connect_request_after_another_request_does_not_affect_its_response(numbered_server: LiveServer) -> None:
    with connection(numbered_server) as client:
        client.send(request(f"/{PREFIX}/n1") + b"CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n" + SMUGGLED)
        assert read_locations(client, 3) == [TARGETS["n1"], "501", None]


def test_curl_may_offer_http_2_and_write(numbered_server: LiveServer) -> None:
    curl = shutil.which("curl")
    assert curl is not None
    body = json.dumps({"values": [{"index": 1, "type": "URL", "data": "https://example.org/curl"}]})
    done = subprocess.run(
        [
            *(curl, "--silent", "--show-error", "--http2", "-X", "PUT", "--data-binary", body),
            *("--header", "Content-Type: application/json", "--header", f"Authorization: Bearer {numbered_server.key}"),
            *("--write-out", "%{http_code} %{http_version}", "--output", "/dev/null"),
            f"{numbered_server.url}/api/handles/{PREFIX}/curl",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (done.stdout, done.stderr) == ("201 1.1", "")


Proxy = Callable[[Path, tuple[str, int]], AbstractContextManager[tuple[str, int]]]


@pytest.mark.parametrize(("package", "proxy"), [("nginx", websocket_nginx), ("haproxy", keeping_haproxy)])
def test_through_a_proxy_every_reader_gets_their_own_response(
    numbered_server: LiveServer, tmp_path: Path, package: str, proxy: Proxy
) -> None:
    """Attackers and readers share the proxy's connections to the server. The body of an attack comes late."""
    require_package(package)
    attacks = [
        [*with_body("n1", SMUGGLED, "connection: Upgrade", "upgrade: anything")],
        [*chunked_request("n1", SMUGGLED, "connection: Upgrade", "upgrade: anything")],
        [b"".join(with_body("n1", SMUGGLED * 600, "connection: Upgrade", "upgrade: anything"))],
        [*with_body("n1", SMUGGLED * 600, *UPGRADES["curl --http2"])],
    ]
    with proxy(tmp_path / "proxy", numbered_server.address) as address:
        front = numbered_server._replace(url=f"http://{address[0]}:{address[1]}")
        wrong: list[str] = []

        def attack(pieces: list[bytes]) -> None:
            for _ in range(5):
                with connection(front) as client:
                    send_separately(client, *pieces)
                    if read_locations(client, 1) != [TARGETS["n1"]]:
                        wrong.append("attacker")

        for pieces in attacks:
            attacker = threading.Thread(target=attack, args=(pieces,))
            attacker.start()
            for number in range(20):
                suffix = f"n{number}"
                with connection(front) as client:
                    answer = client.request(f"/{PREFIX}/{suffix}")
                    if answer.header("location") != TARGETS[suffix]:
                        wrong.append(f"reader of {suffix}: {answer}")
            attacker.join(20)
        assert wrong == []
