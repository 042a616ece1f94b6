"""Person identifiers: the same inputs lead to the same name, different inputs never do."""

import asyncio
from uuid import UUID

import pytest
from tests.registry.test_exports import write_export
from tests.registry_fixture import Office, StoreFactory, describe, open_office, set_target, set_values

from perdure import ppid
from perdure.errors import (
    Conflict,
    Immutable,
    InvalidInput,
    InvalidName,
    NoSuchName,
    WrongState,
)
from perdure.formats import ndjson
from perdure.records.person import Claim, Observation
from perdure.records.record import About, Tombstone
from perdure.records.value import Text, Value
from perdure.registry import (
    Curation,
    ImportOptions,
    Person,
    Statement,
    add_values,
    bind,
    diff,
    history,
    import_entries,
    merge,
    observe,
    reconstruct,
    reopen,
    restrict,
    revise_reconstruction,
    show,
    verify,
    withdraw,
)
from perdure.registry.persons import find_free_name, observe_many

WHEN = "2025-01-09T10:30:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"
NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
JAN = ("https://example.org/staff/jan", WHEN, "0" * 64)

# Two observations out of 650 million whose UUIDs begin with the same 15 digits.
FIRST = ("https://example.org/archive/291994108", WHEN, NOTHING)
SECOND = ("https://example.org/archive/292908847", WHEN, NOTHING)
SHARED = "POID-fc9c-a181-59cc-5035"
FIRST_RAW = UUID("fc9ca181-59cc-5031-96d2-65f6ed9b7ce9")
SECOND_RAW = UUID("fc9ca181-59cc-503c-8484-819b5af03dd2")


def test_the_specifications_vectors(office: Office) -> None:
    jan = office.do(observe, *JAN)
    assert jan.name == "POID-93b0-4476-560e-5ac1"
    assert office.do(reconstruct, [jan.name], CURATOR, WHEN).name == "PRID-5ccc-3780-8c9c-5a90"
    six = office.do(observe, "https://example.org/staff/6", WHEN, "0" * 64)
    assert six.name == "POID-5841-3d40-65d0-5c6X"
    assert office.do(reconstruct, [six.name], CURATOR, WHEN).name == "PRID-1b91-673b-631c-5ff5"


def test_the_same_inputs_create_nothing(office: Office) -> None:
    first = office.do(observe, *JAN)
    assert first.created
    before = office.snapshot()
    again = office.do(observe, JAN[0], "2025-01-09T11:30:00.000+01:00", JAN[2])
    assert again == first._replace(created=False)
    assert office.snapshot() == before


def test_many_callers_with_the_same_inputs_create_one_identifier(office: Office, store_factory: StoreFactory) -> None:
    other = store_factory()

    async def observe_all() -> list[bool]:
        second = await reopen(other, office.clock, office.registry.settings)
        registries = [office.registry, second] * 10
        return [
            one.created
            for one in await asyncio.gather(*(observe(registry, office.admin, *JAN) for registry in registries))
        ]

    assert sum(office.run(observe_all())) == 1


@pytest.mark.parametrize(("early", "late"), [(FIRST, SECOND), (SECOND, FIRST)])
def test_a_real_collision_gets_the_name_of_the_successor(
    office: Office, early: tuple[str, str, str], late: tuple[str, str, str]
) -> None:
    one, other = office.do(observe, *early), office.do(observe, *late)
    assert one.name == SHARED
    assert other.name == ppid.successor(SHARED, 1) != SHARED
    assert other.created
    assert {one.uuid_raw, other.uuid_raw} == {FIRST_RAW, SECOND_RAW}


def test_a_successor_stays_reachable_from_its_inputs(office: Office) -> None:
    office.do(observe, *FIRST)
    successor = office.do(observe, *SECOND)
    before = office.snapshot()
    assert office.do(observe, *SECOND) == successor._replace(created=False)
    assert office.do(observe, *FIRST).name == SHARED
    assert office.snapshot() == before


