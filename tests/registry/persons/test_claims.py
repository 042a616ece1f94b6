"""Claims: an observation has them and never changes, a reconstruction chooses among them."""

from typing import Any

import pytest
from tests.registry.archive import CURATOR, UNREGISTERED_PRID, WHEN, Archive, archive
from tests.registry_fixture import Office

from perdure.errors import Immutable, InvalidInput, WrongState
from perdure.records.person import ChosenClaim, Claim, Employment, InSource, Link, PersonName, Reconstruction
from perdure.registry import find_by_value, observe, reconstruct, revise_reconstruction, search, show, verify, withdraw
from perdure.registry.persons import show_person

__all__ = ["archive"]

JAN = Claim(type="name", value=PersonName(given_name="Jan", surname_prefix="van der", base_surname="Berg"))
BORN = Claim(type="birth_date", value="1895-03~", confidence=0.9, where=InSource(page="12"))
GUESSED = Claim(type="birth_date", value="189X", status="inferred", reasoning="he married in 1920")


def test_claims_and_conclusions_are_stored_and_found_on_every_engine(office: Office) -> None:
    """The only test of this module that also runs on PostgreSQL."""
    more: dict[str, Any] = {"source_name": "Register", "holding_archive": "NL-ZH-DEL-A-SD", "claims": (JAN, BORN)}
    poid = office.do(observe, "https://example.org/jan", WHEN, "0" * 64, **more).name
    seen = office.ask(show, poid).observation
    assert seen is not None
    assert (seen.source_name, seen.holding_archive, seen.claims) == ("Register", "NL-ZH-DEL-A-SD", (JAN, BORN))
    reconstruction = Reconstruction(
        (),
        "",
        "",
        claims=(ChosenClaim(poid, 2), ChosenClaim(poid, 1)),
        links=(Link("exact", "wikidata", "q42"),),
        employment=(
            Employment(institution="NL-NH-AMS-M-RM", role="keeper", start="2015"),
            Employment(institution="NL-ZH-DEL-A-SD", role="clerk", end="2014"),
        ),
        notes="two employers",
    )
    prid = office.do(reconstruct, [poid], CURATOR, WHEN, reconstruction).name
    made = office.ask(show, prid).reconstruction
    assert made is not None
    assert made.claims == (ChosenClaim(poid, 2, BORN), ChosenClaim(poid, 1, JAN))
    assert [(work.institution, work.role) for work in made.employment] == [
        ("NL-NH-AMS-M-RM", "keeper"),
        ("NL-ZH-DEL-A-SD", "clerk"),
    ]
    assert [hit.name for hit in office.ask(find_by_value, "Q42", type="wikidata")] == [prid]
    assert {hit.name for hit in office.ask(search, ["berg"])} == {poid, prid}
    sources = office.ask(show_person, prid).observations
    assert sources[poid] is not None
    assert (sources[poid].source_name, sources[poid].claims) == ("Register", ())
    assert office.ask(verify) == []


def test_the_same_claims_again_create_nothing(archive: Archive) -> None:
    office = archive.office
    inputs = ("https://example.org/again", WHEN, "0" * 64)
    first = office.do(observe, *inputs, claims=(JAN, BORN))
    before = office.snapshot()
    assert office.do(observe, *inputs, claims=(JAN, BORN)) == first._replace(created=False)
    assert office.do(observe, *inputs) == first._replace(created=False)
    assert office.snapshot() == before


@pytest.mark.parametrize(
    "other", [{"claims": (JAN,)}, {"claims": (BORN, JAN)}, {"claims": (JAN, BORN), "source_name": "Register"}]
)
def test_the_same_inputs_with_other_claims_are_refused(archive: Archive, other: dict[str, Any]) -> None:
    office = archive.office
    inputs = ("https://example.org/other-words", WHEN, "0" * 64)
    name = office.do(observe, *inputs, claims=(JAN, BORN)).name
    before = office.snapshot()
    with pytest.raises(Immutable) as refusal:
        office.do(observe, *inputs, **other)
    assert refusal.value.name == name
    assert office.snapshot() == before


def test_an_observation_with_an_invalid_claim_is_not_written(archive: Archive) -> None:
    before = archive.office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        archive.source(JAN, Claim(type="birth_date", value="1900-02-29"))
    assert refusal.value.part == "claims[2].value"
    assert archive.office.snapshot() == before


def test_a_repeated_reconstruction_is_found_even_if_its_observation_is_withdrawn(archive: Archive) -> None:
    office, poid = archive.office, archive.source(JAN)
    reconstruction = Reconstruction((), "", "", claims=(ChosenClaim(poid, 1),), notes="sure")
    first = office.do(reconstruct, [poid], CURATOR, WHEN, reconstruction)
    office.do(withdraw, poid, "a forgery")
    assert office.do(reconstruct, [poid.lower()], CURATOR, WHEN, reconstruction) == first._replace(created=False)
    assert office.do(reconstruct, [poid], CURATOR, WHEN) == first._replace(created=False)


