"""Restrictions: the identifier still resolves, and the content of a living person is hidden from readers without a
grant.
"""

from collections.abc import Iterator

import pytest
from tests.registry.archive import CURATION, CURATOR, LATER, WHEN, Archive, archive
from tests.registry_fixture import Office, describe, set_target

from perdure.errors import InvalidInput, NoTarget, NotAuthorised, WrongState
from perdure.records.person import ChosenClaim, Claim, Link, Reconstruction
from perdure.records.record import About
from perdure.registry import (
    diff,
    find_by_value,
    history,
    lift_restriction,
    merge,
    mint,
    observe,
    reconstruct,
    reinstate,
    resolve,
    restrict,
    revise_reconstruction,
    search,
    show,
    split,
    transfer_identifiers,
    verify,
    withdraw,
)
from perdure.registry.entities import Agent
from perdure.registry.persons import (
    list_observations,
    list_person_versions,
    list_public_persons,
    show_person,
)

__all__ = ["archive"]

SECRET = "Zonderling"
ORCID = "0000-0002-1694-233X"


@pytest.fixture(scope="module")
def reader(archive: Archive) -> Agent:
    """Return an agent with a key and no grant for persons."""
    archive.office.prefix("12345", "chosen")
    return archive.office.hire("reader", "12345", "mint", "edit")


def living_person(archive: Archive) -> tuple[str, str]:
    """Create a source and a person that contain the secret in every possible way."""
    office, poid = archive.office, archive.source(Claim(type="name", value=SECRET))
    fields = {"notes": SECRET, "links": (Link("exact", "orcid", ORCID),), "curator_name": SECRET}
    prid = archive.person(poid, chosen=((poid, 1),), **fields)
    office.do(set_target, prid, f"https://example.org/{SECRET}")
    office.do(describe, prid, About(who=SECRET))
    made = archive.reconstruction_of(prid)
    office.do(revise_reconstruction, prid, [poid], CURATOR, LATER, made, note=f"{SECRET} again")
    return poid, prid


def everything_shown(office: Office, name: str, by: Agent | None) -> Iterator[object]:
    """Return all that the registry shows of a name to this reader."""
    yield office.ask(show, name, by=by)
    for version in range(1, office.ask(show, name).version + 1):
        yield office.ask(show, name, version=version, by=by)
        yield office.ask(diff, name, 1, version, by=by)
        yield office.ask(show_person, name, version=version, by=by)
    yield office.ask(history, name, by=by)
    yield office.ask(list_person_versions, name, by=by)
    if name.startswith("PRID"):
        yield office.ask(list_observations, name, by=by)


def test_without_a_grant_no_content_is_visible(archive: Archive, reader: Agent) -> None:
    office = archive.office
    poid, prid = living_person(archive)
    assert all(SECRET in repr(list(everything_shown(office, name, None))) for name in (poid, prid))
    office.do(restrict, prid, "the person is alive")
    office.do(restrict, poid, "the person is alive")
    for by in (None, reader):
        for name in (poid, prid):
            output = repr(list(everything_shown(office, name, by)))
            assert SECRET not in output
            assert "the person is alive" in output
    assert office.ask(search, [SECRET]) == []
    assert office.ask(find_by_value, ORCID, type="orcid") == []
    assert office.ask(find_by_value, f"https://example.org/{SECRET}") == []
    with pytest.raises(NoTarget):
        office.ask(resolve, prid)
    for name in (poid, prid):
        assert SECRET in repr(list(everything_shown(office, name, office.admin)))


def test_a_restricted_person_resolves_and_shows_time_and_reason(office: Office) -> None:
    """The only test of this module that also runs on PostgreSQL."""
    claim = Claim(type="name", value=SECRET)
    poid = office.do(observe, "https://example.org/jan", WHEN, "0" * 64, claims=(claim,)).name
    assert office.do(restrict, poid, "alive") == 2
    assert office.do(restrict, poid, "alive") == 2
    assert office.do(restrict, poid, "asked for by the person") == 3
    view = office.ask(show, poid.lower())
    assert (view.name, view.state, view.observation) == (poid, "active", None)
    assert view.restriction is not None
    assert (view.restriction.reason, view.restriction.since) == ("asked for by the person", "2027-01-15T08:00:00Z")
    assert office.ask(search, [SECRET]) == []
    assert [one.action for one in office.ask(history, poid)] == ["mint", "restrict", "restrict"]
    assert office.do(observe, "https://example.org/jan", WHEN, "0" * 64).name == poid
    assert office.ask(verify) == []
    assert office.do(lift_restriction, poid, "died in 2027") == 4
    assert office.ask(show, poid).observation.claims == (claim,)
    assert [hit.name for hit in office.ask(search, [SECRET])] == [poid]
    with pytest.raises(WrongState):
        office.do(lift_restriction, poid, "again")
    assert office.ask(verify) == []


