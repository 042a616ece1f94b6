"""What every handler is given: the registry, how it is served, and who checks credentials."""

from fractions import Fraction
from typing import Final

from perdure.http.authentication import Authenticator
from perdure.http.kept_documents import KeptDocuments
from perdure.http.known_prefixes import KnownPrefixes
from perdure.http.metrics import Metrics
from perdure.http.pulse import Pulse
from perdure.http.turns import Turns
from perdure.http_options import HttpOptions
from perdure.registry import Registry
from perdure.registry.handles.listing import Walks

# Of the time for one request: the rest is for reading it, for its turn with the store, and for keeping the names.
_SHARE_FOR_WAITING: Final = 0.5
_SEARCHES: Final = 2  # at a time, in one process


class Service:
    """One registry, served by one process."""

    def __init__(self, registry: Registry, options: HttpOptions) -> None:
        self.registry = registry
        self.options = options
        self.patience = Fraction(options.request_seconds * _SHARE_FOR_WAITING)
        self.metrics = Metrics()
        self.pulse = Pulse()
        self.prefixes = KnownPrefixes(registry)
        self.documents = KeptDocuments(options)
        self.walks = Walks()
        self.searches = Turns("searches", at_once=_SEARCHES, each=8, most=64)
        self.authenticator = Authenticator(registry, options)

    def tell(self) -> None:
        """Bring what this process has counted to where it is read from."""
        self.metrics.tell(connections=len(self.pulse.connections), log_bytes=self.registry.store.log_bytes())
