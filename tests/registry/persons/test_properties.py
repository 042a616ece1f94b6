"""Properties of persons with any content: the same inputs have one name, different inputs different ones; undo
restores.
"""

import asyncio
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.registry.archive import CURATION, CURATOR, WHEN, Archive, archive
from tests.registry.narrow_observer import READY, conclude_all, narrow, observe_all
from tests.registry_fixture import PostgresLocations, SqliteLocations, StoreLocations, open_office

from perdure.names import ppid
from perdure.records.person import Claim, InSource, Link, PersonName, Reconstruction
from perdure.registry import merge, observe, reconstruct, show, undo_merge, verify

__all__ = ["archive"]

MANY = 3000
PROCESSES = 4
PATIENCE = 300

texts = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)
claims = st.one_of(
    st.builds(Claim, type=st.sampled_from(["occupation", "residence", "https://schema.org/knows"]), value=texts),
    st.builds(Claim, type=st.just("name"), value=st.builds(PersonName, given_name=texts, base_surname=texts)),
    st.builds(
        Claim,
        type=st.just("birth_date"),
        value=st.sampled_from(["1895", "1895-03~", "195X"]),
        confidence=st.none() | st.floats(0, 1),
        where=st.none() | st.builds(InSource, page=texts),
        status=st.just("inferred"),
        reasoning=texts,
    ),
)


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_order_repeats_and_case_do_not_change_the_reconstruction(archive: Archive, data: st.DataObject) -> None:
    sources = [archive.source() for _ in range(data.draw(st.integers(1, 4)))]
    first = archive.office.do(reconstruct, sources, CURATOR, WHEN)
    again = data.draw(st.permutations([*sources, *data.draw(st.lists(st.sampled_from(sources), max_size=3))]))
    spelt = [one.lower() if data.draw(st.booleans()) else one for one in again]
    assert archive.office.do(reconstruct, spelt, CURATOR, WHEN) == first._replace(created=False)
    assert first.name == ppid.generate_prid(spelt, CURATOR, WHEN)


@given(st.lists(claims, max_size=4).map(tuple))
@settings(max_examples=25, deadline=None)
def test_an_observation_has_its_content_and_is_made_once(archive: Archive, stated: tuple[Claim, ...]) -> None:
    office, inputs = archive.office, archive.inputs()
    first = office.do(observe, *inputs, claims=stated)
    count = office.read(lambda reader: reader.counts())
    assert office.do(observe, *inputs, claims=stated).name == first.name
    assert office.read(lambda reader: reader.counts()) == count
    seen = office.ask(show, first.name).observation
    assert seen is not None
    assert seen.claims == stated


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_a_merge_that_is_undone_changes_no_content(archive: Archive, data: st.DataObject) -> None:
    sources = [archive.source(Claim(type="name", value="Jan"), Claim(type="age", value="40")) for _ in range(4)]
    links = [Link("exact", "wikidata", f"Q{number}") for number in range(1, 5)]

    def person(first: int) -> str:
        own = {sources[first], *data.draw(st.sets(st.sampled_from(sources)))}
        chosen = data.draw(st.sets(st.tuples(st.sampled_from(sorted(own)), st.integers(1, 2))))
        linked = data.draw(st.lists(st.sampled_from(links), unique=True))
        # Each has a date of its own, so that the same sources make two persons.
        reconstruction = Reconstruction((), "", "", notes=f"the {first}th", links=tuple(linked))
        name = archive.office.do(
            reconstruct, sorted(own), CURATOR, f"2025-01-0{first + 1}T00:00:00Z", reconstruction
        ).name
        return archive.choose_claims(name, sorted(chosen))

    def conclusion(name: str) -> Reconstruction:
        return msgspec.structs.replace(archive.reconstruction_of(name), curator_id="", timestamp="", curator_name=None)

    gone, survivor = person(0), person(1)
    before = conclusion(gone), conclusion(survivor)
    archive.office.do(merge, gone, survivor, CURATION, "the same man")
    both = archive.reconstruction_of(survivor)
    assert set(both.observation_ids) == {*before[0].observation_ids, *before[1].observation_ids}
    assert set(both.claims) == {*before[0].claims, *before[1].claims}
    archive.office.do(undo_merge, gone, CURATION, "two after all")
    assert (conclusion(gone), conclusion(survivor)) == before


