"""The versions of a person: a TimeMap for programs that travel in time, a page for people, and JSON."""

from typing import Final

import msgspec

from perdure.errors import NoSuchName
from perdure.http import pages
from perdure.http.message import Request, Response
from perdure.http.persons import memento
from perdure.http.persons.asked import JSON, LINKS, Asked
from perdure.http.refusals import NothingHere
from perdure.http.resolving.forms import has_already
from perdure.http.resolving.places import path_of
from perdure.http.service import Service
from perdure.registry.persons import versions_of

_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_VARY: Final = (b"vary", b"accept")


class _Version(msgspec.Struct, frozen=True):
    version: int
    uri: str
    at: str
    action: str


class _Versions(msgspec.Struct, frozen=True):
    ppid: str
    versions: list[_Version]


async def history(service: Service, request: Request, name: str, asked: Asked) -> Response:
    """All of them, the first first."""
    try:
        acts = await versions_of(service.registry, name)
    except NoSuchName:
        raise NothingHere() from None
    tag = f'"{acts[-1].version}-history-{asked.media.rpartition("/")[2]}"'
    headers = [_VARY, (b"cache-control", b"no-cache"), (b"etag", tag.encode())]
    if has_already(request, tag):
        return Response(304, b"", headers)
    if asked.media == LINKS:
        body = memento.time_map(request.origin, name, acts)
        return Response(200, body, [(b"content-type", b"application/link-format"), *headers])
    here = f"{request.origin}{path_of(name)}"
    versions = [_Version(act.version, f"{here}/v{act.version}", act.at, act.action) for act in acts]
    if asked.media == JSON:
        body = _encode(_Versions(name, versions))
        return Response(200, body, [(b"content-type", b"application/json"), *headers])
    return pages.page(
        "versions.html",
        200,
        headers,
        contact=service.options.contact,
        name=name,
        place=path_of(name),
        versions=versions,
    )
