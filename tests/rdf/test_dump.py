"""Dumps contain the same data as the single documents."""

from collections.abc import Iterator

import pyoxigraph as ox
import pytest
from msgspec import json
from tests.rdf.sample_persons import CONTEXT_URL, DOCUMENTS, NAMESPACES, inline_context, write_document

from perdure.errors import InvalidInput
from perdure.rdf import dump, write_persons
from perdure.registry.persons import PersonView

SOME = [DOCUMENTS["observation"], DOCUMENTS["reconstruction"], DOCUMENTS["redacted"]]
ALL = {quad for one in SOME for quad in ox.parse(write_document(one), format=ox.RdfFormat.N_TRIPLES)}


def write_dump(format: str, persons: list[PersonView]) -> bytes:
    return b"".join(dump(persons, format, NAMESPACES, CONTEXT_URL))


@pytest.mark.parametrize(
    ("format", "read_as"),
    [("nt", ox.RdfFormat.N_TRIPLES), ("turtle", ox.RdfFormat.TURTLE), ("jsonld", ox.RdfFormat.JSON_LD)],
)
def test_a_dump_is_one_document_with_all_persons(format: str, read_as: ox.RdfFormat) -> None:
    assert set(ox.parse(inline_context(write_dump(format, SOME)), format=read_as)) == ALL
    assert set(ox.parse(inline_context(write_dump(format, [])), format=read_as)) == set()


def test_a_dump_in_turtle_declares_its_prefixes_once() -> None:
    assert write_dump("turtle", SOME).count(b"@prefix prov:") == 1


def test_a_dump_in_json_ld_has_a_person_on_each_line() -> None:
    first, *lines, last = write_dump("json-ld", SOME).splitlines()
    assert (first, last) == (f'{{"@context":"{CONTEXT_URL}","@graph":['.encode(), b"]}")
    assert [json.decode(line.rstrip(b","))["identifier"] for line in lines] == [one.view.name for one in SOME]


def test_a_dump_of_records_has_one_per_line() -> None:
    lines = [json.decode(line) for line in write_dump("ndjson", SOME).splitlines()]
    assert [line["name"] for line in lines] == [one.view.name for one in SOME]
    assert lines[0]["observation"]["claims"][1] == {"type": "name", "value": "Jan de Oude"}


def test_a_dump_reads_one_person_at_a_time() -> None:
    taken = []

    def persons() -> Iterator[PersonView]:
        for one in SOME:
            taken.append(one)
            yield one

    pieces = dump(persons(), "n-triples", NAMESPACES, CONTEXT_URL)
    assert taken == []
    next(pieces)
    assert len(taken) == 1


def test_a_format_that_cannot_be_streamed_is_refused() -> None:
    with pytest.raises(InvalidInput, match="RDF/XML is not supported"):
        dump(SOME, "rdf", NAMESPACES, CONTEXT_URL)


def test_some_persons_can_be_one_document_in_rdf_xml() -> None:
    document = write_persons(SOME, "rdf-xml", NAMESPACES, CONTEXT_URL)
    assert set(ox.parse(document, format=ox.RdfFormat.RDF_XML)) == ALL
