"""The registration of other servers: they are contacted, and their keys are pinned, before they enter the table."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from perdure.errors import InvalidInput, PeerNotTrusted, PeerUnavailable
from perdure.federation.peer_client import PRIVATE_OPTION, PeerClient
from perdure.federation.peer_statements import fetch_announcement, fetch_server
from perdure.federation.statements import PROTOCOL, ServerStatement
from perdure.registry.entities import Agent, HeldPrefix, Peer
from perdure.registry.peers.peer_fields import (
    check_peer_name,
    check_public_key,
    default_peer_name,
    parse_peer_prefixes,
    parse_peer_url,
)
from perdure.registry.peers.peers import (
    insert_peer,
    put_announcement,
    put_changed_peer,
    require_peer_permission,
    show_peer,
)
from perdure.registry.registry import Registry
from perdure.registry.server_key import fingerprint

_SECONDS: Final = 10.0  # to answer an operator
_NOT_PERDURE: Final = (
    "If it is not a Perdure server, add it as a resolver to which readers are only redirected (--plain)"
)


class PeerCheck(NamedTuple):
    """The outcome of a check: what the server announced, or why it cannot be asked."""

    peer: Peer
    problem: str | None = None


async def add_peer(
    registry: Registry,
    by: Agent,
    url: str,
    *,
    name: str | None = None,
    prefixes: Sequence[str] = (),
    private: bool = False,
    plain: bool = False,
    key: str | None = None,
) -> Peer:
    """Add another server, and pin its key.

    With `key`, that key is pinned, and the server is not contacted. A `plain` one is a resolver of another kind.
    """
    address = parse_peer_url(url)
    peer = Peer(
        name=check_peer_name(default_peer_name(address) if name is None else name),
        url=address,
        prefixes=parse_peer_prefixes(prefixes),
        key=None if key is None else check_public_key(key),
        private=private,
    )
    if plain and key is not None:
        raise InvalidInput("peer", "key", "a plain resolver signs nothing, so it has no key")
    await require_peer_permission(registry, by)
    if plain or key is not None:
        return await insert_peer(registry, by, peer)
    async with open_client() as client:
        stated = await _fetch_identity(client, address, private=private)
        known = Peer(name=peer.name, url=address, key=stated.key, private=private)
        announced, checkpoint = await fetch_announcement(client, known)
    added = Peer(
        name=peer.name,
        url=address,
        prefixes=peer.prefixes,
        server=stated.server,
        key=stated.key,
        private=private,
        announced=announced,
        checkpoint=checkpoint,
        seen=registry.current_time(),
    )
    return await insert_peer(registry, by, added)


async def change_peer(
    registry: Registry,
    by: Agent,
    name: str,
    *,
    prefixes: Sequence[str] | None = None,
    added: Sequence[str] = (),
    dropped: Sequence[str] = (),
    url: str | None = None,
    private: bool | None = None,
    accept_key: bool = False,
    expected: str | None = None,
) -> Peer:
    """Change a server in the table. With `accept_key`, the key with which it signs now replaces the pinned one."""
    address = None if url is None else parse_peer_url(url)
    await require_peer_permission(registry, by)
    before = await show_peer(registry, by, name)
    stated = None
    if accept_key:
        is_private = before.private if private is None else private
        async with open_client() as client:
            stated = await _fetch_identity(client, address or before.url, private=is_private)
    return await put_changed_peer(
        registry,
        by,
        name,
        prefixes=None if prefixes is None else parse_peer_prefixes(prefixes),
        added=parse_peer_prefixes(added),
        dropped=parse_peer_prefixes(dropped),
        url=address,
        private=private,
        key=None if stated is None else stated.key,
        server=None if stated is None else stated.server,
        expected=expected,
    )


async def check_peer(registry: Registry, by: Agent, name: str) -> PeerCheck:
    """Contact a server: compare its key, and store what it announces."""
    await require_peer_permission(registry, by)
    peer = await show_peer(registry, by, name)
    if peer.key is None:
        return PeerCheck(peer, "it is a plain resolver, which is never contacted")
    async with open_client() as client:
        try:
            announced, checkpoint = await _check_identity(client, peer)
        except PeerUnavailable as problem:
            return PeerCheck(peer, problem.reason)
    await put_announcement(registry, name, peer.key, announced, checkpoint)
    return PeerCheck(await show_peer(registry, by, name))


async def _check_identity(client: PeerClient, peer: Peer) -> tuple[tuple[HeldPrefix, ...], int]:
    stated = await _fetch_identity(client, peer.url, private=peer.private)
    if stated.key != peer.key:
        known, shown = fingerprint(peer.key or ""), fingerprint(stated.key)
        reason = (
            f"its key has changed from {known} to {shown}: compare the new one with its operator, and then accept it "
            f"(perdure peer change {peer.name} --accept-key)"
        )
        raise PeerNotTrusted(peer.url, reason)
    return await fetch_announcement(client, peer)


async def _fetch_identity(client: PeerClient, url: str, *, private: bool) -> ServerStatement:
    try:
        stated = await fetch_server(client, url, private=private)
    except PeerNotTrusted:
        raise
    except PeerUnavailable as problem:
        hint = "" if PRIVATE_OPTION in problem.reason else f". {_NOT_PERDURE}"
        raise PeerUnavailable(url, f"{problem.reason}{hint}") from None
    if stated.protocol != PROTOCOL:
        raise PeerUnavailable(url, f"it speaks version {stated.protocol} of the protocol, and this program {PROTOCOL}")
    check_public_key(stated.key)
    return stated


@asynccontextmanager
async def open_client() -> AsyncIterator[PeerClient]:
    """Open a client for requests on behalf of an operator, who waits longer than a reader."""
    client = PeerClient(_SECONDS)
    try:
        yield client
    finally:
        await client.close()
