"""Servers that cannot be reached, or that do not answer like a registry: one clear line, and the key stays here."""

import json
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from tests.cli.conftest import Run
from tests.http.certificates import certificate, subject, write_pair

from perdure.cli.remote import api_client
from perdure.cli.remote.api_client import Patience
from perdure.cli.remote.server_address import parse_server
from perdure.errors import BadKey, InvalidInput

KEY = "pk_this_is_a_secret"
ENV = {"PERDURE_KEY": KEY, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
NAME = "12345/a"
MINTED = json.dumps({"identifiers": [{"name": "12345/new"}]}).encode()


class Stranger(BaseHTTPRequestHandler):
    """A server that answers every path as the test chooses."""

    protocol_version = "HTTP/1.1"
    seen: list[tuple[str, dict[str, str]]]
    behaviour: str

    def do_GET(self) -> None:
        self.close_connection = True
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.seen.append((self.path, dict(self.headers)))
        with suppress(OSError):
            getattr(self, f"answer_{self.behaviour}")()

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815  (names of the standard library)

    def log_message(self, *_: Any) -> None:
        pass

    def _send(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer_page(self) -> None:
        self._send(200, b"<h1>Welcome</h1>", "text/html")

    def answer_other_json(self) -> None:
        self._send(200, b'{"hello": "world"}')

    def answer_broken_json(self) -> None:
        self._send(200, b'{"name": ')

    def answer_error_without_reason(self) -> None:
        self._send(502, b"[]")

    def answer_cut(self) -> None:
        self._send(200, b"{}", Content_Length="1000")

    def answer_endless(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        while True:
            self.wfile.write(b" " * (1 << 20))

    def answer_silence(self) -> None:
        threading.Event().wait(3)

    def answer_redirect(self) -> None:
        self._send(302, b"", Location=f"http://elsewhere.example{self.path}")

    def answer_loop(self) -> None:
        self._send(302, b"", Location=self.path)

    def answer_control_characters(self) -> None:
        self._send(404, json.dumps({"code": "no-such-name", "detail": "\x1b[2Jgone"}).encode())

    def answer_break_once(self) -> None:
        if len(self.seen) > 1:
            self._send(201, MINTED)


@contextmanager
def stranger(behaviour: str) -> Iterator[tuple[str, type[Stranger]]]:
    handler = type("Handler", (Stranger,), {"seen": [], "behaviour": behaviour})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("page", "no registry answers there: the response is 200, 'text/html'"),
        ("other_json", "its response is not what this version of perdure expects"),
        ("broken_json", "its response is not what this version of perdure expects"),
        ("error_without_reason", "it responded 502, without a readable reason"),
        ("cut", "the connection was closed after 2 of 1000 bytes"),
        ("endless", "its response is larger than 1 MiB"),
        ("silence", "timeout: it did not respond in time"),
        ("redirect", "it redirects to 'http://elsewhere.example/api/v1/"),
        ("loop", "more than 3 redirects"),
        ("break_once", "the connection was closed without a response"),
    ],
)
def test_a_wrong_answer_is_one_clear_line(
    behaviour: str, reason: str, quick: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_client, "_MAX_BYTES", 1 << 20)
    monkeypatch.setattr(api_client.request, "__kwdefaults__", {**SHORT_DEFAULTS})
    with stranger(behaviour) as (url, _):
        done = quick("--server", url, "show", NAME, env=ENV)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"perdure: cannot reach {url}: ")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert KEY not in done.stderr


SHORT_DEFAULTS = {**(api_client.request.__kwdefaults__ or {}), "patience": Patience(packet=10.0, total=0.5)}


def test_a_message_cannot_control_the_terminal(quick: Run) -> None:
    with stranger("control_characters") as (url, _):
        done = quick("--server", url, "show", NAME, env=ENV)
    assert done.returncode == 2
    assert "\\x1b[2Jgone" in done.stderr
    assert "\x1b" not in done.stderr


def test_a_mint_whose_connection_breaks_is_repeated_with_the_same_key(quick: Run) -> None:
    with stranger("break_once") as (url, handler):
        done = quick("--server", url, "mint", "12345", env=ENV)
        first, second = handler.seen
    assert (done.returncode, done.stdout) == (0, "12345/new\n")
    assert first[1]["Idempotency-Key"] == second[1]["Idempotency-Key"]


def test_no_other_change_is_repeated(quick: Run) -> None:
    with stranger("break_once") as (url, handler):
        done = quick("--server", url, "set", NAME, "https://example.org/", env=ENV)
        assert len(handler.seen) == 1
    assert done.returncode == 2


