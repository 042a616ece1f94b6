"""Tests of `perdure person observe --fetch`: a source is hashed completely, or nothing is written."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.cli.test_person import WHEN, archive, desk
from tests.cli.test_registry_commands import Desk

from perdure.cli.download import DownloadFailed, download
from perdure.errors import InvalidInput
from perdure.names import ppid

__all__ = ["archive", "desk"]

PAGE = b"<p>Jan de Vries, archivist</p>" * 10_000
DIRECTLY = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


class Source(BaseHTTPRequestHandler):
    """A web server with all kinds of pages."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.close_connection = True
        name = self.path.strip("/").partition("?")[0].replace("-", "_")
        getattr(self, f"serve_{name}", self._serve_missing)()

    def log_message(self, *_: Any) -> None:
        pass

    def _serve_missing(self) -> None:
        self._send(404, b"not here")

    def _send(self, status: int, body: bytes = b"", *, length: object = None, **headers: str) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        with suppress(OSError):  # the client may have closed the connection
            self.wfile.write(body)

    def serve_page(self) -> None:
        assert self.headers["Accept-Encoding"] == "identity"
        assert self.headers["User-Agent"].startswith("perdure/")
        self._send(200, PAGE)

    def serve_empty(self) -> None:
        self._send(200)

    def serve_chunked(self, *, is_whole: bool = True) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(PAGE), PAGE) + (b"0\r\n\r\n" if is_whole else b""))

    def serve_cut_chunks(self) -> None:
        self.serve_chunked(is_whole=False)

    def serve_until_closed(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(PAGE)

    def serve_short(self) -> None:
        self._send(200, PAGE, length=len(PAGE) + 1)

    def serve_unclear(self) -> None:
        self._send(200, PAGE, length="many")

    def serve_huge(self) -> None:
        self._send(200, b"x", length=1 << 50)

    def serve_gone(self) -> None:
        self._send(410)

    def serve_partial(self) -> None:
        self._send(206, PAGE)

    def serve_compressed(self) -> None:
        self._send(200, PAGE, Content_Encoding="gzip")

    def serve_moved(self) -> None:
        self._send(302, Location="/also-moved")

    def serve_also_moved(self) -> None:
        self._send(308, Location="page?n=\xe9")

    def serve_loop(self) -> None:
        self._send(302, Location="/loop")

    def serve_nowhere(self) -> None:
        self._send(302)

    def serve_to_a_file(self) -> None:
        self._send(302, Location="file:///etc/passwd")

    def serve_to_a_password(self) -> None:
        self._send(302, Location="http://jan:secret@127.0.0.1/")

    def serve_silent(self) -> None:
        time.sleep(3)

    def serve_dripping(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            for _ in range(100):
                self.wfile.write(b"x")
                time.sleep(0.05)
        except OSError:
            pass  # the client has closed the connection

    def serve_dripping_head(self) -> None:
        try:
            for character in b"HTTP/1.1 200 OK\r\nX-Filler: " + b"x" * 100:
                self.wfile.write(bytes([character]))
                time.sleep(0.05)
        except OSError:
            pass  # the client has closed the connection

    def serve_nonsense(self) -> None:
        self.wfile.write(b"220 this is no web server\r\n")


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Source)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def directly(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in DIRECTLY.items():
        monkeypatch.setenv(name, value)


# The command


def test_a_download_is_hashed_and_dated(desk: Desk, web: str) -> None:
    before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    done = desk.run("person", "observe", f"{web}/page", "--fetch", "--claim", "name=Jan", "--json")
    after = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    assert done.returncode == 0, done.stderr
    name = json.loads(done.stdout)["ppid"]
    seen = desk.json("person", "show", name)["observation"]
    assert (seen["source_url"], seen["content_hash"]) == (f"{web}/page", sha256(PAGE).hexdigest())
    assert before <= seen["retrieval_timestamp"] <= after
    assert seen["claims"] == [{"type": "name", "value": "Jan"}]
    for expected in (f"{len(PAGE)} bytes", f"{web}/page", seen["retrieval_timestamp"], seen["content_hash"]):
        assert expected in done.stderr
    for expected in (seen["retrieval_timestamp"], seen["content_hash"]):
        assert expected in done.stdout


def test_a_given_time_is_used(desk: Desk, web: str) -> None:
    arguments = ("person", "observe", f"{web}/page", "--fetch", "--at", WHEN)
    first, again = desk.json(*arguments), desk.json(*arguments)
    assert first["name"] == ppid.generate_poid(f"{web}/page", WHEN, sha256(PAGE).hexdigest())
    assert (first["created"], again) == (True, first | {"created": False})


def test_a_redirect_is_followed_and_printed_and_the_source_url_stays(desk: Desk, web: str) -> None:
    done = desk.run("person", "observe", f"{web}/moved", "--fetch")
    assert done.returncode == 0, done.stderr
    assert f"from {web}/page?n=%E9 " in done.stderr
    seen = desk.json("person", "show", done.stdout.strip())["observation"]
    assert (seen["source_url"], seen["content_hash"]) == (f"{web}/moved", sha256(PAGE).hexdigest())


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("no-such-page", ["404"]),
        ("gone", ["410"]),
        ("partial", ["206"]),
        ("short", ["connection was closed", f"{len(PAGE)} of {len(PAGE) + 1}"]),
        ("cut-chunks", ["connection was closed"]),
        ("unclear", ["many"]),
        ("huge", ["larger than"]),
        ("compressed", ["compressed"]),
        ("loop", ["more than 10 redirects"]),
        ("nowhere", ["302"]),
        ("to-a-file", ["file:///etc/passwd"]),
        ("to-a-password", ["redirect"]),
        ("nonsense", ["HTTP"]),
    ],
)
def test_an_incomplete_download_is_refused_and_nothing_is_written(
    desk: Desk, web: str, page: str, expected: list[str]
) -> None:
    message = desk.refuses("person", "observe", f"{web}/{page}", "--fetch")
    for word in [*expected, f"{web}/{page}", "nothing was written", "--content"]:
        assert word in message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("urn:isbn:9780000000002", "--fetch"), ["http and https"]),
        (("file:///etc/passwd", "--fetch"), ["http and https"]),
        (("ftp://127.0.0.1/a", "--fetch"), ["http and https"]),
        (("http://jan:secret@127.0.0.1/", "--fetch"), ["password"]),
        (("http://127.0.0.1:99999/", "--fetch"), ["Port"]),
        (("nowhere", "--fetch"), ["absolute URL"]),
        (("http://127.0.0.1:1/", "--fetch"), ["refused"]),
        (("http://127.0.0.1:1/", "--fetch", "--at", "yesterday"), ["retrieval_timestamp", "yesterday"]),
        (("http://127.0.0.1:1/", "--fetch", "--hash", "0" * 64), ["--hash", "--fetch"]),
        (("http://127.0.0.1:1/", "--fetch", "--content", "-"), ["--content", "--fetch"]),
        (("http://127.0.0.1:1/", "--hash", "0" * 64), ["--at"]),
    ],
)
def test_a_failed_download_says_why(desk: Desk, arguments: tuple[str, ...], expected: list[str]) -> None:
    message = desk.refuses("person", "observe", *arguments)
    for word in expected:
        assert word in message
    assert "secret" not in message


