"""A client for items on other servers: it reads what an item is, and downloads its files.

Every file is compared with its digest. A large file that was interrupted continues where it stopped, also in another
process. Only addresses that the operator named, and those to which they redirect, are contacted. A server on the
Internet cannot redirect to an address of a private network.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha512
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, Self
from urllib.parse import urlsplit

import httpx
import msgspec
from msgspec import Meta

from perdure.collections.addresses import file_address
from perdure.collections.hashed_copy import ReadableStream
from perdure.collections.work_progress import Progress, Report
from perdure.errors import InvalidInput, InvalidName, ItemDamaged, NoSuchItem, StoreUnavailable
from perdure.names import handle, ibi
from perdure.records.network_address import is_private
from perdure.registry.holdings import Role

DOWNLOAD: Final = "download"
_MOST_DOCUMENT_BYTES: Final = 1 << 29  # a million files in all versions together
_IN_MEMORY: Final = 1 << 20  # bytes; a larger file is written to disk, so that it can continue
_BLOCK: Final = 1 << 18
_ATTEMPTS: Final = 5  # in a row without a byte
_PAUSE: Final = 0.5  # seconds before the second attempt; doubled before each further one
_TIMEOUT: Final = httpx.Timeout(30.0)
_MOST_REDIRECTS: Final = 5
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_AGENT: Final = "perdure"
_CONNECTED: Final = "connection.connect_tcp.complete"
_HOST_SEGMENTS: Final = 3  # of an address: the scheme, nothing, the host
_PARTS_OF_REPOSITORY_NAME: Final = 4

_Count = Annotated[int, Meta(ge=0)]
_Number = Annotated[int, Meta(ge=1)]


class RemoteFile(msgspec.Struct, frozen=True):
    """A file of a version on another server."""

    path: str
    size: _Count
    sha512: Annotated[str, Meta(pattern=r"^[0-9a-f]{128}$")]
    media_type: str


class RemoteAgent(msgspec.Struct, frozen=True):
    """The agent that made a version there."""

    name: str
    address: str | None = None


class RemoteVersion(msgspec.Struct, frozen=True):
    """A version on another server."""

    version: _Number
    created: str
    message: str
    agent: RemoteAgent | None
    files: tuple[RemoteFile, ...]


class RemoteItem(msgspec.Struct, frozen=True):
    """What another server says of an item. The versions are in any order."""

    label: str
    role: Role
    main_file: str | None
    versions: tuple[RemoteVersion, ...]
    names: tuple[str, ...] = ()


_decode: Final = msgspec.json.Decoder(RemoteItem).decode


class ItemClient:
    """A connection to the server of an item. `downloads` is a directory for files that are not complete yet."""

    def __init__(self, downloads: Path, report: Report | None = None) -> None:
        self._downloads = downloads
        self._progress = Progress(report)
        self._guard = _PrivateAddressGuard()
        self._http = httpx.Client(timeout=_TIMEOUT, headers={"User-Agent": _AGENT, "Accept-Encoding": "identity"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self._http.close()

    def find_item(self, server: str, label: str) -> str:
        """Return the address of an item: below the address of a collection, or where the server redirects its label."""
        base = server.rstrip("/")
        if urlsplit(base).path.strip("/"):
            return f"{base}/{handle.escape(label)}/"
        address = f"{base}/{handle.escape(label)}"
        for _ in range(_MOST_REDIRECTS):
            with self._get(address, {"Accept": "*/*"}) as response:
                if response.status_code not in _REDIRECTS:
                    break
                address = str(response.url.join(response.headers.get("Location", "")))
            item = _item_address(address, label)
            if item is not None:
                return item
        raise InvalidInput("item", "from", f"{server} does not lead to the item {label}: name its collection there")

    def describe(self, address: str) -> RemoteItem:
        """Read what the server says of the item at an address."""
        body = bytearray()
        with self._get(address, {"Accept": "application/json"}) as response:
            _check_status(response, address)
            for part in _read_parts(response):
                body += part
                if len(body) > _MOST_DOCUMENT_BYTES:
                    raise StoreUnavailable(f"{address} is described with more than {_MOST_DOCUMENT_BYTES} bytes")
        try:
            item = _decode(body)
        except msgspec.DecodeError as problem:
            raise StoreUnavailable(f"the description of the item at {address} cannot be read: {problem}") from None
        if not item.versions or sorted(one.version for one in item.versions) != list(range(1, len(item.versions) + 1)):
            raise StoreUnavailable(f"the description of the item at {address} lacks versions")
        return item

    def source(self, item: str, version: int, file: RemoteFile) -> "RemoteSource":
        """Return a file as a source for a collection. It is downloaded when it is opened."""
        return RemoteSource(self, file_address(item, file.path, version), file)

    def forget(self, file: RemoteFile) -> None:
        """Remove what was downloaded of a file."""
        self._part(file).unlink(missing_ok=True)

    def fetch(self, address: str, file: RemoteFile) -> BinaryIO:
        """Download a file, or the rest of it. Raise ItemDamaged if it is not what the server described."""
        if file.size <= _IN_MEMORY:
            memory = BytesIO()
            self._fill(address, file, memory)
            memory.seek(0)
            return memory
        self._progress.begin_phase(DOWNLOAD)
        self._progress.begin_file(file.path)
        part = self._part(file)
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        stream = os.fdopen(descriptor, "r+b")
        try:
            self._fill(address, file, stream)
            stream.seek(0)
        except BaseException:
            stream.close()
            raise
        return stream

    def _part(self, file: RemoteFile) -> Path:
        return self._downloads / f"{file.sha512}.part"

    def _fill(self, address: str, file: RemoteFile, stream: BinaryIO) -> None:
        """Append what is missing, with several attempts as long as some bytes arrive, and compare the whole."""
        failures = 0
        while (done := stream.seek(0, os.SEEK_END)) < file.size:
            try:
                self._append(address, file, stream, done)
            except httpx.HTTPError as problem:
                failures = failures + 1 if stream.seek(0, os.SEEK_END) == done else 1
                if failures >= _ATTEMPTS:
                    raise _unreachable(address, problem) from None
                time.sleep(_PAUSE * 2 ** (failures - 1))
        if done > file.size or _hash(stream) != file.sha512:
            stream.truncate(0)
            reason = f"{file.path} from {address} differs from the digest that its server gives"
            raise ItemDamaged(file.path, reason)

    def _append(self, address: str, file: RemoteFile, stream: BinaryIO, done: int) -> None:
        headers = {"Range": f"bytes={done}-"} if done else {}
        with self._stream(address, headers) as response:
            if done and response.status_code != 206:
                stream.truncate(0)  # the server does not continue: all of it again
                stream.seek(0)
                done = 0
            _check_status(response, address)
            for block in response.iter_raw(_BLOCK):
                done += len(block)
                if done > file.size:
                    raise ItemDamaged(file.path, f"{address} has more than the {file.size} bytes that its server gives")
                stream.write(block)
                if file.size > _IN_MEMORY:
                    self._progress.add_bytes(len(block))
            stream.flush()

    @contextmanager
    def _get(self, address: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        try:
            with self._stream(address, headers) as response:
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise _unreachable(address, problem) from None

    def _stream(self, address: str, headers: Mapping[str, str]) -> AbstractContextManager[httpx.Response]:
        return self._http.stream("GET", address, headers=dict(headers), extensions={"trace": self._guard})


class _PrivateAddressGuard:
    """A hook that closes a new connection to a private address, unless the first one was to one: the operator's."""

    def __init__(self) -> None:
        self._allows_private: bool | None = None

    def __call__(self, event: str, details: Mapping[str, Any]) -> None:
        if event != _CONNECTED:
            return
        stream = details["return_value"]
        address = str(stream.get_extra_info("server_addr")[0])
        if self._allows_private is None:
            self._allows_private = is_private(address)
        elif is_private(address) and not self._allows_private:
            stream.close()
            raise StoreUnavailable(f"the other server leads to {address}, an address of a private network")