def test_a_search_does_not_send_the_key(quick: Run) -> None:
    with stranger("page") as (url, handler):
        quick("--server", url, "search", "word", env=ENV)
        quick("--server", url, "show", NAME, env=ENV)
        search, show = handler.seen
    assert "Authorization" not in search[1]
    assert show[1]["Authorization"] == f"Bearer {KEY}"


def test_the_key_can_be_in_a_file(quick: Run, tmp_path: Path) -> None:
    file = tmp_path / "desk.key"
    file.write_text(f"{KEY}\n")
    with stranger("page") as (url, handler):
        quick("--server", url, "--key-file", str(file), "show", NAME, env=ENV | {"PERDURE_KEY": "another"})
        assert handler.seen[0][1]["Authorization"] == f"Bearer {KEY}"


def test_nothing_listens_there(quick: Run) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        done = quick("--server", url, "mint", "12345", env=ENV)
    assert done.returncode == 2
    assert done.stderr == f"perdure: cannot reach {url}: connection refused\n"


@pytest.fixture
def tls_url(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server with a certificate that no authority has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    chain, private = write_pair(tmp_path, "server", key, certificate(key, subject("localhost")))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, private)
    handler = type("Handler", (Stranger,), {"seen": [], "behaviour": "page"})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # the client ends the handshake
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"https://localhost:{server.server_port}", chain
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_unknown_certificate_is_refused(tls_url: tuple[str, Path], quick: Run) -> None:
    url, _ = tls_url
    done = quick("--server", url, "show", NAME, env=ENV)
    assert done.returncode == 2
    assert done.stderr.startswith(f"perdure: cannot reach {url}: its certificate was not accepted: self")
    assert "SSL_CERT_FILE" in done.stderr


@pytest.mark.parametrize(
    "text",
    ["example.org", "ftp://example.org", "https://", "https://a:b@example.org", "https://x.org/?a=b", "http://["],
)
def test_what_is_not_a_server_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="URL"):
        parse_server(text, None)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://id.example.org/", "https://id.example.org"),
        ("https://ID.example.org:8443/api/v1/", "https://id.example.org:8443"),
        ("https://example.org/registry", "https://example.org/registry"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("http://localhost:8080", "http://localhost:8080"),
    ],
)
def test_the_url_of_a_server(text: str, url: str) -> None:
    assert parse_server(text, KEY).url == url


def test_a_key_is_not_sent_in_the_clear() -> None:
    with pytest.raises(InvalidInput, match=r"others on the way to id\.example\.org could read the key") as problem:
        parse_server("http://id.example.org", KEY)
    assert KEY not in str(problem.value)
    assert parse_server("http://id.example.org", None).key is None
    assert parse_server("http://id.example.org", KEY, insecure_http=True).key == KEY


@pytest.mark.parametrize("key", ["", " ", "two words", "line\nbreak", "ключ"])
def test_a_key_that_no_header_may_have_is_refused(key: str) -> None:
    with pytest.raises(BadKey):
        parse_server("https://id.example.org", key)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (("--key", KEY, "show", NAME), "are for --server"),
        (("--server", "https://x.example", "--key", "a", "--key-file", __file__, "show", NAME), "cannot be combined"),
        (("--server", "https://x.example", "show", NAME, "--registry", "."), "cannot be combined"),
        (("--server", "https://x.example", "stats"), "without an identifier or a prefix, perdure stats works on the"),
        (("--server", "https://x.example", "backup", "x.db"), "on the machine of the registry only"),
    ],
)
def test_wrong_combinations_of_options(given: tuple[str, ...], reason: str, quick: Run) -> None:
    done = quick(*given)
    assert done.returncode == 2
    assert reason in done.stderr
    assert KEY not in done.stderr


def test_a_change_without_a_key_is_refused_before_anything_is_sent(quick: Run) -> None:
    with stranger("page") as (url, handler):
        done = quick("--server", url, "mint", "12345", env={key: ENV[key] for key in ENV if key != "PERDURE_KEY"})
        assert handler.seen == []
    assert "no key found: set PERDURE_KEY, or give its file with --key-file" in done.stderr


def test_the_folder_on_the_command_line_wins_over_the_environment(quick: Run, tmp_path: Path) -> None:
    done = quick("show", NAME, "--registry", str(tmp_path), env=ENV | {"PERDURE_SERVER": "http://127.0.0.1:9"})
    assert "cannot reach" not in done.stderr
    done = quick("show", NAME, env=ENV | {"PERDURE_SERVER": "http://127.0.0.1:9", "PERDURE_REGISTRY": os.devnull})
    assert "cannot reach http://127.0.0.1:9" in done.stderr


def test_commands_that_need_no_registry_work_with_the_variable(quick: Run) -> None:
    assert quick("explain", "8JMKD3MGP8W/34PGRBS", env={"PERDURE_SERVER": "https://x.example"}).returncode == 0
