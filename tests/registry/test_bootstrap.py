"""Creation of a registry: it happens once, and its identity stays with its store."""

import asyncio
from uuid import UUID

import pytest
from tests.registry_fixture import ManualClock, Office, StoreFactory, open_office

from perdure import pilin
from perdure.errors import InvalidInput, InvalidName
from perdure.names.uuid5 import PPID_NAMESPACE
from perdure.registry import Settings, create_registry, reopen, show
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY


def test_a_new_registry_is_complete_before_the_first_mint(office: Office) -> None:
    prefixes = {one.name: one.minter for one in office.read(lambda reader: reader.prefixes())}
    assert prefixes == {office.registry.home: "pilin", "102.100.TYPE": "chosen", "POID": "ppid", "PRID": "ppid"}
    grants = office.read(lambda reader: reader.grants("admin"))
    assert {(one.scope, one.action) for one in grants} == {(WHOLE_REGISTRY, action) for action in ACTIONS}
    assert [event.action for event in office.events()] == ["found"]
    assert office.contradictions() == []


def test_the_first_agents_name_is_a_pilin_name_of_that_moment(office: Office) -> None:
    suffix = office.admin.identifier.partition("/")[2]
    assert pilin.to_posix(suffix) == office.clock.now
    assert office.ask(show, office.admin.identifier).authority.creator == office.admin.identifier


def test_a_store_holds_one_registry(office: Office, store_factory: StoreFactory) -> None:
    before = office.snapshot()
    with pytest.raises(InvalidInput):
        office.run(create_registry(store_factory(), office.clock, Settings(), name="Another"))
    assert office.snapshot() == before


def test_only_one_of_two_concurrent_creations_succeeds(runner: asyncio.Runner, store_factory: StoreFactory) -> None:
    stores = [store_factory("contested"), store_factory("contested")]

    async def both() -> list[object]:
        return await asyncio.gather(
            *(create_registry(store, ManualClock(), Settings(), name="Mine") for store in stores),
            return_exceptions=True,
        )

    answers = runner.run(both())
    assert sum(isinstance(answer, InvalidInput) for answer in answers) == 1


def test_a_reopened_registry_is_the_same(office: Office, store_factory: StoreFactory) -> None:
    again = office.run(reopen(store_factory(), office.clock, Settings(), office.registry.id))
    assert (again.id, again.ppid_namespace, again.home) == (
        office.registry.id,
        PPID_NAMESPACE,
        office.registry.home,
    )


def test_a_store_without_a_registry_is_an_error(runner: asyncio.Runner, store_factory: StoreFactory) -> None:
    with pytest.raises(InvalidInput) as refusal:
        runner.run(reopen(store_factory("empty"), ManualClock(), Settings()))
    assert refusal.value.part == "store"


def test_a_store_of_another_registry_is_refused(office: Office, store_factory: StoreFactory) -> None:
    with pytest.raises(InvalidInput) as refusal:
        office.run(reopen(store_factory(), office.clock, Settings(), "0" * 32))
    assert refusal.value.part == "id"


def test_the_namespace_of_persons_is_chosen_once(runner: asyncio.Runner, store_factory: StoreFactory) -> None:
    namespace = UUID(int=7)
    open_office(runner, store_factory("own"), ppid_namespace=namespace)
    assert runner.run(reopen(store_factory("own"), ManualClock(), Settings())).ppid_namespace == namespace


def test_the_type_prefix_is_a_setting(runner: asyncio.Runner, store_factory: StoreFactory) -> None:
    office = open_office(runner, store_factory("types"), settings=Settings(type_prefix="12345.types"))
    view = office.ask(show, office.admin.identifier)
    assert office.ask(show, "12345.types/CREATOR").state == "active"
    assert {"12345.types/CREATOR", "12345.types/CREATION_DATE"} <= {value.type for value in view.handle_record}


@pytest.mark.parametrize("home", ["POID", "prid", "102.100.TYPE", "102.100.type", " 1", "1 ", "a..b", "x/y", "\ud800"])
def test_a_home_prefix_with_another_meaning_is_refused(
    runner: asyncio.Runner, store_factory: StoreFactory, home: str
) -> None:
    with pytest.raises((InvalidInput, InvalidName)):
        open_office(runner, store_factory("homeless"), home=home)


@pytest.mark.parametrize("options", [{"name": ""}, {"name": "a\nb"}, {"admin": "No Name"}, {"admin": ""}])
def test_names_are_checked_before_anything_is_written(
    runner: asyncio.Runner, store_factory: StoreFactory, options: dict[str, str]
) -> None:
    store = store_factory("refused")
    with pytest.raises(InvalidInput):
        runner.run(create_registry(store, ManualClock(), Settings(), **({"name": "Mine"} | options)))
    assert runner.run(store.read(lambda reader: reader.fact("registry"))) is None