class RemoteSource:
    """A file on another server, as a source for a collection."""

    def __init__(self, client: ItemClient, address: str, file: RemoteFile) -> None:
        self._client = client
        self._address = address
        self._file = file
        self.path, self.size, self.media_type = file.path, file.size, file.media_type
        self.digests: Mapping[str, str] = {"sha512": file.sha512}

    def open(self) -> AbstractContextManager[ReadableStream]:
        return self._client.fetch(self._address, self._file)  # type: ignore[return-value]


def _item_address(address: str, label: str) -> str | None:
    """Return the address of the item to which an address belongs, by the label in its path; None without one.

    The item may lie under its repository name, which is another one of its labels.

    >>> _item_address("https://id.example.org/items/a/sid.inpe.br/mtc-m18/2009/02.16.17.46/b", "8JMKD3MGP8W/34PGRBS")
    'https://id.example.org/items/a/sid.inpe.br/mtc-m18/2009/02.16.17.46/'
    """
    head, found, _ = address.partition(f"/{handle.escape(label)}/")
    if found:
        return head + found
    segments = address.split("?")[0].split("/")
    for start in range(_HOST_SEGMENTS + 1, len(segments) - _PARTS_OF_REPOSITORY_NAME):
        end = start + _PARTS_OF_REPOSITORY_NAME
        try:
            ibi.parse_repository(handle.unescape("/".join(segments[start:end])))
        except InvalidName:
            continue
        return "/".join([*segments[:end], ""])
    return None


def _read_parts(response: httpx.Response) -> Iterator[bytes]:
    yield from response.iter_bytes(_BLOCK)


def _check_status(response: httpx.Response, address: str) -> None:
    if response.status_code in (404, 410):
        raise NoSuchItem(address)
    if response.status_code not in (200, 206):
        is_temporary = response.status_code in (429, 502, 503, 504)
        raise StoreUnavailable(f"{address} was answered with the status {response.status_code}", is_temporary)


def _hash(stream: BinaryIO) -> str:
    digest = sha512()
    stream.seek(0)
    while block := stream.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()


def _unreachable(address: str, problem: Exception) -> StoreUnavailable:
    reason = str(problem) or type(problem).__name__
    return StoreUnavailable(f"{address} cannot be reached: {reason}. Run the same command again to continue", True)
