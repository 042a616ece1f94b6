"""New names over HTTP. This is asked so often that it goes past the framework, which has it for the document only."""

from hashlib import sha256
from typing import Annotated, Final

import msgspec
from litestar import Response, post
from litestar.datastructures import ResponseHeader
from litestar.openapi.spec import Example
from litestar.params import HeaderParameter, JSONBody

from perdure.http.message import Headers
from perdure.http.message import Response as Answer
from perdure.http.v1.asking import KEY, Asking, FromDoor, etag, place_of, problems
from perdure.http.v1.bodies import Mint, read_body
from perdure.http.v1.showing import new_names
from perdure.http.v1.told import NewNames
from perdure.registry import mint_once

CREATED: Final = 201
_encode: Final = msgspec.json.Encoder().encode
_digested: Final = msgspec.json.Encoder(order="deterministic").encode
_JSON: Final = (b"content-type", b"application/json")


async def minted(asking: Asking) -> Answer:
    """The answer to a request for names."""
    wanted: Mint = read_body(Mint, await asking.request.body())
    names, headers = await _names(asking, wanted)
    return Answer(CREATED, _encode(names), [_JSON, *headers])


@post(
    "/identifiers",
    status_code=CREATED,
    operation_id="mint",
    tags=["identifiers"],
    summary="Mint",
    security=KEY,
    responses=problems(404, 409, 413, 415),
    response_description="They are on disk, and nobody else gets them.",
    response_headers=[
        ResponseHeader(name="Location", documentation_only=True, description="Of one name: where its record is."),
        ResponseHeader(name="ETag", documentation_only=True, description="Of one name: its version."),
        ResponseHeader(
            name="Idempotent-Replayed", documentation_only=True, description="true: an earlier request made them."
        ),
    ],
)
async def mint(
    asking: FromDoor,
    data: JSONBody[Mint],
    idempotency_key: Annotated[
        str | None,
        HeaderParameter(
            name="Idempotency-Key",
            min_length=1,
            max_length=255,
            pattern=r"^[\x20-\x7e]+$",
            description="The same key with the same request within a day: the same names again, and no others.",
            examples=[Example(value="5f2b6c1e-8a52-4c0e-9b8e-3f5d4c1a7e90")],
        ),
    ] = None,
) -> Response[NewNames]:
    """New names under a prefix, each once and for ever: all that were asked for, or none."""
    names, headers = await _names(asking, data)
    return Response(names, status_code=CREATED, headers={key.decode(): value.decode() for key, value in headers})


async def _names(asking: Asking, wanted: Mint) -> tuple[NewNames, Headers]:
    token = asking.request.header(b"idempotency-key")
    once = await mint_once(
        asking.registry,
        asking.agent,
        wanted.prefix,
        wanted.count,
        said=wanted.statement(wanted.creator),
        suffixes=wanted.chosen(),
        token=token,
        digest=b"" if token is None else sha256(_digested(wanted)).digest(),
        patience=asking.service.patience,
    )
    headers: Headers = [(b"cache-control", b"no-store")]
    if len(once.minted) == 1:
        headers += [(b"location", place_of(once.minted[0].name).encode()), (b"etag", etag(1).encode())]
    if once.replayed:
        headers.append((b"idempotent-replayed", b"true"))
    return new_names(once.minted), headers
