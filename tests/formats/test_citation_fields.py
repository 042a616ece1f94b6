"""Citations in BibTeX, RIS and CSL-JSON, and what their readers find in them."""

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.formats import bibtex
from perdure.formats.bibtex_writer import to_latex, write_bibtex
from perdure.formats.citation_fields import Author, Citation, citation_key, clean_text, read_authors, read_date
from perdure.formats.csl_json import write_csl_json
from perdure.formats.import_entries import ImportPut
from perdure.formats.latex_text import to_plain_text
from perdure.formats.ris import read_ris, write_ris
from perdure.formats.urlib_record import UrlibRecord, to_entries
from perdure.records.record import About

NAME, LABEL = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "8JMKD3MGP8W/34PGRBS"
THESIS = Citation(
    name=NAME,
    url=f"https://id.example.org/{NAME}",
    title="50 % of {A_B} -- C:\\x & ~",
    key=NAME,
    authors=(Author("Banon", "Gerald Jean Francis"), Author("Fish and Wildlife Service")),
    published="2009-02-16",
    publisher="INPE",
    target="https://example.org/a%20b?c=d&e=f#g",
    files=("https://id.example.org/items/a/publica%C3%A7%C3%A3o.pdf", "https://id.example.org/items/a/b.csv"),
    doi="10.1000/182",
    handle="10.1000/182",
    repository_name=NAME,
    opaque_name=LABEL,
    note="Withdrawn: a mistake",
)
# Text of every kind, with the marks that have a meaning in one of the formats.
TEXTS = (
    st.text(st.one_of(st.characters(), st.sampled_from(" \\{}~^&%$#_-\"'@,;=`\r\n\t\u00a0\u2028")), max_size=30)
    .map(lambda text: unicodedata.normalize("NFC", clean_text(text)))
    .filter(lambda text: text == clean_text(text) and bool(text))
)
WORDS = st.lists(st.one_of(TEXTS, st.sampled_from(["and", "others", "AND", "von"])), min_size=1, max_size=3).map(
    lambda words: unicodedata.normalize("NFC", clean_text(" ".join(words)))
)
CITATIONS = st.builds(
    Citation,
    name=TEXTS,
    url=st.just("https://id.example.org/1/a"),
    title=WORDS,
    key=TEXTS,
    authors=st.lists(WORDS, max_size=4).map(lambda names: read_authors("; ".join(names))),
    published=st.one_of(st.none(), TEXTS, st.dates().map(str)),
    publisher=st.one_of(st.none(), WORDS),
    note=st.one_of(st.none(), WORDS),
)


def read_back(content: bytes) -> UrlibRecord:
    record, *others = bibtex.read_records(enumerate(content.decode().splitlines(keepends=True), 1))
    assert not others
    assert isinstance(record, UrlibRecord), record
    return record


def as_text(author: Author) -> str:
    return f"{author.family}, {author.given}" if author.given else author.family


def test_an_entry_in_bibtex_becomes_the_same_identifier_again() -> None:
    (put,) = to_entries(read_back(write_bibtex(THESIS)))
    assert isinstance(put, ImportPut)
    assert put.names == (NAME, LABEL)
    assert put.about == About(
        "Banon, Gerald Jean Francis; Fish and Wildlife Service", THESIS.title, "2009-02-16", "INPE"
    )
    assert next(value.text for value in put.values if value.type == "URL") == THESIS.target


@given(CITATIONS)
def test_the_reader_of_bibtex_finds_what_the_writer_wrote(citation: Citation) -> None:
    content = write_bibtex(citation)
    fields = read_back(content).fields
    assert fields["title"] == [citation.title]
    assert fields.get("author", []) == [as_text(author) for author in citation.authors]
    assert fields.get("publisher", [None]) == [citation.publisher]
    if citation.date is not None:
        assert fields["date"] == [citation.published]
    else:
        assert fields.get("year", [None]) == [citation.published]
    assert fields["citationkey"] == [citation_key(citation.key)]
    depth = 0
    for mark in re.findall(r"[{}]", content.decode()):  # BibTeX counts every brace, also one after a backslash
        depth += 1 if mark == "{" else -1
        assert depth >= 0
    assert depth == 0


@given(TEXTS)
def test_latex_is_read_as_the_text_that_was_written(text: str) -> None:
    assert to_plain_text(to_latex(text)) == text


@given(CITATIONS)
def test_the_reader_of_ris_finds_what_the_writer_wrote(citation: Citation) -> None:
    lines = read_ris(write_ris(citation))
    assert lines[0] == ("TY", "GEN")
    assert lines[-1] == ("ER", "")
    assert [text for tag, text in lines if tag == "TI"] == [citation.title]
    assert [text for tag, text in lines if tag == "AU"] == [as_text(author) for author in citation.authors]
    assert [text for tag, text in lines if tag == "N1"] == ([citation.note] if citation.note else [])


def test_a_reference_in_ris_has_the_tags_that_reference_managers_read() -> None:
    lines = read_ris(write_ris(THESIS))
    assert ("PY", "2009") in lines
    assert ("DA", "2009/02/16/") in lines
    assert ("DO", "10.1000/182") in lines
    assert ("LK", THESIS.target) in lines
    assert [text for tag, text in lines if tag == "L1"] == list(THESIS.files)


def test_a_text_cannot_begin_a_line_of_its_own() -> None:
    forged = Citation(name="1/a", url="https://id.example.org/1/a", key="1/a", title="one\r\nER  - \r\nTY  - BOOK")
    assert [tag for tag, _ in read_ris(write_ris(forged))] == ["TY", "TI", "UR", "AN", "ID", "ER"]
    with pytest.raises(InvalidInput, match="line 2"):
        read_ris(b"TY  - GEN\r\nand more\r\n")


@given(CITATIONS)
def test_csl_json_has_the_same_texts(citation: Citation) -> None:
    item = json.loads(write_csl_json(citation))
    assert (item["title"], item["id"], item["type"]) == (citation.title, citation.name, "document")
    assert [tuple(name.values()) for name in item.get("author", [])] == [
        tuple(part for part in author if part) for author in citation.authors
    ]
    if citation.date is not None:
        assert item["issued"] == {"date-parts": [list(citation.date)]}
    elif citation.published:
        assert item["issued"] == {"literal": citation.published}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("2009", (2009,)),
        ("2009-02", (2009, 2)),
        ("2009-02-16T17:46:00.5-03:00", (2009, 2, 16)),
        ("2009-13", None),
        ("2009-02-31", None),
        ("0000", None),
        ("c. 1895", None),
    ],
)
def test_only_dates_that_exist_are_dates(text: str, parts: tuple[int, ...] | None) -> None:
    assert read_date(text) == parts


def test_a_name_with_two_commas_is_one_text() -> None:
    assert read_authors("Banon, G., Jr.; ; Silva, ") == (Author("Banon, G., Jr."), Author("Silva,"))
