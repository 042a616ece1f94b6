"""The list of the types of values that this registry defines, as a page or as JSON."""

from typing import Final

import msgspec

from perdure.http import pages
from perdure.http.api.views import build_value_types
from perdure.http.app_context import AppContext
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.preferred_representation import wants_record
from perdure.http.shared.request import Request, Response
from perdure.http.shared.responses import NO_CACHE, VARY_ACCEPT
from perdure.http.urls import path_of
from perdure.registry.value_types import list_types

TYPES_PATH: Final = "/value-types"
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


async def types_response(app: AppContext, request: Request) -> Response:
    """Return the list of types."""
    request.require_read_method()
    async with app.search_limiter.slot(request.client):
        found = await list_types(app.registry)
    prefix = app.registry.settings.type_prefix
    if wants_record(request):
        body = _encode(build_value_types(prefix, found))
        return Response(200, body, [(b"content-type", b"application/json"), VARY_ACCEPT, NO_CACHE])
    return pages.render_page(
        "types.html",
        200,
        [VARY_ACCEPT, NO_CACHE],
        contact=app.options.contact,
        prefix=prefix,
        types=[(one, path_of(one.name)) for one in found],
        api_path=f"{API_ROOT}{TYPES_PATH}",
    )
