"""Slow, greedy, faulty or hostile clients: the server limits or refuses them, and other clients are not affected."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.http.handle_server import handle_office, text
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import THROUGH_APPLICATION, RawResponse, connection, request, response_to
from tests.http.sample_registry import PREFIX, fill_registry

TARGETS = {
    "abc": "https://example.org/abc",
    "long": f"https://example.org/{'x' * 4_000}",
    **{f"n{number}": f"https://example.org/{number}" for number in range(20)},
    "lines": "https://example.org/%0d%0aset-cookie:%20a=b",
    "kœkken": "https://example.org/kœkken/日本?q=ü",
}
SETTINGS = """
header_seconds = 0.5
idle_seconds = 1.0
request_seconds = 1.0
url_bytes = 4096
header_bytes = 8192
headers = 30
body_bytes = 65536
"""
HOME = f"/{PREFIX}/abc"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with short timeouts and low limits."""
    folder = tmp_path_factory.mktemp("strict") / "registry"
    fill_registry(folder, TARGETS)
    with run_server(folder, settings=SETTINGS) as server:
        yield server
        assert "Traceback" not in (folder / "server.log").read_text()


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with default settings."""
    folder = tmp_path_factory.mktemp("patient") / "registry"
    fill_registry(folder, TARGETS)
    with run_server(folder, "--no-access-log") as server:
        yield server
        assert "Traceback" not in (folder / "server.log").read_text()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[LiveServer]:
    """A server that has not used much memory yet, so that growth is visible."""
    fill_registry(tmp_path / "registry", TARGETS)
    with run_server(tmp_path / "registry", "--no-access-log") as server:
        yield server


def assert_serves(server: LiveServer) -> None:
    """Check that the same process answers the next client."""
    answer = response_to(server, request(HOME))
    assert answer is not None
    assert (answer.status, answer.header("location")) == (302, TARGETS["abc"])
    assert server.process.poll() is None


def resident_kilobytes(server: LiveServer) -> int:
    match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text())
    assert match
    return int(match[1])


# Pipelining


def test_pipelined_responses_keep_their_order_on_both_paths(patient: LiveServer) -> None:
    """The fast path answers some of the requests, and the slower application the others."""
    ways = [(), (THROUGH_APPLICATION,), ("x-whatever: 1",)]
    requests = [(f"n{number % 20}", *ways[number % 3]) for number in range(300)]
    with connection(patient) as client:
        client.send(b"".join(request(f"/{PREFIX}/{suffix}", *headers) for suffix, *headers in requests))
        responses = [client.read() for _ in requests]
    assert [answer and answer.header("location") for answer in responses] == [
        TARGETS[suffix] for suffix, *_ in requests
    ]


def test_pipelined_responses_keep_their_order_when_requests_come_in_pieces(patient: LiveServer) -> None:
    data = b"".join(
        request(f"/{PREFIX}/n{number}", *headers) for number in range(20) for headers in ((), (THROUGH_APPLICATION,))
    )
    with connection(patient) as client:
        for first in range(0, len(data), 37):
            client.send(data[first : first + 37])
        responses = [client.read() for _ in range(40)]
    assert [answer and answer.header("location") for answer in responses] == [
        TARGETS[f"n{number // 2}"] for number in range(40)
    ]


def test_a_request_with_a_body_does_not_spill_into_the_next(patient: LiveServer) -> None:
    """The body looks like a request and must not be read as one."""
    hidden = request(f"/{PREFIX}/n1")
    with connection(patient) as client:
        client.send(request(HOME, body=hidden) + request(f"/{PREFIX}/n2"))
        first, second = client.read(), client.read()
        assert first is not None
        assert first.header("location") == TARGETS["abc"]
        assert second is not None
        assert second.header("location") == TARGETS["n2"]
        assert client.is_closed_within(0.2) is False


@pytest.mark.parametrize("headers", [(), (THROUGH_APPLICATION,)], ids=["fast path", "application"])
def test_responses_to_a_client_that_does_not_read_are_buffered_up_to_a_limit(
    fresh: LiveServer, headers: tuple[str, ...]
) -> None:
    one_request = request(HOME, *headers)
    block = one_request * (65_536 // len(one_request))
    assert_serves(fresh)
    before = resident_kilobytes(fresh)
    with connection(fresh) as client:
        client.socket.setblocking(False)
        sent, largest, stuck_since = 0, 0, time.monotonic()
        while time.monotonic() - stuck_since < 1.0 and sent < 16 << 20:
            try:
                sent += client.socket.send(block)
                stuck_since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.02)
            largest = max(largest, resident_kilobytes(fresh))
        assert largest - before < 64 << 10
        assert sent < 16 << 20, "the server reads without limit"
        assert_serves(fresh)


@pytest.mark.parametrize("headers", [(), (THROUGH_APPLICATION,)], ids=["fast path", "application"])
def test_a_client_that_sends_faster_than_it_reads_gets_every_response_for_little_memory(
    fresh: LiveServer, headers: tuple[str, ...]
) -> None:
    count = 20_000
    sent = b"".join(request(f"/{PREFIX}/n{number % 20}", *headers) for number in range(count))
    assert_serves(fresh)
    before, largest = resident_kilobytes(fresh), 0
    with connection(fresh) as client:
        sender = threading.Thread(target=client.send, args=(sent,), daemon=True)
        sender.start()
        for number in range(count):
            answer = client.read()
            assert answer is not None
            assert answer.header("location") == TARGETS[f"n{number % 20}"]
            if number % 2_000 == 0:
                largest = max(largest, resident_kilobytes(fresh))
        sender.join(10)
    assert largest - before < 32 << 10


def test_a_client_that_reads_slowly_does_not_time_out_while_it_reads(strict: LiveServer) -> None:
    """Half a request is received; the server does not read the rest while responses wait. That is not a timeout."""
    count = 2_000
    with connection(strict, small=True) as client:
        sent = request(f"/{PREFIX}/long", THROUGH_APPLICATION, "x-padding: " + "x" * 200) * count
        sender = threading.Thread(target=client.send, args=(sent,), daemon=True)
        sender.start()
        time.sleep(1.5)  # longer than the timeouts for headers and for idle connections
        responses = [client.read() for _ in range(count)]
        sender.join(10)
    assert [answer and answer.status for answer in responses] == [302] * count


# Time


def test_headers_that_do_not_come_in_time_are_refused(strict: LiveServer) -> None:
    with connection(strict) as client:
        client.send(b"GET /abc HTTP/1.1\r\nhost: id.exam")
        answer = client.read()
        assert answer is not None
        assert answer.status == 408
        assert client.is_closed_within(1)


def test_headers_that_come_byte_by_byte_time_out(strict: LiveServer) -> None:
    """Every byte is in time, and the whole is not."""
    with connection(strict) as client:
        for byte in request(HOME)[:20]:
            client.send(bytes([byte]))
            time.sleep(0.05)
        answer = client.read()
        assert answer is not None
        assert answer.status == 408


def test_a_second_request_that_does_not_come_in_time_is_refused(strict: LiveServer) -> None:
    with connection(strict) as client:
        assert client.request(HOME).status == 302
        client.send(b"GET /")
        answer = client.read()
        assert answer is not None
        assert answer.status == 408


@pytest.mark.parametrize("path", [f"/api/handles/{PREFIX}/new", "/api/v1/identifiers"])
def test_a_body_that_does_not_come_in_time_is_refused(strict: LiveServer, path: str) -> None:
    head = (
        f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {strict.key}\r\ncontent-type: application/json\r\n"
    )
    with connection(strict) as client:
        client.send(f"{head}content-length: 100\r\n\r\n{{".encode())
        answer = client.read()
        assert answer is None or 400 <= answer.status < 500
        assert client.is_closed_within(5)


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", f"/api/handles/{PREFIX}/dripped"), ("POST", "/api/v1/identifiers")]
)
def test_a_body_that_comes_byte_by_byte_times_out_and_changes_nothing(
    strict: LiveServer, method: str, path: str
) -> None:
    """Every byte is in time, and the whole is not. The client was too slow, so it is not a server error."""
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {strict.key}\r\n"
        "content-type: application/json\r\ncontent-length: 100\r\n\r\n"
    )
    with connection(strict) as client:
        client.send(head.encode())
        client.socket.settimeout(0.2)
        for _ in range(50):
            client.send(b" ")
            try:
                if client.socket.recv(1, socket.MSG_PEEK):
                    break
            except TimeoutError:
                pass
        client.socket.settimeout(20)
        answer = client.read()
    assert answer is not None
    problem = json.loads(answer.body)
    assert (answer.status, problem.get("responseCode"), problem.get("code")) in (
        (408, 4, None),
        (408, None, "body-too-slow"),
    )
    assert "a request failed" not in (strict.folder / "server.log").read_text()


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_client_that_sends_all_of_a_long_body_reads_why_it_was_refused(patient: LiveServer, version: str) -> None:
    """As nginx and urllib send requests: without another one on the connection."""
    size = 20_000_000
    head = f"POST /api/v1/identifiers HTTP/{version}\r\nhost: x\r\nconnection: close\r\ncontent-length: {size}\r\n\r\n"
    for _ in range(5):
        with connection(patient) as client:
            client.socket.sendall(head.encode() + bytes(size))
            answer = client.read()
            assert answer is not None
            assert answer.status == 401
            assert json.loads(answer.body)["code"] == "credentials-needed"
            assert client.is_closed_within(5)


def test_an_unread_body_does_not_keep_the_connection_open(strict: LiveServer) -> None:
    """The response is sent, and the rest of the request comes byte by byte without end."""
    with connection(strict) as client:
        client.send(b"GET /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n")
        answer = client.read()
        assert answer is not None
        until = time.monotonic() + 10
        while time.monotonic() < until:
            client.send(b"x")
            if client.is_closed_within(0.1):
                return
    pytest.fail("the connection stayed open as long as bytes came")


@pytest.mark.parametrize("sent", [b"", b"\r\n", request(HOME)], ids=["nothing", "an empty line", "one request"])
def test_idle_connections_are_closed(strict: LiveServer, sent: bytes) -> None:
    with connection(strict) as client:
        client.send(sent)
        assert client.is_closed_within(5)


def test_empty_lines_do_not_keep_a_connection_open(strict: LiveServer) -> None:
    with connection(strict) as client:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            client.send(b"\r\n")
            if client.is_closed_within(0.1):
                return
    pytest.fail("the connection stayed open as long as empty lines came")


def test_hundreds_of_incomplete_requests_do_not_delay_other_clients(patient: LiveServer) -> None:
    with ExitStack() as stack:
        hanging = [stack.enter_context(connection(patient)) for _ in range(400)]
        for number, client in enumerate(hanging):
            client.send(
                (b"", b"GET /", b"POST /api/v1/identifiers HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")[
                    number % 3
                ]
            )
        for _ in range(50):
            assert_serves(patient)


def test_clients_that_disconnect_early_leave_no_open_files(patient: LiveServer) -> None:
    descriptors = Path(f"/proc/{patient.process.pid}/fd")
    assert_serves(patient)
    before = len(list(descriptors.iterdir()))
    for cut in (1, 20, len(request(HOME)) - 1, len(request(HOME))):
        for _ in range(25):
            with connection(patient) as client:
                client.send((request(HOME) * 5)[:cut])
    assert_serves(patient)
    until = time.monotonic() + 5
    while len(list(descriptors.iterdir())) > before + 5 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(list(descriptors.iterdir())) <= before + 5


# Size

TOO_LARGE = {
    "a long address": (request("/" + "a" * 5_000), 414),
    "a long query": (request(f"{HOME}?{'a' * 5_000}"), 414),
    "an address without an end": (b"GET /" + b"a" * 100_000, 414),
    "a long header": (request(HOME, f"x-long: {'a' * 9_000}"), 431),
    "a header without an end": (b"GET / HTTP/1.1\r\nx-long: " + b"a" * 100_000, 431),
    "a name of a header without an end": (b"GET / HTTP/1.1\r\n" + b"x" * 100_000, 431),
    "many headers": (request(HOME, *(f"x-{number}: 1" for number in range(40))), 431),
    "many headers without names or values": (b"GET / HTTP/1.1\r\n" + b"a:\r\n" * 5_000, 431),
}


@pytest.mark.parametrize(("sent", "status"), TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_a_head_that_is_too_large_is_refused(strict: LiveServer, sent: bytes, status: int) -> None:
    with connection(strict) as client:
        client.send(sent)
        answer = client.read()
        assert answer is not None
        assert answer.status == status
        assert client.is_closed_within(2)
    assert_serves(strict)


@pytest.mark.parametrize("path", [f"/api/handles/{PREFIX}/new", "/api/v1/identifiers"])
@pytest.mark.parametrize("way", ["announced", "in chunks"])
def test_a_body_that_is_too_large_is_refused(strict: LiveServer, path: str, way: str) -> None:
    method = "PUT" if "handles" in path else "POST"
    head = f"{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {strict.key}\r\ncontent-type: application/json\r\n"
    if way == "announced":
        sent = f"{head}content-length: 1000000000\r\n\r\n".encode()
    else:
        sent = f"{head}transfer-encoding: chunked\r\n\r\n".encode() + b"1000\r\n" + b" " * 4096 + b"\r\n"
        sent += (b"1000\r\n" + b" " * 4096 + b"\r\n") * 40
    answer = response_to(strict, sent)
    assert answer is not None
    assert answer.status == 413
    assert_serves(strict)


def test_a_large_body_is_not_held_in_memory(patient: LiveServer) -> None:
    assert_serves(patient)
    before = resident_kilobytes(patient)
    with connection(patient) as client:
        client.send(f"PUT /api/handles/{PREFIX}/new HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        for _ in range(64):
            client.send(b"100000\r\n" + bytes(1 << 20) + b"\r\n")
        assert resident_kilobytes(patient) - before < 48 << 10
    assert_serves(patient)


# Malformed HTTP

MALFORMED = {
    "no request line": b"\x00\x01\x02\x03\r\n\r\n",
    "a word": b"hello\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "HTTP/0.9": b"GET /\n",
    "another protocol": b"GET / RTSP/1.0\r\n\r\n",
    "an unknown version": b"GET / HTTP/9.9\r\nhost: x\r\n\r\n",
    "a version in letters": b"GET / HTTP/one.one\r\nhost: x\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "an unknown method": b"FETCH / HTTP/1.1\r\nhost: x\r\n\r\n",
    "a method in lower case": b"get / HTTP/1.1\r\nhost: x\r\n\r\n",
    "no path": b"GET  HTTP/1.1\r\nhost: x\r\n\r\n",
    "a path without a slash": b"GET abc HTTP/1.1\r\nhost: x\r\n\r\n",
    "a space in the path": b"GET /a b HTTP/1.1\r\nhost: x\r\n\r\n",
    "a null in the path": b"GET /a\x00b HTTP/1.1\r\nhost: x\r\n\r\n",
    "a control character in the path": b"GET /a\x1bb HTTP/1.1\r\nhost: x\r\n\r\n",
    "a header without a colon": b"GET / HTTP/1.1\r\nnonsense\r\n\r\n",
    "a header without a name": b"GET / HTTP/1.1\r\n: value\r\n\r\n",
    "a space before the colon": b"GET / HTTP/1.1\r\nhost : x\r\n\r\n",
    "a null in a header": b"GET / HTTP/1.1\r\nhost: x\r\nx-null: a\x00b\r\n\r\n",
    "a bare carriage return in a header": b"GET / HTTP/1.1\r\nhost: x\r\nx-a: b\rx-c: d\r\n\r\n",
    "a folded header": b"GET / HTTP/1.1\r\nhost: x\r\nx-a: b\r\n c\r\n\r\n\r\n\r\n",
    "a length in letters": b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n",
    "a length below nothing": b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
    "a length above everything": b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999999\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
    "a length with a sign": b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: +1\r\n\r\na",
    "a length and chunks": b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and a length": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
    "an unknown coding": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked, and not last": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "a chunk without a size": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nnonsense\r\n\r\n",
    "a chunk of an impossible size": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffffff\r\n",
    "a chunk below nothing": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n\r\n",
    "a chunk longer than it says": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
    "CONNECT": b"CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n",
    "TRACE": b"TRACE / HTTP/1.1\r\nhost: x\r\n\r\n",
    "OPTIONS of everything": b"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n",
    "GET of everything": b"GET * HTTP/1.1\r\nhost: x\r\n\r\n",
    "a TLS greeting": bytes.fromhex("16030100a5010000a10303") + bytes(range(120, 255)),
    "an upgrade to something else": b"GET /nothing HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    "an expectation that cannot be met": b"GET /nothing HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\n\r\n",
}  # fmt: skip
MAY_BE_ACCEPTED = ("an upgrade to something else", "OPTIONS of everything", "a folded header", "another protocol")


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_requests_are_refused_and_the_next_client_is_served(strict: LiveServer, name: str) -> None:
    answer = response_to(strict, MALFORMED[name])
    assert answer is not None
    assert 400 <= answer.status < 500 or answer.status == 501 or (name in MAY_BE_ACCEPTED and answer.status < 500)
    assert_serves(strict)


BAD_HOSTS = {
    "none": b"",
    "two": b"host: id.example.org\r\nHost: evil.example\r\n",
    "the same one twice": b"host: id.example.org\r\nhost: id.example.org\r\n",
    "a path": b"host: id.example.org/x\r\n",
    "a user": b"host: me@id.example.org\r\n",
    "a space": b"host: id.example.org evil.example\r\n",
    "a port in letters": b"host: id.example.org:http\r\n",
    "an address without its end": b"host: [::1\r\n",
    "letters that are not ASCII": b"host: k\xc3\xb8.example\r\n",
    "marks": b'host: "id.example.org"\r\n',
}
PATHS = (HOME, f"/api/handles/{PREFIX}/abc", f"/api/v1/identifiers/{PREFIX}/abc", "/healthz", f"{HOME}?info")


@pytest.mark.parametrize("header", BAD_HOSTS.values(), ids=BAD_HOSTS.keys())
def test_an_invalid_or_missing_host_is_refused_at_every_endpoint(strict: LiveServer, header: bytes) -> None:
    """A cache and the server behind it could read it differently, as two requests."""
    for path in PATHS:
        with connection(strict) as client:
            client.send(b"GET %b HTTP/1.1\r\n%b\r\n" % (path.encode(), header))
            answer = client.read()
            assert answer is not None
            assert answer.status == 400, path
            assert client.is_closed_within(2)
    assert_serves(strict)


def test_every_valid_form_of_a_host_is_accepted(strict: LiveServer) -> None:
    for host in ("x", "id.example.org:8080", "id.example.org:", "127.0.0.1", "[::1]", "[2001:db8::9]:80", "a_b", ""):
        answer = response_to(strict, f"GET {HOME} HTTP/1.1\r\nHOST: {host}\r\n\r\n".encode())
        assert answer is not None
        assert answer.status == 302, host


def test_a_bad_host_behind_a_good_request_does_not_affect_its_response(patient: LiveServer) -> None:
    with connection(patient) as client:
        client.send(request(HOME) + b"GET / HTTP/1.1\r\n\r\n")
        first, second = client.read(), client.read()
        assert first is not None
        assert first.header("location") == TARGETS["abc"]
        assert second is None or second.status == 400


def test_a_client_that_sends_many_hosts_is_answered(patient: LiveServer) -> None:
    with connection(patient) as client:
        for number in range(600):
            client.send(f"GET {HOME} HTTP/1.1\r\nhost: h{number}.example\r\n\r\n".encode())
            answer = client.read()
            assert answer is not None
            assert answer.status == 302


def test_bare_line_feeds_do_not_smuggle_a_request(strict: LiveServer) -> None:
    """The server reads one request from it, or none."""
    with connection(strict) as client:
        client.send(f"GET {HOME} HTTP/1.1\nhost: x\n\n".encode())
        first = client.read()
        assert first is not None
        assert first.status in (302, 400)
        assert client.is_closed_within(3)  # after the refusal, or as an idle connection
    assert_serves(strict)


def test_a_bad_request_does_not_get_the_response_to_the_good_one_before_it(patient: LiveServer) -> None:
    with connection(patient) as client:
        client.send(request(HOME, THROUGH_APPLICATION) + b"NONSENSE\r\n\r\n")
        first = client.read()
        assert first is None or (first.status, first.header("location")) == (302, TARGETS["abc"])


def test_the_absolute_form_of_an_address_is_understood(patient: LiveServer) -> None:
    answer = response_to(patient, f"GET http://id.example.org{HOME} HTTP/1.1\r\nhost: id.example.org\r\n\r\n".encode())
    assert answer is not None
    assert answer.header("location") == TARGETS["abc"]


def test_an_http_1_0_request_is_answered_and_the_connection_is_closed(patient: LiveServer) -> None:
    with connection(patient) as client:
        client.send(f"GET {HOME} HTTP/1.0\r\n\r\n".encode())
        answer = client.read()
        assert answer is not None
        assert answer.header("location") == TARGETS["abc"]
        assert client.is_closed_within(2)


def test_credentials_in_a_trailer_are_ignored(patient: LiveServer) -> None:
    """A trailer is not a header: with trailers, a client could bypass a proxy that checks and removes headers."""
    body = b'{"values": [{"index": 1, "type": "URL", "data": {"format": "string", "value": "https://example.org/"}}]}'
    head = f"PUT /api/handles/{PREFIX}/trailing HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    chunk = b"%x\r\n%b\r\n0\r\n" % (len(body), body)
    trailer = f"authorization: Bearer {patient.key}\r\n".encode()
    sent = head.encode() + b"transfer-encoding: chunked\r\ntrailer: authorization\r\n\r\n" + chunk + trailer + b"\r\n"
    answer = response_to(patient, sent)
    assert answer is not None
    assert answer.status == 401


# Names and targets

ODD_PATHS = {
    "parent folders": "/../../../../etc/passwd",
    "parent folders, encoded": "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "parent folders, encoded twice": "/%252e%252e/%252e%252e/etc/passwd",
    "parent folders, with backslashes": "/..%5c..%5cetc%5cpasswd",
    "parent folders, from a prefix": f"/{PREFIX}/../../../etc/passwd",
    "parent folders, from the assets": "/api/v1/docs/../../../../../etc/passwd",
    "parent folders, from the assets, encoded": "/api/v1/docs/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "the settings": "/perdure.toml",
    "the key": "/api/v1/docs/..%2f..%2fadmin.key",
    "a long name": f"/{PREFIX}/{'a' * 3_000}",
    "a long name, encoded": f"/{PREFIX}/{'%C3%A9' * 600}",
    "a name that is not UTF-8": f"/{PREFIX}/%ff%fe",
    "half a character": f"/{PREFIX}/%c3",
    "a surrogate": f"/{PREFIX}/%ed%a0%80",
    "an overlong slash": f"/{PREFIX}/%c0%af",
    "bytes that are not ASCII": f"/{PREFIX}/caf\xe9",
    "UTF-8 that is not encoded": "/20.500.777/" + "kœkken".encode().decode("latin-1"),
    "a null": f"/{PREFIX}/abc%00",
    "a null in the prefix": "/20.500%00.777/abc",
    "the end of a line": f"/{PREFIX}/abc%0d%0aset-cookie:%20a=b",
    "half an escape": f"/{PREFIX}/abc%",
    "an escape of nonsense": f"/{PREFIX}/abc%zz",
    "only a slash": "//",
    "many slashes": "/" * 2_000,
    "many dots": "/" + "." * 2_000,
    "a template": "/{{7*7}}",
    "a page": "/%3Cscript%3Ealert(1)%3C/script%3E",
    "a statement of SQL": f"/{PREFIX}/abc'%20OR%20'1'='1",
    "a parameter of nonsense": f"{HOME}?%ff=%fe",
    "many parameters": f"{HOME}?" + "&".join("a" for _ in range(1_500)),
    "an injected append": f"{HOME}?urlappend=%0d%0aset-cookie:%20a=b",
    "another host by appending": f"{HOME}?urlappend=@evil.example/",
    "an index of nonsense": f"{HOME}?index=99999999999999999999",
    "a record that is too long": f"/api/handles/{PREFIX}/{'a' * 3_000}",
    "a record that is not UTF-8": f"/api/handles/{PREFIX}/%ff",
    "a record with a null": f"/api/handles/{PREFIX}/abc%00",
    "a record without a name": "/api/handles/",
    "an unknown API": "/api/v9/nothing",
    "a version of the own API": "/api/v1/../v1/identifiers/x%00",
}


@pytest.mark.parametrize("headers", [(), ("accept: application/json",)], ids=["page", "json"])
@pytest.mark.parametrize("path", ODD_PATHS.values(), ids=ODD_PATHS.keys())
def test_odd_names_are_refused_or_answered_correctly(strict: LiveServer, path: str, headers: tuple[str, ...]) -> None:
    answer = response_to(strict, request(path, *headers))
    assert answer is not None
    assert 200 <= answer.status < 500
    assert answer.header("set-cookie") is None
    assert b"root:" not in answer.body
    assert strict.key.encode() not in answer.body
    assert b"<script>alert" not in answer.body or "json" in (answer.header("content-type") or "")
    location = answer.header("location")
    assert location is None or "evil.example" not in location.partition("//")[2].partition("/")[0]
    assert_serves(strict)


def test_a_long_name_is_not_found_or_refused_and_never_an_error(strict: LiveServer) -> None:
    for length in (1_000, 2_048, 2_049, 4_000):
        answer = response_to(strict, request(f"/{PREFIX}/{'x' * length}"))
        assert answer is not None
        assert answer.status in (400, 404, 422), length


@pytest.mark.parametrize("way", [(), (THROUGH_APPLICATION,)], ids=["fast path", "application"])
def test_a_target_cannot_end_a_header(patient: LiveServer, way: tuple[str, ...]) -> None:
    with connection(patient) as client:
        answer = client.request(f"/{PREFIX}/lines", *way)
    assert answer.header("location") == TARGETS["lines"]
    assert answer.header("set-cookie") is None


def test_a_target_that_is_not_ascii_is_encoded(patient: LiveServer) -> None:
    with connection(patient) as client:
        answer = client.request(f"/{PREFIX}/k%C5%93kken")
    assert answer.header("location") == "https://example.org/k%C5%93kken/%E6%97%A5%E6%9C%AC?q=%C3%BC"


def test_a_target_with_the_end_of_a_line_is_refused_before_it_is_stored(patient: LiveServer) -> None:
    for target in ("https://example.org/\r\nset-cookie: a=b", "https://example.org/\x00", "javascript:alert(1)"):
        with patient.client() as client:
            put = client.put(
                f"/api/handles/{PREFIX}/evil",
                json={"values": [{"index": 1, "type": "URL", "data": {"format": "string", "value": target}}]},
            )
            assert 400 <= put.status_code < 500, put.text
            assert client.get(f"/{PREFIX}/evil").status_code == 404


def test_refusals_have_a_reason_as_problem_json(strict: LiveServer) -> None:
    answer: RawResponse | None = response_to(strict, request(f"/{PREFIX}/%ff", "accept: application/json"))
    assert answer is not None
    assert (answer.status, answer.header("content-type")) == (400, "application/problem+json")
    assert "UTF-8" in json.loads(answer.body)["detail"]


def test_clients_that_never_read_are_disconnected(tmp_path: Path) -> None:
    """They request more than the system's buffers hold, and read nothing of it."""
    with handle_office(tmp_path / "registry", settings="stall_seconds = 0.5") as office, ExitStack() as stack:
        name = office.make(*(text(index, "T", "x" * 60_000) for index in range(1, 16)))
        data = f"GET /api/handles/{name} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
        ports = set()
        for _ in range(5):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(office.server.address)
            client.sendall(data * 12)
            ports.add(client.getsockname()[1])
        until = time.monotonic() + 30
        while ports & served_ports() and time.monotonic() < until:
            time.sleep(0.1)
        assert not ports & served_ports()
        assert office.get(name).status_code == 200
    log = (tmp_path / "registry" / "server.log").read_text()
    assert "Traceback" not in log
    assert "without completing" not in log


def served_ports() -> set[int]:
    """Return the remote ports of all open connections of this machine."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return {int(fields[2].partition(":")[2], 16) for line in lines if (fields := line.split())[3] == "01"}
