"""Nodes of agents: under an IRI if there is one, and with one name in all documents."""

import pyoxigraph as ox
import pyshacl
import pytest
from msgspec import json
from rdflib import Graph
from tests.rdf.sample_persons import (
    AT,
    CONTEXT_URL,
    NAMESPACES,
    OTHER_POID,
    OTHER_PRID,
    POID,
    PRID,
    person,
    write_document,
)

from perdure.rdf import SHAPES, dump, write_claims
from perdure.rdf.serializer import Tree
from perdure.records.person import ChosenClaim, Claim, Observation, Reconstruction
from perdure.registry.persons import PersonView

BASE = "https://ppid.org/"
ORCID = "https://orcid.org/0000-0002-1825-0097"
# As PiCo has it, in our own words: of one agent there is one name in a language.
ONE_NAME = """
@prefix prov: <http://www.w3.org/ns/prov#> . @prefix sdo: <https://schema.org/> .
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
<urn:one-name> a sh:NodeShape ; sh:targetClass prov:Agent ;
    sh:property [ sh:path sdo:name ; sh:minCount 1 ; sh:datatype rdf:langString ; sh:uniqueLang true ] .
"""


def person_read_by(*agents: str, name: str = POID) -> PersonView:
    claims = tuple(Claim(type="age", value="42", agent=agent) for agent in agents)
    return person(Observation("https://example.org/a", AT, "0" * 64, claims=claims), name=name)


def reader_nodes(*agents: str) -> list[Tree]:
    found: list[Tree] = json.decode(write_document(person_read_by(*agents), "json-ld"))["wasGeneratedBy"][
        "wasAssociatedWith"
    ]
    return found


def person_concluded_by(
    curator: str, name: str | None = None, algorithm: str | None = None, *, prid: str = PRID
) -> PersonView:
    claims = tuple(ChosenClaim(POID, n, Claim(type="name", value=name)) for n, name in enumerate(("Ann", "Anna"), 1))
    return person(Reconstruction((POID,), curator, AT, name, algorithm, claims=claims), name=prid)


def curator_node_of(one: PersonView) -> Tree:
    found: Tree = json.decode(write_document(one, "json-ld"))["wasGeneratedBy"]["wasAssociatedWith"]
    return found


@pytest.mark.parametrize("name", ["tesseract/5.3.0", "J. Smith / A. Jones", "javascript:alert(1)", "reader 1.0"])
def test_a_reader_without_an_identifier_is_a_node_of_the_document_with_its_name(name: str) -> None:
    (agent,) = reader_nodes(name)
    assert agent == {"id": f"{BASE}{POID}/v1#agent-1", "type": ["Agent"], "name": name}
    for line in write_document(person_read_by(name)).decode().splitlines():
        assert "hdl.handle.net/tesseract" not in line
        assert "<javascript:" not in line


@pytest.mark.parametrize(
    ("name", "iri"),
    [
        ("0000-0002-1825-0097", ORCID),
        ("https://example.org/reader", "https://example.org/reader"),
        ("hdl:20.500.1/reader", "https://hdl.handle.net/20.500.1/reader"),
        ("20.500.1/reader", "https://hdl.handle.net/20.500.1/reader"),
    ],
)
def test_a_reader_with_an_identifier_has_its_iri(name: str, iri: str) -> None:
    assert reader_nodes(name) == [{"id": iri, "type": ["Agent"], "name": iri}]


def test_one_agent_with_two_spellings_is_one_node() -> None:
    assert [agent["id"] for agent in reader_nodes(ORCID, "0000-0002-1825-0097")] == [ORCID]


def test_without_claims_the_agent_registered_the_source() -> None:
    (agent,) = reader_nodes()
    assert agent == {"id": "https://hdl.handle.net/20.500.1/me", "type": ["Agent"], "name": agent["id"]}


