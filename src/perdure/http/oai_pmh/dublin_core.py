"""Records in Dublin Core (`oai_dc`): what an identifier's public description states."""

from collections.abc import Iterator
from typing import Final

from perdure.collections.media_types import UNKNOWN, guess_media_type
from perdure.formats.citation_fields import Author
from perdure.http.oai_pmh.xml_text import element, enclose
from perdure.registry.citations import cite_identifier
from perdure.registry.harvest import HarvestedIdentifier

PREFIX: Final = "oai_dc"
NAMESPACE: Final = "http://www.openarchives.org/OAI/2.0/oai_dc/"
SCHEMA: Final = "http://www.openarchives.org/OAI/2.0/oai_dc.xsd"
_ELEMENTS: Final = "http://purl.org/dc/elements/1.1/"
_INSTANCE: Final = "http://www.w3.org/2001/XMLSchema-instance"
# Types of the DCMI vocabulary, by the beginning of a media type.
_TYPES: Final = {
    "text/": "Text",
    "application/pdf": "Text",
    "image/": "StillImage",
    "audio/": "Sound",
    "video/": "MovingImage",
}
_PERSONS: Final = {"POID": "Person observation", "PRID": "Person reconstruction"}


def write_dublin_core(found: HarvestedIdentifier, url: str) -> str:
    """Return the description of an identifier that is cited by this address."""
    body = "".join(element(f"dc:{name}", text) for name, text in _statements(found, url))
    return enclose(
        "oai_dc:dc",
        body,
        **{
            "xmlns:oai_dc": NAMESPACE,
            "xmlns:dc": _ELEMENTS,
            "xmlns:xsi": _INSTANCE,
            "xsi:schemaLocation": f"{NAMESPACE} {SCHEMA}",
        },
    )


def _statements(found: HarvestedIdentifier, url: str) -> Iterator[tuple[str, str]]:
    view, citation = found.view, cite_identifier(found.view, url)
    yield "title", citation.title
    for author in citation.authors:
        yield "creator", _write_author(author)
    if citation.publisher:
        yield "publisher", citation.publisher
    if citation.published:
        yield "date", citation.published
    media = sorted({kind for one in found.holdings if (kind := _media_type(one.main_file)) is not None})
    person = _PERSONS.get(found.prefix) if view.scheme == "ppid" else None
    for kind in (person,) if person else _types(media):
        yield "type", kind
    for kind in media:
        yield "format", kind
    names = dict.fromkeys((view.name, *view.names))
    for identifier in dict.fromkeys((url, *names, *([citation.doi] if citation.doi else []))):
        yield "identifier", identifier
    for target in dict.fromkeys((*view.locations, *([] if view.target is None else [view.target]))):
        yield "relation", target


def _types(media: list[str]) -> Iterator[str]:
    yield from dict.fromkeys(kind for one in media for beginning, kind in _TYPES.items() if one.startswith(beginning))


def _media_type(file: str | None) -> str | None:
    """Return the media type with which the server sends a main file; None if its name does not say one."""
    media_type = UNKNOWN if file is None else guess_media_type(file)
    return None if media_type == UNKNOWN else media_type


def _write_author(author: Author) -> str:
    return f"{author.family}, {author.given}" if author.given else author.family
