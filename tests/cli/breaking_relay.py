"""A relay between a client and a server, whose connections break after some bytes."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

_BLOCK: Final = 4_096


class BreakingRelay:
    """Relays connections to a server. Every n-th breaks after so many bytes to the client, or from it; 0: never."""

    def __init__(self, server: tuple[str, int]) -> None:
        self.to_client = 0
        self.from_client = 0
        self.every = 1
        self.connections = 0
        self.breaks = 0
        self._server = server
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._start(self._accept)

    def close(self) -> None:
        for one in [self._listener, *self._sockets]:
            _shut_down(one)
        for thread in self._threads:
            thread.join()
        for one in [self._listener, *self._sockets]:
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                self.connections += 1
                upstream = socket.create_connection(self._server)
                self._sockets.append(upstream)
                breaks = self.connections % self.every == 0
                self._start(self._copy, client, upstream, self.from_client if breaks else 0)
                self._start(self._copy, upstream, client, self.to_client if breaks else 0)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _copy(self, source: socket.socket, target: socket.socket, most: int) -> None:
        size = 0
        with suppress(OSError):
            while part := source.recv(_BLOCK):
                size += len(part)
                if most and size > most:
                    self.breaks += 1
                    break
                target.sendall(part)
        for one in (source, target):
            _shut_down(one)


def _shut_down(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


@contextmanager
def breaking_relay(server: tuple[str, int]) -> Iterator[BreakingRelay]:
    relay = BreakingRelay(server)
    try:
        yield relay
    finally:
        relay.close()
