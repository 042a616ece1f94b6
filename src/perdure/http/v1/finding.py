"""Identifiers by what they say."""

from typing import Annotated

from litestar import Response, get
from litestar.params import QueryParameter

from perdure import registry as use
from perdure.http.v1.asking import KEY_OR_NOBODY, FromDoor, Limit, problems
from perdure.http.v1.showing import found
from perdure.http.v1.told import FoundIdentifiers


@get(
    "/search",
    operation_id="search",
    tags=["finding"],
    summary="Search",
    security=KEY_OR_NOBODY,
    responses=problems(),
    response_description="What was found, the newest first.",
)
async def search(
    asking: FromDoor,
    q: Annotated[
        str,
        QueryParameter(
            min_length=1, description="Words that must all be there; one that ends in * is the beginning of a word."
        ),
    ],
    limit: Limit = 100,
) -> Response[FoundIdentifiers]:
    """Find identifiers by words in their names, targets, values and descriptions."""
    async with asking.turn_to_search():
        return Response(found(await use.search(asking.registry, q.split(), limit=asking.bounded(limit))))


@get(
    "/reverse",
    operation_id="reverse",
    tags=["finding"],
    summary="Who leads there?",
    security=KEY_OR_NOBODY,
    responses=problems(),
    response_description="What was found, the newest first.",
)
async def reverse(
    asking: FromDoor,
    said: Annotated[
        str, QueryParameter(name="data", min_length=1, description="Exactly what a value says, as in its URL.")
    ],
    type: Annotated[
        str, QueryParameter(min_length=1, description="Of which type the value is: URL, EMAIL, CHECKSUM or HS_ALIAS.")
    ] = "URL",
    limit: Limit = 100,
) -> Response[FoundIdentifiers]:
    """Find the identifiers that lead to exactly this target, or say exactly this."""
    async with asking.turn_to_search():
        hits = await use.find_by_value(asking.registry, said, type=type, limit=asking.bounded(limit))
    return Response(found(hits))
