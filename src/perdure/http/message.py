"""One request and one response, as the handlers see them: bounded, and without anything of a framework."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from perdure.errors import InvalidInput
from perdure.http.forwarded import is_loopback, is_within, read_origin
from perdure.http.refusals import BodyTooLarge, BodyTooSlow, ClientGone, EncodedBody, Malformed
from perdure.http_options import HttpOptions

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

# In a scope: the request and its answer as uvicorn sees them.
CYCLE: Final = "perdure.cycle"
READING: Final = ("GET", "HEAD", "OPTIONS")

_MOST_PARAMETERS = 4_096


class Response(NamedTuple):
    """What goes back. The length is added when it is sent; header names are in lower case."""

    status: int
    body: bytes = b""
    headers: Headers = []  # noqa: RUF012  (never changed in place)

    def with_headers(self, more: Headers) -> "Response":
        return self._replace(headers=[*self.headers, *more])


class Request:
    """What came in. `path` and `query` are as they were sent, undecoded; who the client is was settled already."""

    __slots__ = (
        "_body",
        "_single",
        "agent",
        "client",
        "headers",
        "is_client_known",
        "is_receiving",
        "is_secure",
        "method",
        "options",
        "path",
        "query",
        "receive",
        "scope",
    )

    def __init__(self, scope: Scope, receive: Receive, options: HttpOptions) -> None:
        self.scope = scope
        self.options = options
        self.method: str = scope["method"]
        self.path: str = scope["raw_path"].decode("latin-1")
        self.query: str = scope["query_string"].decode("latin-1")
        self.headers: Headers = scope["headers"]
        self.receive = receive
        self.is_receiving = False  # somebody waits for more of the body, or had to stop waiting for it
        self._body: bytes | None = None
        self._single: dict[bytes, bytes] | None = None  # of each header one, once somebody asks for any
        self.agent: str | None = None  # the id of the agent whose credentials came with it, once they are checked
        peer = (scope.get("client") or ("", 0))[0]
        self.client, self.is_client_known, self.is_secure = read_origin(
            self.headers, peer, scope["scheme"] == "https", options
        )

    def header(self, name: bytes) -> str | None:
        """The value of a header that may come once. Said twice, and differently, it is refused: which would hold?"""
        if self._single is None:
            self._single = dict(self.headers)
        value = self._single.get(name)
        if value is None:
            return None
        if len(self._single) < len(self.headers) and any(key == name and one != value for key, one in self.headers):
            raise Malformed(f"the header {name.decode('latin-1')} is there twice")
        return value.decode("latin-1")

    def header_list(self, name: bytes) -> str | None:
        """The value of a header that is a list, however many lines it came in."""
        found = [value for key, value in self.headers if key == name]
        return b", ".join(found).decode("latin-1") if found else None

    @property
    def is_loopback(self) -> bool:
        """Whether the client, behind whatever proxy is trusted, is this machine."""
        return self.is_client_known and is_loopback(self.client)

    def is_from(self, networks: tuple[Any, ...]) -> bool:
        """Return whether the client, behind whatever proxy is trusted, is in one of these networks."""
        return self.is_client_known and is_within(self.client, networks)

    @property
    def origin(self) -> str:
        """The address of this server as the client used it, or as the settings have it: without a slash at its end."""
        if self.options.public_url:
            return self.options.public_url.rstrip("/")
        host = self.header(b"host") or "localhost"
        if any(character in host for character in "/\\?#@\"'<> \t") or not host.isprintable():
            raise Malformed("the header host is no host")
        return f"{'https' if self.is_secure else 'http'}://{host}"

    def parameters(self) -> list[tuple[str, str]]:
        """The query, decoded, in its order; separated by & or ;, as the proxies of the Handle System take them."""
        try:
            return parse_qsl(
                self.query.replace(";", "&"),
                keep_blank_values=True,
                encoding="utf-8",
                errors="strict",
                max_num_fields=_MOST_PARAMETERS,
            )
        except UnicodeDecodeError:
            raise Malformed("the query is not UTF-8") from None
        except ValueError:
            raise Malformed(f"the query has more than {_MOST_PARAMETERS} parameters") from None

    def check_encoding(self) -> None:
        """Refuse a body that is compressed: read as it stands it would be something else, and it may be a bomb."""
        encoding = self.header(b"content-encoding")
        if encoding is not None and encoding.strip().lower() not in ("", "identity"):
            raise EncodedBody(encoding)

    async def body(self, limit: int | None = None) -> bytes:
        """All of it; BodyTooLarge, as soon as that is known."""
        if self._body is None:
            self.check_encoding()
            most = self.options.body_bytes if limit is None else limit
            length = self.header(b"content-length")
            if length is not None and length.isdigit() and int(length) > most:
                raise BodyTooLarge(most)
            self._body = self._at_hand(most)
            if self._body is None:
                parts, size = [], 0
                async for part in self.stream():
                    size += len(part)
                    if size > most:
                        raise BodyTooLarge(most)
                    parts.append(part)
                self._body = b"".join(parts)
        return self._body

    def _at_hand(self, most: int) -> bytes | None:
        """All of the body, if it has come already, as that of a small request has."""
        cycle = self.scope[CYCLE]
        if cycle.more_body or cycle.disconnected or len(cycle.body) > most:
            return None
        body, cycle.body = bytes(cycle.body), bytearray()
        return body

    async def stream(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        self.check_encoding()
        cycle = self.scope[CYCLE]
        while True:
            if not cycle.more_body:
                message = await self.receive()
            else:
                self.is_receiving = True
                try:
                    async with asyncio.timeout(self.options.header_seconds):
                        message = await self.receive()
                except TimeoutError:
                    raise BodyTooSlow() from None
                self.is_receiving = False
            if message["type"] == "http.disconnect":
                raise ClientGone()
            if part := message.get("body", b""):
                yield part
            if not message.get("more_body", False):
                return


def is_trusted_peer(scope: Scope, options: HttpOptions) -> bool:
    """Whether the peer of the connection itself is one of the trusted proxies."""
    return is_within((scope.get("client") or ("", 0))[0], options.proxies)


async def send_response(send: Send, response: Response) -> None:
    """As an application would; its length is added on the way."""
    await send({"type": "http.response.start", "status": response.status, "headers": response.headers})
    await send({"type": "http.response.body", "body": response.body})


def one_parameter(parameters: list[tuple[str, str]], name: str) -> str | None:
    """A parameter that may be given once."""
    found = [value for key, value in parameters if key == name]
    if len(found) > 1:
        raise InvalidInput("request", name, f"the parameter {name} is there {len(found)} times")
    return found[0] if found else None
