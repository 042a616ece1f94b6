"""The regular refresh of what other servers announce to hold."""

import asyncio
import random
from datetime import datetime, timezone
from typing import Final

from perdure.errors import PerdureError
from perdure.federation.peer_client import PeerClient
from perdure.federation.peer_statements import fetch_announcement
from perdure.registry.entities import Peer
from perdure.registry.peers.peers import put_announcement
from perdure.registry.registry import Registry

_INTERVAL: Final = 60.0  # seconds between two looks at the table
_OLD: Final = 900.0  # seconds after which an announcement is fetched again


class AnnouncementRefresh:
    """Fetches announcements that are old. Each worker does that, and stores them, so that the others need not."""

    def __init__(self, registry: Registry, client: PeerClient) -> None:
        self._registry = registry
        self._client = client

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_INTERVAL * random.uniform(0.5, 1.5))  # noqa: S311  (workers at different times)
            try:
                await self.refresh()
            except PerdureError:
                continue  # the store does not answer, or is read-only: next time

    async def refresh(self) -> None:
        """Fetch all announcements that are old. A server that does not answer keeps its last one."""
        for peer in await self._registry.store.read(lambda reader: reader.peers()):
            if peer.key is None or not self._is_old(peer):
                continue
            try:
                announced, checkpoint = await fetch_announcement(self._client, peer)
                await put_announcement(self._registry, peer.name, peer.key, announced, checkpoint)
            except PerdureError:
                continue  # no server keeps the announcements of the others from being read

    def _is_old(self, peer: Peer) -> bool:
        if peer.seen is None:
            return True
        now = datetime.fromtimestamp(self._registry.clock.now_ns() / 1e9, timezone.utc)
        age = (now - datetime.fromisoformat(peer.seen)).total_seconds()
        return not 0 <= age <= _OLD  # in the future: the clock was wrong then
