"""The endpoint that mints names."""

from hashlib import sha256
from typing import Annotated, Final

import msgspec
from litestar import Response, post
from litestar.datastructures import ResponseHeader
from litestar.params import HeaderParameter, JSONBody

from perdure.http.api.litestar_bypass import DIRECT
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, InjectedContext, error_responses
from perdure.http.api.schemas.requests import MintRequest
from perdure.http.api.schemas.responses import MintResponse
from perdure.http.api.views import build_mint_response
from perdure.http.shared.conditional import version_etag
from perdure.http.urls import identifier_api_path
from perdure.registry import mint_once

CREATED: Final = 201
_encode_canonical: Final = msgspec.json.Encoder(order="deterministic").encode


@post(
    "/identifiers",
    status_code=CREATED,
    opt=DIRECT,
    operation_id="mint",
    tags=["identifiers"],
    summary="Mint identifiers",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 409, 413, 415),
    response_description="The names are on disk and are never issued again.",
    response_headers=[
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
    ],
)
async def mint(
    context: InjectedContext,
    data: JSONBody[MintRequest],
    idempotency_key: Annotated[
        str | None,
        HeaderParameter(
            name="Idempotency-Key",
            min_length=1,
            max_length=255,
            pattern=r"^[\x20-\x7e]+$",
            # Without an example: the page to try the API would send it, and return the same names again and again.
            description="A repeated request with the same key and body within a day returns the same names.",
        ),
    ] = None,
) -> Response[MintResponse]:
    """Mint new names under a prefix: all that were requested, or none. A name is never issued twice."""
    result = await mint_once(
        context.registry,
        context.agent,
        data.prefix,
        data.count,
        statement=data.to_statement(data.creator),
        suffixes=data.chosen_suffixes(),
        token=idempotency_key,
        digest=b"" if idempotency_key is None else sha256(_encode_canonical(data)).digest(),
        patience=context.app.patience,
        item_key=data.item_key,
    )
    headers = {"cache-control": "no-store"}
    if len(result.minted) == 1:
        headers |= {"location": identifier_api_path(result.minted[0].name), "etag": version_etag(1)}
    if result.replayed:
        headers["idempotent-replayed"] = "true"
    return Response(build_mint_response(result.minted), status_code=CREATED, headers=headers)
