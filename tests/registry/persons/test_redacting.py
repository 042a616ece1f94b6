"""Redaction of persons: the content is gone from every version, and the redaction is visible."""

import asyncio
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from tests.registry_fixture import Office, open_office

from perdure import ppid
from perdure.errors import Immutable, InvalidInput, NotAuthorised, StoreUnavailable, WrongState
from perdure.records import record as records
from perdure.records.person import ChosenClaim, Claim, Link, Reconstruction
from perdure.registry import (
    Curation,
    find_by_value,
    history,
    merge,
    mint,
    observe,
    reconstruct,
    redact,
    restrict,
    revise_reconstruction,
    search,
    show,
    verify,
)
from perdure.registry.entities import Agent
from perdure.registry.persons import list_person_versions
from perdure.registry.query import list_acts
from perdure.store.sqlite import SqliteStore

WHEN, LATER = "2025-01-09T10:30:00Z", "2025-02-15T14:00:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
SECRET = "Zwanenburg"
CLAIMS = (Claim(type="name", value=f"Jan {SECRET}"), Claim(type="occupation", value="clerk"))


def observe_source(office: Office, number: int = 1) -> str:
    name: str = office.do(observe, f"https://example.org/{number}", WHEN, "0" * 64, claims=CLAIMS).name
    return name


def details_with_claim(poid: str) -> Reconstruction:
    return Reconstruction((), "", "", claims=(ChosenClaim(poid, 1),), links=(Link("exact", "wikidata", "Q42"),))


def stored_bytes(office: Office, name: str) -> bytes:
    """Return everything that the store has of a name."""
    [one] = [one for one in office.read(lambda reader: reader.histories("", 1000)) if one.identifier.key == name]
    return msgspec.msgpack.encode((one.identifier, one.revisions))


def test_a_redacted_observation_and_its_copies_leave_no_content(office: Office) -> None:
    jan, other = observe_source(office), observe_source(office, 2)
    prid = office.do(reconstruct, [jan], CURATOR, WHEN, details_with_claim(jan)).name
    both = Reconstruction((), "", "", claims=(ChosenClaim(jan, 1), ChosenClaim(other, 2)))
    office.do(revise_reconstruction, prid, [jan, other], CURATOR, LATER, both)
    raw = office.run(ppid.ppid_to_uuid(jan, office.registry))
    version, others = office.do(redact, jan, "a court has said so")
    assert (version, others) == (2, [prid])
    assert SECRET.encode() not in stored_bytes(office, jan)
    assert b"https://example.org/1" not in stored_bytes(office, jan)
    assert SECRET.encode() not in stored_bytes(office, prid)
    assert b"clerk" in stored_bytes(office, prid)  # of the other observation
    view = office.ask(show, jan)
    assert (view.observation, view.redaction.reason, view.state) == (None, "a court has said so", "active")
    assert office.ask(show, prid).redaction.of == jan
    assert [one.name for one in office.ask(search, [SECRET])] == [other]
    assert [one.action for one in office.ask(history, jan)] == ["mint", "redact"]
    again = office.do(observe, "https://example.org/1", WHEN, "0" * 64)
    assert (again.name, again.uuid_raw, again.created) == (jan, raw, False)
    assert office.ask(verify) == []


def test_each_version_keeps_the_digest_of_its_content(office: Office) -> None:
    jan = observe_source(office)
    prid = office.do(reconstruct, [jan], CURATOR, WHEN, details_with_claim(jan)).name
    office.do(revise_reconstruction, prid, [jan], CURATOR, LATER, details_with_claim(jan))
    before = [sha256(one.record).hexdigest() for one in office.ask(history, prid, by=office.admin)]
    office.do(redact, prid, "by law")
    after = [records.decode(one.record).redaction for one in office.ask(history, prid, by=office.admin)]
    assert [one.sha256 for one in after if one is not None][:2] == before
    redactions = [records.decode(one.record).redaction for one in office.ask(history, prid)]
    assert {one.sha256 for one in redactions if one is not None} == {""}  # short content could be guessed from it
    assert office.ask(show, prid).redaction.sha256 == ""
    assert office.ask(find_by_value, "Q42", type="WIKIDATA") == []
    assert office.ask(verify) == []


