"""From the address of a person to the answer."""

from perdure.errors import InvalidInput, InvalidName, NoSuchName
from perdure.http.message import Request, Response
from perdure.http.negotiation import best
from perdure.http.persons import documents, histories, memento
from perdure.http.persons.asked import PAGE, Asked, address_of, asked_for
from perdure.http.persons.spelling import right_spelling
from perdure.http.problems import PROBLEM
from perdure.http.refusals import MethodNotAllowed, NothingHere, NotNegotiable
from perdure.http.resolving import telling
from perdure.http.resolving.asked import PARAMETERS
from perdure.http.resolving.places import path_of, with_query
from perdure.http.service import Service
from perdure.names import ppid
from perdure.registry.persons import PersonView, show_person

_READING = ("GET", "HEAD")
_FOR_A_DAY = b"max-age=86400"
_PROBLEM = PROBLEM.decode()


async def person(service: Service, request: Request, text: str) -> Response | None:
    """The answer; None, where the resolver of all identifiers has it: redirects, refusals, and what is asked of it."""
    address = address_of(text)
    if address is None:
        meant = right_spelling(text)
        return None if meant is None else _spelt_right(request, *meant)
    if request.method not in _READING:
        raise MethodNotAllowed(request.method, _READING)
    try:
        name = ppid.canonical(address.name)
    except InvalidName:
        return None  # a wrong check digit: the resolver knows what to suggest
    rest = address.rest.lower()
    if request.path != path_of(name) + rest:
        return _spelt_right(request, name, rest)
    if not rest and request.query and any(key in PARAMETERS for key, _ in request.parameters()):
        return None
    try:
        asked = asked_for(request, address)
    except NotNegotiable:
        if rest or not await _is_problem(service, request, name):
            raise
        return None  # the resolver tells problems
    if asked.part == "history":
        return await histories.history(service, request, name, asked)
    shown = await _shown(service, name, asked)
    if shown is None:
        return None
    wanted = memento.wanted(request) if asked.version is None and not asked.part else None
    if wanted is not None and name.startswith("PRID"):
        return await memento.time_gate(service, request, name, wanted, f".{asked.suffix}" if asked.suffix else "")
    return await _answer(service, request, shown, asked)


async def _is_problem(service: Service, request: Request, name: str) -> bool:
    """Whether the client takes problem documents, and there is one to be told: nobody is there, or no longer."""
    if best(request.header_list(b"accept"), (_PROBLEM,)) is None:
        return False
    try:
        return (await show_person(service.registry, name)).view.state == "withdrawn"
    except NoSuchName:
        return True


def _spelt_right(request: Request, name: str, rest: str) -> Response:
    """To the one address at which a person, or a part of what is said of them, is shown."""
    return telling.moved(with_query(path_of(name) + rest, request.query), 308, _FOR_A_DAY)


async def _shown(service: Service, name: str, asked: Asked) -> PersonView | None:
    try:
        return await show_person(service.registry, name, version=asked.version)
    except NoSuchName:
        if asked.part or asked.version:
            raise NothingHere() from None
        return None  # with its suggestions
    except InvalidInput:
        raise NothingHere() from None  # no such version


async def _answer(service: Service, request: Request, shown: PersonView, asked: Asked) -> Response | None:
    view = shown.view
    stone = view.tombstone
    if asked.version is None and not asked.part and view.state == "merged" and stone and stone.replaced_by:
        ending = f".{asked.suffix}" if asked.suffix else ""
        place = with_query(path_of(stone.replaced_by) + ending, request.query)
        return memento.varying(telling.moved(place, 301, b"no-cache"))  # which can be undone
    if view.target is not None and asked.media == PAGE and not (asked.part or asked.version or asked.suffix):
        return None  # on to there; who writes .html means the page itself
    if asked.part == "observations":
        return await documents.observations(service, request, shown, asked)
    return await documents.document(service, request, shown, asked)
