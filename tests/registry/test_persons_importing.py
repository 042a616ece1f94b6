"""Persons that come with their histories are looked at as if all of it were said here; and `verify` looks again."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from tests.registry.archive import CURATOR, HIM, LATER, NOBODY, Archive, archive
from tests.registry_fixture import Office, SqlitePlaces, open_office

from perdure.exchange.entry import PastRevision, Whole
from perdure.names import ppid
from perdure.records import record as records
from perdure.records.person import ChosenClaim, Claim, Link, Reconstruction, Restriction
from perdure.records.record import About, Record, Tombstone
from perdure.registry import (
    Options,
    change,
    import_entries,
    lift_restriction,
    merge,
    mint,
    redact,
    restrict,
    revise_reconstruction,
    show,
    split,
    undo_split,
    verify,
)
from perdure.registry.protocol import Reader, Transaction

__all__ = ["archive"]

Damage = Callable[[Record], Record]
BORN = Claim(type="birth_date", value="1895-03~")


@pytest.fixture(scope="module")
def elsewhere(archive: Archive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """Another registry, that knows nobody yet."""
    places = SqlitePlaces(tmp_path_factory.mktemp("elsewhere"))
    yield open_office(archive.office.runner, places.open())
    places.close()


def whole(office: Office, name: str) -> Whole:
    def work(reader: Reader) -> Whole:
        past = tuple(
            PastRevision(one.version, one.at, one.agent, one.action, records.decode(one.record), one.note)
            for one in reader.revisions(name)
        )
        return Whole(line=1, name=name, scheme="ppid", revisions=past, uuid_raw=reader.input_of(name))

    return office.read(work)


def bring(office: Office, *entries: Whole) -> list[str]:
    """Why some were refused."""
    problems: list[Any] = []
    office.do(import_entries, entries, Options(), report=problems.append)
    return [one.reason for one in problems]


def said(**changes: Any) -> Damage:
    return lambda record: msgspec.structs.replace(record, **changes)


def seen(**changes: Any) -> Damage:
    return lambda record: said(observation=msgspec.structs.replace(record.observation, **changes))(record)


def made(**changes: Any) -> Damage:
    return lambda record: said(reconstruction=msgspec.structs.replace(record.reconstruction, **changes))(record)


def claimed(**changes: Any) -> Damage:
    """Something else of the first chosen claim."""

    def damage(record: Record) -> Record:
        first, *others = record.reconstruction.claims
        return made(claims=(msgspec.structs.replace(first, **changes), *others))(record)

    return damage


def stone(state: str, **fields: Any) -> Damage:
    return said(state=state, tombstone=Tombstone("gone", **fields))


OBSERVATIONS: dict[str, tuple[Damage, str]] = {
    "a claim of no type": (seen(claims=(Claim(type="shoe_size", value="44"),)), "shoe_size"),
    "a day that never was": (seen(claims=(Claim(type="birth_date", value="1900-02-29"),)), "1900-02-29"),
    "another archive": (seen(holding_archive="nl-nh-ams-m-rm"), "not written as an observation is"),
    "values": (said(about=About(who="Jan")), "neither values nor a description"),
    "a merge": (stone("merged", replaced_by=NOBODY), "neither merged nor split"),
    "a restriction without a reason": (said(restriction=Restriction(" ", "2025-01-09T10:30:00Z")), "restriction"),
    "a restriction without a date": (said(restriction=Restriction("alive", "lately")), "restriction"),
}
RECONSTRUCTIONS: dict[str, tuple[Damage, str]] = {
    "a link that is wrong": (made(links=(Link("exact", "orcid", "0000-0002-1825-0098"),)), "0000-0002-1825-0098"),
    "a link in another form": (made(links=(Link("exact", "wikidata", "q42"),)), "not written as a reconstruction is"),
    "a curator on two lines": (made(curator_name="a\nb"), "curator_name"),
    "another word for a claim": (claimed(said=Claim(type="birth_date", value="1901")), "do not"),
    "no word for a claim": (claimed(said=None), "do not"),
    "a claim that is not there": (claimed(claim=7), "no number 7"),
    "itself": (lambda record: made(different_from=(made_of(record),))(record), "that is itself"),
    "a merge into nobody": (stone("merged"), "does not lead to one other person"),
    "a merge into a source": (
        stone("merged", replaced_by="POID-93b0-4476-560e-5ac1"),
        "does not lead to one other person",
    ),
    "a merge of no version": (stone("withdrawn", merged_at=2), "taken up in version 2"),
    "a split into one": (stone("withdrawn", successors=(NOBODY,)), "several persons"),
    "a split into itself": (
        lambda record: stone("withdrawn", successors=(NOBODY, made_of(record)))(record),
        "no other person",
    ),
}


def made_of(record: Record) -> str:
    """The name of a reconstruction, which its first inputs make."""
    inputs = record.reconstruction
    return ppid.generate_prid(inputs.observation_ids, inputs.curator_id, inputs.timestamp)


def damaged(entry: Whole, damage: Damage) -> Whole:
    past = tuple(msgspec.structs.replace(one, record=damage(one.record)) for one in entry.revisions)
    return msgspec.structs.replace(entry, revisions=past)


def write(office: Office, name: str, damage: Damage) -> None:
    """One more version, past every check."""

    def work(tx: Transaction) -> None:
        row = tx.find(name)
        assert row is not None
        change.revise(tx, row, damage(records.decode(row.record)), office.admin, "set", office.registry.now())

    office.run(office.registry.store.write(work))


def problems(office: Office, name: str) -> str:
    return "\n".join(one for one in office.ask(verify) if one.startswith(f"{name}: "))


@pytest.mark.parametrize("kind", OBSERVATIONS)
def test_an_observation_that_could_not_be_said_here_is_not_brought_here(
    archive: Archive, elsewhere: Office, kind: str
) -> None:
    damage, reason = OBSERVATIONS[kind]
    poid = archive.source(BORN)
    before = elsewhere.everything()
    [told] = bring(elsewhere, damaged(whole(archive.office, poid), damage))
    assert reason in told
    assert elsewhere.everything() == before
    write(archive.office, poid, damage)
    assert reason in problems(archive.office, poid)


@pytest.mark.parametrize("kind", RECONSTRUCTIONS)
def test_a_reconstruction_that_could_not_be_said_here_is_not_brought_here(
    archive: Archive, elsewhere: Office, kind: str
) -> None:
    damage, reason = RECONSTRUCTIONS[kind]
    poid = archive.source(BORN)
    prid = archive.person(poid, chosen=((poid, 1),))
    assert bring(elsewhere, whole(archive.office, poid)) == []
    before = elsewhere.everything()
    [told] = bring(elsewhere, damaged(whole(archive.office, prid), damage))
    assert reason in told
    assert elsewhere.everything() == before
    write(archive.office, prid, damage)
    assert reason in problems(archive.office, prid)


def test_what_was_said_and_done_here_arrives_whole(archive: Archive, elsewhere: Office) -> None:
    office = archive.office
    sources = [archive.source(BORN) for _ in range(3)]
    one, two = (archive.person(source, chosen=((source, 1),)) for source in sources[:2])
    office.do(merge, one, two, HIM, "the same man")
    parts = [person.name for person in office.do(split, two, [[source] for source in sources[:2]], HIM, "two")]
    office.do(undo_split, two, "one after all")
    hidden = archive.person(sources[2], chosen=((sources[2], 1),), different_from=(two,))
    office.do(restrict, hidden, "alive")
    office.do(restrict, sources[2], "alive")
    names = [*sources, *sorted([one, two, *parts, hidden])]
    assert bring(elsewhere, *(whole(office, name) for name in names)) == []
    assert bring(elsewhere, *(whole(office, name) for name in names)) == []
    assert [elsewhere.ask(show, name, by=elsewhere.admin).version for name in names] == [
        office.ask(show, name).version for name in names
    ]
    assert elsewhere.ask(show, hidden).reconstruction is None
    assert elsewhere.ask(verify) == []
    office.do(lift_restriction, sources[2], "died")
    office.do(lift_restriction, hidden, "died")
    assert bring(elsewhere, *(whole(office, name) for name in (sources[2], hidden))) == []
    assert elsewhere.ask(show, hidden).reconstruction == archive.said(hidden)


def test_what_is_restricted_here_is_not_shown_by_a_history_from_elsewhere(archive: Archive, elsewhere: Office) -> None:
    office, poid = archive.office, archive.source(BORN)
    prid = archive.person(poid, chosen=((poid, 1),))
    office.do(revise_reconstruction, prid, [archive.source()], CURATOR, LATER)
    bring(elsewhere, *(whole(office, one) for one in (poid, *archive.said(prid).observation_ids)))
    elsewhere.do(restrict, poid, "alive")
    [told] = bring(elsewhere, whole(office, prid))
    assert poid in told
    write(office, poid, said(restriction=Restriction("alive", "2025-01-09T10:30:00Z")))
    assert poid in problems(office, prid)


def test_an_inferred_claim_does_not_replace_a_verified_one_by_coming_from_elsewhere(
    archive: Archive, elsewhere: Office
) -> None:
    guess = Claim(type="birth_date", value="189X", status="inferred", reasoning="he married in 1920")
    poid = archive.source(BORN, guess)
    prid = archive.person(poid, chosen=((poid, 1),))
    bring(elsewhere, whole(archive.office, poid))
    damage = made(claims=(ChosenClaim(poid, 2, guess),))
    [told] = bring(elsewhere, damaged(whole(archive.office, prid), damage))
    assert "inferred" in told
    write(archive.office, prid, damage)
    assert "inferred" in problems(archive.office, prid)


def test_only_persons_have_what_persons_have(archive: Archive, elsewhere: Office) -> None:
    office = archive.office
    office.prefix("12345", "chosen")
    elsewhere.prefix("12345", "chosen")
    name = office.do(mint, "12345", suffixes=["thing"])[0].name
    entry = msgspec.structs.replace(whole(office, name), scheme="handle")
    for part, damage in (
        ("restriction", said(restriction=Restriction("alive", "2025-01-09T10:30:00Z"))),
        ("reconstruction", said(reconstruction=Reconstruction((), "", ""))),
        ("merged or split", stone("withdrawn", merged_at=2)),
    ):
        [told] = bring(elsewhere, damaged(entry, damage))
        assert part in told
    assert bring(elsewhere, entry) == []
    write(office, name, said(restriction=Restriction("alive", "2025-01-09T10:30:00Z")))
    assert "restriction" in problems(office, name)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (made(different_from=(NOBODY,)), f"it names {NOBODY}"),
        (made(replaces=(NOBODY,)), f"it names {NOBODY}"),
        (stone("merged", replaced_by=NOBODY), f"it leads to {NOBODY}"),
    ],
)
def test_whom_a_person_names_must_be_there(archive: Archive, damage: Damage, reason: str) -> None:
    prid = archive.named("Jan")[1]
    write(archive.office, prid, damage)
    assert reason in problems(archive.office, prid)


def test_who_came_in_the_place_of_a_person_must_know_that(archive: Archive) -> None:
    gone, kept = archive.named("Jan")[1], archive.named("Johannes")[1]
    archive.office.do(revise_reconstruction, kept, archive.said(kept).observation_ids, CURATOR, LATER)
    write(archive.office, gone, stone("merged", replaced_by=kept, merged_at=2))
    assert "did not come in its place" in problems(archive.office, gone)


def same_here(archive: Archive, elsewhere: Office) -> tuple[str, str]:
    """An observation and a person with a claim of it, in both registries."""
    poid = archive.source(BORN)
    prid = archive.person(poid, chosen=((poid, 1),))
    assert bring(elsewhere, whole(archive.office, poid), whole(archive.office, prid)) == []
    return poid, prid


def test_what_was_redacted_elsewhere_is_told_with_the_command_that_redacts_it_here(
    archive: Archive, elsewhere: Office
) -> None:
    poid, prid = same_here(archive, elsewhere)
    before = elsewhere.everything()
    archive.office.do(redact, poid, "court order")
    incoming = whole(archive.office, poid), whole(archive.office, prid)
    for told in bring(elsewhere, *incoming):
        assert f"perdure person redact {poid} --reason" in told
        assert "court order" in told
    assert elsewhere.everything() == before  # no file destroys anything
    elsewhere.do(redact, poid, "court order 12 of elsewhere")
    here = elsewhere.everything()
    assert bring(elsewhere, *incoming) == []  # who redacted, when and why, is each registry's own
    assert elsewhere.everything() == here
    assert elsewhere.ask(verify) == []


def test_a_person_who_was_redacted_in_part_on_both_sides_goes_on(archive: Archive, elsewhere: Office) -> None:
    office = archive.office
    poid, prid = same_here(archive, elsewhere)
    office.do(redact, poid, "court order")
    elsewhere.do(redact, poid, "court order")
    office.do(revise_reconstruction, prid, archive.said(prid).observation_ids, CURATOR, LATER)
    assert bring(elsewhere, whole(office, prid)) == []
    assert elsewhere.ask(show, prid).version == office.ask(show, prid).version == 3
    assert elsewhere.ask(verify) == []


def test_what_was_redacted_here_does_not_come_back(archive: Archive, elsewhere: Office) -> None:
    poid, prid = same_here(archive, elsewhere)
    elsewhere.do(redact, poid, "court order")
    before = elsewhere.everything()
    for name in (poid, prid):
        [told] = bring(elsewhere, whole(archive.office, name))
        assert "not brought back" in told
    assert elsewhere.everything() == before


def test_a_person_who_went_another_way_since_a_redaction_is_refused(archive: Archive, elsewhere: Office) -> None:
    poid, prid = same_here(archive, elsewhere)
    for office, note in ((archive.office, "one"), (elsewhere, "another")):
        office.do(redact, poid, "court order")
        made = msgspec.structs.replace(archive.said(prid), notes=note)
        office.do(revise_reconstruction, prid, made.observation_ids, CURATOR, LATER, made)
    before = elsewhere.everything()
    [told] = bring(elsewhere, whole(archive.office, prid))
    assert "the same history" in told
    assert elsewhere.everything() == before


def test_a_healthy_archive_contradicts_nothing(runner: asyncio.Runner, tmp_path_factory: Any) -> None:
    places = SqlitePlaces(tmp_path_factory.mktemp("healthy"))
    healthy = Archive(open_office(runner, places.open()))
    (_, one), (_, other) = healthy.named("Jan"), healthy.named("Johannes")
    healthy.office.do(merge, one, other, HIM, "the same man")
    assert healthy.office.ask(verify) == []
    places.close()
