"""Equal data in every format, as parsers of other projects read it."""

import logging
from collections.abc import Iterator

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json
from pyld import jsonld
from rdflib import Graph
from rdflib.compare import isomorphic
from tests.rdf.sample_persons import AT, CONTEXT_URL, DOCUMENTS, inline_context, person, persons, write_document

from perdure.rdf import CONTEXT, FORMATS
from perdure.rdf.jsonld_context import quote_literal
from perdure.records.person import Claim, Observation
from perdure.registry.persons import PersonView

# rdflib's own reader of JSON-LD uses what rdflib has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")

RDFLIB = {"json-ld": "json-ld", "turtle": "turtle", "rdf-xml": "xml", "n-triples": "nt"}


@pytest.fixture(autouse=True)
def _no_remarks_on_dates() -> Iterator[None]:
    """Silence rdflib, which logs a warning for every year outside the range of Python."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def read_by_rdflib(one: PersonView, format: str) -> Graph:
    document = write_document(one, format)
    return Graph().parse(data=inline_context(document) if format == "json-ld" else document, format=RDFLIB[format])


def read_by_pyld(one: PersonView) -> set[ox.Quad]:
    def our_context(url: str, _options: object) -> dict[str, object]:
        assert url == CONTEXT_URL
        return {
            "contentType": "application/ld+json",
            "contextUrl": None,
            "documentUrl": url,
            "document": json.decode(CONTEXT),
        }

    document = json.decode(write_document(one, "json-ld"))
    quads = jsonld.to_rdf(document, {"documentLoader": our_context, "format": "application/n-quads"})
    return set(ox.parse(quads, format=ox.RdfFormat.N_QUADS))


def read_by_pyoxigraph(one: PersonView, format: ox.RdfFormat, name: str) -> set[ox.Quad]:
    return set(ox.parse(write_document(one, name), format=format))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_rdflib_reads_the_same_graph_from_every_format(document: str) -> None:
    graphs = [read_by_rdflib(DOCUMENTS[document], name) for name in FORMATS]
    assert len(graphs[0]) >= 8
    for other in graphs[1:]:
        assert isomorphic(graphs[0], other)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_pyld_expands_the_json_ld_to_the_graph_of_the_turtle(document: str) -> None:
    one = DOCUMENTS[document]
    assert read_by_pyld(one) == read_by_pyoxigraph(one, ox.RdfFormat.TURTLE, "turtle")


@settings(max_examples=25)
@given(one=persons)
def test_every_format_of_any_person_has_the_same_graph(one: PersonView) -> None:
    turtle = read_by_pyoxigraph(one, ox.RdfFormat.TURTLE, "turtle")
    assert read_by_pyoxigraph(one, ox.RdfFormat.N_TRIPLES, "n-triples") == turtle
    assert read_by_pyoxigraph(one, ox.RdfFormat.RDF_XML, "rdf-xml") == turtle
    assert read_by_pyld(one) == turtle


@settings(max_examples=10)
@given(one=persons)
def test_rdflib_reads_the_same_graphs_of_any_person(one: PersonView) -> None:
    graphs = [set(read_by_rdflib(one, name)) for name in FORMATS]
    assert all(other == graphs[0] for other in graphs[1:])


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_document_is_the_same_bytes(format: str) -> None:
    one = DOCUMENTS["reconstruction"]
    assert len({write_document(one, format) for _ in range(5)}) == 1


@pytest.mark.parametrize("document", DOCUMENTS)
def test_there_are_no_blank_nodes(document: str) -> None:
    assert b"_:" not in write_document(DOCUMENTS[document])


def test_characters_that_xml_forbids_are_replaced_in_every_format() -> None:
    one = person(
        Observation(
            "https://example.org/a", AT, "0" * 64, "a\ufffe\uffff", claims=(Claim(type="name", value="\ufffe"),)
        )
    )
    turtle = read_by_pyoxigraph(one, ox.RdfFormat.TURTLE, "turtle")
    assert ox.Literal("a\ufffd\ufffd", language="und") in {quad.object for quad in turtle}
    assert set(read_by_rdflib(one, "rdf-xml")) == set(read_by_rdflib(one, "turtle"))
    assert read_by_pyld(one) == turtle


@given(st.text())
def test_literals_are_written_as_pyoxigraph_writes_them(text: str) -> None:
    assert quote_literal(text) == str(ox.Literal(text.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")))
