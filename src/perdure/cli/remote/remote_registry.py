"""A registry on another machine, reached through its API."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Final, TypeVar

import msgspec

from perdure.cli.remote import api_client
from perdure.cli.remote.api_client import Answer, ServerFailed
from perdure.cli.remote.server_address import ServerAddress
from perdure.names import handle
from perdure.registry.entities import Agent

T = TypeVar("T")

PAGE: Final = 1_000  # entries of one page; a server may send fewer
CALLER: Final = Agent("", "the owner of the key", "", "")  # the server knows who this is


class RemoteRegistry:
    """A server, and the key with which it is used."""

    def __init__(self, server: ServerAddress) -> None:
        self.server = server

    @property
    def public(self) -> "RemoteRegistry":
        """The same registry, as a caller without a key sees it."""
        return RemoteRegistry(self.server.without_key())

    def current_time(self) -> str:
        """Return the time of this machine, as the default of dates that a user may give."""
        return datetime.now(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")

    def get(self, path: str, kind: type[T], **query: object) -> T:
        """Read a resource."""
        return self.decode(api_client.request(self.server, "GET", path, query=query), kind)

    def get_document(self, path: str, kind: type[T], **query: object) -> T:
        """Read a JSON document of the server that is not below the root of its API."""
        answer = api_client.request(self.server, "GET", path, query=query, patience=api_client.STREAM, root="")
        return self.decode(answer, kind)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a change."""
        return api_client.request(self.server, method, path, query=query, body=body, headers=headers)

    def change(
        self,
        method: str,
        path: str,
        kind: type[T],
        body: object = None,
        *,
        expected: int | str | None = None,
        query: Mapping[str, object] | None = None,
    ) -> T:
        """Change a resource: at the expected version or, as a local command without --if-version, at any."""
        condition = "*" if expected is None else f'"{expected}"'
        return self.decode(self.send(method, path, body, query=query, headers={"If-Match": condition}), kind)

    def pages(self, path: str, kind: type[T], **query: object) -> Iterator[T]:
        """Read the pages of a list. Each names the next one in its field `next`."""
        after: object = None
        while True:
            page = self.get(path, kind, after=after, **query)
            yield page
            following = getattr(page, "next", None)
            if following is None:
                return
            if following == after:
                raise ServerFailed(self.server.url, "a page of its response is followed by the same page")
            after = following

    def decode(self, answer: Answer, kind: type[T]) -> T:
        """Decode a response, or raise ServerFailed."""
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            reason = f"its response is not what this version of perdure expects ({problem})"
            raise ServerFailed(self.server.url, reason) from None


def path_to(collection: str, name: str) -> str:
    """Return the path of a name in a collection of the API."""
    return f"/{collection}/{handle.escape(name)}"
