"""Documents of persons that were given before, for as long as they are what the registry says.

What goes into a document are a person's record and those that it stands upon. So it is still right if they have the
versions that they had then: the express lane looks at those, and need not write the document anew.
"""

from collections import OrderedDict
from typing import Final, NamedTuple

from perdure.http.message import Request, Response
from perdure.http_options import HttpOptions
from perdure.registry.persons import PersonView

_MOST_BYTES: Final = 16 << 20  # of one process
_LARGEST: Final = 1 << 18  # of one document
_OVERHEAD: Final = 1_000

Key = tuple[bytes, bytes, bytes, str]  # the path, what is accepted, the host, and http or https


class Kept(NamedTuple):
    """An answer from behind the headers that all have; and the versions of the names that it was made from."""

    names: tuple[str, ...]
    versions: tuple[int, ...]
    answer: bytes


class KeptDocuments:
    """Those of one process. Bounded: the oldest goes first."""

    def __init__(self, options: HttpOptions) -> None:
        # Behind a proxy, the address that documents give as their own may be another for every request.
        self._is_on = bool(options.public_url) or not options.proxies
        self._known: OrderedDict[Key, Kept] = OrderedDict()
        self._size = 0

    def find(self, key: Key) -> Kept | None:
        return self._known.get(key)

    def keep(self, request: Request, shown: PersonView, response: Response) -> None:
        """Only what everybody gets who asks with the same words."""
        if not self._is_on or request.method != "GET" or request.query or len(response.body) > _LARGEST:
            return
        accepts = [value for name, value in request.headers if name == b"accept"]
        hosts = [value for name, value in request.headers if name == b"host"]
        if len(accepts) > 1 or len(hosts) != 1:
            return
        lines = [b"%b: %b\r\n" % header for header in response.headers]
        head = b"%bcontent-length: %d\r\n\r\n" % (b"".join(lines), len(response.body))
        names = (shown.view.name, *shown.observations)
        kept = Kept(names, (shown.newest, *shown.versions), head + response.body)
        key = (request.path.encode("latin-1"), b"".join(accepts), hosts[0], "https" if request.is_secure else "http")
        self._forget(key)
        self._known[key] = kept
        self._size += _OVERHEAD + len(kept.answer)
        while self._size > _MOST_BYTES:
            self._forget(next(iter(self._known)))

    def _forget(self, key: Key) -> None:
        known = self._known.pop(key, None)
        if known is not None:
            self._size -= _OVERHEAD + len(known.answer)
