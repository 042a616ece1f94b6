"""What holds for persons whatever is said of them: one name for the same inputs, one for each, and acts that undo."""

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.registry.archive import CURATOR, HIM, WHEN, Archive, archive
from tests.registry.narrow_observer import narrow, observe_all
from tests.registry_fixture import SqlitePlaces, open_office

from perdure.names import ppid
from perdure.records.person import Claim, InSource, Link, PersonName, Reconstruction
from perdure.registry import merge, observe, reconstruct, show, undo_merge, uuid_of, verify

__all__ = ["archive"]

MANY = 3000
EACH = 150

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
def test_neither_order_nor_repeats_nor_case_make_another_reconstruction(archive: Archive, data: st.DataObject) -> None:
    sources = [archive.source() for _ in range(data.draw(st.integers(1, 4)))]
    first = archive.office.do(reconstruct, sources, CURATOR, WHEN)
    again = data.draw(st.permutations([*sources, *data.draw(st.lists(st.sampled_from(sources), max_size=3))]))
    spelt = [one.lower() if data.draw(st.booleans()) else one for one in again]
    assert archive.office.do(reconstruct, spelt, CURATOR, WHEN) == first._replace(created=False)
    assert first.name == ppid.generate_prid(spelt, CURATOR, WHEN)


@given(st.lists(claims, max_size=4).map(tuple))
@settings(max_examples=25, deadline=None)
def test_an_observation_says_what_it_was_told_and_is_made_once(archive: Archive, said: tuple[Claim, ...]) -> None:
    office, inputs = archive.office, archive.inputs()
    first = office.do(observe, *inputs, claims=said)
    count = office.read(lambda reader: reader.counts())
    assert office.do(observe, *inputs, claims=said).name == first.name
    assert office.read(lambda reader: reader.counts()) == count
    seen = office.ask(show, first.name).observation
    assert seen is not None
    assert seen.claims == said


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_a_merge_that_is_undone_changes_nothing_that_was_said(archive: Archive, data: st.DataObject) -> None:
    sources = [archive.source(Claim(type="name", value="Jan"), Claim(type="age", value="40")) for _ in range(4)]
    links = [Link("exact", "wikidata", f"Q{number}") for number in range(1, 5)]

    def person(first: int) -> str:
        own = {sources[first], *data.draw(st.sets(st.sampled_from(sources)))}
        chosen = data.draw(st.sets(st.tuples(st.sampled_from(sorted(own)), st.integers(1, 2))))
        linked = data.draw(st.lists(st.sampled_from(links), unique=True))
        # Each has a date of its own, so that the same sources make two persons.
        said = Reconstruction((), "", "", notes=f"the {first}th", links=tuple(linked))
        name = archive.office.do(reconstruct, sorted(own), CURATOR, f"2025-01-0{first + 1}T00:00:00Z", said).name
        return archive.chosen(name, sorted(chosen))

    def conclusion(name: str) -> Reconstruction:
        return msgspec.structs.replace(archive.said(name), curator_id="", timestamp="", curator_name=None)

    gone, kept = person(0), person(1)
    before = conclusion(gone), conclusion(kept)
    archive.office.do(merge, gone, kept, HIM, "the same man")
    both = archive.said(kept)
    assert set(both.observation_ids) == {*before[0].observation_ids, *before[1].observation_ids}
    assert set(both.claims) == {*before[0].claims, *before[1].claims}
    archive.office.do(undo_merge, gone, HIM, "two after all")
    assert (conclusion(gone), conclusion(kept)) == before


def test_thousands_of_observations_in_a_hash_of_eight_bits_get_a_name_each(
    tmp_path: Path, runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch)
    places = SqlitePlaces(tmp_path)
    office = open_office(runner, places.open())
    persons = office.run(observe_all(office.registry, office.admin, list(range(MANY))))
    names = {person.name for person in persons.values()}
    assert len(names) == len({person.uuid_raw for person in persons.values()}) == MANY
    assert all(person.created for person in persons.values())
    assert len({ppid.uuid_to_ppid(person.uuid_raw, "POID") for person in persons.values()}) <= 256
    again = office.reopened(places.open())
    reached = again.run(observe_all(again.registry, again.admin, list(reversed(range(MANY)))))
    assert reached == {number: person._replace(created=False) for number, person in persons.items()}
    for person in list(persons.values())[:: MANY // 50]:
        assert again.ask(uuid_of, person.name) == person.uuid_raw
    assert len(again.read(lambda reader: reader.after("", 2 * MANY, "POID-"))) == MANY
    places.close()


def test_several_processes_with_a_narrow_hash_agree_on_every_name(
    tmp_path: Path, runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = SqlitePlaces(tmp_path)
    office = open_office(runner, places.open())
    command = [sys.executable, "-m", "tests.registry.narrow_observer", str(tmp_path / "registry" / "perdure.db")]
    running = [
        subprocess.Popen([*command, str(seed), str(EACH)], stdout=subprocess.PIPE, text=True) for seed in range(3)
    ]
    told = [one.communicate(timeout=60)[0].split() for one in running]
    assert [one.returncode for one in running] == [0, 0, 0]
    names = [words[::2] for words in told]
    assert names[0] == names[1] == names[2]
    assert len(set(names[0])) == EACH
    assert sum(int(made) for words in told for made in words[1::2]) == EACH
    narrow(monkeypatch)
    assert office.ask(verify) == []
    places.close()
