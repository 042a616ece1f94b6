"""The parts of a person's URL: the name, the part or version, and the format."""

import re
from typing import Final, NamedTuple

from perdure.errors import quote_text
from perdure.http.shared.http_errors import MalformedRequest, NotAcceptable, NotFound
from perdure.http.shared.negotiation import best_media_type
from perdure.http.shared.query_string import single_parameter
from perdure.http.shared.request import Request

PAGE, JSON, JSON_LD = "text/html", "application/json", "application/ld+json"
TURTLE, RDF_XML, N_TRIPLES = "text/turtle", "application/rdf+xml", "application/n-triples"
LINKS: Final = "application/link-format"  # a TimeMap, only of histories

# In our order of preference, for clients that accept anything: programs do, and browsers never do.
OFFERED: Final = (JSON_LD, PAGE, JSON, TURTLE, RDF_XML, N_TRIPLES)
_HISTORY: Final = (LINKS, PAGE, JSON, JSON_LD, TURTLE, RDF_XML, N_TRIPLES)
_SUFFIXES: Final = {"html": PAGE, "json": JSON, "jsonld": JSON_LD, "ttl": TURTLE, "rdf": RDF_XML, "nt": N_TRIPLES}
_FORMATS: Final = {
    **_SUFFIXES,
    "json-ld": JSON_LD,
    "turtle": TURTLE,
    "rdf-xml": RDF_XML,
    "xml": RDF_XML,
    "n-triples": N_TRIPLES,
    "link": LINKS,
    **{media: media for media in (*OFFERED, LINKS)},
}
_PATH: Final = re.compile(
    r"(?P<name>P[OR]ID-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{3}[0-9X])"
    r"(?:/(?P<part>claims|observations|history|v(?P<version>[1-9][0-9]{0,8})))?(?:\.(?P<suffix>[a-z]{2,6}))?",
    re.IGNORECASE,
)
_PARTS: Final = {"POID": ("claims", "history"), "PRID": ("observations", "history")}


class PersonAddress(NamedTuple):
    """The parts of a URL. `name`, and the `rest` after it, are as they were written."""

    name: str
    part: str
    version: int | None
    suffix: str
    rest: str


class DocumentRequest(NamedTuple):
    """A requested document. `media` is its media type, and `suffix` the suffix by which the URL names it."""

    part: str
    version: int | None
    media: str
    suffix: str
    after: str  # of observations: only those after this one


def media_type_of_format(text: str) -> str | None:
    """Return the media type that `format` names. Its plus sign is decoded as a space in a query."""
    return _FORMATS.get(text.lower().replace(" ", "+"))


def parse_person_address(text: str) -> PersonAddress | None:
    """Return the parts of a path; None if it is not that of a person, though it may be nearly one."""
    found = _PATH.fullmatch(text)
    if found is None:
        return None
    name, suffix = found["name"], (found["suffix"] or "").lower()
    rest = text[len(name) :]
    if found["version"] is not None:
        return PersonAddress(name, "", int(found["version"]), suffix, rest)
    return PersonAddress(name, (found["part"] or "").lower(), None, suffix, rest)


def parse_document_request(request: Request, address: PersonAddress) -> DocumentRequest:
    """Return the document that a client requests at an address. Raise NotFound or NotAcceptable."""
    part = address.part
    if part and part not in _PARTS[address.name[:4].upper()]:
        raise NotFound()
    media = negotiate_media_type(request, address.suffix, _HISTORY if part == "history" else OFFERED)
    after = single_parameter(request.parameters(), "after") if request.query and part == "observations" else None
    return DocumentRequest(part, address.version, media, address.suffix, after or "")


def negotiate_media_type(request: Request, suffix: str, offered: tuple[str, ...]) -> str:
    """Return the media type that the URL names or the client prefers; the first one by default."""
    media = _explicit_media_type(request, suffix, offered)
    if media is None:
        accept = request.header_list(b"accept")
        media = best_media_type(accept, offered) if accept else offered[0]
    if media is None:
        raise _not_acceptable(request, suffix, offered)
    return media


def _not_acceptable(request: Request, suffix: str, offered: tuple[str, ...]) -> NotAcceptable:
    """Return the error that names the URL of each available media type."""
    plain = request.path.removesuffix(f".{suffix}") if suffix else request.path
    endings = {media: f".{ending}" for ending, media in _SUFFIXES.items()} | {LINKS: "?format=link"}
    return NotAcceptable(offered, tuple(plain + endings[media] for media in offered))


def _explicit_media_type(request: Request, suffix: str, offered: tuple[str, ...]) -> str | None:
    """Return the media type that the URL names, by its suffix or by `format`; None if it names none."""
    named = single_parameter(request.parameters(), "format") if request.query else None
    if suffix and suffix not in _SUFFIXES:
        raise NotFound()
    if suffix and named is not None and media_type_of_format(named) != _SUFFIXES[suffix]:
        raise MalformedRequest("the URL names one format by its suffix, and another by the parameter format")
    if named is None and not suffix:
        return None
    media = _SUFFIXES[suffix] if suffix else media_type_of_format(named or "")
    if media is None:
        raise MalformedRequest(f"the format {quote_text(named)} is unknown; the formats are {', '.join(_FORMATS)}")
    if media not in offered:
        raise _not_acceptable(request, suffix, offered)
    return media
