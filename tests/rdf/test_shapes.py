"""Our own shapes: our documents conform, and wrong documents do not."""

import pyshacl
import pytest
from hypothesis import given, settings
from rdflib import Graph
from tests.rdf.sample_persons import (
    AT,
    CONTEXT_URL,
    DOCUMENTS,
    NAMESPACES,
    OTHER_POID,
    POID,
    PRID,
    SAMPLE_OBSERVATION,
    person,
    persons,
    write_document,
)

from perdure.rdf import SHAPES, Namespaces, dump, shapes, write_person
from perdure.records.person import Employment, Reconstruction, Redaction, Restriction
from perdure.records.record import Tombstone
from perdure.registry.persons import PersonView

OURS = Graph().parse(data=SHAPES, format="turtle")
JOBS = (
    Employment(institution="NL-NH-AMS-M-RM", role="Archivist", start="2015"),
    Employment(institution="NL-ZH-LEI-A-ELO", end="2014"),
)


def conforms(turtle: bytes, ours: Graph = OURS) -> bool:
    conforming, _, _ = pyshacl.validate(Graph().parse(data=turtle, format="turtle"), shacl_graph=ours)
    return bool(conforming)


def write_employed(*jobs: Employment) -> bytes:
    return write_document(person(Reconstruction((POID,), "hdl:20.500.1/ann", AT, employment=jobs)), "turtle")


@pytest.mark.parametrize("as_version", [False, True])
@pytest.mark.parametrize("document", DOCUMENTS)
def test_written_documents_conform_to_the_shapes(document: str, as_version: bool) -> None:
    assert conforms(write_document(DOCUMENTS[document], "turtle", as_version=as_version))


@settings(max_examples=8, deadline=None)
@given(one=persons)
def test_every_document_of_a_person_conforms(one: PersonView) -> None:
    assert conforms(write_document(one, "turtle"))


@pytest.mark.parametrize("jobs", [(), JOBS[:1], JOBS, (JOBS[0], JOBS[0])])
def test_any_number_of_employments_conforms(jobs: tuple[Employment, ...]) -> None:
    assert conforms(write_employed(*jobs))


HIDDEN = {
    "restricted": person(None, name=OTHER_POID, version=2, restriction=Restriction("a living person", AT)),
    "redacted": person(None, name=OTHER_POID, version=2, redaction=Redaction("a court's order", AT, "")),
    "withdrawn": person(
        SAMPLE_OBSERVATION, name=POID, state="withdrawn", version=2, tombstone=Tombstone("registered twice")
    ),
}


@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_hidden_observation_conforms_with_and_without_its_reconstruction(hidden: str) -> None:
    together = [HIDDEN[hidden], DOCUMENTS["reconstruction"]]
    assert conforms(b"".join(dump(together, "turtle", NAMESPACES, CONTEXT_URL)))


