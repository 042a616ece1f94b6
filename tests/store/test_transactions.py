"""Transactions in every store: atomic, durable, and visible to all programs afterwards."""

import asyncio
from fractions import Fraction

import pytest
from tests.registry_fixture import StoreFactory
from tests.store.record_strategies import AT, JAN, Desk, change, revise

from perdure.errors import NameTaken, StoreUnavailable
from perdure.registry.entities import Event


class Refusal(Exception):
    pass


def test_a_failed_transaction_leaves_nothing_behind(desk: Desk) -> None:
    desk.insert(change("1/old", words="old", reverse=(("URL", "https://old.org/"),)))

    def work(tx):
        tx.insert([change("1/a", words="fresh", reverse=(("URL", "https://a.org/"),))])
        tx.update([revise("1/old", 2, b"x", words="changed", reverse_before=(("URL", "https://old.org/"),))])
        tx.put_agent(JAN)
        tx.put_event(Event(AT, "jan", "x", "y"))
        tx.put_fact("f", "v")
        tx.put_timeline("1", Fraction(5), Fraction(1))
        raise Refusal

    with pytest.raises(Refusal):
        desk.write(work)
    assert desk.names() == ["1/old"]
    assert desk.read(lambda r: (r.agents(), r.events(9), r.fact("f"), r.timelines())) == ([], [], None, {})
    assert desk.read(lambda r: [len(r.search([word], 9)) for word in ("fresh", "changed", "old")]) == [0, 0, 1]
    assert desk.read(lambda r: [len(r.find_by_value(f"https://{one}.org/", "URL", 9)) for one in ("a", "old")]) == [
        0,
        1,
    ]
    assert desk.contradictions() == []


def test_only_failed_transactions_of_a_group_are_rolled_back(desk: Desk) -> None:
    """They may share a commit; a failure rolls back its own work alone."""

    def work(number: int):
        def write(tx):
            tx.insert([change(f"1/{number:03d}")])
            if number % 7 == 3:
                raise Refusal(number)
            if number % 7 == 5:
                tx.insert([change(f"1/{number:03d}")])
            return number

        return write

    async def run_all() -> list[object]:
        return await asyncio.gather(*(desk.store.write(work(number)) for number in range(300)), return_exceptions=True)

    answers = desk.runner.run(run_all())
    committed = [number for number in range(300) if number % 7 not in (3, 5)]
    assert [answer for answer in answers if isinstance(answer, int)] == committed
    assert {answer.args[0] for answer in answers if isinstance(answer, Refusal)} == set(range(3, 300, 7))
    assert sum(isinstance(answer, NameTaken) for answer in answers) == len(range(5, 300, 7))
    assert desk.names() == [f"1/{number:03d}" for number in committed]
    assert desk.contradictions() == []


def test_only_one_of_many_concurrent_inserts_of_a_name_succeeds(desk: Desk) -> None:
    async def run_all() -> list[object]:
        return await asyncio.gather(
            *(desk.store.write(lambda tx: tx.insert([change("1/a")])) for _ in range(50)), return_exceptions=True
        )

    answers = desk.runner.run(run_all())
    assert answers.count(None) == 1
    assert sum(isinstance(answer, NameTaken) for answer in answers) == 49


def test_transactions_of_one_caller_run_in_order(desk: Desk) -> None:
    async def in_order() -> None:
        works = [desk.store.write(lambda tx, number=number: tx.put_fact("last", str(number))) for number in range(100)]
        await asyncio.gather(*works)

    desk.runner.run(in_order())
    assert desk.read(lambda reader: reader.fact("last")) == "99"


