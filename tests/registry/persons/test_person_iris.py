"""The base of the IRIs of persons: chosen once, stored in the registry, and never changed."""

import asyncio

import pytest
from tests.registry_fixture import Office, StoreFactory, open_office

from perdure.errors import InvalidInput
from perdure.records.namespaces import is_local, local_person_iris, person_iris_at
from perdure.registry import Registry, Settings, observe, reopen
from perdure.registry.person_iris import PERSON_IRIS, PersonIriSettings, adopt_person_iris, explain_person_iris

PUBLIC = "https://id.example.org"
BASE = f"{PUBLIC}/"
WHEN = "2025-01-09T10:30:00Z"


def register_person(office: Office) -> None:
    office.do(observe, "https://example.org/staff/jan", WHEN, "0" * 64)


def reopen_with(office: Office, store_factory: StoreFactory, **settings: str) -> Registry:
    """Open the registry with these settings, as a program does after the operator has edited them."""

    async def work() -> Registry:
        opened = await reopen(store_factory(), office.clock, Settings())
        return await adopt_person_iris(opened, PersonIriSettings(**settings))

    return office.run(work())


@pytest.mark.parametrize(
    ("chosen", "base"),
    [
        (PersonIriSettings(public_url=PUBLIC), BASE),
        (PersonIriSettings(public_url=f"{PUBLIC}/pid/"), f"{PUBLIC}/pid/"),
        (PersonIriSettings("https://ppid.org/", PUBLIC), "https://ppid.org/"),
    ],
)
def test_the_base_is_chosen_at_creation(
    chosen: PersonIriSettings, base: str, runner: asyncio.Runner, store_factory: StoreFactory
) -> None:
    office = open_office(runner, store_factory(), person_iris=chosen)
    assert office.registry.namespaces.ppid == office.registry.person_iris == base
    assert office.read(lambda reader: reader.fact(PERSON_IRIS)) == base
    again = reopen_with(office, store_factory)
    assert again.namespaces.ppid == base


def test_without_a_public_url_the_base_is_local(office: Office) -> None:
    base = office.registry.namespaces.ppid
    assert base == local_person_iris(office.registry.id)
    assert is_local(base)
    assert not is_local("https://ppid.org/")


def test_a_public_url_is_adopted_before_the_first_person(office: Office, store_factory: StoreFactory) -> None:
    assert reopen_with(office, store_factory, public_url=PUBLIC).namespaces.ppid == BASE
    assert office.events()[0].action == "person iris"
    assert reopen_with(office, store_factory).namespaces.ppid == BASE
    assert reopen_with(office, store_factory, public_url="https://other.example.org").person_iris == BASE


def test_the_local_base_is_fixed_by_the_first_person(office: Office, store_factory: StoreFactory) -> None:
    register_person(office)
    before = office.snapshot()
    registry = reopen_with(office, store_factory, public_url=PUBLIC)
    assert registry.namespaces.ppid == local_person_iris(registry.id)
    assert "before public_url was set" in (explain_person_iris(registry, PersonIriSettings(public_url=PUBLIC)) or "")
    with pytest.raises(InvalidInput, match="for life"):
        reopen_with(office, store_factory, stated=BASE)
    assert office.snapshot() == before


def test_another_base_in_the_settings_is_refused(runner: asyncio.Runner, store_factory: StoreFactory) -> None:
    office = open_office(runner, store_factory(), person_iris=PersonIriSettings(public_url=PUBLIC))
    with pytest.raises(InvalidInput, match=r"https://id\.example\.org/PRID-… for life") as refused:
        reopen_with(office, store_factory, stated="https://ppid.org/")
    assert (refused.value.scheme, refused.value.part) == ("settings", "ppid")
    assert reopen_with(office, store_factory, stated=BASE).person_iris == BASE


def test_a_changed_public_url_is_explained(runner: asyncio.Runner, store_factory: StoreFactory) -> None:
    office = open_office(runner, store_factory(), person_iris=PersonIriSettings(public_url=PUBLIC))
    moved = reopen_with(office, store_factory, public_url="https://new.example.org")
    assert moved.namespaces.ppid == BASE
    assert "keep their IRIs" in (
        explain_person_iris(moved, PersonIriSettings(public_url="https://new.example.org")) or ""
    )
    same = PersonIriSettings(public_url=PUBLIC)
    assert explain_person_iris(reopen_with(office, store_factory, public_url=PUBLIC), same) is None


def test_the_settings_govern_a_registry_without_the_fact(office: Office) -> None:
    older = office.registry._replace(person_iris=None)
    chosen = PersonIriSettings(public_url=PUBLIC)
    assert office.run(adopt_person_iris(older, chosen)) is older
    assert older.namespaces.ppid == "https://ppid.org/"
    assert explain_person_iris(older, chosen) is None


@pytest.mark.parametrize(
    "url",
    [
        "id.example.org",
        "ftp://id.example.org",
        "https://",
        "https://a.b/?q",
        "https://a.b/#x",
        "https://u@a.b",
        "https://[a",
    ],
)
def test_an_invalid_public_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="public_url must be"):
        person_iris_at(url)
