"""Merges of two persons, and their undoing, after which each has its old content."""

from typing import Any

import msgspec
import pytest
from tests.registry.archive import CURATION, CURATOR, LATER, WHEN, Archive, archive
from tests.registry_fixture import Office

from perdure.errors import InvalidInput, NotAuthorised, Withdrawn, WrongState
from perdure.records.person import Claim, Employment, Link, Reconstruction
from perdure.records.record import Tombstone
from perdure.registry import (
    diff,
    history,
    merge,
    observe,
    reconstruct,
    reinstate,
    resolve,
    restrict,
    revise_reconstruction,
    show,
    undo_merge,
    verify,
    withdraw,
)

__all__ = ["archive"]

ORCID = Link("exact", "orcid", "0000-0002-1694-233X")
VIAF = Link("close", "viaf", "102333412")
BORN = Claim(type="birth_date", value="1895")


def revise(archive: Archive, name: str, **changes: Any) -> int:
    """Revise the reconstruction in these fields only."""
    reconstruction = msgspec.structs.replace(archive.reconstruction_of(name), **changes)
    return archive.office.do(revise_reconstruction, name, reconstruction.observation_ids, CURATOR, WHEN, reconstruction)


def conclusion(reconstruction: Reconstruction) -> Reconstruction:
    """Return the reconstruction without curator and time."""
    return msgspec.structs.replace(reconstruction, curator_id="", timestamp="", curator_name=None)


def test_two_persons_are_merged_and_the_merge_is_undone_on_every_engine(office: Office) -> None:
    """The only test of this module that also runs on PostgreSQL."""
    poids = [office.do(observe, f"https://example.org/{number}", WHEN, "0" * 64).name for number in range(2)]
    gone, survivor = (office.do(reconstruct, [poid], CURATOR, WHEN).name for poid in poids)
    assert office.do(merge, gone, survivor, CURATION, "the same man") == 2
    view = office.ask(show, gone)
    assert (view.state, view.tombstone) == ("merged", Tombstone("the same man", survivor, merged_at=2))
    made = office.ask(show, survivor).reconstruction
    assert made is not None
    assert (made.observation_ids, made.replaces) == (tuple(sorted(poids)), (gone,))
    assert office.read(lambda reader: reader.derived_from(poids[0])) == sorted([gone, survivor])
    assert office.ask(verify) == []
    assert office.do(undo_merge, gone, CURATION, "two after all") == (3, 3)
    made = office.ask(show, survivor).reconstruction
    assert made is not None
    assert (made.observation_ids, made.replaces) == ((poids[1],), ())
    assert (office.ask(show, gone).state, office.ask(show, gone).tombstone) == ("active", None)
    assert office.ask(verify) == []


def test_the_survivor_has_the_content_of_both_without_duplicates(archive: Archive) -> None:
    shared = archive.source(Claim(type="name", value="Jan"))
    own, theirs = archive.source(BORN), archive.source(Claim(type="death_date", value="1960"))
    namesake = archive.add_named_person("Jan")[1]
    museum = Employment(institution="NL-NH-AMS-M-RM", role="keeper")
    survivor = archive.person(
        shared, own, chosen=((shared, 1), (own, 1)), links=(ORCID,), employment=(museum,), notes="ours"
    )
    gone = archive.person(
        shared,
        theirs,
        chosen=((theirs, 1), (shared, 1)),
        links=(VIAF, ORCID),
        employment=(museum, Employment(institution="NL-ZH-DEL-A-SD")),
        different_from=(namesake,),
        notes="theirs",
    )
    archive.office.do(merge, gone, survivor, CURATION, "the same man")
    made = archive.reconstruction_of(survivor)
    assert made.observation_ids == tuple(sorted([shared, own, theirs]))
    assert [(one.observation_id, one.claim) for one in made.claims] == [(shared, 1), (own, 1), (theirs, 1)]
    assert made.links == (ORCID, VIAF)
    assert [work.institution for work in made.employment] == ["NL-NH-AMS-M-RM", "NL-ZH-DEL-A-SD"]
    assert (made.different_from, made.notes) == ((namesake,), "ours")
    assert (made.curator_id, made.timestamp, made.curator_name) == CURATION[:3]


def test_the_tombstone_of_a_merged_person_names_the_survivor_and_has_the_content(archive: Archive) -> None:
    office, (gone, survivor) = (
        archive.office,
        (archive.add_named_person("Jan")[1], archive.add_named_person("Johannes")[1]),
    )
    before = archive.reconstruction_of(gone)
    office.do(merge, gone, survivor, CURATION, "the same man")
    with pytest.raises(Withdrawn) as refusal:
        office.ask(resolve, gone)
    assert refusal.value.replaced_by == survivor
    assert archive.reconstruction_of(gone) == before
    assert [(one.action, one.note) for one in office.ask(history, gone)][1:] == [("merge", "the same man")]
    assert office.ask(history, survivor)[-1].note == f"merged {gone}: the same man"
    assert "tombstone.replaced_by" in {one.part for one in office.ask(diff, gone, 1, 2)}


