"""The vocabulary: every term of our documents has a published meaning."""

import pyoxigraph as ox
import pytest
from msgspec import json
from tests.rdf.sample_persons import DOCUMENTS, NAMESPACES, write_document

from perdure.rdf import CONTEXT, Namespaces, context, vocabulary_terms, write_vocabulary
from perdure.rdf.claims import PROPERTY_OF_CLAIM
from perdure.records.person import CLAIM_TYPES

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "rdf-xml": ox.RdfFormat.RDF_XML,
    "n-triples": ox.RdfFormat.N_TRIPLES,
    "json-ld": ox.RdfFormat.JSON_LD,
}


def read_vocabulary(format: str = "turtle", namespaces: Namespaces = NAMESPACES) -> set[ox.Quad]:
    return set(ox.parse(write_vocabulary(format, namespaces), format=FORMATS[format]))


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_of_the_vocabulary_has_the_same_graph(format: str) -> None:
    assert read_vocabulary(format) == read_vocabulary()


def test_our_classes_are_subclasses_of_pico_classes() -> None:
    for name in ("PersonObservation", "PersonReconstruction"):
        ours, theirs = (ox.NamedNode(base + name) for base in (NAMESPACES.ppidt, NAMESPACES.picom))
        assert ox.Quad(ours, ox.NamedNode(RDFS + "subClassOf"), theirs) in read_vocabulary()


def test_every_term_has_a_label_and_a_comment_and_every_property_a_domain_and_a_range() -> None:
    described = {(quad.subject.value, quad.predicate.value.removeprefix(RDFS)) for quad in read_vocabulary()}
    for term in vocabulary_terms(NAMESPACES):
        required = ("label", "comment") if term.sort == "class" else ("label", "comment", "domain", "range")
        assert all((term.iri, predicate) in described for predicate in required), term.name


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_own_term_that_a_document_uses_is_published(document: str) -> None:
    known = {term.iri for term in vocabulary_terms(NAMESPACES)}
    quads = list(ox.parse(write_document(DOCUMENTS[document]), format=ox.RdfFormat.N_TRIPLES))
    used = {one.value for quad in quads for one in (quad.predicate, quad.object) if isinstance(one, ox.NamedNode)}
    ours = {iri for iri in used if iri.startswith((NAMESPACES.ppidv, NAMESPACES.ppidt))}
    assert ours
    assert ours <= known


def test_every_type_of_claim_has_a_property() -> None:
    words = json.decode(CONTEXT)["@context"]
    assert set(PROPERTY_OF_CLAIM) == set(CLAIM_TYPES)
    assert all(words[term]["@id"] for term in PROPERTY_OF_CLAIM.values())


def test_the_context_has_no_prefix_that_could_expand_a_url() -> None:
    for name, meaning in json.decode(CONTEXT)["@context"].items():
        assert not (isinstance(meaning, str) and meaning.endswith(("#", "/", ":"))), name


def test_other_namespaces_are_used_throughout() -> None:
    elsewhere = Namespaces("https://id.example.org/", "https://id.example.org/v#", "https://id.example.org/t#")
    for name in FORMATS:
        assert b"ppid.org" not in write_vocabulary(name, elsewhere)
    assert b"ppid.org" not in context(elsewhere)
