"""Create and change records, and take values or whole records away."""

from typing import Final

from perdure.http.handle_api.exchange import Exchange
from perdure.http.handle_api.incoming import Put, read_put
from perdure.http.handle_api.parameters import read_number
from perdure.http.message import Response
from perdure.http.refusals import Malformed
from perdure.names import handle
from perdure.registry import Agent
from perdure.registry.handles import delete_handle, delete_values, mint_handle, put_handle, put_values

_VARIOUS: Final = "various"  # whichever indexes the body has


async def put(exchange: Exchange, name: str) -> Response:
    by = await exchange.administrator()
    parameters = exchange.parameters
    is_minting = parameters.flag("mintNewSuffix") or False
    overwrite = parameters.flag("overwrite")
    said = await read_put(exchange.request, exchange.registry.settings.limits.values)
    if said.handle is not None and handle.fold(said.handle) != handle.fold(name):
        raise Malformed("the handle in the body is not the one in the address")
    if is_minting:
        return await _mint(exchange, by, name, said)
    indexes = parameters.all("index")
    if indexes:
        if _VARIOUS not in indexes:
            _check_indexes(indexes, said)
        written = await put_values(exchange.registry, by, name, said.values, overwrite=overwrite is not False)
    else:
        written = await put_handle(exchange.registry, by, name, said.values, overwrite=overwrite is not False)
    return exchange.success(201 if written.created else 200)


async def _mint(exchange: Exchange, by: Agent, beginning: str, said: Put) -> Response:
    if exchange.parameters.all("index"):
        raise Malformed("a new handle is made whole: index and mintNewSuffix do not go together")
    written = await mint_handle(exchange.registry, by, beginning, said.values)
    exchange.handle = written.name
    return exchange.success(201)


def _check_indexes(indexes: list[str], said: Put) -> None:
    if sorted({read_number(text, "index") for text in indexes}) != sorted(value.index for value in said.values):
        raise Malformed("Mismatched indexes in PUT request")


async def delete(exchange: Exchange, name: str) -> Response:
    by = await exchange.administrator()
    indexes = [read_number(text, "index") for text in exchange.parameters.all("index")]
    if indexes:
        await delete_values(exchange.registry, by, name, indexes)
    else:
        await delete_handle(exchange.registry, by, name)
    return exchange.success()
