"""The table of other servers: add, change, remove, and list them. Nothing here contacts a server."""

from typing import Final

import msgspec

from perdure.errors import InvalidInput, NameTaken, NoSuchPeer, OutOfRange
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Event, HeldPrefix, Peer
from perdure.registry.peers.peer_etag import check_peer_digest
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

MOST_PEERS: Final = 500


async def list_peers(registry: Registry, by: Agent | None = None) -> list[Peer]:
    """List all other servers. `by` must administer the whole registry; None is an operator with access to its files."""

    def work(reader: Reader) -> list[Peer]:
        if by is not None:
            require_permission(reader, by, "admin", WHOLE_REGISTRY, registry.current_time())
        return reader.peers()

    return await registry.store.read(work)


async def show_peer(registry: Registry, by: Agent | None, name: str) -> Peer:
    """Return one server."""

    def work(reader: Reader) -> Peer:
        if by is not None:
            require_permission(reader, by, "admin", WHOLE_REGISTRY, registry.current_time())
        return require_peer(reader, name)

    return await registry.store.read(work)


async def require_peer_permission(registry: Registry, by: Agent) -> None:
    """Raise NotAuthorised unless the agent may change the table. It is checked before another server is contacted."""
    now = registry.current_time()
    await registry.store.read(lambda reader: require_permission(reader, by, "admin", WHOLE_REGISTRY, now))


async def insert_peer(registry: Registry, by: Agent, peer: Peer) -> Peer:
    """Add a server to the table."""

    def work(tx: Transaction) -> Peer:
        at = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
        others = tx.peers()
        if len(others) >= MOST_PEERS:
            raise OutOfRange("peer", "peers", f"a registry can have {MOST_PEERS} peers, and has as many")
        _check_unique(registry, peer, others)
        added = msgspec.structs.replace(peer, added=at)
        tx.put_peer(added)
        tx.put_event(Event(at, by.id, "peer add", peer.name, _describe(peer)))
        return added

    return await registry.store.write(work)


async def put_changed_peer(
    registry: Registry,
    by: Agent,
    name: str,
    *,
    prefixes: tuple[str, ...] | None = None,
    added: tuple[str, ...] = (),
    dropped: tuple[str, ...] = (),
    url: str | None = None,
    private: bool | None = None,
    key: str | None = None,
    server: str | None = None,
    expected: str | None = None,
) -> Peer:
    """Change a server in the table. What is None stays; `added` and `dropped` prefixes change the others."""

    def work(tx: Transaction) -> Peer:
        at = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
        before = require_peer(tx, name)
        check_peer_digest(before, expected)
        missing = [prefix for prefix in dropped if prefix not in (before.prefixes if prefixes is None else prefixes)]
        if missing:
            raise InvalidInput("peer", "prefix", f"{name} has no prefix {missing[0]}")
        start = before.prefixes if prefixes is None else prefixes
        after = msgspec.structs.replace(
            before,
            prefixes=tuple(one for one in dict.fromkeys((*start, *added)) if one not in dropped),
            url=before.url if url is None else url,
            private=before.private if private is None else private,
            key=before.key if key is None else key,
            server=before.server if server is None else server,
        )
        if after == before:
            return before
        _check_unique(registry, after, [other for other in tx.peers() if other.name != name])
        tx.put_peer(after)
        tx.put_event(Event(at, by.id, "peer change", name, f"from {_describe(before)} to {_describe(after)}"))
        return after

    return await registry.store.write(work)


async def remove_peer(registry: Registry, by: Agent, name: str, *, expected: str | None = None) -> Peer:
    """Remove a server from the table. The log keeps what it was."""

    def work(tx: Transaction) -> Peer:
        at = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
        peer = require_peer(tx, name)
        check_peer_digest(peer, expected)
        tx.remove_peer(name)
        tx.put_event(Event(at, by.id, "peer remove", name, _describe(peer)))
        return peer

    return await registry.store.write(work)


async def put_announcement(
    registry: Registry, name: str, key: str, announced: tuple[HeldPrefix, ...], checkpoint: int
) -> bool:
    """Store what a server has announced, signed with this key. Return whether the table has changed."""

    def work(tx: Transaction) -> bool:
        peer = tx.peer(name)
        if peer is None or peer.key != key:
            return False  # it was removed or changed meanwhile
        at = registry.current_time()
        tx.put_peer(msgspec.structs.replace(peer, announced=announced, checkpoint=checkpoint, seen=at))
        return peer.announced != announced

    return await registry.store.write(work)


def require_peer(reader: Reader, name: str) -> Peer:
    """Return a server by its name. Raise NoSuchPeer if there is none."""
    peer = reader.peer(name)
    if peer is None:
        raise NoSuchPeer(name)
    return peer


def _check_unique(registry: Registry, peer: Peer, others: list[Peer]) -> None:
    if peer.server == registry.id:
        raise InvalidInput("peer", "url", f"{peer.url} is the server of this registry itself")
    for other in others:
        if other.name == peer.name:
            raise NameTaken(peer.name)
        if other.url == peer.url:
            raise InvalidInput("peer", "url", f"{peer.url} is the URL of {other.name}: change that one")
        if peer.key is not None and other.key == peer.key:
            raise InvalidInput("peer", "url", f"{peer.url} has the same key as {other.name}: it is the same server")


def _describe(peer: Peer) -> str:
    prefixes = " ".join(peer.prefixes[:20]) + (" …" if len(peer.prefixes) > 20 else "")
    parts = [peer.url, "no key" if peer.key is None else f"key {peer.key}"]
    return ", ".join([*parts, *(["private"] if peer.private else []), *([prefixes] if prefixes else [])])
