"""The handler of persons: from the URL of a person to the response."""

from enum import Enum
from typing import Final, NamedTuple

from perdure.errors import InvalidInput, InvalidName, NoSuchName
from perdure.http.app_context import AppContext
from perdure.http.persons import memento, person_document, person_history
from perdure.http.persons.canonical_redirect import find_canonical_name
from perdure.http.persons.person_address import PAGE, DocumentRequest, parse_document_request, parse_person_address
from perdure.http.shared.http_errors import NotAcceptable, NotFound
from perdure.http.shared.negotiation import best_media_type
from perdure.http.shared.problem_json import PROBLEM_JSON
from perdure.http.shared.redirects import redirect_response
from perdure.http.shared.request import Request, Response
from perdure.http.urls import path_of, with_query
from perdure.names import ppid
from perdure.registry.persons import PersonView, show_person

_MAX_AGE: Final = b"max-age=86400"
_PROBLEM: Final = PROBLEM_JSON.decode()


class Reason(Enum):
    """Why a request is passed on to the resolver of all identifiers."""

    NOT_A_PERSON = "the path is not that of a person, in any spelling"
    WRONG_CHECK_DIGIT = "the resolver suggests what may have been meant"
    RESOLVER_PARAMETERS = "the query has parameters of the resolver"
    NOT_ACCEPTABLE = "the client accepts only a problem document, and the person is withdrawn or not registered"
    NOT_REGISTERED = "no such person is registered"
    HAS_TARGET = "readers of the page are redirected to the target of the person"


class Delegate(NamedTuple):
    """The request is left to the resolver. `error` is the result of the look-up, where there was one."""

    reason: Reason
    error: NoSuchName | None = None


async def respond(
    app: AppContext, request: Request, text: str, resolver_parameters: frozenset[str]
) -> Response | Delegate:
    """Return the response to a request for a person, or the reason why the resolver must handle the request."""
    address = parse_person_address(text)
    if address is None:
        canonical = find_canonical_name(text)
        return Delegate(Reason.NOT_A_PERSON) if canonical is None else _canonical_redirect(request, *canonical)
    request.require_read_method()
    try:
        name = ppid.canonical(address.name)
    except InvalidName:
        return Delegate(Reason.WRONG_CHECK_DIGIT)
    rest = address.rest.lower()
    if request.path != path_of(name) + rest:
        return _canonical_redirect(request, name, rest)
    if not rest and request.query and any(key in resolver_parameters for key, _ in request.parameters()):
        return Delegate(Reason.RESOLVER_PARAMETERS)
    try:
        requested = parse_document_request(request, address)
    except NotAcceptable:
        if rest or not await _is_withdrawn_or_missing(app, request, name):
            raise
        return Delegate(Reason.NOT_ACCEPTABLE)
    if requested.part == "history":
        return await person_history.history_response(app, request, name, requested)
    person = await _find_person(app, name, requested)
    if isinstance(person, Delegate):
        return person
    instant = memento.requested_datetime(request) if requested.version is None and not requested.part else None
    if instant is not None and name.startswith("PRID"):
        suffix = f".{requested.suffix}" if requested.suffix else ""
        return await memento.timegate_response(app, request, name, instant, suffix)
    return await _respond_found(app, request, person, requested)


async def _is_withdrawn_or_missing(app: AppContext, request: Request, name: str) -> bool:
    """Return whether the client accepts problem documents, and the person is withdrawn or not registered."""
    if best_media_type(request.header_list(b"accept") or "", (_PROBLEM,)) is None:
        return False
    try:
        return (await show_person(app.registry, name)).view.state == "withdrawn"
    except NoSuchName:
        return True


def _canonical_redirect(request: Request, name: str, rest: str) -> Response:
    """Return a redirect to the one URL of a person, or of a part of its document."""
    return redirect_response(with_query(path_of(name) + rest, request.query), 308, _MAX_AGE)


async def _find_person(app: AppContext, name: str, requested: DocumentRequest) -> PersonView | Delegate:
    try:
        return await show_person(app.registry, name, version=requested.version)
    except NoSuchName as error:
        if requested.part or requested.version:
            raise NotFound() from None
        return Delegate(Reason.NOT_REGISTERED, error)
    except InvalidInput:
        raise NotFound() from None  # no such version


async def _respond_found(
    app: AppContext, request: Request, person: PersonView, requested: DocumentRequest
) -> Response | Delegate:
    view = person.view
    stone = view.tombstone
    if requested.version is None and not requested.part and view.state == "merged" and stone and stone.replaced_by:
        suffix = f".{requested.suffix}" if requested.suffix else ""
        url = with_query(path_of(stone.replaced_by) + suffix, request.query)
        return memento.with_vary_datetime(redirect_response(url, 301, b"no-cache"))  # a merge can be undone
    if (
        view.target is not None
        and requested.media == PAGE
        and not (requested.part or requested.version or requested.suffix)
    ):
        return Delegate(Reason.HAS_TARGET)  # a client that writes .html wants the page itself
    if requested.part == "observations":
        return await person_document.observations_response(app, request, person, requested)
    return await person_document.document_response(app, request, person, requested)
