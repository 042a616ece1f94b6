"""A served registry for clients of Handle servers: one prefix, and an administrator with a password."""

import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from tests.http.live_server import LiveServer, run_server

PREFIX = "21.T1"
ADMIN = f"{PREFIX}/ADMIN"
INDEX = 300
PASSWORD = "a word; with: signs/é"
EVERYTHING = "111111111111"
USUAL = "011111110011"


def basic(index: int = INDEX, name: str = ADMIN, word: str = PASSWORD) -> dict[str, str]:
    """Return a header as pyhandle writes it: the colon inside the user name is percent-encoded."""
    user = quote(f"{index}:{name}")
    return {"Authorization": "Basic " + b64encode(f"{user}:{word}".encode()).decode()}


def text(index: Any, type: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"index": index, "type": type, "data": {"format": "string", "value": value}, **more}


def administrator(index: int = 100, name: str = ADMIN, at: Any = INDEX, permissions: str = USUAL) -> dict[str, Any]:
    rights = {"handle": name, "index": at, "permissions": permissions}
    return {"index": index, "type": "HS_ADMIN", "data": {"format": "admin", "value": rights}}


class HandleOffice:
    """Clients of the administrator with the password, of anonymous requests, and (`.key`) of the registry's own key."""

    def __init__(self, server: LiveServer) -> None:
        self.server = server
        self.key = server.client()
        self.admin = httpx.Client(base_url=server.url, headers=basic() | server.forwarded, timeout=30)
        self.anonymous = httpx.Client(base_url=server.url, timeout=30)
        self._made = 0

    def close(self) -> None:
        for client in (self.key, self.admin, self.anonymous):
            client.close()

    def name(self) -> str:
        """Return a name that was not used before."""
        self._made += 1
        return f"{PREFIX}/n{self._made}"

    def make(self, *values: dict[str, Any]) -> str:
        """Create a handle with these values and the administrator."""
        name = self.name()
        done = self.put(name, [administrator(), *values])
        assert done.status_code == 201, done.text
        return name

    def put(self, name: str, body: Any, client: httpx.Client | None = None, **parameters: Any) -> httpx.Response:
        return (client or self.admin).put(handle_path(name), json=body, params=parameters)

    def get(self, name: str, client: httpx.Client | None = None, **parameters: Any) -> httpx.Response:
        return (client or self.anonymous).get(handle_path(name), params=parameters)

    def values(self, name: str, client: httpx.Client | None = None, **parameters: Any) -> dict[int, dict[str, Any]]:
        body = self.get(name, client, **parameters).json()
        return {value["index"]: value for value in body["values"]}


def handle_path(name: str) -> str:
    return f"/api/handles/{quote(name)}"


def code(response: httpx.Response) -> tuple[int, int]:
    """Return the HTTP status and the response code."""
    return response.status_code, json.loads(response.content)["responseCode"]


@contextmanager
def handle_office(folder: Path, *options: str, settings: str = "") -> Iterator[HandleOffice]:
    with run_server(folder, *options, settings=settings) as server:
        office = HandleOffice(server)
        try:
            assert code(office.key.post(f"/api/prefixes/0.NA/{PREFIX}")) == (201, 1)
            secret = text(INDEX, "HS_SECKEY", PASSWORD, permissions="1100")
            assert code(office.put(ADMIN, {"values": [administrator(), secret]}, office.key)) == (201, 1)
            allowed = office.put(f"0.NA/{PREFIX}", administrator(101, permissions=EVERYTHING), office.key, index=101)
            assert code(allowed) == (201, 1), allowed.text
            yield office
        finally:
            office.close()
