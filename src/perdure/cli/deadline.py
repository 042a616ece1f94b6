"""A limit to the time that a connection may take, even if data still arrives."""

import socket
from contextlib import suppress
from threading import Timer


class Deadline:
    """Closes a connection after a total time."""

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._connected: socket.socket | None = None
        self._timer = Timer(seconds, self._stop)
        self._timer.daemon = True
        self._timer.start()

    def watch_socket(self, connected: socket.socket) -> None:
        self._connected = connected
        if self.is_over:
            self._stop()

    def cancel(self) -> None:
        self._timer.cancel()

    def _stop(self) -> None:
        self.is_over = True
        if self._connected is not None:
            with suppress(OSError):  # it may be closed already
                # Without TLS, which would wait for the reader.
                socket.socket.shutdown(self._connected, socket.SHUT_RDWR)
