"""The response to a request for names: now, once their dates have come, or later at the URL of the request."""

from fractions import Fraction
from hashlib import sha256
from math import ceil
from typing import Annotated, Any, Final
from uuid import uuid4

import msgspec
from litestar import Response
from litestar.datastructures import ResponseHeader
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import HeaderParameter

from perdure.http.api.date_wait import wait_for_dates
from perdure.http.api.request_context import ApiContext
from perdure.http.api.schemas.requests import IbiMintRequest, MintRequest
from perdure.http.api.schemas.responses import MintResponse, PendingMintResponse
from perdure.http.api.views import build_mint_response
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.conditional import version_etag
from perdure.http.shared.http_errors import ServerStops
from perdure.http.shared.prefer import NO_PREFERENCES, Preferences, parse_prefer
from perdure.http.urls import identifier_api_path
from perdure.names import handle, instant
from perdure.records.validation import check_storable
from perdure.registry.idempotency import IssuedMint, issue_once
from perdure.timelines.clock import now_seconds

CREATED: Final = 201
ACCEPTED: Final = 202
MINT_REQUESTS: Final = "/mint-requests"
# Of a request that is answered at once. The answer is stored for a day.
_LONGEST_DEFERRED: Final = Fraction(12 * 3600)
_encode_canonical: Final = msgspec.json.Encoder(order="deterministic").encode

IdempotencyKey = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x20-\x7e]+$",
        # Without an example: the page to try the API would send it, and return the same names again and again.
        description="A repeated request with the same key and body within a day returns the same names.",
    ),
]
Prefer = Annotated[
    str | None,
    HeaderParameter(
        name="Prefer",
        description="wait=N: the longest wait for the dates of the names, in seconds; if it would be longer, nothing "
        "is minted (503). respond-async: if they are not due (after wait=N), respond with 202 and a Location.",
    ),
]
MINT_HEADERS: Final = [
    ResponseHeader(
        name="Location", documentation_only=True, description="The URL of the record, if one name was minted."
    ),
    ResponseHeader(
        name="ETag", documentation_only=True, description="The version of the record, if one name was minted."
    ),
    ResponseHeader(
        name="Idempotent-Replayed",
        documentation_only=True,
        description="true if an earlier request minted these names.",
    ),
    ResponseHeader(
        name="Preference-Applied", documentation_only=True, description="The preferences that were followed."
    ),
]
ACCEPTED_SPEC: Final = ResponseSpec(
    PendingMintResponse,
    generate_examples=False,
    description="The names are on disk, and their dates have not come: they are at `Location` from `due` on.",
)


async def mint_names(
    context: ApiContext,
    target: str,
    data: MintRequest | IbiMintRequest,
    suffixes: tuple[str, ...],
    idempotency_key: str | None,
    prefer: str | None,
    *,
    labels_only: bool = False,
) -> Response[Any]:
    """Mint the names, and respond when their dates have come, or at once if the client prefers that.

    With `labels_only`, mint IBI labels alone. The response then lists other names with the same target.
    """
    app, preferences = context.app, parse_prefer(prefer)
    room = app.waiting_room
    token = uuid4().hex if idempotency_key is None and preferences.respond_async else idempotency_key
    with room.enter(await _queue_key(context, target)) as visit:
        issued = await issue_once(
            context.registry,
            context.agent,
            target,
            data.count,
            statement=data.to_statement(data.creator),
            suffixes=suffixes,
            token=token,
            digest=b"" if token is None else _request_digest(target, data),
            patience=_patience(app.patience, preferences),
            waits_a_step=preferences.wait is None,
            steps=1 if preferences == NO_PREFERENCES else context.registry.settings.steps_ahead,
            item_key=data.item_key,
            full_queues=room.full_queues(),
            labels_only=labels_only,
        )
        applied = [] if preferences.wait is None else [f"wait={preferences.wait}"]
        if issued.due is not None and (wait := issued.due - now_seconds(context.registry.clock)) > 0:
            if preferences.respond_async and token is not None and wait > (preferences.wait or 0):
                return pending_response(token, issued.due, wait, ["respond-async", *applied])
            visit.join_queues(issued.timelines, issued.due, float(wait))
            app.deadlines.extend_current_task(float(wait) + app.options.request_seconds)
            try:
                await wait_for_dates(context, issued.due, wait)
            except ServerStops as stopped:
                if preferences.respond_async and token is not None:
                    return pending_response(token, issued.due, stopped.wait, ["respond-async", *applied])
                raise
    return minted_response(issued, applied, issued.also_known)


async def _queue_key(context: ApiContext, target: str) -> str:
    """Return the key of a target in the waiting room: a subsystem has the same one under all its label prefixes."""
    name = handle.fold(check_storable(target, "prefix").rstrip("/"))
    prefix = await context.app.prefixes.find(name)
    return name if prefix is None else prefix.key


def _request_digest(target: str, data: MintRequest | IbiMintRequest) -> bytes:
    return sha256(_encode_canonical(data if isinstance(data, MintRequest) else (target, data))).digest()


def pending_response(token: str, due: Fraction, wait: Fraction, applied: list[str]) -> Response[PendingMintResponse]:
    """Respond that the names are minted, and are disclosed once their dates have come."""
    headers = {
        "cache-control": "no-store",
        "location": f"{API_ROOT}{MINT_REQUESTS}/{handle.escape(token)}",
        "retry-after": str(max(1, ceil(wait))),
    }
    if applied:
        headers["preference-applied"] = ", ".join(applied)
    return Response(PendingMintResponse(due=instant.to_iso(due)), status_code=ACCEPTED, headers=headers)


def minted_response(
    issued: IssuedMint, applied: list[str], also_known: tuple[str, ...] = (), status: int = CREATED
) -> Response[MintResponse]:
    """Respond with names whose dates have come."""
    headers = {"cache-control": "no-store"}
    if len(issued.minted) == 1 and status == CREATED:
        headers |= {"location": identifier_api_path(issued.minted[0].name), "etag": version_etag(1)}
    if issued.replayed:
        headers["idempotent-replayed"] = "true"
    if applied:
        headers["preference-applied"] = ", ".join(applied)
    return Response(build_mint_response(issued.minted, also_known), status_code=status, headers=headers)


def _patience(usual: Fraction, preferences: Preferences) -> Fraction:
    """Return the longest wait for a date: what the client prefers, or what the server usually allows."""
    if preferences.respond_async:
        return _LONGEST_DEFERRED
    return usual if preferences.wait is None else Fraction(preferences.wait)