def test_an_observation_is_not_restricted_while_a_reconstruction_shows_its_claims(archive: Archive) -> None:
    office = archive.office
    poid = archive.source(Claim(type="name", value=SECRET))
    showing = archive.person(poid, chosen=((poid, 1),))
    naming = office.do(reconstruct, [poid], CURATOR, LATER).name
    before = office.snapshot()
    with pytest.raises(WrongState) as refusal:
        office.do(restrict, poid, "alive")
    assert showing in str(refusal.value)
    assert naming not in str(refusal.value)
    assert office.snapshot() == before
    office.do(restrict, showing, "alive")
    office.do(restrict, poid, "alive")
    assert office.ask(show_person, naming).observations == {poid: None}
    assert [view.observation for view in office.ask(list_observations, naming)] == [None]


def test_old_versions_and_tombstones_show_claims_as_well(archive: Archive) -> None:
    office = archive.office
    poid, other = archive.source(Claim(type="name", value=SECRET)), archive.source()
    revised = archive.person(poid, chosen=((poid, 1),))
    office.do(revise_reconstruction, revised, [other], CURATOR, LATER)
    reconstruction = Reconstruction((), "", "", claims=(ChosenClaim(poid, 1),))
    gone = office.do(reconstruct, [poid, other], CURATOR, WHEN, reconstruction).name
    office.do(withdraw, gone, "a mistake")
    with pytest.raises(WrongState) as refusal:
        office.do(restrict, poid, "alive")
    assert revised in str(refusal.value)
    assert gone in str(refusal.value)


def test_a_restricted_claim_cannot_be_chosen_for_a_public_person(archive: Archive) -> None:
    office = archive.office
    poid = archive.source(Claim(type="name", value=SECRET))
    office.do(restrict, poid, "alive")
    with pytest.raises(WrongState):
        archive.person(poid, chosen=((poid, 1),))
    prid = archive.person(poid)
    reconstruction = Reconstruction((), "", "", claims=(ChosenClaim(poid, 1),))
    with pytest.raises(WrongState):
        office.do(revise_reconstruction, prid, [poid], CURATOR, LATER, reconstruction)
    office.do(restrict, prid, "alive")
    office.do(revise_reconstruction, prid, [poid], CURATOR, LATER, reconstruction)
    with pytest.raises(WrongState) as refusal:
        office.do(lift_restriction, prid, "died")
    assert poid in str(refusal.value)
    office.do(lift_restriction, poid, "died")
    office.do(lift_restriction, prid, "died")
    assert office.ask(show, prid).reconstruction.claims[0].said.value == SECRET


def test_the_survivor_of_a_restricted_person_stays_restricted(archive: Archive) -> None:
    office = archive.office
    gone, survivor = archive.add_named_person(SECRET)[1], archive.add_named_person("Jan")[1]
    office.do(restrict, gone, "alive")
    office.do(restrict, survivor, "alive")
    office.do(merge, gone, survivor, CURATION, "the same man")
    with pytest.raises(WrongState) as refusal:
        office.do(lift_restriction, survivor, "died")
    assert gone in str(refusal.value)
    office.do(lift_restriction, gone, "died")
    office.do(lift_restriction, survivor, "died")


def test_a_restriction_needs_permission_to_withdraw(archive: Archive, reader: Agent) -> None:
    office, (poid, _) = archive.office, archive.add_named_person("Jan")
    editor = office.hire("restricting-editor", "POID", "edit")
    for by in (reader, editor):
        with pytest.raises(NotAuthorised):
            office.by(by, restrict, poid, "alive")
    lone = archive.source(Claim(type="name", value=SECRET))
    office.do(restrict, lone, "alive")
    for by in (reader, editor):
        with pytest.raises(NotAuthorised):
            office.by(by, lift_restriction, lone, "died")
    assert office.ask(show, lone, by=editor).observation is not None


def test_only_persons_are_restricted(archive: Archive, reader: Agent) -> None:
    office = archive.office
    name = office.by(reader, mint, "12345", suffixes=["thing"])[0].name
    with pytest.raises(InvalidInput) as refusal:
        office.do(restrict, name, "alive")
    assert refusal.value.part == "name"
    with pytest.raises(InvalidInput):
        office.do(restrict, archive.source(), "")


def test_transfer_withdrawal_and_reinstatement_preserve_the_content_of_a_person(archive: Archive) -> None:
    office = archive.office
    heir = office.hire("heir-of-persons")
    for name in living_person(archive):
        before = office.ask(show, name)
        office.do(transfer_identifiers, [name], heir.id)
        office.do(withdraw, name, "asked for")
        after = office.ask(show, name)
        assert (after.observation, after.reconstruction) == (before.observation, before.reconstruction)
        office.do(reinstate, name)
        after = office.ask(show, name)
        assert (after.observation, after.reconstruction) == (before.observation, before.reconstruction)
        assert (after.state, after.authority.owners) == ("active", (heir.identifier,))
    assert office.ask(verify) == []