def test_an_impossible_merge_is_refused_and_nothing_is_written(archive: Archive) -> None:
    office = archive.office
    (poid, jan), piet, klaas = (
        archive.add_named_person("Jan"),
        archive.add_named_person("Piet")[1],
        archive.add_named_person("Klaas")[1],
    )
    office.do(merge, piet, klaas, CURATION, "the same man")
    office.do(withdraw, (wim := archive.add_named_person("Wim")[1]), "a mistake")
    before = office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        office.do(merge, jan, jan.lower(), CURATION, "himself")
    assert (refusal.value.part, refusal.value.rule) == ("into", "No circular references")
    for one, other in ((jan, piet), (piet, jan), (jan, wim), (wim, jan)):
        with pytest.raises(WrongState):
            office.do(merge, one, other, CURATION, "the same man")
    for one, other in ((poid, jan), (jan, poid)):
        with pytest.raises(InvalidInput):
            office.do(merge, one, other, CURATION, "the same man")
    with pytest.raises(InvalidInput) as refusal:
        office.do(merge, jan, klaas, CURATION._replace(curator_id="Jan"), "the same man")
    assert refusal.value.part == "curator_id"
    with pytest.raises(InvalidInput):
        office.do(merge, jan, klaas, CURATION, " ")
    assert office.snapshot() == before


@pytest.mark.parametrize("stated_by", ["the one that would go", "the one that would stay"])
def test_different_persons_are_not_merged(archive: Archive, stated_by: str) -> None:
    gone, survivor = archive.add_named_person("Jan")[1], archive.add_named_person("Jan")[1]
    one, other = (gone, survivor) if stated_by == "the one that would go" else (survivor, gone)
    revise(archive, one, different_from=(other,))
    with pytest.raises(InvalidInput) as refusal:
        archive.office.do(merge, gone, survivor, CURATION, "the same man")
    assert refusal.value.part == "into"
    revise(archive, one, different_from=())
    archive.office.do(merge, gone, survivor, CURATION, "the same man")


def test_different_persons_stay_different_after_a_merge(archive: Archive) -> None:
    office = archive.office
    jan, namesake, survivor = (archive.add_named_person("Jan")[1] for _ in range(3))
    revise(archive, jan, different_from=(namesake,))
    office.do(merge, namesake, survivor, CURATION, "the same man")
    for gone, into in ((jan, survivor), (survivor, jan)):
        with pytest.raises(InvalidInput) as refusal:
            office.do(merge, gone, into, CURATION, "the same man")
        assert refusal.value.part == "into"
    with pytest.raises(InvalidInput) as refusal:
        revise(archive, survivor, different_from=(namesake,))
    assert refusal.value.part == "different_from"


def test_undoing_a_merge_restores_the_content_of_both(archive: Archive) -> None:
    office = archive.office
    shared = archive.source(Claim(type="name", value="Jan"))
    survivor = archive.person(shared, archive.source(), chosen=((shared, 1),), links=(ORCID,))
    gone = archive.person(shared, archive.source(BORN), chosen=((shared, 1),), links=(VIAF, ORCID))
    before = {name: archive.reconstruction_of(name) for name in (gone, survivor)}
    office.do(merge, gone, survivor, CURATION, "the same man")
    office.do(undo_merge, gone, CURATION._replace(timestamp="2025-07-01T00:00:00Z"), "two after all")
    assert archive.reconstruction_of(gone) == before[gone]
    assert conclusion(archive.reconstruction_of(survivor)) == conclusion(before[survivor])
    assert [one.action for one in office.ask(history, survivor)] == ["mint", "merge", "undo merge"]
    with pytest.raises(WrongState):
        office.do(undo_merge, gone, CURATION, "again")
    office.do(merge, gone, survivor, CURATION, "the same man, really")
    assert archive.reconstruction_of(survivor).replaces == (gone,)


def test_undoing_a_merge_preserves_later_changes_of_the_survivor(archive: Archive) -> None:
    office = archive.office
    (_, survivor), (brought, gone) = archive.add_named_person("Jan"), archive.add_named_person("Johannes")
    learnt = archive.source(BORN)
    before = archive.reconstruction_of(gone), archive.reconstruction_of(survivor)
    office.do(merge, gone, survivor, CURATION, "the same man")
    now = archive.reconstruction_of(survivor)
    more = msgspec.structs.replace(now, links=(VIAF,), notes="he moved")
    office.do(revise_reconstruction, survivor, [*now.observation_ids, learnt], CURATOR, LATER, more)
    office.do(undo_merge, gone, CURATION, "two after all")
    after = archive.reconstruction_of(survivor)
    assert archive.reconstruction_of(gone) == before[0]
    assert after.observation_ids == tuple(sorted([*before[1].observation_ids, learnt]))
    assert (after.claims, after.links, after.notes) == (before[1].claims, (VIAF,), "he moved")
    assert brought not in after.observation_ids


