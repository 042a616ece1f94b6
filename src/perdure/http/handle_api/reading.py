"""Read a record, all of it or the values of certain indexes and types; or list what is under a prefix."""

from typing import Final

from perdure.errors import NotAuthorised
from perdure.http import answers
from perdure.http.handle_api.codes import SUCCESS, VALUES_NOT_FOUND
from perdure.http.handle_api.exchange import Exchange
from perdure.http.handle_api.parameters import read_number
from perdure.http.message import Response
from perdure.http.resolving.forms import has_already
from perdure.http.wanted import wanted
from perdure.records.value import shown_value
from perdure.registry.handles import list_handles, read_handle
from perdure.registry.handles.listing import MOST_LISTED
from perdure.registry.prefix_names import RECORDS

_OF_PREFIXES: Final = f"{RECORDS}/"  # they also tell of grants, of which no version says when they changed


async def read(exchange: Exchange, name: str) -> Response:
    """A record as one reader may see it."""
    parameters = exchange.parameters
    by = await exchange.actor()
    asked = wanted(parameters.all("type"), (read_number(text, "index") for text in parameters.all("index")))
    public_only = parameters.flag("publicOnly")
    wants_all = by is not None if public_only is None else not public_only
    view = await read_handle(exchange.registry, name, by=by, wants_all=wants_all)
    if view.withheld and public_only is False:
        raise exchange.credentials_needed() if by is None else NotAuthorised(by.id, "read", name)
    values = asked.of(view.values)
    if asked.restricts:
        if not values:
            return exchange.reply(200, {"responseCode": VALUES_NOT_FOUND, "values": [], "handle": name})
    elif by is None and not view.key.startswith(_OF_PREFIXES):
        if has_already(exchange.request, f'"{view.version}-record"'):
            return Response(304, b"", [*answers.RECORD_HEADERS[1:], answers.record_tag(view.version)])
        return exchange.dressed(answers.record(name, values, view.version))
    return exchange.reply(
        200, {"responseCode": SUCCESS, "handle": name, "values": [shown_value(value) for value in values]}
    )


async def list_all(exchange: Exchange, prefix: str) -> Response:
    """The handles under a prefix, page by page."""
    by = await exchange.administrator()
    page, size = pages(exchange)
    async with exchange.turn_to_search():
        total, names = await list_handles(exchange.registry, by, prefix, page, size, walks=exchange.service.walks)
    return exchange.success(prefix=prefix, totalCount=str(total), page=page, pageSize=size, handles=names)


def pages(exchange: Exchange) -> tuple[int, int]:
    """Which page, and how many names are on one: as many as can be, if nothing is said."""
    page, size = exchange.parameters.natural("page"), exchange.parameters.natural("pageSize")
    return page or 0, MOST_LISTED if size is None else min(size, MOST_LISTED)