def test_the_uuid_of_the_inputs_is_looked_up_and_not_computed(office: Office) -> None:
    office.do(observe, *FIRST)
    successor = office.do(observe, *SECOND).name
    assert office.run(ppid.ppid_to_uuid(SHARED.lower(), office.registry)) == FIRST_RAW
    assert office.run(ppid.ppid_to_uuid(successor, office.registry)) == SECOND_RAW
    assert office.ask(show, successor).uuid_raw == str(SECOND_RAW)
    with pytest.raises(NoSuchName):
        office.run(ppid.ppid_to_uuid("PRID-5ccc-3780-8c9c-5a90", office.registry))
    with pytest.raises(InvalidName):
        office.run(ppid.ppid_to_uuid("PRID-5ccc-3780-8c9c-5a91", office.registry))


@pytest.mark.parametrize("source", ["urn:isbn:9780000000002", "mailto:jan@example.org", "URN:nbn:nl:1"])
def test_a_source_without_a_web_address_needs_a_setting(
    office: Office, store_factory: StoreFactory, source: str
) -> None:
    scheme = source.partition(":")[0].lower()
    before = office.snapshot()
    with pytest.raises(InvalidInput, match="unusual_sources") as refusal:
        office.do(observe, source, *JAN[1:])
    assert (refusal.value.part, refusal.value.rule) == ("source_url", "POID must have source")
    [refused, accepted] = office.do(observe_many, [Observation(source, *JAN[1:]), Observation(*JAN)])
    assert isinstance(refused, InvalidInput)
    assert isinstance(accepted, Person)
    assert len(office.snapshot()[0]) == len(before[0]) + 1  # type: ignore[index]
    lenient = office.with_settings(unusual_sources=(scheme,))
    known = office.run(observe(lenient, office.admin, source, *JAN[1:]))
    assert known.created
    assert office.do(observe, source, *JAN[1:]) == known._replace(created=False), "what is registered stays valid"
    assert office.ask(verify) == []


def test_a_history_with_an_unusual_source_is_imported(office: Office, store_factory: StoreFactory) -> None:
    lenient = office.with_settings(unusual_sources=("urn",))
    name = office.run(observe(lenient, office.admin, "urn:isbn:9780000000002", *JAN[1:])).name
    there = open_office(office.runner, store_factory("elsewhere"))
    [line] = [one for one in write_export(office).splitlines() if name.encode() in one]
    tally = there.do(import_entries, ndjson.read([(1, line)]), ImportOptions())
    assert (tally.created, tally.refused) == (1, 0)
    assert there.ask(show, name).observation == office.ask(show, name).observation


@pytest.mark.parametrize("claims", [(), (Claim(type="name", value="Jan"),)])
def test_the_inputs_of_a_withdrawn_observation_lead_to_it(office: Office, claims: tuple[Claim, ...]) -> None:
    first = office.do(observe, *JAN, claims=claims)
    office.do(withdraw, first.name, "read wrongly")
    expected = first._replace(created=False, state="withdrawn", tombstone=Tombstone("read wrongly"))
    before = office.snapshot()
    assert office.do(observe, *JAN, claims=claims) == expected
    assert office.do(observe, *JAN) == expected
    assert office.do(observe_many, [Observation(*JAN, claims=claims)]) == [expected]
    assert office.snapshot() == before


def test_the_inputs_of_a_merged_reconstruction_lead_to_it(office: Office) -> None:
    poid = office.do(observe, *JAN).name
    gone, survivor = (office.do(reconstruct, [poid], CURATOR, f"2025-02-0{day}T09:00:00Z") for day in (1, 2))
    office.do(merge, gone.name, survivor.name, Curation(CURATOR, WHEN), "the same man")
    again = office.do(reconstruct, [poid], CURATOR, "2025-02-01T09:00:00Z")
    assert (again.created, again.state) == (False, "merged")
    assert again.tombstone is not None
    assert again.tombstone.replaced_by == survivor.name


def test_a_hidden_reason_of_a_withdrawal_is_not_shown(office: Office) -> None:
    name = office.do(observe, *JAN).name
    office.do(withdraw, name, "he is Piet Geheim")
    office.do(restrict, name, "a living person")
    clerk = office.hire("clerk", "POID", "mint")
    hidden = office.by(clerk, observe, *JAN)
    assert (hidden.state, hidden.tombstone) == ("withdrawn", Tombstone("not shown"))
    assert office.do(observe, *JAN).tombstone == Tombstone("he is Piet Geheim")


def test_the_next_successor_is_used_if_the_first_is_taken(office: Office) -> None:
    office.do(observe, *FIRST)
    second = office.do(observe, *SECOND)
    third = office.read(
        lambda reader: find_free_name(reader, ppid.uuid_to_ppid(FIRST_RAW, "POID"), office.registry.ppid_namespace)
    )
    assert third == ppid.successor(SHARED, 2) != second.name