def test_a_restriction_outlives_a_withdrawal_and_a_transfer(archive: Archive) -> None:
    office = archive.office
    poid = archive.source(Claim(type="name", value=SECRET))
    office.do(restrict, poid, "alive")
    office.do(withdraw, poid, "asked for")
    assert office.ask(show, poid).observation is None
    office.do(reinstate, poid)
    heir = office.hire("heir-of-a-restricted-person")
    office.do(transfer_identifiers, [poid], heir.id)
    assert office.ask(show, poid).observation is None
    assert office.ask(show, poid, by=heir).observation is not None


def test_the_observations_are_restricted_with_their_reconstruction(archive: Archive) -> None:
    office = archive.office
    poid, prid = living_person(archive)
    other = archive.source(Claim(type="name", value="Piet"))
    office.do(revise_reconstruction, prid, [poid, other], CURATOR, WHEN, archive.reconstruction_of(prid))
    office.do(restrict, prid, "a living person")
    assert office.ask(list_public_persons, [poid, other]) == sorted([poid, other])
    office.do(restrict, other, "another reason")
    before = office.ask(show, other).version
    office.do(restrict, prid, "a living person", with_observations=True)
    assert office.ask(list_public_persons, [poid, other]) == []
    assert office.ask(show, other).version == before, "what is restricted already stays as it is"
    assert office.ask(show, poid).observation is None
    assert office.ask(verify) == []


def test_an_observation_that_another_person_shows_prevents_all(archive: Archive) -> None:
    office = archive.office
    poid, prid = living_person(archive)
    more = Reconstruction((), "", "", claims=(ChosenClaim(poid, 1),))
    other = office.do(reconstruct, [poid], CURATOR, "2025-03-01T09:00:00Z", more).name
    before = office.snapshot()
    with pytest.raises(WrongState, match=other):
        office.do(restrict, prid, "a living person", with_observations=True)
    assert office.snapshot() == before
    with pytest.raises(InvalidInput, match="observation itself"):
        office.do(restrict, poid, "a living person", with_observations=True)


def test_what_was_merged_into_a_person_is_restricted_with_it(archive: Archive) -> None:
    """First into one person, and then with that one into another."""
    office = archive.office
    people = [archive.add_named_person(SECRET) for _ in range(3)]
    sources, (first, second, last) = [source for source, _ in people], [name for _, name in people]
    office.do(merge, first, second, CURATION, "the same man")
    office.do(merge, second, last, CURATION, "the same man")
    office.do(restrict, last, "a living person")
    replaced = archive.reconstruction_of(last).replaces
    assert office.ask(list_public_persons, replaced) == sorted([first, second])
    office.do(restrict, last, "a living person", with_observations=True)
    assert office.ask(list_public_persons, [*sources, *replaced]) == []
    assert office.ask(show, first, version=1).reconstruction is None
    assert office.ask(verify) == []
    for name in (*sources, first, second, last):
        office.do(lift_restriction, name, "died")


def test_a_person_who_was_split_stays_public_with_another_part(archive: Archive) -> None:
    office = archive.office
    (mine, first), (theirs, second) = archive.add_named_person(SECRET), archive.add_named_person("Piet")
    office.do(merge, first, second, CURATION, "the same man")
    part, other = (made.name for made in office.do(split, second, [[mine], [theirs]], CURATION, "father and son"))
    before = office.snapshot()
    with pytest.raises(WrongState, match=second):
        office.do(restrict, part, "a living person", with_observations=True)
    assert office.snapshot() == before
    office.do(restrict, part, "a living person")
    assert second in office.ask(list_public_persons, archive.reconstruction_of(part).replaces)
    office.do(restrict, other, "a living person")
    office.do(restrict, part, "a living person", with_observations=True)
    assert office.ask(list_public_persons, [mine, second]) == []
    assert office.ask(verify) == []


def test_the_observations_are_restricted_on_both_engines(office: Office) -> None:
    claim = Claim(type="name", value=SECRET)
    poid = office.do(observe, "https://example.org/1", WHEN, "0" * 64, claims=(claim,)).name
    more = Reconstruction((), "", "", claims=(ChosenClaim(poid, 1),))
    prid = office.do(reconstruct, [poid], CURATOR, WHEN, more).name
    office.do(restrict, prid, "a living person", with_observations=True)
    assert office.ask(list_public_persons, [poid]) == []
    assert office.ask(verify) == []
    office.do(lift_restriction, poid, "died")
    office.do(lift_restriction, prid, "died")
    assert office.ask(show, prid).reconstruction is not None


def test_each_observation_needs_permission(archive: Archive) -> None:
    office = archive.office
    _, prid = living_person(archive)
    hand = office.hire("of-prids", "PRID", "withdraw", "edit")
    before = office.snapshot()
    with pytest.raises(NotAuthorised):
        office.by(hand, restrict, prid, "a living person", with_observations=True)
    assert office.snapshot() == before