def test_a_withdrawn_observation_does_not_prevent_undoing_a_merge(archive: Archive) -> None:
    office = archive.office
    (poid, survivor), (_, gone) = archive.add_named_person("Jan"), archive.add_named_person("Johannes")
    office.do(merge, gone, survivor, CURATION, "the same man")
    office.do(withdraw, poid, "a forgery")
    office.do(undo_merge, gone, CURATION, "two after all")
    assert archive.reconstruction_of(survivor).observation_ids == (poid,)


def test_merges_are_undone_in_reverse_order(archive: Archive) -> None:
    office = archive.office
    one, two, three = (archive.add_named_person(name)[1] for name in ("Jan", "Johannes", "Hans"))
    reconstruction = [archive.reconstruction_of(name) for name in (one, two, three)]
    office.do(merge, one, two, CURATION, "the same man")
    office.do(merge, two, three, CURATION, "the same man")
    assert archive.reconstruction_of(three).replaces == tuple(sorted([one, two]))
    with pytest.raises(WrongState):
        office.do(undo_merge, one, CURATION, "two after all")
    office.do(undo_merge, two, CURATION, "two after all")
    office.do(undo_merge, one, CURATION, "two after all")
    assert [conclusion(archive.reconstruction_of(name)) for name in (one, two, three)] == [
        conclusion(made) for made in reconstruction
    ]


def test_a_merge_cannot_be_undone_if_the_survivor_would_have_no_observation(archive: Archive) -> None:
    office = archive.office
    (_, survivor), (brought, gone) = archive.add_named_person("Jan"), archive.add_named_person("Johannes")
    office.do(merge, gone, survivor, CURATION, "the same man")
    office.do(revise_reconstruction, survivor, [brought], CURATOR, LATER)
    before = office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        office.do(undo_merge, gone, CURATION, "two after all")
    assert refusal.value.rule == "PRID must have observations"
    assert office.snapshot() == before


def test_a_merged_person_can_be_neither_reinstated_nor_withdrawn_nor_revised(archive: Archive) -> None:
    office = archive.office
    gone, survivor = archive.add_named_person("Jan")[1], archive.add_named_person("Johannes")[1]
    office.do(merge, gone, survivor, CURATION, "the same man")
    before = office.snapshot()
    for act in (
        lambda: office.do(reinstate, gone),
        lambda: office.do(withdraw, gone, "again"),
        lambda: revise(archive, gone),
    ):
        with pytest.raises(WrongState):
            act()
    assert office.snapshot() == before


def test_a_restricted_person_is_not_merged_into_a_public_one(archive: Archive) -> None:
    office = archive.office
    gone, survivor = archive.add_named_person("Jan")[1], archive.add_named_person("Johannes")[1]
    office.do(restrict, gone, "alive")
    with pytest.raises(WrongState):
        office.do(merge, gone, survivor, CURATION, "the same man")
    office.do(restrict, survivor, "alive")
    office.do(merge, gone, survivor, CURATION, "the same man")
    office.do(undo_merge, gone, CURATION, "two after all")
    assert office.ask(show, gone).reconstruction is None
    assert office.ask(show, survivor).reconstruction is None


def test_a_merge_needs_permission_to_withdraw_one_and_to_edit_the_other(archive: Archive) -> None:
    office = archive.office
    gone, survivor = archive.add_named_person("Jan")[1], archive.add_named_person("Johannes")[1]
    editor = office.hire("editor-of-persons", "PRID", "edit")
    remover = office.hire("remover-of-persons", "PRID", "withdraw")
    for one in (editor, remover):
        with pytest.raises(NotAuthorised):
            office.by(one, merge, gone, survivor, CURATION, "the same man")
    office.do(merge, gone, survivor, CURATION, "the same man")
    for one in (editor, remover):
        with pytest.raises(NotAuthorised):
            office.by(one, undo_merge, gone, CURATION, "two after all")


def test_an_exact_link_replaces_a_close_one_until_the_merge_is_undone(archive: Archive) -> None:
    exact, close = Link("exact", "wikidata", "Q7"), Link("close", "wikidata", "Q7")
    survivor, gone = archive.person(archive.source(), links=(close,)), archive.person(archive.source(), links=(exact,))
    archive.office.do(merge, gone, survivor, CURATION, "the same man")
    assert archive.reconstruction_of(survivor).links == (exact,)
    archive.office.do(undo_merge, gone, CURATION, "two after all")
    assert (archive.reconstruction_of(survivor).links, archive.reconstruction_of(gone).links) == ((close,), (exact,))


def test_a_merge_refused_for_an_inferred_claim_names_the_claims_to_choose(archive: Archive) -> None:
    known = archive.source(BORN)
    guessed = archive.source(Claim(type="birth_date", value="189X", status="inferred", reasoning="he married in 1920"))
    survivor, gone = archive.person(known), archive.person(guessed, chosen=((guessed, 1),))
    with pytest.raises(InvalidInput, match=f"{guessed}:1.*choose {known}:1 as well"):
        archive.office.do(merge, gone, survivor, CURATION, "the same man")
    archive.choose_claims(survivor, [(known, 1)])
    archive.office.do(merge, gone, survivor, CURATION, "the same man")
