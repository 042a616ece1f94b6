"""Our own shapes: what we write conforms, and what is wrong does not."""

import pyshacl
import pytest
from rdflib import Graph
from tests.linked.people import AT, CONTEXT_URL, DOCUMENTS, POID, PRID, person, written

from perdure.linked import SHAPES, Namespaces, shapes, write_person
from perdure.records.person import Employment, Reconstruction


@pytest.fixture(scope="module")
def ours() -> Graph:
    return Graph().parse(data=SHAPES, format="turtle")


def conforms(turtle: bytes, ours: Graph) -> bool:
    conforming, _, _ = pyshacl.validate(Graph().parse(data=turtle, format="turtle"), shacl_graph=ours)
    return bool(conforming)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_we_write_conforms(document: str, ours: Graph) -> None:
    assert conforms(written(DOCUMENTS[document], "turtle"), ours)


def test_two_employers_conform(ours: Graph) -> None:
    two = Employment(institution="NL-NH-AMS-M-RM", start="2015"), Employment(institution="NL-ZH-LEI-A-ELO", end="2014")
    assert conforms(written(person(Reconstruction((POID,), "hdl:20.500.1/ann", AT, employment=two)), "turtle"), ours)


WRONG = {
    "a POID that is none": ("observation", f'ppidv:poid "{POID}"', 'ppidv:poid "POID-1"'),
    "no source": ("observation", "prov:hadPrimarySource", "prov:hadSomeSource"),
    "a source without a name": ("observation", 'sdo:name "Staff list"@und', 'sdo:alternateName "Staff list"'),
    "only the type of PiCo's that is missing": ("observation", ", picom:PersonObservation", ""),
    "a hash that is none": ("observation", '"' + "0" * 64 + '"', '"' + "0" * 63 + '"'),
    "too much confidence": ("observation", '"0.95"', '"1.95"'),
    "confidence that is no number": ("observation", '"0.95"^^xsd:decimal', '"0.95"'),
    "an inference without reasoning": ("observation", "ppidv:reasoning", "ppidv:remark"),
    "a gender that is none": ("observation", "sdo:gender sdo:Male", 'sdo:gender "man"'),
    "a name without a language": ("observation", 'pnv:literalName "Jan de Oude"@und', 'pnv:literalName "Jan de Oude"'),
    "a PRID that is none": ("reconstruction", f'ppidv:prid "{PRID}"', 'ppidv:prid "X"'),
    "derived from nothing": ("reconstruction", "prov:wasDerivedFrom", "prov:wasInfluencedBy"),
    "an observation that it does not have": ("reconstruction", "ppidv:hasObservation", "ppidv:hasObservation <urn:x>,"),
    "made by nobody": ("reconstruction", "prov:wasAssociatedWith", "prov:wasInfluencedBy"),
    "an agent without a name": ("reconstruction", 'sdo:name "https://orcid.org', 'sdo:alternateName "https://orcid.org'),
    "an agent with two names": ("reconstruction", "sdo:alternateName", "sdo:name"),
    "an activity without a beginning": ("reconstruction", "prov:startedAtTime", "prov:endedAtTime"),
    "a time that is no time": ("reconstruction", f'prov:generatedAtTime "{AT}"^^xsd:dateTime', f'prov:generatedAtTime "{AT}"'),
    "an ORCID that is none": ("reconstruction", 'ppidv:orcid "0000-0002', 'ppidv:orcid "000-0002'),
    "an employer without an employment": ("reconstruction", "ppidv:employedAt", "ppidv:employedAt <urn:x>,"),
    "a version that is the same as the person": ("version", "prov:specializationOf", f"owl:sameAs <https://ppid.org/{PRID}> ;\n prov:specializationOf"),
    "a version that is the same as somebody elsewhere": ("version", "sdo:sameAs", "owl:sameAs"),
    "a person that is the same as a version": ("reconstruction", "owl:sameAs", f"owl:sameAs <https://ppid.org/{PRID}/v1>,"),
    "merged into nothing": ("merged", "dcterms:isReplacedBy", "dcterms:references"),
    "nothing said, and no reason": ("restricted", "ppidv:restrictionReason", "ppidv:remark"),
    "a restriction that tells the source": ("restricted", "ppidv:restrictionReason", "prov:wasDerivedFrom <urn:x> ; ppidv:restrictionReason"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_document_fails(wrong: str, ours: Graph) -> None:
    document, right, instead = WRONG[wrong]
    turtle = written(DOCUMENTS[document], "turtle")
    assert right.encode() in turtle
    assert not conforms(turtle.replace(right.encode(), instead.encode()), ours)


def test_shapes_for_other_namespaces_look_at_documents_in_those() -> None:
    elsewhere = Namespaces("https://id.example.org/", "https://id.example.org/v#", "https://id.example.org/t#")
    there = Graph().parse(data=shapes(elsewhere), format="turtle")
    turtle = write_person(DOCUMENTS["observation"], "turtle", elsewhere, CONTEXT_URL)
    assert b"ppid.org" not in turtle
    assert conforms(turtle, there)
    assert not conforms(turtle.replace(f'ppidv:poid "{POID}"'.encode(), b'ppidv:poid "X"'), there)
