"""Persons of a real registry, from the first observation to the last change: every document is right."""

import asyncio
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyshacl
import pytest
from rdflib import Graph
from tests.rdf.sample_persons import write_document
from tests.registry_fixture import Office, SqliteLocations, open_office

from perdure.rdf import SHAPES
from perdure.records.person import ChosenClaim, Claim, Employment, Link, PersonName, Reconstruction
from perdure.registry import observe, reconstruct, revise_reconstruction
from perdure.registry.persons import Curation, merge, redact, restrict, show_person, split

WHEN = "2025-01-09T10:30:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
CURATION = Curation(CURATOR, "2025-06-01T12:00:00Z", "Josiah Carberry")


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    locations = SqliteLocations(Path(tmp_path_factory.mktemp("lives")))
    with asyncio.Runner() as runner:
        yield open_office(runner, locations.open())
    locations.close()


@cache
def _shapes() -> Graph:
    return Graph().parse(data=SHAPES, format="turtle")


def document(office: Office, name: str, version: int | None = None) -> bytes:
    """Return the current document of a person, after a check that it conforms to our shapes."""
    turtle = write_document(office.ask(show_person, name, version=version), "turtle", as_version=version is not None)
    conforms, _, report = pyshacl.validate(Graph().parse(data=turtle, format="turtle"), shacl_graph=_shapes())
    assert conforms, report
    return turtle


def test_documents_can_be_read_after_every_step_of_a_history(office: Office) -> None:
    name = Claim(type="name", value=PersonName(given_name="Jan", base_surname="Werk"), language="nl")
    first, second, third = (
        office.do(observe, f"https://example.org/{number}", WHEN, "0" * 64, claims=(name,)).name for number in range(3)
    )
    assert b'"Jan Werk"@nl' in document(office, first)
    more = Reconstruction(
        (),
        "",
        "",
        claims=(ChosenClaim(first, 1),),
        links=(Link("exact", "wikidata", "Q42"),),
        employment=(Employment(institution="NL-NH-AMS-M-RM", start="2015"),),
    )
    one = office.do(reconstruct, [first, second], CURATOR, WHEN, more).name
    other = office.do(reconstruct, [third], CURATOR, WHEN).name
    assert b"wikidata.org/entity/Q42" in document(office, one)

    office.do(revise_reconstruction, one, [first, second], CURATOR, "2025-02-15T14:00:00Z", more)
    assert b"prov:wasRevisionOf" in document(office, one, 2)
    assert b"prov:wasRevisionOf" not in document(office, one, 1)

    office.do(merge, other, one, CURATION, "the same")
    assert f"dcterms:isReplacedBy <https://ppid.org/{one}>".encode() in document(office, other)
    assert f"dcterms:replaces <https://ppid.org/{other}>".encode() in document(office, one)

    parts = office.do(split, one, [[first], [second, third]], CURATION, "two after all")
    assert all(f"<https://ppid.org/{part.name}>".encode() in document(office, one) for part in parts)

    office.do(restrict, second, "a living person")
    assert b"example.org/1" not in document(office, second)
    assert b"example.org/1" not in document(office, parts[1].name)

    office.do(redact, first, "a court's order")
    assert b"ppidv:redactionReason" in document(office, first)
    assert b"Jan Werk" not in document(office, parts[0].name)


def test_an_agent_with_a_local_prefix_has_a_url_of_the_registry(office: Office) -> None:
    """No other resolver knows a prefix that a registry has given to itself."""
    seen = office.do(observe, "https://example.org/alone", WHEN, "0" * 64).name
    own = f"https://ppid.org/{office.admin.identifier.removeprefix('hdl:')}".encode()
    written = document(office, seen)
    assert b"dcterms:creator <" + own + b">" in written
    assert b"prov:wasAssociatedWith <" + own + b">" in written
    assert b"hdl.handle.net" not in written
