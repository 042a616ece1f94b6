"""The claims of an observation: each with its source and its reader, and only public data."""

import pyoxigraph as ox
import pyshacl
import pytest
from hypothesis import given, settings
from msgspec import json
from pyld import jsonld
from rdflib import Graph
from rdflib.compare import isomorphic
from tests.rdf.sample_persons import (
    AT,
    CONTEXT_URL,
    DOCUMENTS,
    NAMESPACES,
    POID,
    SAMPLE_OBSERVATION,
    inline_context,
    observations,
    person,
)

from perdure.errors import InvalidInput
from perdure.rdf import CONTEXT, FORMATS, SHAPES, vocabulary_terms, write_claims
from perdure.records.person import Claim, InSource, Observation, Redaction, Restriction
from perdure.records.record import Tombstone
from perdure.registry.persons import PersonView

pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # rdflib, of itself

RDFLIB = {"json-ld": "json-ld", "turtle": "turtle", "rdf-xml": "xml", "n-triples": "nt"}
OBSERVATION = f"https://ppid.org/{POID}"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
SETS = {
    "several claims": person(SAMPLE_OBSERVATION),
    "no claims": person(Observation("https://example.org/a", AT, "0" * 64)),
    "withdrawn": person(SAMPLE_OBSERVATION, state="withdrawn", tombstone=Tombstone("registered twice")),
    "restricted": person(None, name=POID, version=2, restriction=Restriction("a living person", AT)),
    "redacted": person(None, name=POID, version=2, redaction=Redaction("a court's order", AT, "")),
}


def write_claim_set(one: PersonView, format: str = "turtle") -> bytes:
    return write_claims(one, format, NAMESPACES, CONTEXT_URL)


def document(one: PersonView) -> dict[str, object]:
    found: dict[str, object] = json.decode(write_claim_set(one, "json-ld"))
    return found


def read_by_rdflib(one: PersonView, format: str) -> Graph:
    body = write_claim_set(one, format)
    return Graph().parse(data=inline_context(body) if format == "json-ld" else body, format=RDFLIB[format])


def read_by_pyld(one: PersonView) -> set[ox.Quad]:
    quads = jsonld.to_rdf(
        json.decode(inline_context(write_claim_set(one, "json-ld"))), {"format": "application/n-quads"}
    )
    return set(ox.parse(quads, format=ox.RdfFormat.N_QUADS))


def conforms(turtle: bytes) -> bool:
    shapes = Graph().parse(data=SHAPES, format="turtle")
    return bool(pyshacl.validate(Graph().parse(data=turtle, format="turtle"), shacl_graph=shapes)[0])


def parts(one: PersonView) -> list[dict[str, object]]:
    found = document(one).get("hasPart", [])
    assert isinstance(found, list)
    return found


def test_every_claim_has_its_content_position_and_agent() -> None:
    given_claim = Claim(type="age", value="42", agent=CURATOR, confidence=0.5, where=InSource(page="12"))
    (claim,) = parts(person(Observation("https://example.org/a", AT, "0" * 64, claims=(given_claim,))))
    assert claim == {
        "id": f"{OBSERVATION}#claim-1",
        "type": ["Claim"],
        "claimNumber": 1,
        "claimOf": OBSERVATION,
        "claimType": "hasAge",
        "claimValue": "42",
        "claimStatus": "verified",
        "confidence": "0.5",
        "retrievalAgent": CURATOR,
        "page": "12",
        "hadPrimarySource": f"{OBSERVATION}#source",
        "wasGeneratedBy": f"{OBSERVATION}/v1#activity",
        "wasAttributedTo": CURATOR,
    }


def test_a_claim_set_is_about_the_observation_and_does_not_combine_the_claims() -> None:
    written = document(SETS["several claims"])
    assert written["id"] == f"{OBSERVATION}/claims"
    about = written["about"]
    assert isinstance(about, dict)
    assert (about["id"], about["poid"], about["retrievedAt"]) == (OBSERVATION, POID, AT)
    assert about["hadPrimarySource"]["url"] == "https://example.org/staff?name=%22jan%22"
    assert not {"name", "hasName", "birthDate", "claim", "hasVersion", "version", "uuidRaw"} & set(about)