WRONG = {
    "a POID that is none": ("observation", f'ppidv:poid "{POID}"', 'ppidv:poid "POID-1"'),
    "an observation that is typed as PiCo's alone": ("observation", "a ppidt:PersonObservation, ", "a "),
    "an observation without any type": ("observation", "a ppidt:PersonObservation, picom:PersonObservation", "a prov:Entity"),
    "no source": ("observation", "prov:hadPrimarySource", "prov:hadSomeSource"),
    "a source without an address": ("observation", "sdo:url", "sdo:image"),
    "a source that is not shown": ("observation", 'sdo:name "Staff list"@und ;\n    sdo:url', 'sdo:name "not shown"@en ;\n    sdo:image'),
    "no hash of the content": ("observation", "ppidv:contentHash", "ppidv:remark"),
    "no time of retrieval": ("observation", "ppidv:retrievedAt", "ppidv:remark"),
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
    "without an agent": ("reconstruction", "prov:wasAssociatedWith", "prov:wasInfluencedBy"),
    "an agent without a name": ("reconstruction", 'sdo:name "https://orcid.org', 'sdo:alternateName "https://orcid.org'),
    "an agent with two names": ("reconstruction", "sdo:alternateName", "sdo:name"),
    "a reconstruction that is typed as PiCo's alone": ("reconstruction", "a ppidt:PersonReconstruction, ", "a "),
    "a reconstruction without any type": ("reconstruction", "a ppidt:PersonReconstruction, picom:PersonReconstruction", "a prov:Entity"),
    "a mention that is typed as PiCo's alone": ("reconstruction", "a ppidt:PersonObservation, ", "a "),
    "a mention of a source without an address": ("reconstruction", "sdo:url", "sdo:image"),
    "a mention that tells more": ("reconstruction", f'ppidv:poid "{POID}"', f'ppidv:poid "{POID}" ; ppidv:retrievedAt "{AT}"^^xsd:dateTime'),
    "an activity without a beginning": ("reconstruction", "prov:startedAtTime", "prov:endedAtTime"),
    "a time that is no time": ("reconstruction", f'prov:generatedAtTime "{AT}"^^xsd:dateTime', f'prov:generatedAtTime "{AT}"'),
    "an ORCID that is none": ("reconstruction", 'ppidv:orcid "0000-0002', 'ppidv:orcid "000-0002'),
    "an employer without an employment": ("reconstruction", "ppidv:employedAt", "ppidv:employedAt <urn:x>,"),
    "a version that is the same as the person": ("version", "prov:specializationOf", f"owl:sameAs <https://ppid.org/{PRID}> ;\n prov:specializationOf"),
    "a version that is the same as a person elsewhere": ("version", "sdo:sameAs", "owl:sameAs"),
    "a person that is the same as a version": ("reconstruction", "owl:sameAs", f"owl:sameAs <https://ppid.org/{PRID}/v1>,"),
    "merged into nothing": ("merged", "dcterms:isReplacedBy", "dcterms:references"),
    "no description, and no reason": ("restricted", "ppidv:restrictionReason", "ppidv:remark"),
    "a restriction that tells the observations": ("restricted", "ppidv:restrictionReason", "prov:wasDerivedFrom <urn:x> ; ppidv:restrictionReason"),
    "a restriction that tells who it is": ("restricted", "ppidv:restrictionReason", "owl:sameAs <urn:x> ; ppidv:restrictionReason"),
    "a redaction that tells the source": ("redacted", "ppidv:redactionReason", "prov:hadPrimarySource <urn:x> ; ppidv:redactionReason"),
    "a redaction that tells the time": ("redacted", "ppidv:redactionReason", f'ppidv:retrievedAt "{AT}"^^xsd:dateTime ; ppidv:redactionReason'),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_document_fails(wrong: str) -> None:
    document, right, instead = WRONG[wrong]
    turtle = write_document(DOCUMENTS[document], "turtle")
    assert right.encode() in turtle
    assert not conforms(turtle.replace(right.encode(), instead.encode()))


WRONG_OF_THE_PERSON = {
    "a year that is only text": ('ppidv:employmentStart "2015"^^xsd:gYear', 'ppidv:employmentStart "2015"'),
    "a year that is a date and time": ('"2015"^^xsd:gYear', '"2015-01-01T00:00:00Z"^^xsd:dateTime'),
    "an EDTF date that is only text": ('"2015"^^<http://id.loc.gov/datatypes/edtf/EDTF>', '"2015"'),
    "two roles": ('"Archivist"', '"Archivist", "Director"'),
    "another employer than the employment's": ("NL-NH-AMS-M-RM", "NL-ZH-LEI-A-ELO"),
}


@pytest.mark.parametrize("wrong", WRONG_OF_THE_PERSON)
def test_the_shapes_check_the_employment_of_the_person_by_section_8_2(wrong: str) -> None:
    right, instead = WRONG_OF_THE_PERSON[wrong]
    turtle = write_employed(JOBS[0])
    of_the_person = turtle.index(b" a ppidt:PersonReconstruction")  # and not of the employment, which comes behind it
    assert turtle.index(right.encode()) < turtle.index(b" a ppidt:Employment")
    assert turtle.index(right.encode()) > of_the_person
    assert not conforms(turtle.replace(right.encode(), instead.encode(), 1))


def test_several_employments_give_the_person_no_role() -> None:
    right, wrong = b"ppidv:employment <", b'ppidv:employmentRole "Archivist" ; ppidv:employment <'
    turtle = write_employed(*JOBS)
    assert right in turtle
    assert not conforms(turtle.replace(right, wrong, 1))


def test_shapes_for_other_namespaces_check_documents_in_those() -> None:
    elsewhere = Namespaces("https://id.example.org/", "https://id.example.org/v#", "https://id.example.org/t#")
    there = Graph().parse(data=shapes(elsewhere), format="turtle")
    turtle = write_person(DOCUMENTS["observation"], "turtle", elsewhere, CONTEXT_URL)
    assert b"ppid.org" not in turtle
    assert conforms(turtle, there)
    assert not conforms(turtle.replace(f'ppidv:poid "{POID}"'.encode(), b'ppidv:poid "X"'), there)