def test_another_namespace_gives_other_names(runner: asyncio.Runner, store_factory: StoreFactory) -> None:
    namespace = UUID("12345678-1234-5678-1234-567812345678")
    office = open_office(runner, store_factory("elsewhere"), ppid_namespace=namespace)
    name = office.do(observe, *JAN).name
    assert name == ppid.generate_poid(*JAN, namespace=namespace) != "POID-93b0-4476-560e-5ac1"
    assert office.reopen(store_factory("elsewhere")).do(observe, *JAN).name == name


def test_an_observation_shows_its_inputs(office: Office) -> None:
    view = office.ask(show, office.do(observe, *JAN).name)
    assert view.observation is not None
    assert (
        view.observation.source_url,
        view.observation.retrieval_timestamp,
        view.observation.content_hash,
    ) == JAN
    assert (view.state, view.authority.created) == ("active", "2027-01-15T08:00:00Z")


@pytest.mark.parametrize(
    "edit",
    [
        lambda office, name: office.do(set_target, name, "https://example.org/"),
        lambda office, name: office.do(set_values, name, [Value(1, "DESC", Text("other"))]),
        lambda office, name: office.do(add_values, name, [Value(1, "DESC", Text("other"))]),
        lambda office, name: office.do(describe, name, About(who="somebody else")),
        lambda office, name: office.do(bind, name, Statement(target="https://example.org/")),
    ],
    ids=["set target", "set values", "add values", "describe", "bind"],
)
def test_an_observation_never_changes(office: Office, edit) -> None:
    name = office.do(observe, *JAN).name
    before = office.snapshot()
    with pytest.raises(Immutable):
        edit(office, name)
    assert office.snapshot() == before


def test_a_new_extraction_is_a_new_observation(office: Office) -> None:
    assert office.do(observe, *JAN).name != office.do(observe, JAN[0], "2025-02-01T00:00:00Z", JAN[2]).name


def test_a_reconstruction_needs_observations_that_exist(office: Office) -> None:
    missing = ppid.generate_poid(*JAN)
    before = office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        office.do(reconstruct, [missing], CURATOR, WHEN)
    assert refusal.value.part == "observation_ids"
    assert missing in str(refusal.value)
    assert office.snapshot() == before


@pytest.mark.parametrize("observations", [[], ["PRID-5ccc-3780-8c9c-5a90"], ["nonsense"], "POID-93b0-4476-560e-5ac1"])
def test_a_reconstruction_is_made_from_at_least_one_poid(office: Office, observations: list[str]) -> None:
    office.do(observe, *JAN)
    with pytest.raises(InvalidInput) as refusal:
        office.do(reconstruct, observations, CURATOR, WHEN)
    assert refusal.value.part == "observation_ids"


def test_a_withdrawn_observation_cannot_be_used_in_a_new_reconstruction(office: Office) -> None:
    jan = office.do(observe, *JAN).name
    office.do(withdraw, jan, "a forgery")
    with pytest.raises(WrongState):
        office.do(reconstruct, [jan], CURATOR, WHEN)


def test_the_order_of_observations_makes_no_difference(office: Office) -> None:
    names = [office.do(observe, f"https://example.org/{number}", WHEN, "0" * 64).name for number in range(3)]
    one = office.do(reconstruct, names, CURATOR, WHEN)
    assert not office.do(reconstruct, [names[2], names[0].lower(), names[1], names[0]], CURATOR, WHEN).created
    assert office.ask(show, one.name).reconstruction.observation_ids == tuple(sorted(names))
    assert office.read(lambda reader: reader.derivations(one.name)) == [(1, name) for name in sorted(names)]


def test_a_reconstruction_is_found_even_if_its_observation_was_withdrawn(office: Office) -> None:
    jan = office.do(observe, *JAN).name
    made = office.do(reconstruct, [jan], CURATOR, WHEN)
    office.do(withdraw, jan, "a forgery")
    assert office.do(reconstruct, [jan], CURATOR, WHEN) == made._replace(created=False)


