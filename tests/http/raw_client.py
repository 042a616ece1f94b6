"""A client that sends bytes exactly as given, and reads responses one after the other."""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, NamedTuple

from tests.http.live_server import LiveServer

# A header that changes nothing for a GET without a body, but makes the fast path leave the request to the application.
THROUGH_APPLICATION = "content-length: 0"
_PATIENCE = 20.0


class RawResponse(NamedTuple):
    """One response; the names of headers are in lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name)


class Connection:
    """One connection, on which responses are read in their order."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self._stream: BinaryIO = connected.makefile("rb")

    def send(self, data: bytes) -> None:
        """Send as much as the server accepts: it may have closed the connection after an error."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def request(self, path: str, *headers: str, method: str = "GET", body: bytes = b"") -> RawResponse:
        self.send(request(path, *headers, method=method, body=body))
        answer = self.read(method)
        assert answer is not None, f"no answer to {method} {path}"
        return answer

    def read(self, method: str = "GET") -> RawResponse | None:
        """Return the next response; None if the server has closed the connection."""
        try:
            return self._answer(method)
        except ConnectionResetError:
            return None

    def _answer(self, method: str) -> RawResponse | None:
        line = self._stream.readline()
        if not line:
            return None
        version, status = line.split()[:2]
        assert version == b"HTTP/1.1", line
        headers = []
        while (line := self._stream.readline()) not in (b"\r\n", b""):
            assert line.endswith(b"\r\n"), line
            name, _, value = line.decode("latin-1").partition(":")
            headers.append((name.lower(), value.strip()))
        if int(status) == 100:
            return self._answer(method)
        fields = dict(headers)
        if method == "HEAD" or int(status) in (204, 304):
            body = b""
        elif fields.get("transfer-encoding") == "chunked":
            body = b"".join(self._chunks())
        else:
            body = self._stream.read(int(fields["content-length"]))
        return RawResponse(int(status), headers, body)

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self._stream.readline(), 16):
            yield self._stream.read(size)
            self._stream.readline()
        self._stream.readline()

    def is_closed_within(self, seconds: float) -> bool:
        """Return whether the server closes the connection in time. Other data is read and ignored."""
        self.socket.settimeout(seconds)
        try:
            while self.socket.recv(65_536):
                pass
        except TimeoutError:
            return False
        except ConnectionResetError:
            pass
        finally:
            self.socket.settimeout(_PATIENCE)
        return True

    def close(self) -> None:
        self._stream.close()
        self.socket.close()


@contextmanager
def connection(
    server: LiveServer, *, context: ssl.SSLContext | None = None, small: bool = False
) -> Iterator[Connection]:
    """Open a connection. With `small`, its receive buffer is as small as possible."""
    with socket.socket() as plain:
        plain.settimeout(_PATIENCE)
        if small:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        plain.connect(server.address)
        one = Connection(context.wrap_socket(plain, server_hostname="localhost") if context else plain)
        try:
            yield one
        finally:
            one.close()


def request(path: str, *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
    """Return a request as it is sent. A path may contain any byte, as latin-1."""
    lines = [f"{method} {path} HTTP/1.1", "host: id.example.org", *headers]
    if body:
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def send_separately(one: Connection, *pieces: bytes, seconds: float = 0.01) -> None:
    """Send each piece in a packet of its own."""
    one.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for number, piece in enumerate(pieces):
        if number:
            time.sleep(seconds)
        one.send(piece)


def response_to(server: LiveServer, data: bytes) -> RawResponse | None:
    """Return the response to one piece of data on a connection of its own."""
    with connection(server) as one:
        one.send(data)
        return one.read()