@pytest.mark.parametrize("name", ["restricted", "redacted"])
def test_a_claim_set_withholds_hidden_content(name: str) -> None:
    written = document(SETS[name])
    assert "hasPart" not in written
    about = written["about"]
    assert isinstance(about, dict)
    assert about["type"] == ["PersonObservation"]
    assert about.get("restrictionReason") or about.get("redactionReason")
    assert not {"hadPrimarySource", "contentHash", "wasGeneratedBy", "retrievedAt"} & set(about)


def test_one_reader_with_two_spellings_is_one_node() -> None:
    claims = [Claim(type="age", value="1", agent=agent) for agent in (CURATOR, "0000-0002-1825-0097", "a program")]
    one = person(Observation("https://example.org/a", AT, "0" * 64, claims=tuple(claims)))
    assert [part["wasAttributedTo"] for part in parts(one)] == [CURATOR, CURATOR, f"{OBSERVATION}/v1#agent-3"]
    lines = write_claim_set(one, "n-triples").decode()
    assert lines.count(f"<{CURATOR}> <https://schema.org/name>") == 1


def test_a_reconstruction_makes_no_claims() -> None:
    with pytest.raises(InvalidInput, match="not an observation"):
        write_claim_set(DOCUMENTS["reconstruction"])


@pytest.mark.parametrize("name", SETS)
def test_every_format_has_the_same_graph(name: str) -> None:
    graphs = [read_by_rdflib(SETS[name], form) for form in FORMATS]
    assert len(graphs[0]) >= 8
    assert all(isomorphic(graphs[0], other) for other in graphs[1:])
    assert read_by_pyld(SETS[name]) == set(ox.parse(write_claim_set(SETS[name]), format=ox.RdfFormat.TURTLE))


@settings(max_examples=15)
@given(seen=observations)
def test_every_format_of_any_observation_has_the_same_graph(seen: Observation) -> None:
    one = person(seen)
    turtle = set(ox.parse(write_claim_set(one), format=ox.RdfFormat.TURTLE))
    assert set(ox.parse(write_claim_set(one, "n-triples"), format=ox.RdfFormat.N_TRIPLES)) == turtle
    assert set(ox.parse(write_claim_set(one, "rdf-xml"), format=ox.RdfFormat.RDF_XML)) == turtle
    assert read_by_pyld(one) == turtle


@pytest.mark.parametrize("name", SETS)
def test_claim_sets_conform_to_the_shapes_and_use_only_the_vocabulary(name: str) -> None:
    assert conforms(write_claim_set(SETS[name]))
    known = {term.iri for term in vocabulary_terms(NAMESPACES)}
    quads = ox.parse(write_claim_set(SETS[name]), format=ox.RdfFormat.TURTLE)
    used = {one.value for quad in quads for one in (quad.predicate, quad.object) if isinstance(one, ox.NamedNode)}
    assert {iri for iri in used if iri.startswith((NAMESPACES.ppidv, NAMESPACES.ppidt))} <= known
    assert b'"ClaimSet"' in CONTEXT


WRONG = {
    "about nothing": ("sdo:about", "sdo:mentions"),
    "about two": ("sdo:about", f"sdo:about <{OBSERVATION}#x>,"),
    "a part that is no claim": ("dcterms:hasPart", f"dcterms:hasPart <{OBSERVATION}>,"),
    "a claim of another observation": (f"ppidv:claimOf <{OBSERVATION}>", f"ppidv:claimOf <{OBSERVATION}#x>"),
    "a claim from a source that is none": ("#source> a sdo:ArchiveComponent", "#source> a sdo:Thing"),
    "a claim without a reader": ("prov:wasAttributedTo <", "prov:wasAttributedTo <urn:x:"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_document_fails(wrong: str) -> None:
    right, instead = WRONG[wrong]
    turtle = write_claim_set(SETS["several claims"])
    assert right.encode() in turtle
    assert not conforms(turtle.replace(right.encode(), instead.encode(), 1))
