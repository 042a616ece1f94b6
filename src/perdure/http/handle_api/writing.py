"""Create and change records, and take values or whole records away."""

from typing import Final

from perdure.http.handle_api.conditions import expecting
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
    if indexes and _VARIOUS not in indexes:
        _check_indexes(indexes, said)
    write = put_values if indexes else put_handle
    with expecting(exchange.request) as expected:
        written = await write(
            exchange.registry, by, name, said.values, overwrite=overwrite is not False, expected=expected
        )
    return exchange.success(201 if written.created else 200)


async def _mint(exchange: Exchange, by: Agent, beginning: str, said: Put) -> Response:
    if exchange.parameters.all("index"):
        raise Malformed("a new handle is made whole: index and mintNewSuffix do not go together")
    with expecting(exchange.request) as expected:
        written = await mint_handle(
            exchange.registry, by, beginning, said.values, expected=expected, patience=exchange.service.patience
        )
    exchange.handle = written.name
    return exchange.success(201)


def _check_indexes(indexes: list[str], said: Put) -> None:
    if sorted({read_number(text, "index") for text in indexes}) != sorted(value.index for value in said.values):
        raise Malformed("Mismatched indexes in PUT request")


async def delete(exchange: Exchange, name: str) -> Response:
    by = await exchange.administrator()
    indexes = [read_number(text, "index") for text in exchange.parameters.all("index")]
    with expecting(exchange.request) as expected:
        if indexes:
            await delete_values(exchange.registry, by, name, indexes, expected=expected)
        else:
            await delete_handle(exchange.registry, by, name, expected=expected)
    return exchange.success()
