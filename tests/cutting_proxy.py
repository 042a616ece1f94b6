"""A proxy between a client and PostgreSQL that fails on demand, at the worst moments.

It understands enough of the wire protocol to recognise every form of COMMIT: as a simple query, or parsed, bound and
executed, also as a prepared statement. It does not support TLS.

Its threads run in the process of the test, so a call that waits for the network without releasing the interpreter lock
blocks forever. Of psycopg's calls only `cancel()` does; `cancel_safe()` does not.
"""

import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from types import TracebackType
from typing import Final

from psycopg.conninfo import conninfo_to_dict

from tests.postgres.addresses import address_of, address_through

_COMMIT: Final = re.compile(rb"(?:^|;)\s*(?:/\*.*?\*/\s*)*(?:commit|end)\b(?!\s+prepared)", re.IGNORECASE | re.DOTALL)
_TLS, _GSS = 80877103, 80877104  # requests for encryption, before the startup message
_NO: Final = b"N"


class _Mode(Enum):
    PASSING = "everything goes through"
    REFUSING = "new connections are closed at once"
    SILENT = "connections are accepted, and nothing goes through any more"


class CuttingProxy:
    """A proxy on a port of its own, in front of the server of an address, until it is closed."""

    def __init__(self, server: str) -> None:
        parts = conninfo_to_dict(address_of(server))  # a schema is none of libpq's business
        self.upstream = str(parts.get("host") or "127.0.0.1"), int(parts.get("port") or 5432)
        self._changed = threading.Condition()  # guards all that follows
        self._mode = _Mode.PASSING
        self._closed = False
        self._armed: Trap | None = None
        self._open_connections: set[_ProxiedConnection] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def address(self, direct: str) -> str:
        """Return the address of the same database through this proxy."""
        host = f"127.0.0.1:{self.port}"
        return address_through(direct, host, host=None, port=None, sslmode="disable", gssencmode="disable")

    # Control

    def cut_at_commit(self, *, reply: bool) -> threading.Event:
        """At the next COMMIT on any connection, once: cut that connection, and set the event.

        With `reply`, the server has committed, and the client never gets the reply. Without, the COMMIT never reaches the
        server. The client cannot distinguish the two.
        """
        with self._changed:
            self._armed = Trap(reply)
            return self._armed.sprung

    def cut_now(self) -> None:
        """Cut every connection; new ones are accepted."""
        with self._changed:
            lines = list(self._open_connections)
        for line in lines:
            line.cut()

    def refuse(self) -> None:
        """Close new connections at once; old ones continue."""
        self._set(_Mode.REFUSING)

    def black_hole(self) -> None:
        """Accept connections and pass nothing on, in neither direction, as when a cable is cut."""
        self._set(_Mode.SILENT)

    def heal(self) -> None:
        """Pass everything on again. Delayed data arrives, as when a network is repaired."""
        with self._changed:
            self._armed = None
        self._set(_Mode.PASSING)

    @property
    def connections(self) -> int:
        with self._changed:
            return len(self._open_connections)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join()
        with self._changed:
            lines = list(self._open_connections)
        for line in lines:
            line.cut()
            line.join()

    def __enter__(self) -> "CuttingProxy":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Implementation

    def _set(self, mode: _Mode) -> None:
        with self._changed:
            self._mode = mode
            self._changed.notify_all()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            with self._changed:
                if self._mode is _Mode.REFUSING or self._closed:
                    client.close()
                    continue
                line = _ProxiedConnection(self, client)
                self._open_connections.add(line)
            line.start()

    def _wait_until_passing(self, line: "_ProxiedConnection") -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._mode is not _Mode.SILENT or line.is_cut or self._closed)

    def _take_trap(self) -> "Trap | None":
        """Return the trap to the first connection with a COMMIT."""
        with self._changed:
            trap, self._armed = self._armed, None
            return trap

    def _set_again(self, trap: "Trap") -> None:
        with self._changed:
            self._armed = self._armed or trap

    def _forget(self, line: "_ProxiedConnection") -> None:
        with self._changed:
            self._open_connections.discard(line)
            self._changed.notify_all()


class Trap:
    """A COMMIT to be caught."""

    def __init__(self, reply: bool) -> None:
        self.lets_through = reply
        self.sprung = threading.Event()


