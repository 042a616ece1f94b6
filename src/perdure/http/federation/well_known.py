"""The signed statements of this server, for other servers: `/.well-known/perdure/…`."""

from typing import Final

from perdure import __version__
from perdure.errors import InvalidInput, PeerUnavailable
from perdure.federation.announcements import PAGE, build_holdings_statement, build_prefixes_statement
from perdure.federation.local_answers import find_local_answer
from perdure.federation.statements import LONGEST_VIA, WELL_KNOWN, Answer, Statement
from perdure.http.app_context import AppContext
from perdure.http.federation.preferences import read_language
from perdure.http.items.item_statement import build_item_statement
from perdure.http.shared.http_errors import NotFound
from perdure.http.shared.query_string import parse_query, single_parameter
from perdure.http.shared.request import Request, Response
from perdure.http.shared.responses import NO_STORE
from perdure.registry.name_keys import LONGEST_NAME
from perdure.registry.store_interface import Reader

ROOT: Final = WELL_KNOWN
_LONGEST_NONCE: Final = 100
_LONGEST_SERVER: Final = 100
_JSON: Final = (b"content-type", b"application/json")


async def server_statement(app: AppContext, request: Request) -> Response:
    """Return who this server is: its identity, its key, and its newest change."""
    request.require_read_method()
    newest = await app.registry.store.read(lambda reader: reader.newest_change())
    checkpoint = 0 if newest is None else newest.number
    described = await app.own_statements.describe_server(request.origin, f"Perdure {__version__}", checkpoint)
    return await _signed_response(app, request, described)


async def prefixes_statement(app: AppContext, request: Request) -> Response:
    """Return a page of the prefixes of which this server has names."""
    request.require_read_method()
    after = _parameter(request, "after", LONGEST_NAME)
    page = await app.registry.store.scan(lambda reader: build_prefixes_statement(app.registry, reader, after, PAGE))
    return await _signed_response(app, request, page)


async def holdings_statement(app: AppContext, request: Request) -> Response:
    """Return a page of the labels that this server has, with their states."""
    request.require_read_method()
    after = _parameter(request, "after", LONGEST_NAME)
    async with app.search_limiter.slot(request.client):
        page = await app.registry.store.scan(lambda reader: build_holdings_statement(app.registry, reader, after, PAGE))
    return await _signed_response(app, request, page)


async def name_statement(app: AppContext, request: Request) -> Response:
    """Return what this server knows about a name: its own answer, or else the best one of other servers."""
    request.require_read_method()
    name = _parameter(request, "name", LONGEST_NAME)
    if not name:
        raise InvalidInput("request", "name", "the parameter name is required")
    language = read_language(_parameter(request, "language", LONGEST_NAME))
    via = tuple(value[:_LONGEST_SERVER] for key, value in parse_query(request.query) if key == "via")
    origin = request.origin

    def work(reader: Reader) -> Answer:
        return find_local_answer(app.registry, reader, name, origin, language)

    answer = await app.registry.store.read(work)
    if answer.state == "unknown" and app.registry.id not in via and len(via) < LONGEST_VIA:
        answer = await _ask_others(app, answer, via, language)
    return await _signed_response(app, request, answer)


async def item_statement(app: AppContext, request: Request) -> Response:
    """Return what this server stores of an item."""
    request.require_read_method()
    name = _parameter(request, "name", LONGEST_NAME)
    if not name:
        raise InvalidInput("request", "name", "the parameter name is required")
    stated = await app.registry.store.read(lambda reader: build_item_statement(app.registry, reader, name))
    return await _signed_response(app, request, stated)


async def unknown_statement(app: AppContext, request: Request) -> Response:
    """Raise NotFound: there is no such document."""
    raise NotFound()


async def _ask_others(app: AppContext, own: Answer, via: tuple[str, ...], language: str | None) -> Answer:
    """Return the best answer of other servers, as this server states it; its own if none of them has the name."""
    try:
        found = await app.peers.find(own.name, language=language, via=via)
    except PeerUnavailable:
        return own  # too many questions wait
    choice = found.choose(language=language)
    if choice is None:
        return own
    fields = {field: getattr(choice.given.answer, field) for field in Answer.__struct_fields__}
    mine = {"server": own.server, "time": own.time, "checkpoint": own.checkpoint, "owner": choice.given.is_owner}
    return Answer(**{**fields, **mine})


async def _signed_response(app: AppContext, request: Request, statement: Statement) -> Response:
    nonce = _parameter(request, "nonce", _LONGEST_NONCE)
    return Response(200, await app.own_statements.sign(statement, nonce=nonce), [_JSON, NO_STORE])


def _parameter(request: Request, name: str, most: int) -> str:
    value = single_parameter(parse_query(request.query), name) or ""
    if len(value.encode()) > most:
        raise InvalidInput("request", name, f"the parameter {name} is longer than {most} bytes")
    return value
