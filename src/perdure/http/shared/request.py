"""The request and the response as handlers see them: bounded, and independent of any framework."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from perdure.errors import InvalidInput
from perdure.http.shared.http_errors import (
    BodyTooLarge,
    BodyTooSlow,
    ClientDisconnected,
    MalformedRequest,
    MethodNotAllowed,
    ProxyProblem,
    UnsupportedEncoding,
)
from perdure.http.shared.proxy_headers import is_from_proxy, is_loopback, is_within, read_origin
from perdure.http.shared.query_string import parse_proxy_query
from perdure.http_options import HttpOptions
from perdure.names.resolver_address import ResolverAddress
from perdure.registry.own_addresses import OwnAddresses

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

# The key in a scope of uvicorn's own state of the request and its response.
CYCLE: Final = "perdure.cycle"
READ_METHODS: Final = ("GET", "HEAD")
SAFE_METHODS: Final = (*READ_METHODS, "OPTIONS")


class Response(NamedTuple):
    """A response. Header names are in lower case; the length is added when it is sent."""

    status: int
    body: bytes = b""
    headers: Headers = []  # noqa: RUF012  (never changed in place)

    def with_headers(self, more: Headers) -> "Response":
        """Return the response with additional headers."""
        return self._replace(headers=[*self.headers, *more])


class Request:
    """A request. `path` and `query` are as they were sent, undecoded."""

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
        "rest",
        "scope",
        "send",
        "state",
    )

    def __init__(self, scope: Scope, receive: Receive, options: HttpOptions) -> None:
        self.scope = scope
        self.options = options
        self.method: str = scope["method"]
        self.path: str = scope["raw_path"].decode("latin-1")
        self.query: str = scope["query_string"].decode("latin-1")
        self.headers: Headers = scope["headers"]
        self.receive = receive
        self.send: Send | None = None  # for a framework that writes its response itself
        self.rest = ""  # the path behind the URL of the route
        self.state: object = None  # the handler's context, from which its errors are formatted
        self.is_receiving = False  # a handler waits for more of the body, or has timed out waiting
        self._body: bytes | None = None
        self._single: dict[bytes, bytes] | None = None  # one value of each header, built on first use
        self.agent: str | None = None  # the id of the authenticated agent
        self.client, self.is_client_known, self.is_secure = read_origin(
            self.headers, _peer(scope), scope["scheme"] == "https", options
        )

    def header(self, name: bytes) -> str | None:
        """Return the value of a header that may be given once. Raise MalformedRequest for two different values."""
        if self._single is None:
            self._single = dict(self.headers)
        value = self._single.get(name)
        if value is None:
            return None
        if len(self._single) < len(self.headers) and any(key == name and one != value for key, one in self.headers):
            raise MalformedRequest(f"the header {name.decode('latin-1')} is given twice with different values")
        return value.decode("latin-1")

    def header_list(self, name: bytes) -> str | None:
        """Return the value of a header that is a list, from all its lines."""
        found = [value for key, value in self.headers if key == name]
        return b", ".join(found).decode("latin-1") if found else None

    def require_read_method(self) -> None:
        """Raise MethodNotAllowed for a request that does not only read."""
        if self.method not in READ_METHODS:
            raise MethodNotAllowed(self.method, READ_METHODS)

    @property
    def is_loopback(self) -> bool:
        """Return whether the client, behind any trusted proxy, is this machine."""
        return self.is_client_known and is_loopback(self.client)

    def is_from(self, networks: tuple[Any, ...]) -> bool:
        """Return whether the client, behind any trusted proxy, is in one of the networks."""
        return self.is_client_known and is_within(self.client, networks)

    def proxy_problem(self) -> ProxyProblem | None:
        """Return why the headers of the proxy that sent this request do not show that the client used https."""
        if not is_from_proxy(self.headers):
            return None
        peer = _peer(self.scope)
        is_trusted = is_within(peer, self.options.proxies)
        return ProxyProblem(is_trusted, peer if is_loopback(peer) else None)

    @property
    def origin(self) -> str:
        """Return the URL of this server, from the settings or as the client used it, without a slash at the end."""
        return self.options.public_url.rstrip("/") or self._host_origin()

    def own_addresses(self) -> OwnAddresses:
        """Return the addresses at which clients reach the resolver: public, of old hosts, and that of this request."""
        urls = [self.options.public_url] if self.options.public_url else []
        urls.extend(f"http://{host}" for host in self.options.old_hosts)
        with suppress(MalformedRequest):
            urls.append(self._host_origin())
        found = []
        for url in urls:
            with suppress(InvalidInput):
                found.append(ResolverAddress.parse(url))
        return tuple(found)

    def _host_origin(self) -> str:
        host = self.header(b"host") or "localhost"
        if any(character in host for character in "/\\?#@\"'<> \t") or not host.isprintable():
            raise MalformedRequest("invalid Host header")
        return f"{'https' if self.is_secure else 'http'}://{host}"

    def parameters(self) -> list[tuple[str, str]]:
        """Return the parameters of the query, decoded, in their order."""
        return parse_proxy_query(self.query)

    def check_encoding(self) -> None:
        """Refuse a compressed body: it would be misread, and may be a decompression bomb."""
        encoding = self.header(b"content-encoding")
        if encoding is not None and encoding.strip().lower() not in ("", "identity"):
            raise UnsupportedEncoding(encoding)

    async def body(self, limit: int | None = None) -> bytes:
        """Return the whole body. Raise BodyTooLarge as soon as it is known to be too large."""
        if self._body is None:
            self.check_encoding()
            most = self.options.body_bytes if limit is None else limit
            length = self.header(b"content-length")
            if length is not None and length.isdigit() and int(length) > most:
                raise BodyTooLarge(most)
            self._body = self._buffered_body(most)
            if self._body is None:
                parts, size = [], 0
                async for part in self.stream():
                    size += len(part)
                    if size > most:
                        raise BodyTooLarge(most)
                    parts.append(part)
                self._body = b"".join(parts)
        return self._body

    def _buffered_body(self, most: int) -> bytes | None:
        """Return the whole body if it has already been received, as that of a small request; None otherwise."""
        cycle = self.scope[CYCLE]
        if cycle.more_body or cycle.disconnected or len(cycle.body) > most:
            return None
        body, cycle.body = bytes(cycle.body), bytearray()
        return body

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the parts of the body as they are received."""
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
                raise ClientDisconnected()
            if part := message.get("body", b""):
                yield part
            if not message.get("more_body", False):
                return


def is_trusted_peer(scope: Scope, options: HttpOptions) -> bool:
    """Return whether the peer of the connection is a trusted proxy."""
    return is_within(_peer(scope), options.proxies)


def _peer(scope: Scope) -> str:
    return str((scope.get("client") or ("", 0))[0])
