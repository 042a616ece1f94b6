"""Splits of one person into several, and their undoing."""

import pytest
from tests.registry.archive import CURATION, CURATOR, LATER, WHEN, Archive, archive
from tests.registry_fixture import Office

from perdure.errors import InvalidInput, NotAuthorised, Withdrawn, WrongState
from perdure.records.person import ChosenClaim, Claim, Link, Reconstruction
from perdure.records.record import Tombstone
from perdure.registry import (
    history,
    merge,
    observe,
    reconstruct,
    reinstate,
    resolve,
    restrict,
    revise_reconstruction,
    show,
    split,
    undo_merge,
    undo_split,
    verify,
    withdraw,
)
from perdure.registry.persons import find_by_link

__all__ = ["archive"]


def family(archive: Archive) -> tuple[str, list[str]]:
    """Create one person who was two, and return the sources of either."""
    sources = [archive.source(Claim(type="name", value=name)) for name in ("Jan senior", "Jan junior")]
    return archive.person(*sources, chosen=tuple((one, 1) for one in sources), notes="one man"), sources


def test_a_person_is_split_and_the_split_is_undone_on_every_engine(office: Office) -> None:
    """The only test of this module that also runs on PostgreSQL."""
    poids = [office.do(observe, f"https://example.org/{number}", WHEN, "0" * 64).name for number in range(3)]
    whole = office.do(reconstruct, poids, CURATOR, WHEN).name
    parts = [person.name for person in office.do(split, whole, [poids[:1], poids[1:]], CURATION, "father and son")]
    view = office.ask(show, whole)
    assert (view.state, view.tombstone) == ("withdrawn", Tombstone("father and son", successors=tuple(parts)))
    made = [office.ask(show, part).reconstruction for part in parts]
    assert [one.observation_ids for one in made if one] == [(poids[0],), tuple(sorted(poids[1:]))]
    assert [one.replaces for one in made if one] == [(whole,), (whole,)]
    assert office.ask(verify) == []
    assert office.do(undo_split, whole, "one man after all") == 3
    assert (office.ask(show, whole).state, office.ask(show, whole).tombstone) == ("active", None)
    assert [office.ask(show, part).tombstone for part in parts] == [Tombstone("one man after all", whole)] * 2
    assert office.ask(verify) == []


def test_each_part_has_the_claims_of_its_own_observations(archive: Archive) -> None:
    office, (whole, sources) = archive.office, family(archive)
    parts = office.do(split, whole, [[one.lower()] for one in sources], CURATION, "father and son")
    for part, source in zip(parts, sources, strict=True):
        made = archive.reconstruction_of(part.name)
        assert [one.observation_id for one in made.claims] == [source]
        assert (made.curator_id, made.timestamp, made.curator_name) == CURATION[:3]
        assert [one.action for one in office.ask(history, part.name)] == ["split"]
    with pytest.raises(Withdrawn):
        office.ask(resolve, whole)
    assert archive.reconstruction_of(whole).notes == "one man"


@pytest.mark.parametrize(
    "parts",
    [
        lambda one, two, strange: [],
        lambda one, two, strange: [[one, two]],
        lambda one, two, strange: [[one], []],
        lambda one, two, strange: [[one], [one]],
        lambda one, two, strange: [[one, two], [two]],
        lambda one, two, strange: [[one], [strange]],
        lambda one, two, strange: [[one], [two, strange]],
        lambda one, two, strange: [[one], ["PRID-5ccc-3780-8c9c-5a90"]],
    ],
    ids=["no part", "one part", "an empty part", "left over", "in two parts", "strange", "more", "no observation"],
)
def test_each_observation_goes_to_one_part(archive: Archive, parts) -> None:
    whole, (one, two) = family(archive)
    strange = archive.source()
    before = archive.office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        archive.office.do(split, whole, parts(one, two, strange), CURATION, "father and son")
    assert refusal.value.part in ("parts", "observation_ids")
    assert archive.office.snapshot() == before


def test_only_an_active_reconstruction_can_be_split(archive: Archive) -> None:
    office, (whole, (one, two)) = archive.office, family(archive)
    office.do(withdraw, whole, "a mistake")
    with pytest.raises(WrongState):
        office.do(split, whole, [[one], [two]], CURATION, "father and son")
    with pytest.raises(InvalidInput):
        office.do(split, one, [[one], [two]], CURATION, "father and son")


def test_a_part_is_a_new_person(archive: Archive) -> None:
    """An existing person from the same inputs is not changed."""
    office, (whole, (one, two)) = archive.office, family(archive)
    office.do(reconstruct, [one], CURATOR, LATER)
    before = office.snapshot()
    with pytest.raises(WrongState):
        office.do(split, whole, [[one], [two]], CURATION, "father and son")
    assert office.snapshot() == before
    office.do(split, whole, [[one], [two]], CURATION._replace(timestamp="2025-06-02T00:00:00Z"), "father and son")


def test_undoing_a_split_restores_the_content(archive: Archive) -> None:
    office, (whole, sources) = archive.office, family(archive)
    before = archive.reconstruction_of(whole)
    parts = [person.name for person in office.do(split, whole, [[one] for one in sources], CURATION, "father and son")]
    with pytest.raises(WrongState):
        office.do(reinstate, whole)
    office.do(undo_split, whole, "one man after all")
    assert archive.reconstruction_of(whole) == before
    with pytest.raises(Withdrawn) as refusal:
        office.ask(resolve, parts[0])
    assert refusal.value.replaced_by == whole
    for again in (
        lambda: office.do(undo_split, whole, "again"),
        lambda: office.do(undo_merge, parts[0], CURATION, "again"),
    ):
        with pytest.raises(WrongState):
            again()


