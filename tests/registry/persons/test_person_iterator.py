"""Iteration over all persons: each once, in order, with the content that the reader may see, in chunks of any size."""

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
    iterate_persons,
    observe_many,
    person_iterator,
    person_query,
    reconstruct,
    revise_reconstruction,
    show_person,
)


def list_persons(office: Office, **options: Any) -> list[PersonView]:
    async def walk() -> list[PersonView]:
        return [one async for one in iterate_persons(office.registry, **options)]

    return office.run(walk())


def add_persons(office: Office, sources: int) -> list[str]:
    """Create this many observations, two reconstructions, one of them revised; and a handle, which is not a person."""
    seen = [Observation(f"https://example.org/{number}", WHEN, "0" * 64) for number in range(sources)]
    poids = [one.name for one in office.do(observe_many, seen)]
    prids = [office.do(reconstruct, [poid], CURATOR, WHEN).name for poid in poids[:2]]
    office.do(revise_reconstruction, prids[0], poids[:2], CURATOR, WHEN)
    office.do(mint, office.prefix("12345"))
    return [*poids, *prids]


@pytest.mark.parametrize("sources", [4, 5])
def test_every_person_is_listed_once_and_in_order(
    office: Office, monkeypatch: pytest.MonkeyPatch, sources: int
) -> None:
    monkeypatch.setattr(person_iterator, "_CHUNK", 2)
    names = add_persons(office, sources)
    found = list_persons(office)
    assert [one.view.name for one in found] == sorted(names)
    assert found == [office.ask(show_person, name) for name in sorted(names)]
    assert sum(one.view.version == 2 for one in found) == 1
    assert office.ask(count_persons) == len(names)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_person_with_many_observations_is_in_a_smaller_batch(
    office: Office, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """The memory does not depend on the number of sources."""
    names = add_persons(office, 4)
    poids = [name for name in names if name.startswith("POID")]
    names += [office.do(reconstruct, poids[start:], CURATOR, WHEN).name for start in range(1, 4)]
    monkeypatch.setattr(person_query, "_MOST_SOURCES", most)
    monkeypatch.setattr(person_query, "_BATCH_SIZE", 2)
    assert list_persons(office) == [office.ask(show_person, name) for name in sorted(set(names))]


def count_queries(question: Callable[..., Any], queries: list[str]) -> Callable[..., Any]:
    def ask(*given: Any) -> Any:
        queries.append(question.__name__)
        return question(*given)

    return ask


def test_the_number_of_queries_does_not_depend_on_the_size_of_a_chunk(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_persons(office, 40)
    queries: list[str] = []
    kind = type(office.read(lambda reader: reader))
    for question in ("find", "find_many", "newest_revision", "newest_histories", "input_uuid", "prefix", "grants"):
        monkeypatch.setattr(kind, question, count_queries(getattr(kind, question), queries))
    assert len(list_persons(office)) == 42
    assert len(queries) < 10, queries


def test_an_empty_registry_has_no_persons(office: Office) -> None:
    assert list_persons(office) == []


def test_a_restricted_person_is_shown_only_with_permission(office: Office) -> None:
    [poid] = [one.name for one in office.do(observe_many, [Observation("https://example.org/1", WHEN, "0" * 64)])]
    office.do(restrict, poid, "a living person")
    [hidden], [shown] = list_persons(office), list_persons(office, by=office.admin)
    assert hidden.view.observation is None
    assert hidden.view.restriction is not None
    assert shown.view.observation is not None


def test_writers_do_not_wait_for_an_iteration(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_iterator, "_CHUNK", 1)
    names = add_persons(office, 3)

    async def walk() -> list[str]:
        found = []
        async for one in iterate_persons(office.registry):
            address = f"https://example.org/new/{len(found)}"
            if len(found) < 3:
                await observe(office.registry, office.admin, address, WHEN, "0" * 64)
            found.append(one.view.name)
        return found

    found = office.run(walk())
    assert found == sorted(set(found))
    assert set(names) <= set(found)
