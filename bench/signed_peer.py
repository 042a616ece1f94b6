"""A peer that answers every question about a name in one millisecond: `python -m bench.signed_peer`.

It takes the time of its own work from that millisecond. Its answers are signed, as those of a Perdure server are.
"""

import json
import os
import socket
import sys
import threading
import time
from typing import Final
from urllib.parse import parse_qs, urlsplit

from tests.http.federation.peers import ScriptedPeer

SECONDS: Final = 0.001  # from the last byte of a question to the first byte of the answer
_LONGEST: Final = 65_536


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    peer = ScriptedPeer(f"http://127.0.0.1:{listener.getsockname()[1]}", 9)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    print(json.dumps({"url": peer.url}), flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_serve, args=(connection, peer), daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the benchmark closes its pipe, or ends in any way."""
    sys.stdin.read()
    os._exit(0)


def _serve(connection: socket.socket, peer: ScriptedPeer) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        received = b""
        while part := connection.recv(_LONGEST):
            received += part
            if not received.endswith(b"\r\n\r\n"):
                continue
            until = time.perf_counter() + SECONDS
            body = _answer(peer, received.split(b" ", 2)[1].decode())
            received = b""
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
            time.sleep(max(0.0, until - time.perf_counter()))
            connection.sendall(head + body)


def _answer(peer: ScriptedPeer, address: str) -> bytes:
    parts = urlsplit(address)
    query = parse_qs(parts.query)
    nonce = query.get("nonce", [""])[0]
    if parts.path.endswith("/resolve"):
        return peer.answer(query["name"][0], nonce)
    return peer.describe(nonce) if parts.path.endswith("/server") else peer.announce(nonce)


if __name__ == "__main__":
    main()
