"""A cache of rendered documents of persons.

A document depends on the records of a person and of its observations. It is current while they have the same versions:
the fast path compares those, and need not render the document again.
"""

from collections import OrderedDict
from typing import Final, NamedTuple

from perdure.http.shared.request import Request, Response
from perdure.http.shared.responses import format_head
from perdure.http_options import HttpOptions
from perdure.registry.persons import PersonView

_MOST_BYTES: Final = 16 << 20  # of one process
_LARGEST: Final = 1 << 18  # of one document
_OVERHEAD: Final = 1_000

Key = tuple[bytes, bytes, bytes, str]  # path, Accept, host, and http or https


class CachedPerson(NamedTuple):
    """A response without the headers that all responses have, and the versions of the records that it depends on."""

    names: tuple[str, ...]
    versions: tuple[int, ...]
    answer: bytes


class PersonCache:
    """The documents of one process. The size is bounded, and the oldest document is removed first."""

    def __init__(self, options: HttpOptions) -> None:
        # Behind a proxy, the URL of the server in documents may differ between requests.
        self._is_on = bool(options.public_url) or not options.proxies
        self._known: OrderedDict[Key, CachedPerson] = OrderedDict()
        self._size = 0

    def find(self, key: Key) -> CachedPerson | None:
        """Return the cached response for a request, if there is one."""
        return self._known.get(key)

    def store(self, request: Request, person: PersonView, response: Response) -> None:
        """Store a response, if it depends only on the path, Accept, the host and the scheme."""
        if not self._is_on or request.method != "GET" or request.query or len(response.body) > _LARGEST:
            return
        accepts = [value for name, value in request.headers if name == b"accept"]
        hosts = [value for name, value in request.headers if name == b"host"]
        if len(accepts) > 1 or len(hosts) != 1:
            return
        head = b"%bcontent-length: %d\r\n\r\n" % (format_head(response.headers), len(response.body))
        names = (person.view.name, *person.observations)
        cached = CachedPerson(names, (person.newest, *person.versions), head + response.body)
        key = (request.path.encode("latin-1"), b"".join(accepts), hosts[0], "https" if request.is_secure else "http")
        self._remove(key)
        self._known[key] = cached
        self._size += _OVERHEAD + len(cached.answer)
        while self._size > _MOST_BYTES:
            self._remove(next(iter(self._known)))

    def _remove(self, key: Key) -> None:
        removed = self._known.pop(key, None)
        if removed is not None:
            self._size -= _OVERHEAD + len(removed.answer)
