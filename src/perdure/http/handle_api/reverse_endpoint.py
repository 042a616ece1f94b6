"""/hrls/handles: find handles by their values, as the reverse look-up servlet does."""

from typing import Final

from perdure.http.handle_api.endpoint import allow_methods, unknown_endpoint_response
from perdure.http.handle_api.request_context import HandleContext
from perdure.http.shared.http_errors import MalformedRequest
from perdure.http.shared.request import Response
from perdure.registry.handles import find_handles
from perdure.registry.query import MOST_FOUND

# Parameters of the response, not of the search.
_NO_TYPES: Final = frozenset(
    {"limit", "page", "enforcesearchlimit", "retrieverecords", "prefix", "pretty", "callback", "auth"}
)


@allow_methods("GET", "HEAD")
async def reverse(context: HandleContext) -> Response:
    """Return the handles with matching values. Every parameter is a type and a value, with `*` as a wildcard."""
    if context.request.rest.rstrip("/"):
        return unknown_endpoint_response(context)
    by = await context.require_caller()
    parameters = context.parameters
    criteria = [(name, value) for name, value in parameters.pairs if name not in _NO_TYPES]
    if parameters.flag("retrieverecords"):
        raise MalformedRequest("retrieverecords is not supported: read each of the returned handles")
    limit, page = parameters.natural("limit"), parameters.natural("page") or 0
    size = MOST_FOUND if limit is None else min(limit, MOST_FOUND)
    if size == 0 or page * size >= MOST_FOUND:
        return context.json_response(200, [])
    most = min((page + 1) * size, MOST_FOUND)
    async with context.search_slot():
        found = await find_handles(context.registry, by, criteria, most, prefix=parameters.single("prefix"))
    return context.json_response(200, found[page * size :])