def test_a_split_is_undone_as_a_whole_or_not_at_all(archive: Archive) -> None:
    office, (whole, sources) = archive.office, family(archive)
    parts = [person.name for person in office.do(split, whole, [[one] for one in sources], CURATION, "father and son")]
    other = archive.add_named_person("Piet")[1]
    office.do(merge, parts[1], other, CURATION, "the same man")
    before = office.snapshot()
    with pytest.raises(WrongState):
        office.do(undo_split, whole, "one man after all")
    assert office.snapshot() == before
    office.do(undo_merge, parts[1], CURATION, "two after all")
    office.do(undo_split, whole, "one man after all")


def test_revised_parts_preserve_their_changes_in_their_history(archive: Archive) -> None:
    office, (whole, sources) = archive.office, family(archive)
    part = office.do(split, whole, [[one] for one in sources], CURATION, "father and son")[0].name
    reconstruction = Reconstruction((), "", "", notes="the father")
    office.do(revise_reconstruction, part, sources[:1], CURATOR, LATER, reconstruction)
    office.do(undo_split, whole, "one man after all")
    assert archive.reconstruction_of(part).notes == "the father"


def test_undoing_a_split_merges_later_changes_of_the_parts(archive: Archive) -> None:
    office, (whole, sources) = archive.office, family(archive)
    before = archive.reconstruction_of(whole)
    father, son = (one.name for one in office.do(split, whole, [[one] for one in sources], CURATION, "father and son"))
    letter = archive.source(Claim(type="occupation", value="smith"))
    link = Link("exact", "wikidata", "Q900001")
    reconstruction = Reconstruction((), "", "", claims=(ChosenClaim(letter, 1),), links=(link,), different_from=(son,))
    office.do(revise_reconstruction, father, [sources[0], letter], CURATOR, LATER, reconstruction)
    with pytest.raises(InvalidInput) as refusal:
        office.do(undo_split, whole, "one man after all")
    assert refusal.value.part == "curator_id"
    office.do(undo_split, whole, "one man after all", CURATION)
    again = archive.reconstruction_of(whole)
    assert (again.links, again.different_from, again.replaces) == ((link,), (), ())
    assert again.observation_ids == tuple(sorted([*sources, letter]))
    assert [(one.observation_id, one.claim) for one in again.claims] == [
        *((one.observation_id, one.claim) for one in before.claims),
        (letter, 1),
    ]
    assert (again.curator_id, again.timestamp) == CURATION[:2]
    assert whole in [hit.name for hit in office.ask(find_by_link, "wikidata", "Q900001")]
    assert office.ask(verify) == []


def test_taking_over_new_content_of_the_parts_needs_permission_to_edit(archive: Archive) -> None:
    office, (whole, sources) = archive.office, family(archive)
    father = office.do(split, whole, [[one] for one in sources], CURATION, "father and son")[0].name
    reconstruction = Reconstruction((), "", "", links=(Link("exact", "wikidata", "Q1"),))
    office.do(revise_reconstruction, father, sources[:1], CURATOR, LATER, reconstruction)
    clerk = office.hire("clerk", "PRID", "withdraw")
    with pytest.raises(NotAuthorised):
        office.by(clerk, undo_split, whole, "one man after all", CURATION)
    editor = office.hire("editor", "PRID", "withdraw", "edit")
    office.by(editor, undo_split, whole, "one man after all", CURATION)


def test_a_withdrawn_observation_does_not_prevent_a_split(archive: Archive) -> None:
    office, (whole, sources) = archive.office, family(archive)
    office.do(withdraw, sources[0], "a forgery")
    parts = office.do(split, whole, [[one] for one in sources], CURATION, "father and son")
    assert archive.reconstruction_of(parts[0].name).observation_ids == (sources[0],)


def test_the_parts_of_a_restricted_person_are_restricted(archive: Archive) -> None:
    office, (whole, sources) = archive.office, family(archive)
    office.do(restrict, whole, "alive")
    parts = office.do(split, whole, [[one] for one in sources], CURATION, "father and son")
    assert [office.ask(show, part.name).reconstruction for part in parts] == [None, None]
    assert [office.ask(show, part.name).restriction.reason for part in parts] == ["alive", "alive"]


def test_undoing_a_split_does_not_show_a_restricted_part(archive: Archive) -> None:
    office, (whole, sources) = archive.office, family(archive)
    parts = office.do(split, whole, [[one] for one in sources], CURATION, "father and son")
    office.do(restrict, parts[1].name, "alive")
    with pytest.raises(WrongState):
        office.do(undo_split, whole, "one man after all")
    office.do(restrict, whole, "alive")
    office.do(undo_split, whole, "one man after all")


def test_a_split_needs_permission_to_withdraw_and_to_mint(archive: Archive) -> None:
    office, (whole, sources) = archive.office, family(archive)
    for number, action in enumerate(("withdraw", "mint")):
        agent = office.hire(f"splitter-{number}", "PRID", action)
        with pytest.raises(NotAuthorised):
            office.by(agent, split, whole, [[one] for one in sources], CURATION, "father and son")
