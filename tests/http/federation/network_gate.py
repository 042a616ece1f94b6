"""A gate in front of a server: connections pass, or are refused, or nothing comes through any more."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

Mode = Literal["open", "refused", "silent"]
_BLOCK = 1 << 16


class NetworkGate:
    """An address that stays the same while the server behind it stops, and starts again on another port."""

    def __init__(self) -> None:
        self.server: tuple[str, int] | None = None
        self._mode: Mode = "open"
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def set(self, mode: Mode) -> None:
        """Change the mode, and cut the connections of before."""
        with self._guard:
            self._mode = mode
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.set("refused")
        self._acceptor.join()
        for thread in self._threads:
            thread.join()
        self._forget(*self._open)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._guard:
                if self._mode == "refused":
                    client.close()
                    continue
                self._open.add(client)
                if self._mode == "open":
                    thread = threading.Thread(target=self._pass_on, args=(client,), daemon=True)
                    self._threads.append(thread)
                    thread.start()

    def _pass_on(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self.server or ("127.0.0.1", 0), timeout=10)
        except OSError:
            self._forget(client)
            return
        server.settimeout(None)
        with self._guard:
            self._open.add(server)
        back = threading.Thread(target=_copy, args=(server, client), daemon=True)
        back.start()
        _copy(client, server)
        back.join()
        self._forget(client, server)

    def _forget(self, *ends: socket.socket) -> None:
        with self._guard:
            self._open.difference_update(ends)
            for one in ends:
                one.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_BLOCK):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def network_gate() -> Iterator[NetworkGate]:
    gate = NetworkGate()
    try:
        yield gate
    finally:
        gate.close()
