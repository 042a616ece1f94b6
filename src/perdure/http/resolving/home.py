"""The way in for people: a page that takes any name, and what visitors of every web server ask for unasked."""

from typing import Final
from urllib.parse import parse_qsl, urlencode

from perdure.errors import InvalidInput, InvalidName, NoSuchName
from perdure.http import pages
from perdure.http.message import Request, Response
from perdure.http.refusals import Malformed, MethodNotAllowed, UnsupportedBody
from perdure.http.resolving.places import path_of, with_query
from perdure.http.resolving.telling import VARY, moved
from perdure.http.service import Service
from perdure.names import recognise
from perdure.names.pasted import strip_blanks
from perdure.registry.existing import find_located
from perdure.registry.naming import locate
from perdure.registry.protocol import Reader

_FORM: Final = "application/x-www-form-urlencoded"
_LARGEST_FORM: Final = 65_536
_MOST_FIELDS: Final = 100
_NAMES: Final = ("name", "hdl")  # ours, and what forms for Handle servers send
_ROBOTS: Final = b"User-agent: *\nDisallow: /api/\n"
_A_DAY: Final = (b"cache-control", b"max-age=86400")

FIXED: Final = {
    "/robots.txt": Response(200, _ROBOTS, [(b"content-type", b"text/plain; charset=utf-8"), _A_DAY, VARY]),
    "/favicon.ico": Response(204, b"", [_A_DAY, VARY]),
}


async def home(service: Service, request: Request) -> Response:
    """A page; with a name, the way to it."""
    if request.method in ("GET", "HEAD"):
        fields = request.parameters()
    elif request.method == "POST":
        fields = await _posted(request)
    else:
        raise MethodNotAllowed(request.method, ("GET", "HEAD", "POST"))
    pasted = next((strip_blanks(said) for field, said in fields if field in _NAMES and strip_blanks(said)), None)
    if pasted is None:
        headers = [VARY, (b"cache-control", b"no-cache")]
        return pages.page("home.html", 200, headers, contact=service.options.contact, origin=request.origin)
    name = await service.registry.store.read(lambda reader: _meant(reader, pasted))
    others = urlencode([(field, said) for field, said in fields if field not in _NAMES])
    return moved(with_query(path_of(name), others), 303 if request.method == "POST" else 302, b"no-cache")


async def _posted(request: Request) -> list[tuple[str, str]]:
    kind = (request.header(b"content-type") or "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise UnsupportedBody(_FORM)
    body = await request.body(_LARGEST_FORM)
    try:
        return parse_qsl(
            body.decode("ascii"), keep_blank_values=True, encoding="utf-8", errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise Malformed(f"the form is not UTF-8, percent-encoded, with at most {_MOST_FIELDS} fields") from None


def _meant(reader: Reader, pasted: str) -> str:
    """The name that a pasted text stands for: the first reading of it that is registered here, or else the likeliest.

    What is no name at all comes back as it is: at its own address, the reader is told what is wrong with it.
    """
    recognition = recognise(pasted)
    readings = [one.canonical for one in (recognition, *recognition.alternatives) if one.canonical]
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
        raise Malformed(problem.reason) from None
    return name
