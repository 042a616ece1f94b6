"""The endpoints that list the collections, and the items of one."""

from typing import Annotated

from litestar import Response, get
from litestar.params import QueryParameter

from perdure.collections import collection_admin
from perdure.collections.addresses import default_address
from perdure.collections.collection_admin import CollectionOverview
from perdure.collections.held_items import require_collection
from perdure.http.api.item_uploads import CollectionName
from perdure.http.api.request_context import CREDENTIALS_OPTIONAL, InjectedContext, PageLimit, error_responses
from perdure.http.api.schemas.stored_items import (
    CollectionListResponse,
    CollectionResponse,
    ItemListResponse,
    ListedItemResponse,
)
from perdure.http.items.item_urls import item_url
from perdure.registry.holdings import ELSEWHERE, Collection, Holding
from perdure.registry.store_interface import Reader


@get(
    "/collections",
    operation_id="collections",
    tags=["items"],
    summary="List the collections",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(),
    response_description="All collections of this server.",
)
async def list_collections(context: InjectedContext) -> Response[CollectionListResponse]:
    """List the collections of this server, with the number of their items and bytes."""
    async with context.acquire_search_slot():
        found = await collection_admin.list_collections(context.registry)
    origin = context.request.origin
    listed = tuple(_describe_collection(origin, one) for one in found if not one.collection.is_elsewhere)
    return Response(CollectionListResponse(collections=listed), headers={"cache-control": "no-cache"})


@get(
    "/collections/{collection:str}/items",
    operation_id="items",
    tags=["items"],
    summary="List the items of a collection",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(404),
    response_description="A page of its items.",
)
async def list_items(
    context: InjectedContext,
    collection: CollectionName,
    after: Annotated[str, QueryParameter(max_length=2048, description="The `next` of the page before.")] = "",
    limit: PageLimit = 100,
) -> Response[ItemListResponse]:
    """List the items of a collection, in a fixed order. A page that is not the last one has `next`."""
    limit = context.clamp_limit(limit)
    origin = context.request.origin

    def work(reader: Reader) -> ItemListResponse:
        found = require_collection(reader, collection)
        has_moved = any(one.is_elsewhere for one in reader.collections())
        held = reader.holdings_after(collection, after, limit + 1)
        page = held[:limit]
        items = tuple(_describe(reader, origin, found, one, has_moved=has_moved) for one in page)
        return ItemListResponse(items=items, next=page[-1].subject if len(held) > limit else None)

    async with context.acquire_search_slot():
        listed = await context.registry.store.scan(work)
    return Response(listed, headers={"cache-control": "no-cache"})


def _describe_collection(origin: str, found: CollectionOverview) -> CollectionResponse:
    collection, totals = found.collection, found.totals
    return CollectionResponse(
        name=collection.name,
        url=collection.url or default_address(origin, collection.name),
        created=collection.created,
        items=totals.items,
        originals=totals.originals,
        files=totals.files,
        size=totals.size,
    )


def _describe(
    reader: Reader, origin: str, collection: Collection, holding: Holding, *, has_moved: bool
) -> ListedItemResponse:
    others = reader.holdings(holding.subject) if has_moved else []
    original = next((one.collection.removeprefix(ELSEWHERE) for one in others if one.is_elsewhere), None)
    return ListedItemResponse(
        label=holding.label,
        url=item_url(origin, collection, holding.label),
        role=holding.role,
        version=holding.version,
        files=holding.files,
        size=holding.size,
        digest=holding.digest,
        original=original,
    )
