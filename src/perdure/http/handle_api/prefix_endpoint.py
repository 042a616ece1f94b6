"""/api/prefixes: which prefixes are kept here, and how one more comes to be."""

from typing import Final

from perdure.errors import InvalidName, NameTaken
from perdure.http.handle_api.door import door, unknown_endpoint
from perdure.http.handle_api.exchange import Exchange
from perdure.http.handle_api.reading import pages
from perdure.http.message import Response
from perdure.names.handle import fold, unescape
from perdure.registry.handles import home_prefix, list_prefixes, unhome_prefix
from perdure.registry.prefix_names import RECORDS

_ROOT: Final = "/api/prefixes"


@door("GET", "HEAD", "POST", "DELETE")
async def prefixes(exchange: Exchange) -> Response:
    request = exchange.request
    name = unescape(request.path[len(_ROOT) :].removeprefix("/"))
    if request.method in ("GET", "HEAD"):
        return unknown_endpoint(exchange) if name else await _list(exchange)
    if not name:
        raise InvalidName("handle", "name", None, "Empty handle invalid")
    exchange.handle = name
    by = await exchange.administrator()
    if request.method == "DELETE":
        await unhome_prefix(exchange.registry, by, name)
        return exchange.success()
    try:
        await home_prefix(exchange.registry, by, name)
        status = 201
    except NameTaken:  # somebody has done it already, which is as good
        status = 200
    known = exchange.service.prefixes
    await known.refresh()
    kept = known.prefix(fold(name).removeprefix(f"{RECORDS}/"))
    if kept is None or kept.scheme != "handle":  # persons and subsystems have prefixes too
        raise NameTaken(name)
    return exchange.success(status)


async def _list(exchange: Exchange) -> Response:
    by = await exchange.administrator()
    page, size = pages(exchange)
    total, names = await list_prefixes(exchange.registry, by, page, size)
    return exchange.success(totalCount=str(total), page=page, pageSize=size, prefixes=names)
