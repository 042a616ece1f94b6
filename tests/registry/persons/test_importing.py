"""Import of persons with their histories: all content is checked as if it were new; and `verify` checks it again."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from tests.registry.archive import CURATION, CURATOR, LATER, UNREGISTERED_PRID, Archive, archive
from tests.registry_fixture import Office, SqliteLocations, open_office

from perdure.formats.import_entries import FullHistory, PastRevision
from perdure.names import ppid
from perdure.records import record as records
from perdure.records.person import ChosenClaim, Claim, Link, Reconstruction, Restriction
from perdure.records.record import About, Record, Tombstone
from perdure.registry import (
    ImportOptions,
    import_entries,
    lift_restriction,
    merge,
    mint,
    redact,
    restrict,
    revise_reconstruction,
    revisions,
    show,
    split,
    undo_split,
    verify,
)
from perdure.registry.store_interface import Reader, Transaction

__all__ = ["archive"]

Damage = Callable[[Record], Record]
BORN = Claim(type="birth_date", value="1895-03~")


@pytest.fixture(scope="module")
def elsewhere(archive: Archive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """Another registry, without persons."""
    locations = SqliteLocations(tmp_path_factory.mktemp("elsewhere"))
    yield open_office(archive.office.runner, locations.open())
    locations.close()


def whole(office: Office, name: str) -> FullHistory:
    def work(reader: Reader) -> FullHistory:
        past = tuple(
            PastRevision(one.version, one.at, one.agent, one.action, records.decode(one.record), one.note)
            for one in reader.revisions(name)
        )
        return FullHistory(line=1, name=name, scheme="ppid", revisions=past, uuid_raw=reader.input_uuid(name))

    return office.read(work)


def import_histories(office: Office, *entries: FullHistory) -> list[str]:
    """Import these entries. Return the reasons of those that were rejected."""
    problems: list[Any] = []
    office.do(import_entries, entries, ImportOptions(), report=problems.append)
    return [one.reason for one in problems]


def with_record(**changes: Any) -> Damage:
    return lambda record: msgspec.structs.replace(record, **changes)


def with_observation(**changes: Any) -> Damage:
    return lambda record: with_record(observation=msgspec.structs.replace(record.observation, **changes))(record)


def with_reconstruction(**changes: Any) -> Damage:
    return lambda record: with_record(reconstruction=msgspec.structs.replace(record.reconstruction, **changes))(record)


def with_claim(**changes: Any) -> Damage:
    """Change the first chosen claim."""

    def damage(record: Record) -> Record:
        first, *others = record.reconstruction.claims
        return with_reconstruction(claims=(msgspec.structs.replace(first, **changes), *others))(record)

    return damage


def stone(state: str, **fields: Any) -> Damage:
    return with_record(state=state, tombstone=Tombstone("gone", **fields))


OBSERVATIONS: dict[str, tuple[Damage, str]] = {
    "a claim of no type": (with_observation(claims=(Claim(type="shoe_size", value="44"),)), "shoe_size"),
    "a day that never was": (with_observation(claims=(Claim(type="birth_date", value="1900-02-29"),)), "1900-02-29"),
    "another archive": (
        with_observation(holding_archive="nl-nh-ams-m-rm"),
        "not in the canonical form of an observation",
    ),
    "values": (with_record(about=About(who="Jan")), "cannot have values or a description"),
    "a merge": (stone("merged", replaced_by=UNREGISTERED_PRID), "cannot be merged or split"),
    "a restriction without a reason": (
        with_record(restriction=Restriction(" ", "2025-01-09T10:30:00Z")),
        "restriction",
    ),
    "a restriction without a date": (with_record(restriction=Restriction("alive", "lately")), "restriction"),
}
RECONSTRUCTIONS: dict[str, tuple[Damage, str]] = {
    "a link that is wrong": (
        with_reconstruction(links=(Link("exact", "orcid", "0000-0002-1825-0098"),)),
        "0000-0002-1825-0098",
    ),
    "a link in another form": (
        with_reconstruction(links=(Link("exact", "wikidata", "q42"),)),
        "not in the canonical form of a reconstruction",
    ),
    "a curator on two lines": (with_reconstruction(curator_name="a\nb"), "curator_name"),
    "another word for a claim": (
        with_claim(said=Claim(type="birth_date", value="1901")),
        "differ from those of its observations",
    ),
    "no word for a claim": (with_claim(said=None), "differ from those of its observations"),
    "a claim that is not there": (with_claim(claim=7), "no claim 7"),
    "itself": (lambda record: with_reconstruction(different_from=(made_of(record),))(record), "cannot refer to itself"),
    "a merge into no person": (stone("merged"), "does not lead to one other person"),
    "a merge into a source": (
        stone("merged", replaced_by="POID-93b0-4476-560e-5ac1"),
        "does not lead to one other person",
    ),
    "a merge of no version": (stone("withdrawn", merged_at=2), "no merge in version 2"),
    "a split into one": (stone("withdrawn", successors=(UNREGISTERED_PRID,)), "several distinct persons"),
    "a split into itself": (
        lambda record: stone("withdrawn", successors=(UNREGISTERED_PRID, made_of(record)))(record),
        "not another person",
    ),
}


def made_of(record: Record) -> str:
    """Return the name that a reconstruction gets from its first inputs."""
    inputs = record.reconstruction
    return ppid.generate_prid(inputs.observation_ids, inputs.curator_id, inputs.timestamp)


def damage_entry(entry: FullHistory, damage: Damage) -> FullHistory:
    past = tuple(msgspec.structs.replace(one, record=damage(one.record)) for one in entry.revisions)
    return msgspec.structs.replace(entry, revisions=past)


def write(office: Office, name: str, damage: Damage) -> None:
    """Write another version without any check."""

    def work(tx: Transaction) -> None:
        row = tx.find(name)
        assert row is not None
        revisions.append_revision(
            tx, row, damage(records.decode(row.record)), office.admin, "set", office.registry.current_time()
        )

    office.run(office.registry.store.write(work))


def problems(office: Office, name: str) -> str:
    return "\n".join(one for one in office.ask(verify) if one.startswith(f"{name}: "))


@pytest.mark.parametrize("kind", OBSERVATIONS)
def test_an_invalid_observation_is_not_imported(archive: Archive, elsewhere: Office, kind: str) -> None:
    damage, reason = OBSERVATIONS[kind]
    poid = archive.source(BORN)
    before = elsewhere.snapshot()
    [problem] = import_histories(elsewhere, damage_entry(whole(archive.office, poid), damage))
    assert reason in problem
    assert elsewhere.snapshot() == before
    write(archive.office, poid, damage)
    assert reason in problems(archive.office, poid)


@pytest.mark.parametrize("kind", RECONSTRUCTIONS)
def test_an_invalid_reconstruction_is_not_imported(archive: Archive, elsewhere: Office, kind: str) -> None:
    damage, reason = RECONSTRUCTIONS[kind]
    poid = archive.source(BORN)
    prid = archive.person(poid, chosen=((poid, 1),))
    assert import_histories(elsewhere, whole(archive.office, poid)) == []
    before = elsewhere.snapshot()
    [problem] = import_histories(elsewhere, damage_entry(whole(archive.office, prid), damage))
    assert reason in problem
    assert elsewhere.snapshot() == before
    write(archive.office, prid, damage)
    assert reason in problems(archive.office, prid)


def test_a_valid_history_is_imported_completely(archive: Archive, elsewhere: Office) -> None:
    office = archive.office
    sources = [archive.source(BORN) for _ in range(3)]
    one, two = (archive.person(source, chosen=((source, 1),)) for source in sources[:2])
    office.do(merge, one, two, CURATION, "the same man")
    parts = [person.name for person in office.do(split, two, [[source] for source in sources[:2]], CURATION, "two")]
    office.do(undo_split, two, "one after all")
    hidden = archive.person(sources[2], chosen=((sources[2], 1),), different_from=(two,))
    office.do(restrict, hidden, "alive")
    office.do(restrict, sources[2], "alive")
    names = [*sources, *sorted([one, two, *parts, hidden])]
    assert import_histories(elsewhere, *(whole(office, name) for name in names)) == []
    assert import_histories(elsewhere, *(whole(office, name) for name in names)) == []
    assert [elsewhere.ask(show, name, by=elsewhere.admin).version for name in names] == [
        office.ask(show, name).version for name in names
    ]
    assert elsewhere.ask(show, hidden).reconstruction is None
    assert elsewhere.ask(verify) == []
    office.do(lift_restriction, sources[2], "died")
    office.do(lift_restriction, hidden, "died")
    assert import_histories(elsewhere, *(whole(office, name) for name in (sources[2], hidden))) == []
    assert elsewhere.ask(show, hidden).reconstruction == archive.reconstruction_of(hidden)


def test_an_imported_history_does_not_show_claims_that_are_restricted_here(archive: Archive, elsewhere: Office) -> None:
    office, poid = archive.office, archive.source(BORN)
    prid = archive.person(poid, chosen=((poid, 1),))
    office.do(revise_reconstruction, prid, [archive.source()], CURATOR, LATER)
    import_histories(
        elsewhere, *(whole(office, one) for one in (poid, *archive.reconstruction_of(prid).observation_ids))
    )
    elsewhere.do(restrict, poid, "alive")
    [problem] = import_histories(elsewhere, whole(office, prid))
    assert poid in problem
    write(office, poid, with_record(restriction=Restriction("alive", "2025-01-09T10:30:00Z")))
    assert poid in problems(office, prid)


def test_an_imported_inferred_claim_does_not_replace_a_verified_one(archive: Archive, elsewhere: Office) -> None:
    guess = Claim(type="birth_date", value="189X", status="inferred", reasoning="he married in 1920")
    poid = archive.source(BORN, guess)
    prid = archive.person(poid, chosen=((poid, 1),))
    import_histories(elsewhere, whole(archive.office, poid))
    damage = with_reconstruction(claims=(ChosenClaim(poid, 2, guess),))
    [problem] = import_histories(elsewhere, damage_entry(whole(archive.office, prid), damage))
    assert "inferred" in problem
    write(archive.office, prid, damage)
    assert "inferred" in problems(archive.office, prid)


def test_only_persons_may_have_fields_of_persons(archive: Archive, elsewhere: Office) -> None:
    office = archive.office
    office.prefix("12345", "chosen")
    elsewhere.prefix("12345", "chosen")
    name = office.do(mint, "12345", suffixes=["thing"])[0].name
    entry = msgspec.structs.replace(whole(office, name), scheme="handle")
    for part, damage in (
        ("restriction", with_record(restriction=Restriction("alive", "2025-01-09T10:30:00Z"))),
        ("reconstruction", with_record(reconstruction=Reconstruction((), "", ""))),
        ("merged or split", stone("withdrawn", merged_at=2)),
    ):
        [problem] = import_histories(elsewhere, damage_entry(entry, damage))
        assert part in problem
    assert import_histories(elsewhere, entry) == []
    write(office, name, with_record(restriction=Restriction("alive", "2025-01-09T10:30:00Z")))
    assert "restriction" in problems(office, name)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (with_reconstruction(different_from=(UNREGISTERED_PRID,)), f"it names {UNREGISTERED_PRID}"),
        (with_reconstruction(replaces=(UNREGISTERED_PRID,)), f"it names {UNREGISTERED_PRID}"),
        (stone("merged", replaced_by=UNREGISTERED_PRID), f"it leads to {UNREGISTERED_PRID}"),
    ],
)
def test_persons_that_a_record_names_must_exist(archive: Archive, damage: Damage, reason: str) -> None:
    prid = archive.add_named_person("Jan")[1]
    write(archive.office, prid, damage)
    assert reason in problems(archive.office, prid)


def test_a_replacement_must_name_the_replaced_person(archive: Archive) -> None:
    gone, survivor = archive.add_named_person("Jan")[1], archive.add_named_person("Johannes")[1]
    archive.office.do(
        revise_reconstruction, survivor, archive.reconstruction_of(survivor).observation_ids, CURATOR, LATER
    )
    write(archive.office, gone, stone("merged", replaced_by=survivor, merged_at=2))
    assert "does not replace it" in problems(archive.office, gone)


def same_here(archive: Archive, elsewhere: Office) -> tuple[str, str]:
    """Create an observation and a person with a claim of it, in both registries."""
    poid = archive.source(BORN)
    prid = archive.person(poid, chosen=((poid, 1),))
    assert import_histories(elsewhere, whole(archive.office, poid), whole(archive.office, prid)) == []
    return poid, prid


def test_a_redaction_elsewhere_is_reported_with_the_command_that_redacts_here(
    archive: Archive, elsewhere: Office
) -> None:
    poid, prid = same_here(archive, elsewhere)
    before = elsewhere.snapshot()
    archive.office.do(redact, poid, "court order")
    incoming = whole(archive.office, poid), whole(archive.office, prid)
    for problem in import_histories(elsewhere, *incoming):
        assert f"perdure person redact {poid} --reason" in problem
        assert "court order" in problem
    assert elsewhere.snapshot() == before  # no file destroys anything
    elsewhere.do(redact, poid, "court order 12 of elsewhere")
    here = elsewhere.snapshot()
    assert import_histories(elsewhere, *incoming) == []  # agent, time and reason of a redaction may differ
    assert elsewhere.snapshot() == here
    assert elsewhere.ask(verify) == []


def test_a_person_redacted_in_part_in_both_registries_can_be_updated_by_import(
    archive: Archive, elsewhere: Office
) -> None:
    office = archive.office
    poid, prid = same_here(archive, elsewhere)
    office.do(redact, poid, "court order")
    elsewhere.do(redact, poid, "court order")
    office.do(revise_reconstruction, prid, archive.reconstruction_of(prid).observation_ids, CURATOR, LATER)
    assert import_histories(elsewhere, whole(office, prid)) == []
    assert elsewhere.ask(show, prid).version == office.ask(show, prid).version == 3
    assert elsewhere.ask(verify) == []


def test_an_import_does_not_restore_redacted_content(archive: Archive, elsewhere: Office) -> None:
    poid, prid = same_here(archive, elsewhere)
    elsewhere.do(redact, poid, "court order")
    before = elsewhere.snapshot()
    for name in (poid, prid):
        [problem] = import_histories(elsewhere, whole(archive.office, name))
        assert "not restored" in problem
    assert elsewhere.snapshot() == before


def test_a_person_with_a_different_history_since_a_redaction_is_refused(archive: Archive, elsewhere: Office) -> None:
    poid, prid = same_here(archive, elsewhere)
    for office, note in ((archive.office, "one"), (elsewhere, "another")):
        office.do(redact, poid, "court order")
        noted = msgspec.structs.replace(archive.reconstruction_of(prid), notes=note)
        office.do(revise_reconstruction, prid, noted.observation_ids, CURATOR, LATER, noted)
    before = elsewhere.snapshot()
    [problem] = import_histories(elsewhere, whole(archive.office, prid))
    assert "the same history" in problem
    assert elsewhere.snapshot() == before


def test_a_valid_registry_has_no_contradictions(runner: asyncio.Runner, tmp_path_factory: Any) -> None:
    locations = SqliteLocations(tmp_path_factory.mktemp("healthy"))
    healthy = Archive(open_office(runner, locations.open()))
    (_, one), (_, other) = healthy.add_named_person("Jan"), healthy.add_named_person("Johannes")
    healthy.office.do(merge, one, other, CURATION, "the same man")
    assert healthy.office.ask(verify) == []
    locations.close()