def test_a_curator_has_their_iri_and_their_name_as_alternate_name() -> None:
    assert curator_node_of(person_concluded_by("0000-0002-1825-0097", "Ann Curator")) == {
        "id": ORCID,
        "type": ["Person", "Agent"],
        "name": ORCID,
        "alternateName": "Ann Curator",
        "identifier": "0000-0002-1825-0097",
    }
    assert "alternateName" not in curator_node_of(person_concluded_by(ORCID))


@pytest.mark.parametrize("curator", ["matcher/v2", "name matcher", "javascript:alert(1)"])
def test_an_algorithm_is_software_for_every_form_of_its_name(curator: str) -> None:
    assert curator_node_of(person_concluded_by(curator, algorithm="2.1")) == {
        "id": f"{BASE}{PRID}/v1#agent",
        "type": ["SoftwareAgent", "Agent"],
        "name": curator,
        "softwareVersion": "2.1",
        "identifier": curator,
    }


def test_each_version_of_an_algorithm_is_a_separate_agent() -> None:
    """Otherwise a merge of documents would not show which of them concluded what."""
    address = "https://example.org/matcher"
    agent = curator_node_of(person_concluded_by(address, "The matcher", "2.1"))
    assert (agent["id"], agent["name"]) == (f"{BASE}{PRID}/v1#agent", "The matcher")
    assert (agent["alternateOf"], agent["softwareVersion"]) == (address, "2.1")


def test_a_curator_whose_handle_could_be_two_names_is_a_node_of_the_document() -> None:
    agent = curator_node_of(person_concluded_by("Smith/Jones"))
    assert (agent["id"], agent["name"], agent["identifier"]) == (f"{BASE}{PRID}/v1#agent", "Smith/Jones", "Smith/Jones")


@pytest.mark.parametrize("curator", [PRID, OTHER_PRID, OTHER_PRID.lower(), BASE + OTHER_PRID])
def test_a_curator_registered_as_a_person_is_a_node_linked_to_that_person(curator: str) -> None:
    one = person_concluded_by(curator, "Ann Curator")
    agent = curator_node_of(one)
    whose = BASE + (PRID if curator == PRID else OTHER_PRID)
    assert (agent["id"], agent["alternateOf"]) == (f"{BASE}{PRID}/v1#agent", whose)
    assert agent["name"] == "Ann Curator"
    triples = list(ox.parse(write_document(one), format=ox.RdfFormat.N_TRIPLES))
    agents = {one.subject.value for one in triples if one.object == ox.NamedNode("http://www.w3.org/ns/prov#Agent")}
    assert agents == {f"{BASE}{PRID}/v1#agent"}


def test_the_claims_of_an_observation_name_the_same_agents() -> None:
    document = json.decode(
        write_claims(person_read_by("tesseract/5.3.0", ORCID, PRID), "json-ld", NAMESPACES, CONTEXT_URL)
    )
    named = [claim["wasAttributedTo"] for claim in document["hasPart"]]
    assert named == [f"{BASE}{POID}/v1#agent-1", ORCID, f"{BASE}{POID}/v1#agent-3"]
    assert named == [agent["id"] for agent in document["about"]["wasGeneratedBy"]["wasAssociatedWith"]]


def test_an_agent_has_one_name_in_a_merge_of_documents() -> None:
    together = [
        person_read_by(ORCID, "0000-0002-1825-0097", PRID, name=OTHER_POID),
        person_concluded_by(ORCID, "Josiah Carberry"),
        person_concluded_by("0000-0002-1825-0097", "J. S. Carberry", prid=OTHER_PRID),
        person_concluded_by(PRID, "Ann", prid="PRID-638a-f749-2a88-53d4"),
    ]
    document = b"".join(dump(together, "turtle", NAMESPACES, CONTEXT_URL))
    graph = Graph().parse(data=document, format="turtle")
    for shapes in (ONE_NAME, SHAPES):
        conforms, _, report = pyshacl.validate(graph, shacl_graph=Graph().parse(data=shapes, format="turtle"))
        assert conforms, report
    for name in (b"Josiah Carberry", b"J. S. Carberry"):
        assert b'sdo:alternateName "' + name + b'"@und' in document
