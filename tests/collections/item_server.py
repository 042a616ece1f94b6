"""Another server with items: it describes them as JSON, and serves their files with ranges, rightly or not."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final
from urllib.parse import parse_qs, unquote, urlsplit

from perdure.collections.storage_root import StorageRoot
from perdure.errors import NoSuchItem, NoSuchName

_RANGE: Final = re.compile(r"bytes=(\d+)-")
COLLECTION: Final = "/items/archive/"


class ItemServer:
    """A server of one collection. The fields are its faults."""

    def __init__(self, root: StorageRoot, address: str) -> None:
        self.root = root
        self.address = address
        self.description: dict[str, Any] = {}  # what it says wrongly of every item
        self.longest_answer: int | None = None  # bytes of content, after which the connection breaks
        self.has_ranges = True
        self.changed_byte = False
        self.leads_to = ""  # the label under which every item lies
        self.elsewhere = ""  # the server that has them
        self.requests: list[str] = []

    def describe(self, label: str) -> dict[str, Any]:
        versions = [
            {
                "version": one.number,
                "created": one.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "message": one.message,
                "agent": None if one.agent is None else {"name": one.agent.name, "address": one.agent.address},
                "files": [
                    {"path": file.path, "size": file.size, "sha512": file.sha512, "media_type": file.media_type}
                    for file in one.files.values()
                ],
            }
            for one in self.root.read_item(label).versions
        ]
        known = {"label": label, "names": [label], "role": "original", "main_file": None, "collection": "archive"}
        return known | {"versions": versions} | self.description


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: ClassVar[ItemServer]

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.served.requests.append(self.path)
        path = unquote(parts.path)
        if not path.startswith(COLLECTION):
            self._send(
                302, b"", {"Location": f"{self.served.elsewhere}{COLLECTION}{self.served.leads_to or path[1:]}/"}
            )
            return
        label, _, file = _split(path.removeprefix(COLLECTION))
        try:
            if not file:
                self._send(200, json.dumps(self.served.describe(label)).encode())
                return
            version = int(parse_qs(parts.query).get("version", ["0"])[0]) or None
            content, _ = self.served.root.open_file(label, file, version)
        except (NoSuchItem, NoSuchName):
            self._send(404, b"")
            return
        self._send_content(bytearray(content.read_bytes()))

    def _send_content(self, content: bytearray) -> None:
        if self.served.changed_byte and content:
            content[0] ^= 1
        wanted = _RANGE.fullmatch(self.headers.get("Range", ""))
        first = int(wanted[1]) if wanted and self.served.has_ranges else 0
        part, most = bytes(content[first:]), self.served.longest_answer
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part if most is None else part[:most])
        self.close_connection = most is not None and len(part) > most

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Print nothing."""


def _split(path: str) -> tuple[str, str, str]:
    parts = path.split("/")
    return "/".join(parts[:4]), "/", "/".join(parts[4:])


@contextmanager
def run_item_server(root: StorageRoot) -> Iterator[ItemServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    served = ItemServer(root, f"http://127.0.0.1:{server.server_port}")
    server.RequestHandlerClass = type("Handler", (_Handler,), {"served": served})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
