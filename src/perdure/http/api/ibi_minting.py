"""The endpoint that mints IBI labels, and the status of requests that are answered later."""

from typing import Annotated, Any

from litestar import Response, get, post
from litestar.openapi.spec import Example
from litestar.params import JSONBody, PathParameter

from perdure.http.api.litestar_bypass import DIRECT
from perdure.http.api.mint_response import (
    ACCEPTED_SPEC,
    CREATED,
    MINT_HEADERS,
    IdempotencyKey,
    Prefer,
    mint_names,
    minted_response,
    pending_response,
)
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, InjectedContext, decode_name, error_responses
from perdure.http.api.schemas.requests import IbiMintRequest
from perdure.http.api.schemas.responses import MintResponse
from perdure.http.shared.http_errors import NotFound
from perdure.registry.also_known import find_also_known_labels
from perdure.registry.idempotency import find_issued
from perdure.timelines.clock import now_seconds

Target = Annotated[
    str,
    PathParameter(
        description="An IBI subsystem or a pool: percent-encoded as one segment, or as the rest of the path.",
        examples=[Example(value="main")],
    ),
]
RequestId = Annotated[
    str, PathParameter(description="The Idempotency-Key of the request, or the id that its `Location` contains.")
]


@post(
    "/ibi/{name:str}",
    status_code=CREATED,
    opt=DIRECT,
    operation_id="mintIbi",
    tags=["identifiers"],
    summary="Mint IBI labels",
    security=CREDENTIALS_REQUIRED,
    responses={**error_responses(404, 409, 413, 415), 202: ACCEPTED_SPEC},
    response_description="The names are on disk, their dates have come, and they are never issued again.",
    response_headers=MINT_HEADERS,
)
async def mint_ibi(
    context: InjectedContext,
    name: Target,
    data: JSONBody[IbiMintRequest],
    idempotency_key: IdempotencyKey = None,
    prefer: Prefer = None,
) -> Response[MintResponse]:
    """Mint labels of an IBI subsystem, or of one that a pool chooses: all that were requested, or none.

    The response comes when the dates of the labels have come: at a granularity of a minute, that can be a minute. It
    names other identifiers that have the same target.
    """
    return await mint_names(context, decode_name(name), data, (), idempotency_key, prefer, labels_only=True)


@get(
    "/mint-requests/{name:str}",
    operation_id="mintRequest",
    tags=["identifiers"],
    summary="Show a request to mint",
    security=CREDENTIALS_REQUIRED,
    responses={**error_responses(404), 202: ACCEPTED_SPEC},
    response_description="The minted names.",
)
async def show_mint_request(context: InjectedContext, name: RequestId) -> Response[Any]:
    """Show the names that a request minted, once their dates have come. Only its agent can read this, for a day.

    For IBI labels, the response names other identifiers that have the same target.
    """
    token = decode_name(name)
    issued = await find_issued(context.registry, context.agent, token)
    if issued is None:
        raise NotFound()
    if issued.due is not None and (wait := issued.due - now_seconds(context.registry.clock)) > 0:
        return pending_response(token, issued.due, wait, [])
    also_known = await find_also_known_labels(context.registry, issued.minted)
    return minted_response(issued, [], also_known, status=200)