def test_without_a_registry_nothing_is_fetched(quick: Run, tmp_path: Path) -> None:
    done = quick("person", "observe", "http://127.0.0.1:1/", "--fetch")
    assert (done.returncode, "perdure init" in done.stderr) == (2, True)


# The download


@pytest.mark.parametrize(("page", "content"), [("chunked", PAGE), ("until-closed", PAGE), ("empty", b"")])
def test_a_page_has_the_same_hash_for_every_transfer_encoding(web: str, page: str, content: bytes) -> None:
    found = download(f"{web}/{page}#fragment")
    assert (found.digest, found.size, found.address) == (sha256(content).hexdigest(), len(content), f"{web}/{page}")


@pytest.mark.parametrize("page", ["page", "chunked", "until-closed"])
def test_a_download_larger_than_the_limit_is_refused(web: str, page: str) -> None:
    assert download(f"{web}/{page}", max_bytes=len(PAGE)).size == len(PAGE)
    with pytest.raises(DownloadFailed, match=f"larger than {len(PAGE) - 1} bytes"):
        download(f"{web}/{page}", max_bytes=len(PAGE) - 1)


def test_a_silent_server_times_out(web: str) -> None:
    with pytest.raises(DownloadFailed, match="did not respond in time"):
        download(f"{web}/silent", read_timeout=0.3)


@pytest.mark.parametrize("page", ["dripping", "dripping-head"])
def test_a_slow_server_times_out(web: str, page: str) -> None:
    started = time.monotonic()
    with pytest.raises(DownloadFailed, match=r"longer than 0\.5 s"):
        download(f"{web}/{page}", total_timeout=0.5)
    assert time.monotonic() - started < 3


def test_an_address_in_any_script_is_fetched(web: str) -> None:
    assert download(f"{web}/page?q=kœkken%20日本").address == f"{web}/page?q=k%C5%93kken%20%E6%97%A5%E6%9C%AC"


def test_an_address_without_a_host_is_refused() -> None:
    with pytest.raises(InvalidInput, match="http and https"):
        download("https:///path")
