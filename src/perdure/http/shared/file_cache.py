"""A cache of small stored files, as they were sent.

An entry is used while nothing in the registry has changed since it was read, and for a few seconds only: the bytes of a
stored file never change, but the file may be removed or damaged on disk, which should be noticed.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from perdure.http.shared.request import Request, Response
from perdure.http.shared.responses import format_head
from perdure.http_options import HttpOptions

_MOST_BYTES: Final = 32 << 20  # of one process
_LARGEST: Final = 1 << 16  # of one file: the client may be slow, and the response waits in memory
_SECONDS: Final = 5.0
_OVERHEAD: Final = 1_000

Key = tuple[bytes, bytes, str]  # path, host, and http or https


class _CachedFile(NamedTuple):
    answer: bytes  # without the headers that all responses have
    change: int
    until: float


class FileCache:
    """The files of one process. The size is bounded, and the oldest file is removed first.

    `change_number` returns a number that differs after every change of the registry; None if it is not known.
    """

    def __init__(
        self,
        options: HttpOptions,
        change_number: Callable[[], int | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # Behind a proxy, the URL of the server in the links of a file may differ between requests.
        self._is_on = bool(options.public_url) or not options.proxies
        self.change_number = change_number
        self._clock = clock
        self._known: OrderedDict[Key, _CachedFile] = OrderedDict()
        self._size = 0

    def find(self, key: Key, change: int | None) -> bytes | None:
        """Return the cached response to a request, if the registry is at this change still."""
        known = self._known.get(key)
        if known is None:
            return None
        if known.change != change or self._clock() > known.until:
            self._remove(key)
            return None
        return known.answer

    def store(self, request: Request, response: Response, change: int | None) -> None:
        """Store a response, if it depends only on the path, the host and the scheme.

        `change` is the change number from before the file was looked up.
        """
        if not self._is_on or change is None or request.method != "GET" or request.query or response.status != 200:
            return
        hosts = [value for name, value in request.headers if name == b"host"]
        if len(hosts) != 1 or len(response.body) > _LARGEST:
            return
        head = b"%bcontent-length: %d\r\n\r\n" % (format_head(response.headers), len(response.body))
        key = (request.path.encode("latin-1"), hosts[0], "https" if request.is_secure else "http")
        self._remove(key)
        self._known[key] = _CachedFile(head + response.body, change, self._clock() + _SECONDS)
        self._size += _OVERHEAD + len(head) + len(response.body)
        while self._size > _MOST_BYTES:
            self._remove(next(iter(self._known)))

    def _remove(self, key: Key) -> None:
        removed = self._known.pop(key, None)
        if removed is not None:
            self._size -= _OVERHEAD + len(removed.answer)