class _ProxiedConnection:
    """A connection: two sockets, and a thread for each direction."""

    def __init__(self, proxy: CuttingProxy, client: socket.socket) -> None:
        self.is_cut = False
        self._proxy = proxy
        self._client = client
        self._server: socket.socket | None = None
        self._watch = _Watch()
        self._trap: Trap | None = None  # the COMMIT is with the server, and its reply is waited for
        self._threads = [threading.Thread(target=self._outward, daemon=True)]

    def start(self) -> None:
        self._threads[0].start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def cut(self) -> None:
        self.is_cut = True
        for end in self._ends():
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        with self._proxy._changed:
            self._proxy._changed.notify_all()

    def _ends(self) -> list[socket.socket]:
        return [self._client] if self._server is None else [self._client, self._server]

    def _outward(self) -> None:
        """Pass data from the client to the server; the last of the two threads closes the sockets."""
        try:
            self._proxy._wait_until_passing(self)
            if not self.is_cut:
                self._server = server = socket.create_connection(self._proxy.upstream)
                for end in self._ends():  # messages go out one by one: without this, each waits for the one before
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self.is_cut:  # meanwhile
                    return
                self._greet(server)
                inward = threading.Thread(target=self._inward, args=[server], daemon=True)
                self._threads.append(inward)
                inward.start()
                for message in _messages(self._client):
                    self._proxy._wait_until_passing(self)
                    if self._goes_to_server(message):
                        server.sendall(message)
        except OSError:
            pass  # one of the two hung up, or was cut off
        finally:
            self._hang_up()
            for thread in self._threads[1:]:
                thread.join()
            for end in self._ends():
                end.close()
            self._proxy._forget(self)

    def _greet(self, server: socket.socket) -> None:
        """Pass the first message, which has no letter. A request for encryption is declined, and the client starts again."""
        while True:
            (size,) = struct.unpack("!i", _exactly(self._client, 4))
            body = _exactly(self._client, size - 4)
            if struct.unpack("!i", body[:4])[0] not in (_TLS, _GSS):
                server.sendall(struct.pack("!i", size) + body)
                return
            self._client.sendall(_NO)

    def _goes_to_server(self, message: bytes) -> bool:
        commits = self._watch.sends(message)
        trap = self._proxy._take_trap() if commits and self._trap is None else None
        if trap is None:
            return True
        if trap.lets_through:
            self._watch.expect_commit(message)
            self._trap = trap
            return True
        trap.sprung.set()  # first, so that it is set when the cut is noticed
        self.cut()
        return False

    def _inward(self, server: socket.socket) -> None:
        """Pass data from the server to the client."""
        try:
            for message in _messages(server):
                self._proxy._wait_until_passing(self)
                if self._is_caught(message):
                    return
                self._client.sendall(message)
        except OSError:
            pass
        finally:
            self._hang_up()

    def _hang_up(self) -> None:
        """Close the other side, unless in a black hole."""
        self._proxy._wait_until_passing(self)
        self.cut()

    def _is_caught(self, message: bytes) -> bool:
        outcome = self._watch.hears(message)
        trap = self._trap
        if trap is None or outcome is None:
            return False
        self._trap = None
        if not outcome:
            self._proxy._set_again(trap)  # the transaction had failed already: this was no commit
            return False
        trap.sprung.set()  # first, so that it is set when the cut is noticed
        self.cut()
        return True


class _Watch:
    """The state of a connection: which prepared statements are a COMMIT, and which replies are expected."""

    def __init__(self) -> None:
        self._statements: dict[bytes, bool] = {}  # name → is it a COMMIT
        self._portals: dict[bytes, bool] = {}
        self._requested_rounds = 1  # each is answered by one ReadyForQuery at its end; the greeting is the first
        self._rounds_answered = 0
        self._commit_in_round: int | None = None

    def sends(self, message: bytes) -> bool:
        """Return whether this message of the client commits when it reaches the server."""
        letter, body = message[:1], message[5:]
        commits = False
        if letter == b"Q":
            commits = bool(_COMMIT.search(body))
        elif letter == b"P":
            name, text = body.split(b"\0", 2)[:2]
            self._statements[name] = bool(_COMMIT.match(text))
        elif letter == b"B":
            portal, name = body.split(b"\0", 2)[:2]
            self._portals[portal] = self._statements.get(name, False)
        elif letter == b"E":
            commits = self._portals.get(body.split(b"\0", 1)[0], False)
        if letter in (b"Q", b"S", b"F"):
            self._requested_rounds += 1
        return commits

    def expect_commit(self, message: bytes) -> None:
        """Expect the reply to a COMMIT: a query is a round of its own, the others end with a later Sync."""
        self._commit_in_round = self._requested_rounds + (message[:1] != b"Q")

    def hears(self, message: bytes) -> bool | None:
        """Return True when the server has done the expected COMMIT, False when it will not."""
        letter, body = message[:1], message[5:]
        if letter == b"Z":
            self._rounds_answered += 1
        if self._commit_in_round is None:
            return None
        if letter == b"C" and body == b"COMMIT\0" and self._rounds_answered == self._commit_in_round - 1:
            self._commit_in_round = None
            return True
        if self._rounds_answered >= self._commit_in_round:
            self._commit_in_round = None
            return False
        return None


def _messages(source: socket.socket) -> Iterator[bytes]:
    """Yield complete messages: a letter, a length that includes itself, and the rest; until the peer closes."""
    waiting = bytearray()
    while received := source.recv(65536):
        waiting += received
        while len(waiting) >= 5:
            end = 1 + struct.unpack_from("!i", waiting, 1)[0]
            if len(waiting) < end:
                break
            yield bytes(waiting[:end])
            del waiting[:end]


def _exactly(source: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        more = source.recv(size - len(received))
        if not more:
            raise ConnectionError("hung up in the middle of a message")
        received += more
    return received
