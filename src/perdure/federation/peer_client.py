"""The HTTP client for other servers: bounded in time, size and connections. It follows no redirects.

Only URLs that an operator registered are contacted. The address of a private network, or of this machine, is contacted
only if the operator allowed that for this server, whatever its host name resolves to.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from perdure.errors import PeerUnavailable
from perdure.records.network_address import is_private

if TYPE_CHECKING:
    import httpx

_CONNECTIONS: Final = 64
_KEPT_CONNECTIONS: Final = 32
_KEPT_SECONDS: Final = 50.0  # less than servers keep idle connections
_CONNECTED: Final = "connection.connect_tcp.complete"
_OK: Final = 200
_REFUSED: Final = (400, 414, 422, 431)  # about the question alone
PRIVATE_OPTION: Final = "--private"


class PeerClient:
    """A client for all peers, on one event loop. The library is imported when it is first used: importing is slow."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._client: httpx.AsyncClient | None = None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def get(self, url: str, parameters: Mapping[str, Any], *, private: bool, most: int) -> bytes:
        """Return the body of a document of at most this size. Raise PeerUnavailable."""
        import httpx

        for is_last in (False, True):
            try:
                async with asyncio.timeout(self._seconds):
                    return await self._get(url, parameters, private=private, most=most)
            except TimeoutError:
                raise PeerUnavailable(url, f"it did not answer within {self._seconds:g} s") from None
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError, httpx.CloseError) as problem:
                if is_last:  # before that, it may have closed an idle connection
                    raise PeerUnavailable(url, _describe(problem)) from None
            except (httpx.HTTPError, httpx.InvalidURL) as problem:
                raise PeerUnavailable(url, _describe(problem)) from None
        raise AssertionError

    async def _get(self, url: str, parameters: Mapping[str, Any], *, private: bool, most: int) -> bytes:
        client = self._open()
        extensions = {} if private else {"trace": _PrivateAddressGuard(url)}
        async with client.stream("GET", url, params=parameters, extensions=extensions) as response:
            if response.status_code != _OK:
                refuses = response.status_code in _REFUSED
                raise PeerUnavailable(url, f"its status is {response.status_code}", refuses_question=refuses)
            body = bytearray()
            async for part in response.aiter_raw():
                body += part
                if len(body) > most:
                    raise PeerUnavailable(url, f"its answer is longer than {most} bytes")
            return bytes(body)

    def _open(self) -> "httpx.AsyncClient":
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(
                verify=httpx.create_ssl_context(),
                follow_redirects=False,
                trust_env=False,
                timeout=self._seconds,
                limits=httpx.Limits(
                    max_connections=_CONNECTIONS,
                    max_keepalive_connections=_KEPT_CONNECTIONS,
                    keepalive_expiry=_KEPT_SECONDS,
                ),
                headers={"accept": "application/json", "accept-encoding": "identity", "user-agent": "Perdure"},
            )
        return self._client


class _PrivateAddressGuard:
    """A hook that closes a new connection to a private address before a request is sent."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def __call__(self, event: str, details: dict[str, Any]) -> None:
        if event != _CONNECTED:
            return
        stream = details["return_value"]
        address = str(stream.get_extra_info("server_addr")[0])
        if is_private(address):
            await stream.aclose()
            reason = "its address is one of a private network or of this machine, which was not allowed for it"
            raise PeerUnavailable(self._url, f"{reason} ({PRIVATE_OPTION})")


def _describe(problem: Exception) -> str:
    return str(problem) or type(problem).__name__
