"""/api/handles: the records."""

from typing import Final

from perdure.errors import InvalidName
from perdure.http.handle_api import reading, writing
from perdure.http.handle_api.door import door
from perdure.http.handle_api.exchange import Exchange
from perdure.http.message import Response
from perdure.names.handle import unescape

_ROOT: Final = "/api/handles"
_READING: Final = frozenset({"GET", "HEAD", "POST"})  # POST asks as GET does, with its parameters in the body


@door("GET", "HEAD", "POST", "PUT", "DELETE")
async def handles(exchange: Exchange) -> Response:
    """The name is what follows, decoded once; a plus sign in it is a plus sign."""
    name = unescape(exchange.request.path[len(_ROOT) :].removeprefix("/"))
    method = exchange.request.method
    if not name:
        prefix = exchange.parameters.one("prefix")
        if method in _READING and prefix:
            return await reading.list_all(exchange, prefix)
        raise InvalidName("handle", "name", None, "Empty handle invalid")
    exchange.handle = name
    if method in _READING:
        return await reading.read(exchange, name)
    return await (writing.put if method == "PUT" else writing.delete)(exchange, name)