def test_a_later_redaction_preserves_the_earlier_one(office: Office) -> None:
    first, second = observe_source(office), observe_source(office, 2)
    chosen = Reconstruction((), "", "", claims=(ChosenClaim(first, 1), ChosenClaim(second, 1)))
    prid = office.do(reconstruct, [first, second], CURATOR, WHEN, chosen).name
    original = sha256(office.ask(history, prid, by=office.admin)[0].record).hexdigest()
    office.do(redact, first, "first court")
    between = sha256(office.ask(history, prid, by=office.admin)[0].record).hexdigest()
    office.do(redact, second, "second court")
    versions = office.ask(history, prid, by=office.admin)
    acts = [records.decode(one.record).redaction.acts for one in versions]
    assert [[(act.reason, act.of) for act in of_one] for of_one in acts] == [
        [("first court", first), ("second court", second)]
    ] * 3
    assert [act.sha256 for act in acts[0]] == [original, between]
    assert [one.note for one in versions][1:] == ["first court", "second court"]
    assert {act.sha256 for act in office.ask(show, prid).redaction.acts} == {""}
    office.do(redact, prid, "everything")
    assert [act.reason for act in office.ask(show, prid).redaction.acts] == [
        "first court",
        "second court",
        "everything",
    ]
    assert office.ask(verify) == []


def test_a_person_with_a_redacted_observation_can_be_revised(office: Office) -> None:
    jan, other = observe_source(office), observe_source(office, 2)
    prid = office.do(reconstruct, [jan, other], CURATOR, WHEN, details_with_claim(jan)).name
    office.do(redact, jan, "by law")
    office.do(revise_reconstruction, prid, [jan, other], CURATOR, LATER, details_with_claim(jan))
    made = office.ask(show, prid).reconstruction
    assert made.timestamp == LATER
    assert made.claims == (ChosenClaim(jan, 1),)  # without its content
    with pytest.raises(WrongState):
        office.do(reconstruct, [jan, other], CURATOR, LATER)
    assert office.ask(verify) == []


def test_notes_of_a_hidden_person_are_not_shown(office: Office) -> None:
    jan = observe_source(office)
    prid = office.do(reconstruct, [jan], CURATOR, WHEN).name
    office.do(revise_reconstruction, prid, [jan], CURATOR, LATER, note=f"{SECRET} it is")

    def notes(by: Agent | None) -> list[set[str | None]]:
        ways = (office.ask(way, prid, by=by) for way in (list_acts, list_person_versions, history))
        return [{one.note for one in entries if one.version > 1} for entries in ways]

    assert notes(None) == [{f"{SECRET} it is"}] * 3
    office.do(restrict, prid, "alive")
    assert notes(None) == [{None}] * 3
    assert notes(office.admin) == [{f"{SECRET} it is", "alive"}] * 3
    office.do(redact, prid, "by law")
    assert notes(None) == notes(office.admin) == [{None}] * 3


def test_a_redaction_needs_an_administrator_and_is_done_once(office: Office) -> None:
    jan = observe_source(office)
    clerk = office.hire("clerk", "*", "mint", "edit", "withdraw")
    with pytest.raises(NotAuthorised):
        office.by(clerk, redact, jan, "by law")
    assert office.ask(show, jan).observation is not None
    office.do(redact, jan, "by law")
    with pytest.raises(WrongState):
        office.do(redact, jan, "by law")
    [minted] = office.do(mint, office.registry.home)
    with pytest.raises(InvalidInput):
        office.do(redact, minted.name, "by law")


def test_a_redaction_can_change_nothing_else_in_a_revision(office: Office) -> None:
    jan = observe_source(office)
    with pytest.raises(StoreUnavailable):
        office.run(office.registry.store.write(lambda tx: tx.redact(jan, {1: b'{"state":"active"}'})))
    assert office.ask(show, jan).observation is not None