def test_a_read_sees_every_write_that_was_acknowledged(desk: Desk, store_factory: StoreFactory) -> None:
    other = store_factory()

    async def back_and_forth() -> None:
        for number in range(30):
            writer, reader = (desk.store, other) if number % 2 else (other, desk.store)
            await writer.write(lambda tx, number=number: tx.insert([change(f"1/{number}")]))
            assert await reader.lookup(f"1/{number}") is not None
            found = await asyncio.gather(
                *(reader.read(lambda state, number=number: state.find(f"1/{number}")) for _ in range(5))
            )
            assert None not in found

    desk.runner.run(back_and_forth())


def test_one_read_sees_one_state(desk: Desk, store_factory: StoreFactory) -> None:
    """The two facts always agree, even during concurrent writes."""
    other = store_factory()
    desk.write(lambda tx: (tx.put_fact("a", "0"), tx.put_fact("b", "0")))

    async def both() -> None:
        stop = False

        async def writing() -> None:
            for number in range(150):
                value = str(number)
                await other.write(lambda tx, value=value: (tx.put_fact("a", value), tx.put_fact("b", value)))
            nonlocal stop
            stop = True

        async def reading() -> None:
            while not stop:
                one, two = await desk.store.read(lambda reader: (reader.fact("a"), reader.fact("b")))
                assert one == two

        await asyncio.gather(writing(), reading(), reading())

    desk.runner.run(both())


def test_two_stores_at_one_location_write_at_once_and_lose_nothing(desk: Desk, store_factory: StoreFactory) -> None:
    stores = [desk.store, store_factory()]

    def count_up(tx):
        value = int(tx.fact("count") or 0) + 1
        tx.put_fact("count", str(value))
        tx.insert([change(f"1/{value}")])
        return value

    async def run_all() -> list[int]:
        async def write_many(number: int) -> list[int]:
            return [await stores[number % 2].write(count_up) for _ in range(20)]

        return [value for mine in await asyncio.gather(*(write_many(number) for number in range(6))) for value in mine]

    assert sorted(desk.runner.run(run_all())) == list(range(1, 121))
    assert len(desk.names()) == 120
    assert desk.contradictions() == []


def test_acknowledged_writes_exist_after_closing(desk: Desk, store_factory: StoreFactory) -> None:
    desk.insert(change("1/a"))
    desk.store.close()
    again = Desk(desk.runner, store_factory())
    assert again.names() == ["1/a"]


def test_writes_submitted_before_closing_are_done(desk: Desk, store_factory: StoreFactory) -> None:
    async def submit_and_close() -> None:
        works = [
            asyncio.ensure_future(desk.store.write(lambda tx, number=number: tx.insert([change(f"1/{number}")])))
            for number in range(20)
        ]
        await asyncio.sleep(0)
        desk.store.close()
        await asyncio.gather(*works)

    desk.runner.run(submit_and_close())
    assert len(Desk(desk.runner, store_factory()).names()) == 20


def test_a_store_may_be_closed_twice(desk: Desk) -> None:
    desk.store.close()
    desk.store.close()


def test_a_closed_store_reports_that_it_is_closed(desk: Desk) -> None:
    desk.insert(change("1/a"))
    desk.store.close()
    with pytest.raises(StoreUnavailable):
        desk.insert(change("1/b"))
    with pytest.raises(StoreUnavailable):
        desk.lookup("1/a")
    with pytest.raises(StoreUnavailable):
        desk.read(lambda reader: reader.find("1/a"))


def test_a_cancelled_caller_does_not_affect_others(desk: Desk) -> None:
    async def impatient() -> None:
        gone = asyncio.ensure_future(desk.store.write(lambda tx: tx.put_fact("gone", "1")))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(*(desk.store.write(lambda tx, n=n: tx.insert([change(f"1/{n}")])) for n in range(5)))

    desk.runner.run(impatient())
    assert len(desk.names()) == 5


def test_an_error_in_a_read_reaches_its_caller_and_the_next_read_works(desk: Desk) -> None:
    def work(reader):
        raise Refusal

    for _ in range(3):
        with pytest.raises(Refusal):
            desk.read(work)
    assert desk.names() == []
