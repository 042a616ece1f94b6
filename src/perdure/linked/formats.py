"""The forms that RDF is written in."""

from typing import Final

import msgspec

from perdure.errors import InvalidInput, shown


class Format(msgspec.Struct, frozen=True):
    """A form of RDF: what it is called, in an Accept header, and at the end of a file's name."""

    name: str
    media_type: str
    suffix: str


FORMATS: Final = {
    one.name: one
    for one in (
        Format("json-ld", "application/ld+json", "jsonld"),
        Format("turtle", "text/turtle", "ttl"),
        Format("rdf-xml", "application/rdf+xml", "rdf"),
        Format("n-triples", "application/n-triples", "nt"),
    )
}
BY_MEDIA: Final = {one.media_type: one.name for one in FORMATS.values()}
_BY_ANY_NAME: Final = FORMATS | {one.suffix: one for one in FORMATS.values()}


def format_named(text: str) -> Format:
    """The form that somebody means, by its name or its suffix.

    >>> format_named("ttl").name
    'turtle'
    """
    found = _BY_ANY_NAME.get(text)
    if found is None:
        reason = f"{shown(text)} is none of the forms of RDF: {', '.join(_BY_ANY_NAME)}"
        raise InvalidInput("linked", "format", reason)
    return found