def test_a_merged_person_is_redacted_and_restricted_after_the_surviving_one(office: Office) -> None:
    one, other = observe_source(office), observe_source(office, 2)
    gone = office.do(reconstruct, [one], CURATOR, WHEN, details_with_claim(one)).name
    survivor = office.do(reconstruct, [other], CURATOR, WHEN).name
    office.do(merge, gone, survivor, Curation(CURATOR, LATER), "the same man, called Zwanenburg")
    for act in (restrict, redact):
        with pytest.raises(WrongState, match=survivor):
            office.do(act, gone, "by law")
    office.do(restrict, survivor, "alive")
    office.do(restrict, gone, "alive")
    assert office.ask(show, gone).tombstone.reason == "not shown"
    office.do(redact, survivor, "by law")
    office.do(redact, gone, "by law")
    assert SECRET.encode() not in stored_bytes(office, gone) + stored_bytes(office, survivor)
    assert office.ask(verify) == []


def test_an_agent_without_permission_cannot_guess_a_hidden_observation(office: Office) -> None:
    jan = observe_source(office)
    office.do(restrict, jan, "alive")
    clerk = office.hire("clerk", "POID", "mint")
    assert office.by(clerk, observe, "https://example.org/1", WHEN, "0" * 64).name == jan
    for claims in (CLAIMS, CLAIMS[:1]):
        with pytest.raises(Immutable):
            office.by(clerk, observe, "https://example.org/1", WHEN, "0" * 64, claims=claims)
    assert office.do(observe, "https://example.org/1", WHEN, "0" * 64, claims=CLAIMS).name == jan


def test_an_agent_without_permission_cannot_guess_a_hidden_reconstruction(office: Office) -> None:
    jan = observe_source(office)
    prid = office.do(reconstruct, [jan], CURATOR, WHEN, details_with_claim(jan)).name
    office.do(restrict, prid, "alive")
    clerk = office.hire("clerk", "PRID", "mint")
    assert office.by(clerk, reconstruct, [jan], CURATOR, WHEN).name == prid
    for link in ("Q42", "Q43"):
        guess = msgspec.structs.replace(details_with_claim(jan), links=(Link("exact", "wikidata", link),))
        with pytest.raises(Immutable):
            office.by(clerk, reconstruct, [jan], CURATOR, WHEN, guess)
    assert office.do(reconstruct, [jan], CURATOR, WHEN, details_with_claim(jan)).name == prid


def test_choosing_a_hidden_claim_needs_permission_to_see_it(office: Office) -> None:
    jan = observe_source(office)
    office.do(restrict, jan, "alive")
    clerk = office.hire("clerk", "PRID", "mint", "edit", "withdraw")
    prid = office.by(clerk, reconstruct, [jan], CURATOR, WHEN).name
    office.by(clerk, restrict, prid, "alive")
    chosen = Reconstruction((), "", "", claims=(ChosenClaim(jan, 1),))
    with pytest.raises(NotAuthorised):
        office.by(clerk, revise_reconstruction, prid, [jan], CURATOR, LATER, chosen)
    office.do(revise_reconstruction, prid, [jan], CURATOR, LATER, chosen)


def test_the_files_of_the_database_contain_no_redacted_content(runner: asyncio.Runner, tmp_path: Path) -> None:
    """Check the free pages, the old locations of moved rows, and the full-text index."""
    store = SqliteStore(tmp_path / "perdure.db", create=True)
    office = open_office(runner, store)
    secrets = []
    for number in range(240):
        word = "quetzal" if number % 12 == 5 else "zwanenburg"
        filler = "x" * (10, 300, 3000)[number % 7 % 3]
        claims = (Claim(type="name", value=f"Jan {word}"), Claim(type="description", value=f"{word} {filler}"))
        poid = office.do(observe, f"https://example.org/{word}/{number}", WHEN, "0" * 64, claims=claims).name
        chosen = Reconstruction((), "", "", claims=(ChosenClaim(poid, 1), ChosenClaim(poid, 2)))
        prid = office.do(reconstruct, [poid], CURATOR, WHEN, chosen).name
        office.do(revise_reconstruction, prid, [poid], CURATOR, LATER, msgspec.structs.replace(chosen, notes=word))
        if word == "quetzal":
            secrets.append((poid, prid))
    for poid, prid in secrets:
        office.do(restrict, prid, "alive")
        office.do(restrict, poid, "alive")
    for poid, prid in secrets:
        office.do(redact, poid, "by law")
        office.do(redact, prid, "by law")
    assert office.ask(verify) == []
    store.close()
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir()).lower()
    assert b"zwanenburg" in content
    assert b"quetzal" not in content
