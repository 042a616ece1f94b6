"""Citations as CSL-JSON, the input of citation processors: one item, as DOI registration agencies return it.

>>> citation = Citation(name="1/a", url="https://id.example.org/1/a", title="On maps", key="1/a", published="2009-02")
>>> write_csl_json(citation)
b'{"id":"1/a","type":"document","title":"On maps","URL":"https://id.example.org/1/a","issued":{"date-parts":[[2009,2]]}}'
"""

from typing import Final

import msgspec

from perdure.formats.citation_fields import Citation, clean_text, read_date

MEDIA_TYPE: Final = "application/vnd.citationstyles.csl+json"


class CslName(msgspec.Struct, frozen=True, omit_defaults=True):
    """A name: of a person in two parts, or any other one as a whole."""

    family: str | None = None
    given: str | None = None
    literal: str | None = None


class CslDate(msgspec.Struct, frozen=True, omit_defaults=True, rename={"date_parts": "date-parts"}):
    """A date in parts, or as it was written."""

    date_parts: tuple[tuple[int, ...], ...] | None = None
    literal: str | None = None


class CslItem(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An item of CSL-JSON, with the variables that a citation has."""

    id: str
    item_type: str = msgspec.field(name="type")
    title: str
    URL: str
    author: tuple[CslName, ...] = ()
    issued: CslDate | None = None
    publisher: str | None = None
    DOI: str | None = None
    note: str | None = None


_encode: Final = msgspec.json.Encoder().encode


def write_csl_json(citation: Citation) -> bytes:
    """Write a citation as one item of the type `document`."""
    return _encode(
        CslItem(
            id=citation.name,
            item_type="document",
            title=clean_text(citation.title),
            URL=citation.url,
            author=tuple(
                CslName(author.family, author.given) if author.given else CslName(literal=author.family)
                for author in citation.authors
            ),
            issued=_write_date(citation.published),
            publisher=citation.publisher and clean_text(citation.publisher),
            DOI=citation.doi,
            note=citation.note and clean_text(citation.note),
        )
    )


def _write_date(published: str | None) -> CslDate | None:
    if not published:
        return None
    parts = read_date(published)
    return CslDate(literal=clean_text(published)) if parts is None else CslDate(date_parts=(parts,))
