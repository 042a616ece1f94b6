"""Any identifier as linked data: who answers for it, since when, and where it leads."""

from typing import Final

from perdure.http.message import Request, Response, one_parameter
from perdure.http.negotiation import best, ranges
from perdure.http.persons.vocabulary import CONTEXT_PATH
from perdure.http.resolving.finding import Finding
from perdure.http.resolving.forms import has_already
from perdure.http.resolving.places import path_of
from perdure.http.resolving.signposts import signposts
from perdure.http.service import Service
from perdure.linked import BY_MEDIA, FORMATS, write_identifier
from perdure.registry import show

_NAMED: Final = {**{one.suffix: name for name, one in FORMATS.items()}, **{name: name for name in FORMATS}}
_OFFERED: Final = ("text/html", *BY_MEDIA)
_CHOOSING: Final = "10320/LOC"


def wanted_form(request: Request) -> str | None:
    """The form of RDF that a client names, and likes better than a page; by its header, or by `format`."""
    if request.query:
        named = one_parameter(request.parameters(), "format")
        if named is not None:
            return _NAMED.get(named.lower())
    accept = request.header_list(b"accept")
    if accept is None:
        return None
    media = best(accept, _OFFERED)
    is_named = any(one.media == media for one in ranges(accept))
    return BY_MEDIA.get(media) if media is not None and is_named else None


def is_left_to_locations(finding: Finding) -> bool:
    """Whether the record itself says where clients go that ask for a certain form."""
    return any(value.kind == _CHOOSING for value in finding.record.values)


async def described(service: Service, request: Request, finding: Finding, form: str) -> Response:
    view = await show(service.registry, finding.name)
    tag = f'"{view.version}-{FORMATS[form].suffix}"'
    headers = [
        (b"vary", b"accept"),
        (b"cache-control", b"no-cache"),
        (b"etag", tag.encode()),
        *signposts(service, request, view),
    ]
    if has_already(request, tag):
        return Response(304, b"", headers)
    iri = request.origin + path_of(view.name)
    namespaces = service.registry.settings.namespaces
    body = write_identifier(view, iri, form, namespaces, request.origin + CONTEXT_PATH)
    return Response(200, body, [(b"content-type", FORMATS[form].media_type.encode()), *headers])
