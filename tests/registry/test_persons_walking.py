"""Walk over all persons: each once, in order, as whoever asks may see them, however many there are at a time."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.registry.archive import CURATOR, WHEN
from tests.registry_fixture import Office

from perdure.records.person import Observation
from perdure.registry import mint, observe, restrict
from perdure.registry.persons import (
    PersonView,
    count_persons,
    observe_many,
    reconstruct,
    revise_reconstruction,
    show_person,
    showing,
    walk_persons,
    walking,
)


def walked(office: Office, **options: Any) -> list[PersonView]:
    async def walk() -> list[PersonView]:
        return [one async for one in walk_persons(office.registry, **options)]

    return office.run(walk())


def furnished(office: Office, sources: int) -> list[str]:
    """So many observations, two reconstructions, one of them revised; and a handle, which is no person."""
    seen = [Observation(f"https://example.org/{number}", WHEN, "0" * 64) for number in range(sources)]
    poids = [one.name for one in office.do(observe_many, seen)]
    prids = [office.do(reconstruct, [poid], CURATOR, WHEN).name for poid in poids[:2]]
    office.do(revise_reconstruction, prids[0], poids[:2], CURATOR, WHEN)
    office.do(mint, office.prefix("12345"))
    return [*poids, *prids]


@pytest.mark.parametrize("sources", [4, 5])
def test_everybody_comes_once_and_in_order(office: Office, monkeypatch: pytest.MonkeyPatch, sources: int) -> None:
    monkeypatch.setattr(walking, "_CHUNK", 2)
    names = furnished(office, sources)
    found = walked(office)
    assert [one.view.name for one in found] == sorted(names)
    assert found == [office.ask(show_person, name) for name in sorted(names)]
    assert sum(one.view.version == 2 for one in found) == 1
    assert office.ask(count_persons) == len(names)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_who_stands_upon_much_comes_with_fewer_others(
    office: Office, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """So that no more is in memory at a time, whatever they stand upon."""
    names = furnished(office, 4)
    poids = [name for name in names if name.startswith("POID")]
    names += [office.do(reconstruct, poids[start:], CURATOR, WHEN).name for start in range(1, 4)]
    monkeypatch.setattr(showing, "_MOST_SOURCES", most)
    monkeypatch.setattr(showing, "_AT_ONCE", 2)
    assert walked(office) == [office.ask(show_person, name) for name in sorted(set(names))]


def counted(question: Callable[..., Any], asked: list[str]) -> Callable[..., Any]:
    def ask(*given: Any) -> Any:
        asked.append(question.__name__)
        return question(*given)

    return ask


def test_a_chunk_takes_a_few_questions_however_many_are_in_it(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    furnished(office, 40)
    asked: list[str] = []
    kind = type(office.read(lambda reader: reader))
    for question in ("find", "find_many", "newest_revision", "newest_histories", "input_of", "prefix", "grants"):
        monkeypatch.setattr(kind, question, counted(getattr(kind, question), asked))
    assert len(walked(office)) == 42
    assert len(asked) < 10, asked


def test_where_nobody_is_nobody_comes(office: Office) -> None:
    assert walked(office) == []


def test_what_is_restricted_is_shown_to_whom_it_may_be(office: Office) -> None:
    [poid] = [one.name for one in office.do(observe_many, [Observation("https://example.org/1", WHEN, "0" * 64)])]
    office.do(restrict, poid, "a living person")
    [hidden], [shown] = walked(office), walked(office, by=office.admin)
    assert hidden.view.observation is None
    assert hidden.view.restriction is not None
    assert shown.view.observation is not None


def test_who_writes_during_a_walk_is_not_held_up(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "_CHUNK", 1)
    names = furnished(office, 3)

    async def walk() -> list[str]:
        found = []
        async for one in walk_persons(office.registry):
            address = f"https://example.org/new/{len(found)}"
            if len(found) < 3:
                await observe(office.registry, office.admin, address, WHEN, "0" * 64)
            found.append(one.view.name)
        return found

    found = office.run(walk())
    assert found == sorted(set(found))
    assert set(names) <= set(found)
