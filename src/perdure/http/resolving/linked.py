"""Any identifier as linked data: who answers for it, since when, and where it leads; or how it ended."""

from typing import Final, NamedTuple

from perdure.http.message import Headers, Request, Response, one_parameter
from perdure.http.negotiation import best, ranges
from perdure.http.persons.asked import JSON, PAGE, media_named
from perdure.http.persons.vocabulary import CONTEXT_PATH
from perdure.http.resolving.aside import done_aside
from perdure.http.resolving.asked import Asked
from perdure.http.resolving.choosing import chooses_forms
from perdure.http.resolving.finding import Finding, KeptPrefix
from perdure.http.resolving.forms import has_already
from perdure.http.resolving.places import path_of
from perdure.http.resolving.signposts import places_of, signposts
from perdure.http.resolving.telling import FRESH, UNSTORED, VARY, withdrawal_of
from perdure.http.service import Service
from perdure.linked import BY_MEDIA, FORMATS, write_identifier, write_name
from perdure.registry import show

_OFFERED: Final = (PAGE, JSON, *BY_MEDIA)


class Form(NamedTuple):
    """A form of RDF. One that the address names goes before all else; of one in a header, the record has a say."""

    name: str
    is_in_address: bool

    @property
    def content_type(self) -> tuple[bytes, bytes]:
        return (b"content-type", FORMATS[self.name].media_type.encode())


def wanted_form(request: Request) -> Form | None:
    """The form of RDF that a client names, by `format` or by its header, and likes better than a page or plain JSON."""
    if request.query:
        named = one_parameter(request.parameters(), "format")
        if named is not None:
            form = BY_MEDIA.get(media_named(named) or "")
            return None if form is None else Form(form, is_in_address=True)
    accept = request.header_list(b"accept")
    if accept is None:
        return None
    media = best(accept, _OFFERED)
    if media not in BY_MEDIA or all(one.media != media for one in ranges(accept)):
        return None
    return Form(BY_MEDIA[media], is_in_address=False)


async def is_left_to_the_record(service: Service, request: Request, finding: Finding, asked: Asked, form: Form) -> bool:
    """Whether the record itself says where clients go that ask for a form by their header alone."""
    if form.is_in_address:
        return False
    record, limits = finding.record, service.registry.settings.limits
    size, accept, media = len(finding.found.record), request.header_list(b"accept") or "", FORMATS[form.name].media_type
    return asked.lists_locations or await done_aside(
        record.values, size, lambda: chooses_forms(record, asked, limits, accept, media)
    )


async def described(service: Service, request: Request, finding: Finding, form: Form, status: int = 200) -> Response:
    """What everybody may know of an identifier; of one that has ended also when, by whom, and why."""
    view = await show(service.registry, finding.name)
    leads_to = places_of(service, request, finding, view)
    headers: Headers = [VARY, FRESH, *signposts(service, request, view, leads_to)]
    withdrawal = None if view.tombstone is None else withdrawal_of(finding)
    if withdrawal is None:  # whoever withdrew one may be called otherwise tomorrow, without a new version
        tag = f'"{view.version}-{FORMATS[form.name].suffix}"'
        headers.append((b"etag", tag.encode()))
        if has_already(request, tag):
            return Response(304, b"", headers)
    iri, context = request.origin + path_of(view.name), request.origin + CONTEXT_PATH
    namespaces = service.registry.settings.namespaces
    told = withdrawal if withdrawal is not None and withdrawal.at else None
    body = write_identifier(view, iri, form.name, namespaces, context, told)
    return Response(status, body, [form.content_type, *headers])


def reserved(service: Service, request: Request, finding: Finding, form: Form) -> Response:
    """That a name is reserved, as its page says: nothing else of it is anybody's business yet."""
    body = _named(service, request, finding.name, "reserved", form)
    return Response(404, body, [form.content_type, VARY, UNSTORED])


def told_of_prefix(service: Service, request: Request, kept: KeptPrefix, form: Form) -> Response:
    """That the record of a prefix is there. Who administers it is in its values, which are no authority metadata."""
    body = _named(service, request, kept.name, "active", form)
    return Response(200, body, [form.content_type, VARY, FRESH])


def _named(service: Service, request: Request, name: str, state: str, form: Form) -> bytes:
    origin, namespaces = request.origin, service.registry.settings.namespaces
    return write_name(name, state, origin + path_of(name), form.name, namespaces, origin + CONTEXT_PATH)
