"""The representation of an identifier that a client requests: linked data, a citation, or its record as JSON.

>>> split_ending("20.500/a.csl.json")
('20.500/a', '.csl.json')
>>> split_ending("20.500/.bib"), split_ending("20.500/a.pdf")[0]
((None, None), None)
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from perdure.formats import bibtex_writer, csl_json, ris
from perdure.formats.citation_fields import Citation
from perdure.http.persons.person_address import JSON, PAGE, media_type_of_format
from perdure.http.shared.negotiation import best_media_type, parse_accept
from perdure.http.shared.query_string import single_parameter
from perdure.http.shared.request import Request
from perdure.rdf import FORMATS


class Representation(NamedTuple):
    """A format of a description. One in the URL has priority; for one in a header, the record may have locations.

    `suffix` is the ending of a name that requests it. `write_citation` is None for linked data and for JSON.
    """

    name: str
    media_type: str
    suffix: str
    write_citation: Callable[[Citation], bytes] | None = None
    is_in_url: bool = False

    @property
    def content_type(self) -> tuple[bytes, bytes]:
        """Return the header Content-Type."""
        charset = b"; charset=utf-8" if self.name in ("bibtex", "ris") else b""
        return (b"content-type", self.media_type.encode() + charset)

    @property
    def is_record(self) -> bool:
        """Return whether this is the record as JSON."""
        return self.media_type == JSON

    @property
    def is_linked_data(self) -> bool:
        """Return whether this is a format of RDF."""
        return self.name in FORMATS


CITATIONS: Final = (
    Representation("bibtex", bibtex_writer.MEDIA_TYPE, "bib", bibtex_writer.write_bibtex),
    Representation("ris", ris.MEDIA_TYPE, "ris", ris.write_ris),
    Representation("csl-json", csl_json.MEDIA_TYPE, "csl.json", csl_json.write_csl_json),
)
_LINKED_DATA: Final = tuple(Representation(known.name, known.media_type, known.suffix) for known in FORMATS.values())
_RECORD: Final = Representation("json", JSON, "json")
_BY_MEDIA: Final = {known.media_type: known for known in (*_LINKED_DATA, *CITATIONS)}
_BY_SUFFIX: Final = {known.suffix: known for known in (*_LINKED_DATA, *CITATIONS, _RECORD)}
_BY_NAME: Final = {known.name: known for known in CITATIONS} | _BY_SUFFIX | {JSON: _RECORD}
_OFFERED: Final = (PAGE, JSON, *_BY_MEDIA)
_ENDING: Final = re.compile(rf"(?P<stem>.+?(?<!/))(?P<ending>\.(?:{'|'.join(map(re.escape, _BY_SUFFIX))}))")


def requested_representation(request: Request) -> Representation | None:
    """Return the format that the client names in `format` or Accept and prefers to a page and to plain JSON."""
    if request.query:
        named = single_parameter(request.parameters(), "format")
        if named is not None:
            found = representation_of(named)
            return None if found is None else found._replace(is_in_url=True)
    accept = request.header_list(b"accept")
    if accept is None:
        return None
    media = best_media_type(accept, _OFFERED)
    if media not in _BY_MEDIA or all(accepted.media != media for accepted in parse_accept(accept)):
        return None
    return _BY_MEDIA[media]


def representation_of(named: str) -> Representation | None:
    """Return the representation that `format` names: by its name, its ending or its media type."""
    text = named.lower().replace(" ", "+")  # a plus sign is decoded as a space in a query
    media = media_type_of_format(text) or ""
    return _BY_NAME.get(text) or _BY_MEDIA.get(text) or _BY_MEDIA.get(media)


def split_ending(text: str) -> tuple[str, str] | tuple[None, None]:
    """Return a name and the ending after it that requests a representation; None if there is no such ending."""
    match = _ENDING.fullmatch(text)
    return (None, None) if match is None else (match["stem"], match["ending"])


def representation_of_ending(ending: str) -> Representation:
    """Return the representation that an ending requests."""
    return _BY_SUFFIX[ending.removeprefix(".")]._replace(is_in_url=True)
