"""The endpoint that lists the types of values that this registry defines."""

from litestar import Response, get

from perdure.http.api.request_context import CREDENTIALS_OPTIONAL, InjectedContext, error_responses
from perdure.http.api.schemas.responses import ValueTypeListResponse
from perdure.http.api.views import build_value_types
from perdure.registry.value_types import list_types


@get(
    "/value-types",
    operation_id="value-types",
    tags=["prefixes"],
    summary="List types of values",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(),
    response_description="The types, in the order of their names.",
)
async def list_value_types(context: InjectedContext) -> Response[ValueTypeListResponse]:
    """List the types of values that this registry defines. Each is a handle that resolves to its description.

    Values of other types are accepted as well.
    """
    async with context.acquire_search_slot():
        found = await list_types(context.registry)
    return Response(build_value_types(context.registry.settings.type_prefix, found))
