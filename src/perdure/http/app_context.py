"""The context of every handler: the registry, the settings, the caches, and the authenticator."""

import asyncio
import time
from fractions import Fraction
from pathlib import Path
from typing import Final

from perdure.collections.item_cache import ItemCache
from perdure.federation.announcement_refresh import AnnouncementRefresh
from perdure.federation.federated_lookup import FederatedLookup, LookupSettings
from perdure.federation.own_statements import OwnStatements
from perdure.federation.peer_client import PeerClient
from perdure.federation.returning_readers import ReturningReaders
from perdure.http.auth import Authenticator
from perdure.http.shared.file_cache import FileCache
from perdure.http.shared.metrics import Metrics
from perdure.http.shared.person_cache import PersonCache
from perdure.http.shared.prefix_cache import PrefixCache
from perdure.http.shared.resolution_counter import ResolutionCounter
from perdure.http.shared.semaphore import ConcurrencyLimiter
from perdure.http.shared.time_budget import TimeBudget
from perdure.http.shared.timeouts import DeadlineTimer
from perdure.http.shared.upload_folder import UPLOADS, UploadFolder
from perdure.http.shared.waiting_room import WaitingRoom
from perdure.http_options import HttpOptions
from perdure.registry import Registry
from perdure.registry.handles.listing import PageCursors

# The share of a request's time that it may wait for a date. The rest is for reading it and for the store.
_WAITING_SHARE: Final = 0.5
_CONCURRENT_SEARCHES: Final = 2  # at a time, in one process
_SUGGESTION_SHARE: Final = 0.1  # of one processor, in one process, for suggestions of similar names
_SUGGESTION_BURST: Final = 2.0  # seconds that may be spent at once


class AppContext:
    """One registry, served by one process."""

    def __init__(self, registry: Registry, options: HttpOptions, folder: Path) -> None:
        self.registry = registry
        self.options = options
        self.patience = Fraction(options.request_seconds * _WAITING_SHARE)
        self.metrics = Metrics()
        self.resolutions = ResolutionCounter(registry, options)
        self.deadlines = DeadlineTimer()
        self.prefixes = PrefixCache(registry)
        self.person_cache = PersonCache(options)
        self.items = ItemCache()
        self.file_cache = FileCache(options, registry.store.change_number)
        self.page_cursors = PageCursors()
        self.search_limiter = ConcurrencyLimiter("searches", at_once=_CONCURRENT_SEARCHES, each=8, most=64)
        self.suggestion_budget = TimeBudget(_SUGGESTION_SHARE, _SUGGESTION_BURST)
        self.waiting_room = WaitingRoom(options.waiting_requests, self.metrics, registry.clock)
        self.stopping = asyncio.Event()  # set when the server begins to shut down
        self.uploads = UploadFolder(folder / UPLOADS, options.upload_days * 86_400)
        self.authenticator = Authenticator(registry, options)
        self.peer_client = PeerClient(options.peer_seconds)
        self.peers = FederatedLookup(
            registry,
            self.peer_client,
            LookupSettings(options.peer_seconds, options.peer_cache_seconds, options.peer_missing_seconds),
            upstream=options.upstream,
            observe=self.metrics.count_peer_answer,
        )
        self.announcements = AnnouncementRefresh(registry, self.peer_client)
        self.own_statements = OwnStatements(registry)
        self.returning_readers = ReturningReaders(time.monotonic)

    async def close_peers(self) -> None:
        """End the questions to other servers, and their connections."""
        await self.peers.close()
        await self.peer_client.close()

    def publish_metrics(self) -> None:
        """Publish the counters of this process."""
        self.metrics.publish(connections=len(self.deadlines.connections), log_bytes=self.registry.store.log_bytes())
