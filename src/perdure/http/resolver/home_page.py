"""The home page with its form for any name, and the files that crawlers and browsers request from every server."""

from typing import Final
from urllib.parse import urlencode

from perdure.errors import InvalidInput, InvalidName, NoSuchName
from perdure.http import pages
from perdure.http.app_context import AppContext
from perdure.http.shared.http_errors import MalformedRequest, MethodNotAllowed, UnsupportedMediaType
from perdure.http.shared.media_type import FORM_URLENCODED, body_media_type
from perdure.http.shared.query_string import parse_form
from perdure.http.shared.redirects import redirect_response
from perdure.http.shared.request import Request, Response
from perdure.http.shared.responses import MAX_AGE_DAY, NO_CACHE, VARY_ACCEPT
from perdure.http.urls import path_of, with_query
from perdure.names import recognise
from perdure.names.unwrap import strip_blanks
from perdure.registry.identifier_lookup import find_located
from perdure.registry.name_keys import locate
from perdure.registry.own_addresses import own_addresses
from perdure.registry.store_interface import Reader

_LARGEST_FORM: Final = 65_536
_MOST_FIELDS: Final = 100
_NAMES: Final = ("name", "hdl")  # our field, and that of forms for Handle servers
_ROBOTS: Final = b"User-agent: *\nDisallow: /api/\n"


async def robots_response(app: AppContext, request: Request) -> Response:
    """Return the rules for crawlers."""
    request.require_read_method()
    return Response(200, _ROBOTS, [(b"content-type", b"text/plain; charset=utf-8"), MAX_AGE_DAY, VARY_ACCEPT])


async def favicon_response(app: AppContext, request: Request) -> Response:
    """Return an empty response for the icon that browsers request from every server."""
    request.require_read_method()
    return Response(204, b"", [MAX_AGE_DAY, VARY_ACCEPT])


async def home_response(app: AppContext, request: Request) -> Response:
    """Return the home page, or a redirect to the name that the form contains."""
    if request.method in ("GET", "HEAD"):
        fields = request.parameters()
    elif request.method == "POST":
        fields = await _read_form(request)
    else:
        raise MethodNotAllowed(request.method, ("GET", "HEAD", "POST"))
    pasted = next((strip_blanks(value) for field, value in fields if field in _NAMES and strip_blanks(value)), None)
    if pasted is None:
        headers = [VARY_ACCEPT, NO_CACHE]
        return pages.render_page("home.html", 200, headers, contact=app.options.contact, origin=request.origin)
    name = await app.registry.store.read(lambda reader: _find_name(reader, pasted))
    others = urlencode([(field, value) for field, value in fields if field not in _NAMES])
    return redirect_response(with_query(path_of(name), others), 303 if request.method == "POST" else 302, b"no-cache")


async def _read_form(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a submitted form."""
    if body_media_type(request) != FORM_URLENCODED:
        raise UnsupportedMediaType(FORM_URLENCODED)
    return parse_form(await request.body(_LARGEST_FORM), _MOST_FIELDS)


def _find_name(reader: Reader, pasted: str) -> str:
    """Return the name that a pasted text means: the first reading that is registered, or else the most likely one.

    Text that is not a name is returned unchanged: its page says what is wrong with it.
    """
    recognition = recognise(pasted, own_addresses())
    readings = [reading.canonical for reading in (recognition, *recognition.alternatives) if reading.canonical]
    for reading in (pasted, *readings):
        try:
            located = locate(reader, reading)
        except (InvalidName, InvalidInput, NoSuchName):
            continue
        found = find_located(reader, located)
        if found is not None:
            return found.name
    name = readings[0] if readings else pasted
    try:
        path_of(name)
    except InvalidName as problem:
        raise MalformedRequest(problem.reason) from None
    return name
