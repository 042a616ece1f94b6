"""Import and export of identifiers over HTTP: streamed, and without delaying other requests."""

import json
import re
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import connection

from perdure.formats.import_entries import ImportPut, RejectedLine
from perdure.http.api.bulk import parse_entries
from perdure.http.shared.http_errors import BodyTooLarge

API = "/api/v1"
LINES = {"Content-Type": "application/x-ndjson"}
MOST_BODIES = 8  # of one agent
BOUNDS = "bulk_bytes = 2_000_000\nbulk_line_bytes = 1_000\nrequest_seconds = 2.0"


@pytest.fixture(scope="module")
def client(server: LiveServer) -> Iterator[httpx.Client]:
    server.perdure("prefix", "add", "12345", "--minter", "chosen")
    with server.client() as client:
        yield client


def line(name: str, target: str = "https://example.org/") -> bytes:
    return json.dumps({"name": name, "target": target}).encode() + b"\n"


def parse_report(answer: httpx.Response) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Return the problems and the totals of an import."""
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson"), answer.text
    *problems, tally = [json.loads(one) for one in answer.text.splitlines()]
    return problems, tally


def test_good_lines_are_imported_and_bad_ones_reported(client: httpx.Client) -> None:
    body = line("12345/a") + b"{bad\n\n" + line("99999/b") + line("12345/c", "nowhere") + line("12345/d").rstrip()
    problems, tally = parse_report(client.post(f"{API}/imports", content=body, headers=LINES))
    assert [(one["line"], one["refused"]) for one in problems] == [(2, True), (4, True), (5, False)]
    assert problems[1]["name"] == "99999/b"
    assert (tally["created"], tally["refused"], tally["untold"]) == (3, 2, 0)
    assert (problems[1]["code"], problems[2]["kind"], problems[2]["before"]) == (
        "no-such-prefix",
        "verbatim",
        "nowhere",
    )
    assert client.get(f"{API}/identifiers/12345/d").json()["target"] == "https://example.org/"


def test_an_import_mends_and_fills_in_creators_and_dates(client: httpx.Client) -> None:
    options = {"mend": "true", "creator": "https://example.org/library", "created": "2001-02-03T00:00:00Z"}
    body = line("12345/mended", "www.example.org/a b") + line("12345/verbatim", "nowhere")
    problems, tally = parse_report(client.post(f"{API}/imports", content=body, headers=LINES, params=options))
    assert [one["kind"] for one in problems] == ["mended", "verbatim"]
    assert problems[0]["after"] == "http://www.example.org/a%20b"
    assert (tally["created"], tally["mended"], tally["verbatim"]) == (2, 1, 1)
    stored = client.get(f"{API}/identifiers/12345/mended").json()
    assert stored["authority"]["creator"] == options["creator"]
    assert stored["authority"]["created"] == options["created"]
    assert client.get(f"{API}/identifiers/12345/verbatim").json()["values"][0]["verbatim"] is True
    refused = client.post(f"{API}/imports", content=body, headers=LINES, params={"created": "yesterday"})
    assert refused.status_code == 422


def test_a_repeated_import_changes_nothing_and_an_update_must_be_requested(client: httpx.Client) -> None:
    for body, parameters, counted in (
        (line("12345/twice"), {}, "created"),
        (line("12345/twice"), {}, "unchanged"),
        (line("12345/twice", "https://example.org/2"), {}, "refused"),
        (line("12345/twice", "https://example.org/2"), {"update": "true"}, "changed"),
    ):
        _, tally = parse_report(client.post(f"{API}/imports", content=body, headers=LINES, params=parameters))
        assert tally[counted] == 1, tally


def test_a_dry_run_writes_nothing(client: httpx.Client) -> None:
    _, tally = parse_report(
        client.post(f"{API}/imports", content=line("12345/dry"), headers=LINES, params={"dry_run": "true"})
    )
    assert (tally["created"], tally["dry_run"]) == (1, True)
    assert client.get(f"{API}/identifiers/12345/dry").status_code == 404
    mistyped = client.post(f"{API}/imports", content=line("12345/dry"), headers=LINES, params={"dryrun": "true"})
    assert mistyped.status_code == 422


def test_an_export_can_be_imported_elsewhere_with_its_history(
    client: httpx.Client, server: LiveServer, tmp_path: Path
) -> None:
    many = (line(f"12345/many/{number}") for number in range(5_000))
    _, tally = parse_report(client.post(f"{API}/imports", content=many, headers=LINES))
    assert tally["created"] == 5_000
    client.patch(
        f"{API}/identifiers/12345/many/1", json={"target": "https://new.example.org/"}, headers={"If-Match": "*"}
    )
    with client.stream("GET", f"{API}/exports", params={"prefix": "12345"}) as answer:
        assert answer.headers["content-type"] == "application/x-ndjson"
        exported = answer.read()
    assert exported.count(b"\n") >= 5_000
    with run_server(tmp_path / "other") as other, other.client() as elsewhere:
        other.perdure("prefix", "add", "12345", "--minter", "chosen")
        problems, moved = parse_report(elsewhere.post(f"{API}/imports", content=exported, headers=LINES))
        assert (problems, moved["created"]) == ([], exported.count(b"\n"))
        acts = elsewhere.get(f"{API}/history/12345/many/1").json()["revisions"]
        assert [one["version"] for one in acts] == [1, 2]


def test_an_export_of_everything_begins_with_the_settings(client: httpx.Client) -> None:
    first = client.get(f"{API}/exports").text.splitlines()[0]
    assert json.loads(first)["entry"] == "registry"


def test_an_http_1_0_client_gets_the_content_without_chunks_and_the_connection_is_closed(
    client: httpx.Client, server: LiveServer
) -> None:
    body = line("12345/old") + b"{bad\n"
    for method, path, sent in (("GET", "/exports?prefix=12345", b""), ("POST", "/imports?dry_run=true", body)):
        head = f"{method} {API}{path} HTTP/1.0\r\nhost: x\r\nconnection: keep-alive\r\n"
        head += f"authorization: Bearer {server.key}\r\ncontent-type: {LINES['Content-Type']}\r\n"
        with connection(server) as one:
            one.send(f"{head}content-length: {len(sent)}\r\n\r\n".encode() + sent)
            head_bytes, _, body_bytes = b"".join(iter(lambda: one.socket.recv(65_536), b"")).partition(b"\r\n\r\n")
        lines = head_bytes.lower().split(b"\r\n")
        assert lines[0] == b"http/1.1 200 ok"
        assert b"connection: close" in lines
        assert not any(header.startswith((b"transfer-encoding:", b"content-length:")) for header in lines)
        same = client.request(method, f"{API}{path}", content=sent, headers=LINES)
        assert same.headers["transfer-encoding"] == "chunked"
        assert body_bytes == same.content


def test_a_body_of_another_kind_is_refused_before_it_is_read(client: httpx.Client) -> None:
    answer = client.post(f"{API}/imports", content=line("12345/x"), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-body")


def test_other_clients_are_answered_during_an_import(client: httpx.Client, server: LiveServer) -> None:
    begun, finish = threading.Event(), threading.Event()

    def body() -> Iterator[bytes]:
        for number in range(2_500):
            yield line(f"12345/slow/{number}")
        begun.set()
        assert finish.wait(20)
        yield line("12345/slow/last")

    answers: list[httpx.Response] = []

    def send() -> None:
        with server.client() as other:
            answers.append(other.post(f"{API}/imports", content=body(), headers=LINES))

    sender = threading.Thread(target=send)
    sender.start()
    assert begun.wait(20)
    assert client.get(f"{API}/prefixes/12345").status_code == 200
    deadline = time.monotonic() + 20
    while (
        client.get(f"{API}/identifiers/12345/slow/0").status_code != 200
    ):  # complete chunks are written before the end
        assert time.monotonic() < deadline
    finish.set()
    sender.join(20)
    assert parse_report(answers[0])[1]["created"] == 2_501


@pytest.fixture(scope="module")
def limited_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with run_server(tmp_path_factory.mktemp("bounded") / "registry", settings=BOUNDS) as one:
        one.perdure("prefix", "add", "12345", "--minter", "chosen")
        yield one


def test_a_line_that_is_too_long_is_refused_and_the_rest_goes_on(limited_server: LiveServer) -> None:
    with limited_server.client() as client:
        body = line("12345/a") + b"x" * 500_000 + b"\n" + line("12345/b")
        problems, tally = parse_report(client.post(f"{API}/imports", content=body, headers=LINES))
        assert [one["line"] for one in problems] == [2]
        assert tally["created"] == 2


def test_a_body_that_is_too_long_is_refused(limited_server: LiveServer) -> None:
    with limited_server.client() as client:
        whole = client.post(f"{API}/imports", content=b"\n" * 2_000_001, headers=LINES)
        in_parts = client.post(f"{API}/imports", content=iter([b"\n" * 1_000_000] * 3), headers=LINES)
        assert [one.json()["code"] for one in (whole, in_parts)] == ["body-too-large"] * 2


def test_a_client_that_stops_sending_times_out(limited_server: LiveServer) -> None:
    head = (
        f"POST {API}/imports HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000\r\n"
        f"Authorization: Bearer {limited_server.key}\r\n\r\n"
    ).encode()
    with socket.create_connection(limited_server.address, timeout=20) as connection:
        connection.sendall(head + line("12345/stopped"))
        assert connection.recv(4096).startswith(b"HTTP/1.1 408")
    with limited_server.client() as client:
        assert (
            parse_report(client.post(f"{API}/imports", content=line("12345/after"), headers=LINES))[1]["created"] == 1
        )


@pytest.mark.parametrize("size", [1, 7, 50, 100_000])
def test_lines_do_not_depend_on_how_the_body_is_split(size: int) -> None:
    body = line("12345/a") + b"\n" + b"x" * 200 + b"\r\n" + b"{bad\n" + line("12345/b").rstrip()
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    entries = list(parse_entries(parts, 100, 10_000))
    assert [(type(one), one.line) for one in entries] == [
        (ImportPut, 1),
        (RejectedLine, 3),
        (RejectedLine, 4),
        (ImportPut, 5),
    ]


def test_a_body_with_too_many_bytes_is_not_read_further() -> None:
    with pytest.raises(BodyTooLarge):
        list(parse_entries([b"\n" * 60, b"\n" * 60], 100, 100))


@pytest.fixture(scope="module")
def maria(limited_server: LiveServer) -> str:
    """Create another agent with permission to import, and return its key."""
    limited_server.perdure("agent", "add", "maria", "--name", "Maria")
    found = re.search(r"perdure_\S+", limited_server.perdure("agent", "key", "maria"))
    limited_server.perdure("agent", "grant", "maria", "12345", "import")
    assert found is not None
    return found[0]


class SlowSender:
    """A client that sends the body of an import in small chunks until it is closed."""

    def __init__(self, server: LiveServer, key: str, chunk: bytes = b" ") -> None:
        head = (
            f"POST {API}/imports HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
            f"Transfer-Encoding: chunked\r\nAuthorization: Bearer {key}\r\n\r\n"
        )
        self.socket = socket.create_connection(server.address, timeout=20)
        self.socket.sendall(head.encode())
        self._chunk = b"%x\r\n%b\r\n" % (len(chunk), chunk)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def _send(self) -> None:
        with suppress(OSError):
            while not self._done.wait(0.1):
                self.socket.sendall(self._chunk)

    def end(self) -> bytes:
        """End the body and return the response."""
        self._done.set()
        self._thread.join(20)
        self.socket.sendall(b"0\r\n\r\n")
        return self.socket.recv(65_536)

    def close(self) -> None:
        self._done.set()
        self._thread.join(20)
        self.socket.close()


def test_slow_clients_do_not_block_other_imports(limited_server: LiveServer, maria: str) -> None:
    with ExitStack() as stack:
        for key in (limited_server.key, maria, limited_server.key, maria):
            stack.callback(SlowSender(limited_server, key).close)
        time.sleep(0.5)  # all of them have started
        for key in (limited_server.key, maria):
            client = stack.enter_context(limited_server.client(key))
            body = b"".join(line(f"12345/beside-{key[-6:]}/{number}") for number in range(100))
            _, tally = parse_report(client.post(f"{API}/imports", content=body, headers=LINES))
            assert tally["created"] == 100


def test_a_body_slower_than_the_minimum_rate_is_refused(limited_server: LiveServer) -> None:
    """Send 10 bytes a second, each in time."""
    with ExitStack() as stack:
        slow = SlowSender(limited_server, limited_server.key)
        stack.callback(slow.close)
        answer = slow.socket.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 408"), answer
        assert b'"code":"body-too-slow"' in answer
        assert b"\r\nconnection: close\r\n" in answer


def test_a_body_at_the_minimum_rate_may_take_longer(limited_server: LiveServer) -> None:
    """Send 1600 bytes a second, for longer than the limit of other requests."""
    steady = SlowSender(limited_server, limited_server.key, chunk=b" " * 159 + b"\n")
    try:
        assert select.select([steady.socket], [], [], 3.5)[0] == []
        assert steady.end().startswith(b"HTTP/1.1 200")
    finally:
        steady.close()


def test_the_number_of_concurrent_bodies_of_an_agent_is_limited(limited_server: LiveServer, maria: str) -> None:
    with ExitStack() as stack:
        steady = [
            SlowSender(limited_server, limited_server.key, chunk=b" " * 159 + b"\n") for _ in range(MOST_BODIES + 1)
        ]
        for one in steady:
            stack.callback(one.close)
        refused, _, _ = select.select([one.socket for one in steady], [], [], 20)
        assert len(refused) == 1
        answer = refused[0].recv(65_536)
        assert answer.startswith(b"HTTP/1.1 429"), answer
        assert b"\r\nretry-after: " in answer
        client = stack.enter_context(limited_server.client(maria))
        assert parse_report(client.post(f"{API}/imports", content=line("12345/hers"), headers=LINES))[1]["created"] == 1


def test_a_line_with_a_repeated_key_is_refused_by_its_number(client: httpx.Client) -> None:
    twice = b'{"name": "12345/k2", "target": "https://example.org/", "target": "https://example.org/2"}\n'
    problems, tally = parse_report(
        client.post(f"{API}/imports", content=line("12345/k1") + twice + line("12345/k3"), headers=LINES)
    )
    [problem] = problems
    assert (problem["line"], problem["refused"], tally["created"], tally["refused"]) == (2, True, 2, 1)
    assert "the key 'target' is given twice" in str(problem)
    assert client.get(f"{API}/identifiers/12345/k2").status_code == 404
