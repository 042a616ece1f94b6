"""Statements of other servers, fetched and verified: a statement that this module returns is what the server signed."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from perdure.errors import InvalidInput, PeerNotTrusted, PeerUnavailable
from perdure.federation.peer_client import PeerClient
from perdure.federation.signed_documents import BadSignature, verify_document
from perdure.federation.statements import (
    WELL_KNOWN,
    Answer,
    AnyStatement,
    ItemStatement,
    PrefixesStatement,
    ServerStatement,
    encode_public_address,
    parse_statement,
)
from perdure.registry.entities import HeldPrefix, Peer
from perdure.registry.peers.peer_fields import ALL_NAMES, PERSONS, RESOLVER_ID, parse_peer_url

_MOST_BYTES: Final = 64 << 10  # of an answer
_MOST_PAGE_BYTES: Final = 1 << 20  # of a page of prefixes
_MOST_PAGES: Final = 20
_MOST_ANNOUNCED: Final = 10_000  # prefixes of one server
_LONGEST_PREFIX: Final = 255
_ANNOUNCEMENT_SECONDS: Final = 30.0  # for all pages
_NONCE_BYTES: Final = 12


async def fetch_server(client: PeerClient, url: str, *, private: bool) -> ServerStatement:
    """Fetch who a server is. The statement is signed with the key that it names itself."""
    return await _fetch(client, url, "server", {}, ServerStatement, key=None, private=private, most=_MOST_BYTES)


async def fetch_announcement(client: PeerClient, peer: Peer) -> tuple[tuple[HeldPrefix, ...], int]:
    """Fetch the prefixes of which a server has names, and the number of its newest change.

    What only an operator may decide is left out: resolver IDs, and all names.
    """
    try:
        async with asyncio.timeout(_ANNOUNCEMENT_SECONDS):
            return await _fetch_pages(client, peer)
    except TimeoutError:
        raise PeerUnavailable(peer.url, f"it did not state its prefixes within {_ANNOUNCEMENT_SECONDS:g} s") from None


async def _fetch_pages(client: PeerClient, peer: Peer) -> tuple[tuple[HeldPrefix, ...], int]:
    found: dict[str, HeldPrefix] = {}
    after, checkpoint = "", 0
    for _ in range(_MOST_PAGES):
        page = await _fetch(
            client,
            peer.url,
            "prefixes",
            {"after": after} if after else {},
            PrefixesStatement,
            key=_require_key(peer),
            private=peer.private,
            most=_MOST_PAGE_BYTES,
        )
        found |= {one.prefix: one for one in page.prefixes if _is_announceable(one.prefix)}
        checkpoint = max(checkpoint, page.checkpoint)
        if page.next is None or page.next <= after:
            break
        after = page.next
    return tuple(found.values())[:_MOST_ANNOUNCED], checkpoint


def _is_announceable(prefix: str) -> bool:
    """Return whether a server may announce a prefix. Links with a resolver ID go to the servers of their labels."""
    if prefix.startswith(RESOLVER_ID) or prefix in (ALL_NAMES, PERSONS):
        return False
    return 0 < len(prefix) <= _LONGEST_PREFIX and prefix.isprintable()


async def fetch_answer(
    client: PeerClient, peer: Peer, name: str, via: Sequence[str], language: str | None = None
) -> Answer:
    """Ask a server about a name. `via` are the servers that the question has passed."""
    parameters: dict[str, Any] = {"name": name, "via": list(via)}
    if language is not None:
        parameters["language"] = language
    answer = await _fetch(
        client,
        peer.url,
        "resolve",
        parameters,
        Answer,
        key=_require_key(peer),
        private=peer.private,
        most=_MOST_BYTES,
    )
    if answer.name != name:
        raise PeerNotTrusted(peer.url, "its answer is about another name")
    return _with_checked_addresses(peer, answer)


async def fetch_item(client: PeerClient, peer: Peer, name: str) -> ItemStatement:
    """Ask a server what it stores of an item."""
    stated = await _fetch(
        client,
        peer.url,
        "item",
        {"name": name},
        ItemStatement,
        key=_require_key(peer),
        private=peer.private,
        most=_MOST_BYTES,
    )
    if stated.name != name:
        raise PeerNotTrusted(peer.url, "its answer is about another item")
    return stated


async def _fetch(
    client: PeerClient,
    url: str,
    document: str,
    parameters: Mapping[str, Any],
    kind: type[AnyStatement],
    *,
    key: str | None,
    private: bool,
    most: int,
) -> AnyStatement:
    nonce = secrets.token_urlsafe(_NONCE_BYTES)
    address = f"{url}{WELL_KNOWN}/{document}"
    body = await client.get(address, {**parameters, "nonce": nonce}, private=private, most=most)
    try:
        statement = parse_statement(verify_document(body, key), kind)
    except BadSignature as problem:
        raise PeerNotTrusted(url, str(problem)) from None
    except msgspec.ValidationError as problem:
        raise PeerUnavailable(url, f"its answer is not what this version expects ({problem})") from None
    if statement.nonce != nonce:
        raise PeerNotTrusted(url, "its answer is not to this question: it may be an old one")
    return statement


def _with_checked_addresses(peer: Peer, answer: Answer) -> Answer:
    """Return an answer with its addresses as headers hold them. Raise PeerNotTrusted if one leads nowhere.

    A reader who was redirected to an empty base URL would come back here.
    """
    if answer.state == "unknown":
        return msgspec.structs.replace(answer, archive="", url=None)
    try:
        archive = parse_peer_url(answer.archive)
        url = None if answer.url is None else encode_public_address(answer.url)
    except (InvalidInput, ValueError):
        raise PeerNotTrusted(peer.url, "its answer has an address that is not a valid one of http or https") from None
    return msgspec.structs.replace(answer, archive=archive, url=url)


def _require_key(peer: Peer) -> str:
    if peer.key is None:
        raise PeerNotTrusted(peer.url, "no key is registered for it")
    return peer.key
