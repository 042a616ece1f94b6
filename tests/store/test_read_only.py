"""A read-only store refuses all writes of all programs, also those in progress, until it is writable again."""

import asyncio

import pytest
from tests.registry_fixture import StoreFactory
from tests.store.record_strategies import Desk, change

from perdure.errors import StoreSealed
from perdure.registry.store_interface import Store

REASON = "the registry has moved to archive.example.org"


@pytest.fixture
def desks(runner: asyncio.Runner, store_factory: StoreFactory) -> list[Desk]:
    """Return two open stores at one location; the first has written, the second has not."""
    desks = [Desk(runner, store_factory()) for _ in range(2)]
    desks[0].insert(change("1/before"))
    return desks


def test_a_store_is_writable_by_default(desks: list[Desk]) -> None:
    for desk in desks:
        assert desk.runner.run(desk.store.seal_reason()) is None


@pytest.mark.parametrize("by", [0, 1], ids=["by one that has written", "by one that has not"])
def test_every_open_store_refuses_writes_once_one_has_sealed_it(desks: list[Desk], by: int) -> None:
    run = desks[0].runner.run
    run(desks[by].store.seal(REASON))
    for desk in desks:
        for _ in range(2):
            with pytest.raises(StoreSealed, match=REASON):
                desk.insert(change("1/late"))
        assert run(desk.store.seal_reason()) == REASON
    assert desks[0].names() == ["1/before"]


def test_a_store_that_is_opened_later_is_sealed_too(desks: list[Desk], store_factory: StoreFactory) -> None:
    run = desks[0].runner.run
    run(desks[0].store.seal(REASON))
    for desk in desks:
        desk.store.close()
    late = Desk(desks[0].runner, store_factory())
    with pytest.raises(StoreSealed, match=REASON):
        late.insert(change("1/late"))
    run(late.store.seal(None))
    late.insert(change("1/after"))
    assert late.names() == ["1/after", "1/before"]


def test_a_sealed_store_can_be_read(desks: list[Desk]) -> None:
    desks[0].runner.run(desks[0].store.seal(REASON))
    for desk in desks:
        assert desk.lookup("1/before") is not None
        assert desk.names() == ["1/before"]
        assert desk.contradictions() == []


def test_every_store_accepts_writes_once_it_is_unsealed(desks: list[Desk]) -> None:
    run = desks[0].runner.run
    run(desks[0].store.seal(REASON))
    for number, desk in enumerate(desks):
        with pytest.raises(StoreSealed):
            desk.insert(change(f"1/{number}"))
    run(desks[1].store.seal(None))
    for number, desk in enumerate(desks):
        assert run(desk.store.seal_reason()) is None
        desk.insert(change(f"1/{number}"))
    assert desks[0].names() == ["1/0", "1/1", "1/before"]


def test_a_store_may_be_sealed_twice_and_the_last_reason_counts(desks: list[Desk]) -> None:
    run = desks[0].runner.run
    run(desks[0].store.seal("first"))
    run(desks[1].store.seal(REASON))
    for desk in desks:
        with pytest.raises(StoreSealed, match=REASON):
            desk.insert(change("1/late"))
    run(desks[0].store.seal(None))
    run(desks[0].store.seal(None))
    desks[1].insert(change("1/after"))


def test_all_waiting_writers_are_refused(desks: list[Desk]) -> None:
    async def sealed_then_all() -> list[object]:
        store = desks[0].store
        await store.seal(REASON)
        works = [store.write(lambda tx, number=number: tx.insert([change(f"1/{number}")])) for number in range(100)]
        return await asyncio.gather(*works, return_exceptions=True)

    answers = desks[0].runner.run(sealed_then_all())
    assert {type(answer) for answer in answers} == {StoreSealed}
    assert desks[0].names() == ["1/before"]


def test_nothing_is_written_after_sealing(desks: list[Desk], store_factory: StoreFactory) -> None:
    """Many writers, some of them new; acknowledged writes exist, and none is made while the store is read-only."""
    watcher = Desk(desks[0].runner, store_factory())

    async def hammer(store: Store, writer: str, acknowledged: list[str]) -> None:
        number = 0
        while True:
            key = f"1/{writer}-{number}"
            try:
                await store.write(lambda tx, key=key: tx.insert([change(key)]))
            except StoreSealed:
                return
            acknowledged.append(key)
            number += 1

    async def keys() -> set[str]:
        rows = await watcher.store.read(lambda reader: reader.identifiers_after("", 100_000))
        return {row.key for row in rows}

    async def one_round(number: int) -> None:
        acknowledged: list[str] = []
        stores = [desk.store for desk in desks] + [store_factory()]
        writers = [
            asyncio.ensure_future(hammer(store, f"{number}-{which}-{turn}", acknowledged))
            for which, store in enumerate(stores)
            for turn in range(4)
        ]
        await asyncio.sleep(0.03 * number)
        await watcher.store.seal(REASON)
        at_once = await keys()
        await asyncio.wait_for(asyncio.gather(*writers), 30)
        assert await keys() == at_once, "something was written after the seal"
        assert set(acknowledged) <= at_once, "something was acknowledged and is not there"
        stores[-1].close()
        await watcher.store.seal(None)

    async def rounds() -> None:
        for number in range(6):
            await one_round(number)

    desks[0].runner.run(rounds())
    assert len(desks[0].names()) > 10, "no write succeeded: nothing was tested"
    assert desks[0].contradictions() == []