def test_a_reconstruction_has_numbered_versions(office: Office) -> None:
    jan = office.do(observe, *JAN).name
    piet = office.do(observe, "https://example.org/staff/piet", WHEN, "0" * 64).name
    prid = office.do(reconstruct, [jan], CURATOR, WHEN).name
    assert office.do(revise_reconstruction, prid, [jan, piet], CURATOR, "2025-03-01T00:00:00Z") == 2
    assert office.ask(show, prid, version=1).reconstruction.observation_ids == (jan,)
    assert office.ask(show, prid).reconstruction.observation_ids == tuple(sorted([jan, piet]))
    assert [revision.action for revision in office.ask(history, prid)] == ["mint", "revise"]
    assert office.read(lambda reader: reader.derivations(prid)) == [
        (1, jan),
        *((2, one) for one in sorted([jan, piet])),
    ]
    assert "reconstruction.observation_ids" in {one.part for one in office.ask(diff, prid, 1, 2)}
    assert office.contradictions() == []


def test_after_a_revision_the_inputs_still_lead_to_the_same_name(office: Office) -> None:
    jan = office.do(observe, *JAN).name
    prid = office.do(reconstruct, [jan], CURATOR, WHEN)
    office.do(revise_reconstruction, prid.name, [jan], CURATOR, "2025-03-01T00:00:00Z")
    assert office.do(reconstruct, [jan], CURATOR, WHEN) == prid._replace(created=False)


def test_a_revision_without_changes_makes_no_new_version(office: Office) -> None:
    jan = office.do(observe, *JAN).name
    prid = office.do(reconstruct, [jan], CURATOR, WHEN).name
    assert office.do(revise_reconstruction, prid, [jan], CURATOR, WHEN) == 1


def test_a_revision_is_checked_like_a_reconstruction(office: Office) -> None:
    jan = office.do(observe, *JAN).name
    prid = office.do(reconstruct, [jan], CURATOR, WHEN).name
    with pytest.raises(InvalidInput) as refusal:
        office.do(revise_reconstruction, prid, ["POID-5841-3d40-65d0-5c6X"], CURATOR, WHEN)
    assert refusal.value.part == "observation_ids"
    with pytest.raises(InvalidInput):
        office.do(revise_reconstruction, jan, [jan], CURATOR, WHEN)
    with pytest.raises(Conflict):
        office.do(revise_reconstruction, prid, [jan], CURATOR, "2025-03-01T00:00:00Z", expected_version=7)


@pytest.mark.parametrize(
    ("inputs", "part"),
    [
        (("no url", WHEN, "0" * 64), "source_url"),
        (("https://example.org/a b", WHEN, "0" * 64), "source_url"),
        (("https://example.org/", "2025-01-09", "0" * 64), "retrieval_timestamp"),
        (("https://example.org/", "2025-01-09T10:30:00", "0" * 64), "retrieval_timestamp"),
        (("https://example.org/", "2025-02-31T10:30:00Z", "0" * 64), "retrieval_timestamp"),
        (("https://example.org/", WHEN, "0" * 63), "content_hash"),
        (("https://example.org/", WHEN, "A" * 64), "content_hash"),
    ],
)
def test_inputs_are_checked_before_they_are_hashed(office: Office, inputs: tuple[str, str, str], part: str) -> None:
    before = office.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        office.do(observe, *inputs)
    assert refusal.value.part == part
    assert office.snapshot() == before


@pytest.mark.parametrize("curator", ["a|b", " x", "", "a\nb"])
def test_a_curator_is_an_identifier_on_one_line(office: Office, curator: str) -> None:
    jan = office.do(observe, *JAN).name
    with pytest.raises(InvalidInput) as refusal:
        office.do(reconstruct, [jan], curator, WHEN)
    assert refusal.value.part == "curator_id"


def test_an_undetected_typing_error_is_answered_with_existing_neighbours(office: Office) -> None:
    name = office.do(observe, *JAN).name
    for slip in ppid.neighbours(name):
        with pytest.raises(NoSuchName) as refusal:
            office.ask(show, slip)
        assert refusal.value.suggestions == (name,)


def test_a_wrong_check_digit_is_reported_as_such(office: Office) -> None:
    with pytest.raises(InvalidName) as refusal:
        office.ask(show, "POID-7a3b-c4d5-e6f7-890X")
    assert refusal.value.part == "check digit"
    assert refusal.value.suggestion == "POID-7a3b-c4d5-e6f7-8903"
