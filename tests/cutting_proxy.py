"""A network between a client and PostgreSQL that fails when it is told to, at the worst of moments.

It understands just enough of the wire protocol to know a COMMIT from the rest, however it is sent: as a simple query,
or parsed, bound and executed, now or under a name from earlier. There is no TLS through it.

Its threads live in the process of the test: a call that waits for the network and lets no other thread run meanwhile
waits for ever. Of psycopg's calls only `cancel()` is one; `cancel_safe()` is not.
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
_TLS, _GSS = 80877103, 80877104  # what a client asks before it says who it is
_NO: Final = b"N"


class _Mode(Enum):
    PASSING = "everything goes through"
    REFUSING = "new connections are closed at once"
    SILENT = "connections are accepted, and nothing goes through any more"


class CuttingProxy:
    """Listens on a port of its own in front of the server of that address, until it is closed."""

    def __init__(self, server: str) -> None:
        parts = conninfo_to_dict(address_of(server))  # a schema is none of libpq's business
        self.upstream = str(parts.get("host") or "127.0.0.1"), int(parts.get("port") or 5432)
        self._changed = threading.Condition()  # guards all that follows
        self._mode = _Mode.PASSING
        self._closed = False
        self._armed: Trap | None = None
        self._lines: set[_Line] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def address(self, direct: str) -> str:
        """The same database, through this proxy."""
        host = f"127.0.0.1:{self.port}"
        return address_through(direct, host, host=None, port=None, sslmode="disable", gssencmode="disable")

    # What it can be told

    def cut_at_commit(self, *, reply: bool) -> threading.Event:
        """Once, at the next COMMIT of anybody: cut the connection that it came on, and set the event.

        With `reply`, the server has committed, and the client never hears of it. Without, the COMMIT never reaches the
        server. From the client's side the two look the same.
        """
        with self._changed:
            self._armed = Trap(reply)
            return self._armed.sprung

    def cut_now(self) -> None:
        """Every connection there is; new ones are welcome."""
        with self._changed:
            lines = list(self._lines)
        for line in lines:
            line.cut()

    def refuse(self) -> None:
        """Close new connections at once; old ones go on."""
        self._set(_Mode.REFUSING)

    def black_hole(self) -> None:
        """Accept connections and never answer, nor on old ones: neither side hears of anything, as when a cable is cut."""
        self._set(_Mode.SILENT)

    def heal(self) -> None:
        """As in the beginning. What was held back arrives, as it would when a network is mended."""
        with self._changed:
            self._armed = None
        self._set(_Mode.PASSING)

    @property
    def connections(self) -> int:
        with self._changed:
            return len(self._lines)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join()
        with self._changed:
            lines = list(self._lines)
        for line in lines:
            line.cut()
            line.join()

    def __enter__(self) -> "CuttingProxy":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # How it is done

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
                line = _Line(self, client)
                self._lines.add(line)
            line.start()

    def _wait_until_passing(self, line: "_Line") -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._mode is not _Mode.SILENT or line.is_cut or self._closed)

    def _take_trap(self) -> "Trap | None":
        """Whoever comes first to a COMMIT has it."""
        with self._changed:
            trap, self._armed = self._armed, None
            return trap

    def _set_again(self, trap: "Trap") -> None:
        with self._changed:
            self._armed = self._armed or trap

    def _forget(self, line: "_Line") -> None:
        with self._changed:
            self._lines.discard(line)
            self._changed.notify_all()


class Trap:
    """One COMMIT to be caught."""

    def __init__(self, reply: bool) -> None:
        self.lets_through = reply
        self.sprung = threading.Event()


class _Line:
    """One connection: two sockets, and a thread for either direction."""

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
        """From the client to the server; the last of the two threads to go closes the sockets."""
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
        """The first message has no letter. A client that would like to encrypt is told no, and asks again."""
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
        trap.sprung.set()  # first: whoever notices the cut can rely on it
        self.cut()
        return False

    def _inward(self, server: socket.socket) -> None:
        """From the server to the client."""
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
        """One side is gone; in a black hole not even that is heard by the other."""
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
        trap.sprung.set()  # first: whoever notices the cut can rely on it
        self.cut()
        return True


class _Watch:
    """What one connection has said so far: which names stand for a COMMIT, and which answers are still to come."""

    def __init__(self) -> None:
        self._statements: dict[bytes, bool] = {}  # name → is it a COMMIT
        self._portals: dict[bytes, bool] = {}
        self._rounds_asked = 1  # each is answered by one ReadyForQuery at its end; the greeting is the first
        self._rounds_answered = 0
        self._commit_in_round: int | None = None

    def sends(self, message: bytes) -> bool:
        """Whether this message of the client's, when it reaches the server, commits."""
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
            self._rounds_asked += 1
        return commits

    def expect_commit(self, message: bytes) -> None:
        """The message that commits was seen just now: a query is a round of its own, the rest end with a later Sync."""
        self._commit_in_round = self._rounds_asked + (message[:1] != b"Q")

    def hears(self, message: bytes) -> bool | None:
        """Of the COMMIT that is expected: True when the server says that it is done, False when it will not be."""
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
    """Whole messages: a letter, a length that counts itself, and the rest; until the other side hangs up."""
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