def test_with_a_hash_of_eight_bits_thousands_of_observations_get_different_names(
    tmp_path: Path, runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch)
    locations = SqliteLocations(tmp_path)
    office = open_office(runner, locations.open())
    persons = office.run(observe_all(office.registry, office.admin, range(MANY), MANY))
    names = {person.name for person in persons.values()}
    assert len(names) == len({person.uuid_raw for person in persons.values()}) == MANY
    assert all(person.created for person in persons.values())
    assert len({ppid.uuid_to_ppid(person.uuid_raw, "POID") for person in persons.values()}) <= 256
    again = office.reopen(locations.open())
    reached = again.run(observe_all(again.registry, again.admin, range(MANY)[::-1], MANY))
    assert reached == {number: person._replace(created=False) for number, person in persons.items()}
    for person in list(persons.values())[:: MANY // 50]:
        assert again.run(ppid.ppid_to_uuid(person.name, again.registry)) == person.uuid_raw
    assert len(again.read(lambda reader: reader.identifiers_after("", 2 * MANY, "POID-"))) == MANY
    locations.close()


@pytest.mark.parametrize(
    ("locations", "observations", "reconstructions", "at_once"),
    [
        ("sqlite", 2000, 300, 25),
        ("postgres", 320, 280, 4),
        pytest.param("postgres", 2000, 300, 25, marks=pytest.mark.slow),
    ],
    indirect=["locations"],
)
def test_several_processes_with_a_narrow_hash_agree_on_every_name(
    tmp_path: Path,
    runner: asyncio.Runner,
    locations: StoreLocations,
    monkeypatch: pytest.MonkeyPatch,
    observations: int,
    reconstructions: int,
    at_once: int,
) -> None:
    """The first process gets the name, later ones get successor names; and all agree on which is which."""
    office = open_office(runner, locations.open())
    counts = [str(number) for number in (observations, reconstructions, at_once)]
    command = [sys.executable, "-m", "tests.registry.narrow_observer", address_for_others(locations, tmp_path)]
    outputs = at_the_same_time([[*command, str(seed), *counts] for seed in range(PROCESSES)])
    names = outputs[0][::2]
    assert all(words[::2] == names for words in outputs)
    assert len(set(names)) == len(names) == observations + reconstructions
    assert sum(int(made) for words in outputs for made in words[1::2]) == len(names)
    assert sum("1" in words[1::2] for words in outputs) > 1, "no process had to compete"

    narrow(monkeypatch)
    again = office.reopen(locations.open())
    seen = again.run(observe_all(again.registry, again.admin, range(observations), MANY))
    made = again.run(conclude_all(again.registry, again.admin, seen, range(reconstructions), MANY))
    persons = [*seen.values(), *made.values()]
    assert [person.name for person in persons] == names
    assert not any(person.created for person in persons)
    for found in (seen, made):
        own = {ppid.uuid_to_ppid(person.uuid_raw, person.name[:4]) for person in found.values()}
        assert len(own) <= 256 < len({person.uuid_raw for person in found.values()}) == len(found)
    raw = again.read(lambda reader: [reader.input_uuid(name) for name in names])
    assert raw == [str(person.uuid_raw) for person in persons]
    assert again.ask(verify) == []


def at_the_same_time(commands: list[list[str]]) -> list[list[str]]:
    """Return the output of each process, all of which were ready before the first one began."""
    with ExitStack() as stack:
        running = []
        for command in commands:
            one = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            running.append(stack.enter_context(one))
            stack.callback(one.kill)
        for one in running:
            assert one.stdout is not None
            assert one.stdout.readline() == READY
        for one in running:
            assert one.stdin is not None
            one.stdin.write("go\n")
        outputs = [one.communicate(timeout=PATIENCE)[0].split() for one in running]
        assert [one.returncode for one in running] == [0] * len(commands)
    return outputs


def address_for_others(locations: StoreLocations, folder: Path) -> str:
    """Return the address of the registry for other processes."""
    if isinstance(locations, PostgresLocations):
        return f"{folder / 'registry'}={locations.address()}"
    return str(folder / "registry" / "perdure.db")
