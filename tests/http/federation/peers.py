"""Servers for tests of federation: registries with a live server each, and a scripted peer that may lie."""

import json
import re
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256, sha512
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from perdure.federation.signed_documents import sign_document
from perdure.registry.server_key import ServerKey

NOW = "2026-01-01T00:00:00.000000Z"
ITEM = "https://example.org/item"
SMALL_ITEM = {"a.txt": b"content"}
QUICK = "peer_seconds = 2.0\npeer_cache_seconds = 600\npeer_missing_seconds = 600"

_OF_NUMBER = re.compile(r"/k([0-9]+)(?=/)")


def make_key(number: int) -> ServerKey:
    seed = number.to_bytes(32)
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    return ServerKey(seed, urlsafe_b64encode(public).rstrip(b"=").decode())


class ScriptedPeer:
    """A peer on a port of its own. `respond` makes the body of an answer about a name; by default an honest one."""

    def __init__(self, url: str, number: int) -> None:
        self.url = url
        self.key = make_key(number)
        self.id = f"{number:032x}"
        self.asked: list[dict[str, list[str]]] = []
        self.visited: list[str] = []
        self.respond: Callable[[ScriptedPeer, str, str], bytes] = ScriptedPeer.answer
        self.redirect_to = ""  # where readers are sent
        self.redirects_all = False
        self.delay = 0.0
        self.status = 200
        self.announced = [{"prefix": "77777", "role": "original"}]

    def answer(self, name: str, nonce: str, **fields: Any) -> bytes:
        """Return a signed answer: the peer has the original."""
        document = {
            "type": "answer",
            "server": self.id,
            "time": NOW,
            "nonce": nonce,
            "name": name,
            "state": "original",
            "archive": self.url,
            "url": ITEM,
            "timestamp": NOW,
            "version": 1,
            "owner": True,
        }
        return sign_document(self.key, document | fields)

    def describe(self, nonce: str) -> bytes:
        fields = {"type": "server", "server": self.id, "time": NOW, "nonce": nonce, "key": self.key.public}
        return sign_document(self.key, {**fields, "url": self.url, "protocol": 1})

    def describe_item(self, name: str, nonce: str) -> bytes:
        """Return a signed statement: the peer has a copy of every item, with the one file of `SMALL_ITEM`."""
        files = "".join(f"{sha512(content).hexdigest()}  {path}\n" for path, content in SMALL_ITEM.items())
        digest = sha256(files.encode()).hexdigest()
        copy = {"collection": "copies", "state": "copy", "version": 1, "digest": digest}
        fields = {"type": "item", "server": self.id, "time": NOW, "nonce": nonce, "name": name, "stored": [copy]}
        return sign_document(self.key, fields)

    def announce(self, nonce: str, **more: Any) -> bytes:
        fields = {"type": "prefixes", "server": self.id, "time": NOW, "nonce": nonce, "checkpoint": 5}
        return sign_document(self.key, {**fields, "prefixes": self.announced, **more})


@contextmanager
def scripted_peer(number: int = 9) -> Iterator[ScriptedPeer]:
    """Run a scripted peer until the block ends. Below its path `/k12` there is another one, number 12."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            number = _OF_NUMBER.match(self.path)
            self.respond_as(main if number is None else ScriptedPeer(f"{main.url}{number[0]}", int(number[1])))

        def respond_as(self, peer: ScriptedPeer) -> None:
            parts = urlsplit(self.path)
            query = parse_qs(parts.query)
            nonce = query.get("nonce", [""])[0]
            time.sleep(peer.delay)
            if parts.path.endswith("/resolve"):
                peer.asked.append(query)
                body = peer.respond(peer, query["name"][0], nonce)
            elif parts.path.endswith("/server") and not peer.redirects_all:
                body = peer.describe(nonce)
            elif parts.path.endswith("/item"):
                body = peer.describe_item(query["name"][0], nonce)
            elif parts.path.endswith("/prefixes"):
                body = peer.announce(nonce)
            else:
                peer.visited.append(self.path)
                self.send_response(302)
                self.send_header("Location", peer.redirect_to + self.path)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(peer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # the client has heard enough

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    main = ScriptedPeer(f"http://127.0.0.1:{server.server_address[1]}", number)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield main
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def header_fields(value: str) -> dict[str, str]:
    """Parse the header Perdure-Answer."""
    pairs = (part.partition("=") for part in value.split('", '))
    return {key: json.loads(text if text.endswith('"') else f'{text}"') for key, _, text in pairs}
