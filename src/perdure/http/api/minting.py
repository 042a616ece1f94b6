"""The endpoint that mints names."""

from litestar import Response, post
from litestar.params import JSONBody

from perdure.http.api.litestar_bypass import DIRECT
from perdure.http.api.mint_response import (
    ACCEPTED_SPEC,
    CREATED,
    MINT_HEADERS,
    IdempotencyKey,
    Prefer,
    mint_names,
)
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, InjectedContext, error_responses
from perdure.http.api.schemas.requests import MintRequest
from perdure.http.api.schemas.responses import MintResponse


@post(
    "/identifiers",
    status_code=CREATED,
    opt=DIRECT,
    operation_id="mint",
    tags=["identifiers"],
    summary="Mint identifiers",
    security=CREDENTIALS_REQUIRED,
    responses={**error_responses(404, 409, 413, 415), 202: ACCEPTED_SPEC},
    response_description="The names are on disk and are never issued again.",
    response_headers=MINT_HEADERS,
)
async def mint(
    context: InjectedContext,
    data: JSONBody[MintRequest],
    idempotency_key: IdempotencyKey = None,
    prefer: Prefer = None,
) -> Response[MintResponse]:
    """Mint new names under a prefix, or from a pool: all that were requested, or none. No name is issued twice."""
    return await mint_names(context, data.prefix, data, data.chosen_suffixes(), idempotency_key, prefer)
