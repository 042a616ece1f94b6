"""The formats of RDF."""

from typing import Final

import msgspec

from perdure.errors import InvalidInput, quote_text


class Format(msgspec.Struct, frozen=True):
    """A format of RDF: its name, its media type, and the suffix of its files."""

    name: str
    media_type: str
    suffix: str


FORMATS: Final = {
    known.name: known
    for known in (
        Format("json-ld", "application/ld+json", "jsonld"),
        Format("turtle", "text/turtle", "ttl"),
        Format("rdf-xml", "application/rdf+xml", "rdf"),
        Format("n-triples", "application/n-triples", "nt"),
    )
}
BY_MEDIA: Final = {known.media_type: known.name for known in FORMATS.values()}
_BY_ANY_NAME: Final = FORMATS | {known.suffix: known for known in FORMATS.values()}


def find_format(text: str) -> Format:
    """Return the format with this name or suffix.

    >>> find_format("ttl").name
    'turtle'
    """
    found = _BY_ANY_NAME.get(text)
    if found is None:
        reason = f"{quote_text(text)} is not a format of RDF: use one of {', '.join(_BY_ANY_NAME)}"
        raise InvalidInput("linked", "format", reason)
    return found