@pytest.mark.parametrize("more", [{"notes": "unsure"}, {"links": (Link("exact", "viaf", "102333412"),)}])
def test_the_same_inputs_with_another_conclusion_are_refused(archive: Archive, more: dict[str, Any]) -> None:
    poid = archive.source(JAN)
    archive.person(poid, notes="sure")
    before = archive.office.snapshot()
    with pytest.raises(Immutable):
        archive.person(poid, **more)
    assert archive.office.snapshot() == before


def test_inputs_are_compared_with_the_first_version_even_after_a_revision(archive: Archive) -> None:
    poid = archive.source(JAN)
    prid = archive.person(poid, notes="sure")
    reconstruction = Reconstruction((), "", "", notes="unsure")
    assert archive.office.do(revise_reconstruction, prid, [poid], CURATOR, WHEN, reconstruction) == 2
    assert archive.person(poid, notes="sure") == prid
    with pytest.raises(Immutable):
        archive.person(poid, notes="unsure")


def test_the_content_of_chosen_claims_comes_from_the_observation(archive: Archive) -> None:
    poid = archive.source(JAN, BORN)
    lie = ChosenClaim(poid, 2, Claim(type="birth_date", value="1901"))
    prid = archive.office.do(reconstruct, [poid], CURATOR, WHEN, Reconstruction((), "", "", claims=(lie,))).name
    assert archive.reconstruction_of(prid).claims == (ChosenClaim(poid, 2, BORN),)


def test_a_missing_claim_cannot_be_chosen(archive: Archive) -> None:
    poid = archive.source(JAN)
    before = archive.office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        archive.person(poid, chosen=((poid, 1), (poid, 2)))
    assert refusal.value.part == "claims[2].claim"
    assert archive.office.snapshot() == before


def test_an_inferred_claim_never_replaces_a_verified_one(archive: Archive) -> None:
    guess, fact = archive.source(GUESSED), archive.source(JAN, BORN)
    with pytest.raises(InvalidInput) as refusal:
        archive.person(guess, fact, chosen=((fact, 1), (guess, 1)))
    assert refusal.value.part == "claims[2]"
    alone = archive.person(guess, chosen=((guess, 1),))
    both = archive.person(guess, fact, chosen=((guess, 1), (fact, 2)))
    assert [one.said for one in archive.reconstruction_of(both).claims] == [GUESSED, BORN]
    reconstruction = Reconstruction((), "", "", claims=(ChosenClaim(guess, 1),))
    with pytest.raises(InvalidInput):
        archive.office.do(revise_reconstruction, alone, [guess, fact], CURATOR, WHEN, reconstruction)
    assert archive.office.ask(show, alone).version == 1


def test_a_different_person_must_be_registered_here(archive: Archive) -> None:
    office = archive.office
    one, other = archive.add_named_person("Jan")[1], archive.add_named_person("Jan")[1]
    poid = archive.reconstruction_of(one).observation_ids
    with pytest.raises(InvalidInput) as refusal:
        archive.person(archive.source(), different_from=(UNREGISTERED_PRID,))
    assert refusal.value.part == "different_from"
    apart = Reconstruction((), "", "", different_from=(other,))
    assert office.do(revise_reconstruction, one, poid, CURATOR, WHEN, apart) == 2
    assert archive.reconstruction_of(one).different_from == (other,)
    itself = Reconstruction((), "", "", different_from=(one,))
    with pytest.raises(InvalidInput) as refusal:
        office.do(revise_reconstruction, one, poid, CURATOR, WHEN, itself)
    assert refusal.value.rule == "No circular references"


def test_the_replaced_persons_cannot_be_set_by_the_caller(archive: Archive) -> None:
    other = archive.add_named_person("Piet")[1]
    assert archive.reconstruction_of(archive.person(archive.source(), replaces=(other,))).replaces == ()


def test_a_revision_that_is_refused_leaves_everything_as_it_was(archive: Archive) -> None:
    office, poid = archive.office, archive.source(JAN)
    prid = archive.person(poid)
    office.do(withdraw, (gone := archive.source(JAN)), "a forgery")
    before = office.snapshot()
    with pytest.raises(WrongState):
        office.do(revise_reconstruction, prid, [poid, gone], CURATOR, WHEN)
    with pytest.raises(InvalidInput) as refusal:
        office.do(revise_reconstruction, prid, [prid], CURATOR, WHEN)
    assert refusal.value.rule == "No circular references"
    assert office.snapshot() == before
