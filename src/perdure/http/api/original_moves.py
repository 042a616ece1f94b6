"""The endpoint that hands the original of an item over to another server."""

from litestar import Response, post
from litestar.params import JSONBody

from perdure.collections.original_records import (
    ComparedVersion,
    OtherServer,
    check_release,
    find_movable_item,
    record_release,
)
from perdure.errors import Conflict, InvalidInput
from perdure.federation.peer_statements import fetch_announcement, fetch_item
from perdure.federation.registration import open_client
from perdure.federation.statements import ItemStatement
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, InjectedContext, error_responses
from perdure.http.api.schemas.handed_originals import OriginalMoveRequest, OriginalMoveResponse
from perdure.registry.entities import Peer
from perdure.registry.holdings import Holding
from perdure.registry.peers.peers import put_announcement
from perdure.registry.store_interface import Reader, Transaction


@post(
    "/original-moves",
    status_code=200,
    operation_id="moveOriginal",
    tags=["items"],
    summary="Hand an original over",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 409, 410, 413, 415, 502),
    response_description="The original is on the other server, and the identifier points there.",
)
async def move_original(
    context: InjectedContext, data: JSONBody[OriginalMoveRequest]
) -> Response[OriginalMoveResponse]:
    """Hand the original of an item over to another server. What was the original becomes a copy.

    The other server must be a peer. It is asked first, and must state with its signature that it has the same newest
    version. A server that has the original of an item that is registered elsewhere hands it back to that registry only.
    The request can be repeated. It is the second step of `perdure collection migrate LABEL URL TO`.
    """
    registry, agent = context.registry, context.agent
    compared = ComparedVersion(data.version, data.digest)

    def check(reader: Reader) -> tuple[Holding | None, Peer]:
        find_movable_item(reader, registry, agent, data.label)  # its errors come first
        peer = _require_peer(reader, data.server)
        to = OtherServer(data.server, peer.url)
        return check_release(reader, registry, agent, data.label, data.collection, to, compared), peer

    holding, peer = await registry.store.read(check)
    to = OtherServer(data.server, peer.url)
    if holding is not None:
        async with open_client() as client:
            stated = await fetch_item(client, peer, data.label)
            announced, checkpoint = await fetch_announcement(client, peer)
        await put_announcement(registry, peer.name, peer.key or "", announced, checkpoint)  # readers are sent there
        context.app.peers.forget_table()
        is_registered = await registry.store.read(lambda reader: reader.find(holding.subject) is not None)
        _compare(data, peer, stated, is_registered=is_registered)

    def work(tx: Transaction) -> Holding:
        return record_release(tx, registry, agent, data.label, data.collection, to, compared)

    moved = await registry.store.write(work)
    body = OriginalMoveResponse(
        label=moved.label,
        collection=data.collection,
        server=data.server,
        url=peer.url,
        version=moved.version,
        digest=moved.digest,
        main_file=moved.main_file,
    )
    return Response(body, headers={"cache-control": "no-store"})


def _require_peer(reader: Reader, server: str) -> Peer:
    """Return the peer with an identity. Only a server that an operator has registered can get an original."""
    for peer in reader.peers():
        if peer.server == server and peer.key is not None:
            return peer
    reason = f"no peer has the identity {server}: let an operator register that server first (perdure peer add URL)"
    raise InvalidInput("item", "server", reason)


def _compare(data: OriginalMoveRequest, peer: Peer, stated: ItemStatement, *, is_registered: bool) -> None:
    """Refuse to hand an original over to a server that does not state that it has the same version."""
    if stated.server != data.server:
        raise Conflict(data.label, f"the server {data.server} at {peer.url}", f"the server {stated.server}")
    if not any((one.version, one.digest) == (data.version, data.digest) for one in stated.stored):
        raise Conflict(data.label, f"version {data.version} on {peer.url}", "another version there, or none")
    if not is_registered and not stated.owner:
        reason = (
            f"{data.label} is registered neither here nor on {peer.url}: move the original to the server where it is "
            "registered first, and from there"
        )
        raise InvalidInput("item", "server", reason)
