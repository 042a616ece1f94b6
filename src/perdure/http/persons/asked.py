"""What the address of a person asks for: whom, which part, which version, and in which form."""

import re
from typing import Final, NamedTuple

from perdure.errors import shown
from perdure.http.message import Request, one_parameter
from perdure.http.negotiation import best
from perdure.http.refusals import Malformed, NothingHere, NotNegotiable

PAGE, JSON, JSON_LD = "text/html", "application/json", "application/ld+json"
TURTLE, RDF_XML, N_TRIPLES = "text/turtle", "application/rdf+xml", "application/n-triples"
LINKS: Final = "application/link-format"  # a TimeMap, of histories alone

# In the order of our own liking, for who takes anything: programs say so, and browsers never do.
OFFERED: Final = (JSON_LD, PAGE, JSON, TURTLE, RDF_XML, N_TRIPLES)
_HISTORY: Final = (LINKS, PAGE, JSON)
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


class Address(NamedTuple):
    """What an address says by itself. `name` and `rest`, which stands behind it, are as they were written."""

    name: str
    part: str
    version: int | None
    suffix: str
    rest: str


class Asked(NamedTuple):
    """`media` is the form, and `suffix` the ending by which the address names it."""

    part: str
    version: int | None
    media: str
    suffix: str
    after: str  # of observations: only those behind this one


def media_named(text: str) -> str | None:
    """The form that `format` means. A media type has a plus sign, which in a query would be a space."""
    return _FORMATS.get(text.lower().replace(" ", "+"))


def address_of(text: str) -> Address | None:
    """None, if the text is no address of a person: then it may be a name that is nearly one."""
    found = _PATH.fullmatch(text)
    if found is None:
        return None
    name, suffix = found["name"], (found["suffix"] or "").lower()
    rest = text[len(name) :]
    if found["version"] is not None:
        return Address(name, "", int(found["version"]), suffix, rest)
    return Address(name, (found["part"] or "").lower(), None, suffix, rest)


def asked_for(request: Request, address: Address) -> Asked:
    """The form in which the client wants what is at an address, among those that there are."""
    part = address.part
    if part and part not in _PARTS[address.name[:4].upper()]:
        raise NothingHere()
    media = form_of(request, address.suffix, _HISTORY if part == "history" else OFFERED)
    after = one_parameter(request.parameters(), "after") if request.query and part == "observations" else None
    return Asked(part, address.version, media, address.suffix, after or "")


def form_of(request: Request, suffix: str, offered: tuple[str, ...]) -> str:
    """Of these forms the one that the address names, or that the client likes best; the first, if it says nothing."""
    media = _named(request, suffix, offered)
    if media is None:
        accept = request.header_list(b"accept")
        media = best(accept, offered) if accept else offered[0]
    if media is None:
        raise _not_offered(request, suffix, offered)
    return media


def _not_offered(request: Request, suffix: str, offered: tuple[str, ...]) -> NotNegotiable:
    """With the address at which each of the forms is given, whatever else a client says."""
    plain = request.path.removesuffix(f".{suffix}") if suffix else request.path
    endings = {media: f".{ending}" for ending, media in _SUFFIXES.items()} | {LINKS: "?format=link"}
    return NotNegotiable(offered, tuple(plain + endings[media] for media in offered))


def _named(request: Request, suffix: str, offered: tuple[str, ...]) -> str | None:
    """The form that the address names, by its ending or by `format`."""
    wanted = one_parameter(request.parameters(), "format") if request.query else None
    if suffix and suffix not in _SUFFIXES:
        raise NothingHere()
    if suffix and wanted is not None and media_named(wanted) != _SUFFIXES[suffix]:
        raise Malformed("the address names one form by its ending, and another by format")
    if wanted is None and not suffix:
        return None
    media = _SUFFIXES[suffix] if suffix else media_named(wanted or "")
    if media is None:
        raise Malformed(f"the format {shown(wanted)} is none of {', '.join(_FORMATS)}")
    if media not in offered:
        raise _not_offered(request, suffix, offered)
    return media
