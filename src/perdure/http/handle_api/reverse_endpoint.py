"""/hrls/handles: which handles say this, for the clients that know the reverse look-up servlet."""

from typing import Final

from perdure.http.handle_api.door import door, unknown_endpoint
from perdure.http.handle_api.exchange import Exchange
from perdure.http.message import Response
from perdure.http.refusals import Malformed
from perdure.registry.handles import find_handles
from perdure.registry.looking import MOST_FOUND

_ROOT: Final = "/hrls/handles"
# How to answer, and not what to look for.
_NO_TYPES: Final = frozenset(
    {"limit", "page", "enforcesearchlimit", "retrieverecords", "prefix", "pretty", "callback", "auth"}
)


@door("GET", "HEAD")
async def reverse(exchange: Exchange) -> Response:
    """Every parameter is a type and what its value says, with `*` for anything."""
    if exchange.request.path.rstrip("/") != _ROOT:
        return unknown_endpoint(exchange)
    by = await exchange.administrator()
    parameters = exchange.parameters
    wanted = [(name, value) for name, value in parameters.pairs if name not in _NO_TYPES]
    if parameters.flag("retrieverecords"):
        raise Malformed("retrieverecords is not possible: the names are told, and each can be looked up")
    limit, page = parameters.natural("limit"), parameters.natural("page") or 0
    size = MOST_FOUND if limit is None else min(limit, MOST_FOUND)
    if size == 0 or page * size >= MOST_FOUND:
        return exchange.reply(200, [])
    most = min((page + 1) * size, MOST_FOUND)
    async with exchange.turn_to_search():
        found = await find_handles(exchange.registry, by, wanted, most, prefix=parameters.one("prefix"))
    return exchange.reply(200, found[page * size :])
