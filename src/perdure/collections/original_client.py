"""A client for the server that hands an original over: who it is, and the request to hand it over."""

from typing import Final, Self, TypeVar
from urllib.parse import urlencode

import httpx
import msgspec

from perdure.collections.collection_address import CollectionAddress
from perdure.collections.original_records import ComparedVersion, OtherServer
from perdure.errors import BadKey, Conflict, StoreUnavailable
from perdure.registry.holdings import Role

T = TypeVar("T")
_TIMEOUT: Final = httpx.Timeout(60.0)  # it asks this server in turn
_MOST_BYTES: Final = 4 << 20
_AGENT: Final = "perdure"
_CONFLICT, _OK = 409, 200
_DENIED: Final = (401, 403)


class HandedOver(msgspec.Struct, frozen=True):
    """What the other server answers when it has handed an original over."""

    label: str
    main_file: str | None


class ListedItem(msgspec.Struct, frozen=True):
    """An item of a collection there. `original` is the server that has its original, if that is another one."""

    label: str
    role: Role
    original: str | None = None


class ListedItems(msgspec.Struct, frozen=True):
    """A page of the items of a collection. `next` is the value of `after` for the next page."""

    items: tuple[ListedItem, ...]
    next: str | None = None


class _Server(msgspec.Struct, frozen=True):
    server: str


class _Problem(msgspec.Struct, frozen=True):
    detail: str = ""


class OriginalClient:
    """A connection to the server that has the original, as an agent of that server."""

    def __init__(self, at: CollectionAddress, key: str) -> None:
        self._at = at
        self._http = httpx.Client(
            timeout=_TIMEOUT, headers={"User-Agent": _AGENT, "Accept": "application/json"}, trust_env=False
        )
        self._authorization = {"Authorization": f"Bearer {key}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self._http.close()

    def identify(self) -> OtherServer:
        """Return who the server is."""
        stated = self._decode(self._send("GET", "/.well-known/perdure/server"), _Server)
        return OtherServer(stated.server, self._at.server)

    def list_items(self, after: str) -> ListedItems:
        """Return a page of the items of the collection."""
        query = urlencode({"after": after})
        return self._decode(self._send("GET", f"/api/v1/collections/{self._at.collection}/items?{query}"), ListedItems)

    def request_original(self, label: str, server: str, compared: ComparedVersion) -> HandedOver:
        """Let the server hand the original over to the registry with this identity. A repeated request does no harm."""
        body = {"label": label, "collection": self._at.collection, "server": server, **compared._asdict()}
        return self._decode(self._send("POST", "/api/v1/original-moves", body), HandedOver)

    def _decode(self, response: httpx.Response, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(response.content, type=kind)
        except msgspec.DecodeError as problem:
            raise StoreUnavailable(f"the answer of {self._at.server} cannot be read: {problem}") from None

    def _send(self, method: str, path: str, body: object = None) -> httpx.Response:
        url = f"{self._at.server}{path}"
        headers = {} if body is None else self._authorization  # the key is shown only where it is needed
        try:
            response = self._http.request(method, url, json=body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            reason = str(problem) or type(problem).__name__
            raise StoreUnavailable(f"{url} cannot be reached: {reason}. Run the same command again", True) from None
        if response.status_code != _OK or len(response.content) > _MOST_BYTES:
            raise self._explain(response)
        return response

    def _explain(self, response: httpx.Response) -> Exception:
        try:
            detail = msgspec.json.decode(response.content, type=_Problem).detail
        except msgspec.DecodeError:
            detail = ""
        detail = detail or f"status {response.status_code}"
        if response.status_code == _CONFLICT:
            return Conflict(self._at.url, "the same newest version there and here", detail)
        if response.status_code in _DENIED:
            return BadKey(f"{self._at.server} answered: {detail}")
        is_temporary = response.status_code in (429, 502, 503, 504)
        return StoreUnavailable(f"{self._at.server} did not hand the original over: {detail}", is_temporary)
