"""Citations in the format RIS of reference managers: lines of a tag of two characters and a text, in UTF-8.

>>> citation = Citation(name="1/a", url="https://id.example.org/1/a", title="On\\nmaps", key="1/a")
>>> for tag, text in read_ris(write_ris(citation)):
...     print(tag, text)
TY GEN
TI On maps
UR https://id.example.org/1/a
AN 1/a
ID 1/a
ER
"""

import re
from collections.abc import Iterator
from typing import Final

from perdure.errors import InvalidInput
from perdure.formats.citation_fields import Citation, citation_key, clean_text

MEDIA_TYPE: Final = "application/x-research-info-systems"
_LINE: Final = re.compile(r"(?P<tag>[A-Z][A-Z0-9])  - ?(?P<text>.*)")


def write_ris(citation: Citation) -> bytes:
    """Write a citation as a reference of the type `GEN`."""
    lines = [f"{tag}  - {clean_text(text)}\r\n" for tag, text in _fields(citation)]
    return "".join([*lines, "ER  - \r\n"]).encode()


def read_ris(content: bytes) -> list[tuple[str, str]]:
    """Return the tags of a file, each with its text. Raise InvalidInput for a line without a tag."""
    found = []
    for number, line in enumerate(content.decode().split("\r\n"), 1):
        match = _LINE.fullmatch(line)
        if match is not None:
            found.append((match["tag"], match["text"].rstrip()))
        elif line:
            raise InvalidInput("ris", "line", f"line {number} does not begin with a tag")
    return found


def _fields(citation: Citation) -> Iterator[tuple[str, str]]:
    yield "TY", "GEN"
    for author in citation.authors:
        yield "AU", f"{author.family}, {author.given}" if author.given else author.family
    yield "TI", citation.title
    if citation.date is not None:
        year, *rest = citation.date
        yield "PY", f"{year:04}"
        yield "DA", "/".join([f"{year:04}", *(f"{part:02}" for part in rest), "", "", ""][:3]) + "/"
    elif citation.published:
        yield "PY", citation.published
    if citation.publisher:
        yield "PB", citation.publisher
    yield "UR", citation.url
    if citation.doi:
        yield "DO", citation.doi
    yield "AN", citation.name
    for label in (citation.repository_name, citation.opaque_name):
        if label and label != citation.name:
            yield "C1", label
    if citation.target:
        yield "LK", citation.target
    for file in citation.files:
        yield "L1", file
    if citation.note:
        yield "N1", citation.note
    yield "ID", citation_key(citation.key)
