"""/api/prefixes: list the prefixes of this server, add one, or remove one."""

from perdure.errors import InvalidName, NameTaken
from perdure.http.handle_api.endpoint import allow_methods, unknown_endpoint_response
from perdure.http.handle_api.name_lists import read_page_request, split_names, stream_names
from perdure.http.handle_api.request_context import HandleContext
from perdure.http.shared.request import Response
from perdure.names.handle import fold, unescape
from perdure.registry.handles import home_prefix, list_prefixes, unhome_prefix
from perdure.registry.prefixes.na_names import NA_KEY


@allow_methods("GET", "HEAD", "POST", "DELETE")
async def prefixes(context: HandleContext) -> Response | None:
    """List the prefixes, or add or remove the one that the path names."""
    request = context.request
    name = unescape(request.rest.removeprefix("/"))
    if request.method in ("GET", "HEAD"):
        return unknown_endpoint_response(context) if name else await _list(context)
    if not name:
        raise InvalidName("handle", "name", None, "Empty handle invalid")
    context.handle = name
    by = await context.require_caller()
    if request.method == "DELETE":
        await unhome_prefix(context.registry, by, name)
        return context.success_response()
    try:
        await home_prefix(context.registry, by, name)
        status = 201
    except NameTaken:  # another request has added it, which is as good
        status = 200
    known = context.app.prefixes
    await known.refresh()
    prefix = known.prefix(fold(name).removeprefix(f"{NA_KEY}/"))
    if prefix is None or prefix.scheme != "handle":  # persons and IBI subsystems have prefixes too
        raise NameTaken(name)
    return context.success_response(status)


async def _list(context: HandleContext) -> Response | None:
    by = await context.require_caller()
    page = read_page_request(context)
    total, names = await list_prefixes(context.registry, by, page_size=None)  # every process holds all of them
    names = names[page.first :][: page.size]
    if page.is_short:
        return context.success_response(**page.describe(total), prefixes=names)
    await stream_names(context, page.describe(total), "prefixes", split_names(names))
    return None
