"""The digest of the settings of a peer, for preconditions: concurrent changes never overwrite each other unnoticed."""

from hashlib import sha256
from typing import Final

import msgspec

from perdure.errors import Conflict
from perdure.registry.entities import Peer

_CHARACTERS: Final = 16


def peer_digest(peer: Peer) -> str:
    """Compute a digest of what an operator sets; the server itself changes the rest."""
    settings = (peer.name, peer.url, peer.prefixes, peer.server, peer.key, peer.private)
    return sha256(msgspec.json.encode(settings)).hexdigest()[:_CHARACTERS]


def check_peer_digest(peer: Peer, expected: str | None) -> None:
    """Raise Conflict if the peer has changed since the caller read it; None expects nothing."""
    current = peer_digest(peer)
    if expected is not None and expected != current:
        raise Conflict(peer.name, f"peer {expected}", f"peer {current}")
