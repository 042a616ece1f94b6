"""Endpoints for other servers."""

from typing import Annotated, Any, Final

from litestar import Response, delete, get, patch, post
from litestar.datastructures import ResponseHeader
from litestar.openapi.spec import Example
from litestar.params import JSONBody, PathParameter

from perdure.federation.registration import add_peer as register_peer
from perdure.federation.registration import change_peer as change_registered
from perdure.federation.registration import check_peer as check_registered
from perdure.http.api.request_context import (
    CREDENTIALS_REQUIRED,
    IfMatch,
    InjectedContext,
    decode_name,
    error_responses,
)
from perdure.http.api.schemas.peers import (
    AddPeerRequest,
    ChangePeerRequest,
    HeldPrefixResponse,
    PeerCheckResponse,
    PeerListResponse,
    PeerResponse,
)
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.conditional import digest_etag, expect_etag
from perdure.registry.entities import Peer
from perdure.registry.peers import peers as use
from perdure.registry.peers.peer_etag import peer_digest
from perdure.registry.peers.peer_fields import ALL_NAMES, UPSTREAM
from perdure.registry.server_key import fingerprint

_NO_STORE: Final = {"cache-control": "no-store"}
_ETAG_HEADER: Final = ResponseHeader(
    name="ETag", documentation_only=True, description="A digest of the settings, for If-Match."
)
_LOCATION_HEADER: Final = ResponseHeader(name="Location", documentation_only=True, description="The URL of the peer.")

PeerName = Annotated[
    str, PathParameter(description="The name of another server.", examples=[Example(value="id.example.org")])
]


@get(
    "/peers",
    operation_id="peers",
    tags=["peers"],
    summary="List other servers",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(),
    response_description="All other servers.",
)
async def list_peers(context: InjectedContext) -> Response[PeerListResponse]:
    """List the servers to which names are sent on. Requires permission to administer the whole registry."""
    found = [build_peer(peer) for peer in await use.list_peers(context.registry, context.agent)]
    upstream = context.app.options.upstream
    if upstream:
        found.append(PeerResponse(name=UPSTREAM, url=upstream, prefixes=(ALL_NAMES,), from_settings=True))
    return Response(PeerListResponse(peers=tuple(found)), headers=_NO_STORE)


@get(
    "/peers/{peer:str}",
    operation_id="peer",
    tags=["peers"],
    summary="Show another server",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404),
    response_description="The server.",
    response_headers=[_ETAG_HEADER],
)
async def show_peer(context: InjectedContext, peer: PeerName) -> Response[PeerResponse]:
    """Show a server: its URL, its key, its prefixes, and what it announced to hold."""
    return _peer_response(await use.show_peer(context.registry, context.agent, decode_name(peer)))


@post(
    "/peers",
    operation_id="addPeer",
    tags=["peers"],
    summary="Add another server",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(409, 413, 415, 502),
    response_description="The new server.",
    response_headers=[_LOCATION_HEADER, _ETAG_HEADER],
)
async def add_peer(context: InjectedContext, data: JSONBody[AddPeerRequest]) -> Response[PeerResponse]:
    """Add a server, and pin its key. Compare the fingerprint with its operator."""
    added = await register_peer(
        context.registry,
        context.agent,
        data.url,
        name=data.name,
        prefixes=data.prefixes,
        private=data.private,
        plain=data.plain,
        key=data.key,
    )
    context.app.peers.forget_table()
    return _peer_response(added, 201, {"location": f"{API_ROOT}/peers/{added.name}"})


@patch(
    "/peers/{peer:str}",
    operation_id="changePeer",
    tags=["peers"],
    summary="Change another server",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 409, 412, 413, 415, 428, 502),
    response_description="The current state of the server.",
    response_headers=[_ETAG_HEADER],
)
async def change_peer(
    context: InjectedContext, peer: PeerName, data: JSONBody[ChangePeerRequest], if_match: IfMatch = None
) -> Response[PeerResponse]:
    """Change the prefixes or the URL of a server, or accept its new key."""
    with expect_etag(if_match) as expected:
        changed = await change_registered(
            context.registry,
            context.agent,
            decode_name(peer),
            prefixes=data.prefixes,
            added=data.add,
            dropped=data.drop,
            url=data.url,
            private=data.private,
            accept_key=data.accept_key,
            expected=expected,
        )
    context.app.peers.forget_table()
    return _peer_response(changed)


@delete(
    "/peers/{peer:str}",
    status_code=200,
    operation_id="removePeer",
    tags=["peers"],
    summary="Remove another server",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 412, 428),
    response_description="The server that was removed.",
)
async def remove_peer(context: InjectedContext, peer: PeerName, if_match: IfMatch = None) -> Response[PeerResponse]:
    """Remove a server. Names are no longer sent on to it. The log keeps what it was."""
    with expect_etag(if_match) as expected:
        removed = await use.remove_peer(context.registry, context.agent, decode_name(peer), expected=expected)
    context.app.peers.forget_table()
    return Response(build_peer(removed), headers=_NO_STORE)


@post(
    "/peers/{peer:str}/check",
    status_code=200,
    operation_id="checkPeer",
    tags=["peers"],
    summary="Check another server",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404),
    response_description="The outcome.",
)
async def check_peer(context: InjectedContext, peer: PeerName) -> Response[PeerCheckResponse]:
    """Contact a server: compare its key with the pinned one, and store what it announces to hold."""
    checked = await check_registered(context.registry, context.agent, decode_name(peer))
    context.app.peers.forget_table()
    described = build_peer(checked.peer, with_announced=True)
    outcome = PeerCheckResponse(peer=described, problem=checked.problem)
    return Response(outcome, headers=_NO_STORE)


def build_peer(peer: Peer, *, with_announced: bool = False) -> PeerResponse:
    """Return a server as a response shows it."""
    announced = tuple(HeldPrefixResponse(prefix=one.prefix, role=one.role) for one in peer.announced)
    return PeerResponse(
        name=peer.name,
        url=peer.url,
        prefixes=peer.prefixes,
        server=peer.server,
        key=peer.key,
        fingerprint=None if peer.key is None else fingerprint(peer.key),
        private=peer.private,
        added=peer.added,
        announced_prefixes=len(announced),
        announced=announced if with_announced else None,
        checkpoint=peer.checkpoint,
        seen=peer.seen,
    )


def _peer_response(peer: Peer, status: int = 200, headers: dict[str, str] | None = None) -> Response[Any]:
    tagged = {**_NO_STORE, "etag": digest_etag(peer_digest(peer)), **(headers or {})}
    return Response(build_peer(peer, with_announced=True), status_code=status, headers=tagged)
