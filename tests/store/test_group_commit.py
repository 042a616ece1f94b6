"""Works of a group on both engines: each sees its own and earlier writes, and is rolled back alone."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count as counting
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.record_strategies import Desk, change

from perdure.errors import InvalidInput, NameTaken
from perdure.registry.store_interface import Prefetch, Transaction
from perdure.store.sqlite import SqliteStore
from perdure.store.sqlite.transaction import SqliteTransaction

Work = Callable[[Transaction], Any]


@pytest.fixture
def own(tmp_path: Path, runner: asyncio.Runner) -> Iterator[Desk]:
    store = SqliteStore(tmp_path / "perdure.db", create=True)
    yield Desk(runner, store)
    store.close()


def run_together(desk: Desk, *works: Work, foreseen: Prefetch | None = None) -> list[Any]:
    """Run all works in one group: the writer is busy until the last was submitted."""
    begun, go = threading.Event(), threading.Event()

    def wait(tx: Transaction) -> None:
        begun.set()
        assert go.wait(30)

    async def gather_all() -> list[Any]:
        waiting = asyncio.ensure_future(desk.store.write(wait))
        await asyncio.to_thread(begun.wait, 30)
        futures = [asyncio.ensure_future(desk.store.write(work, foreseen)) for work in works]
        await asyncio.sleep(0)
        go.set()
        await waiting
        return list(await asyncio.gather(*futures, return_exceptions=True))

    return desk.runner.run(gather_all())


def insert(*keys: str) -> Work:
    return lambda tx: tx.insert([change(key, reverse=(("URL", f"https://example.org/{key}"),)) for key in keys])


def refuse(*works: Work) -> Work:
    def work(tx: Transaction) -> None:
        for one in works:
            one(tx)
        raise InvalidInput("test", "work", "thought better of it")

    return work


def look(key: str) -> Work:
    return lambda tx: tx.find(key) is not None


def test_a_transaction_sees_the_names_of_earlier_ones_in_its_group(desk: Desk) -> None:
    def both(tx: Transaction) -> tuple[bool, bool]:
        insert("1/b")(tx)
        return look("1/a")(tx), look("1/b")(tx)

    assert run_together(desk, insert("1/a"), look("1/a"), both, look("1/c")) == [None, True, (True, True), False]
    assert desk.names() == ["1/a", "1/b"]


def test_a_name_is_given_once_in_a_group(desk: Desk) -> None:
    first, second, third = run_together(desk, insert("1/a"), insert("1/b", "1/a"), insert("1/b"))
    assert (first, third) == (None, None)
    assert isinstance(second, NameTaken)
    assert desk.names() == ["1/a", "1/b"]
    assert desk.contradictions() == []


def test_an_existing_name_fails_only_its_own_transaction(desk: Desk) -> None:
    desk.insert(change("1/a", target="https://example.org/first"))
    before, taken, after = run_together(desk, insert("1/b"), insert("1/c", "1/a"), insert("1/d"))
    assert (before, after) == (None, None)
    assert isinstance(taken, NameTaken)
    assert taken.name == "1/A"
    assert desk.names() == ["1/a", "1/b", "1/d"]
    assert desk.contradictions() == []


def test_an_existing_name_is_reported_even_if_another_transaction_reads_first(desk: Desk) -> None:
    """A look-up flushes the buffered names, one of which exists."""
    desk.insert(change("1/a"))
    taken, looked = run_together(desk, insert("1/a"), look("1/z"))
    counted = run_together(desk, insert("1/a"), lambda tx: tx.counts()["identifiers"])
    assert (type(taken), looked) == (NameTaken, False)
    assert (type(counted[0]), counted[1]) == (NameTaken, 1)


@pytest.mark.parametrize("stage", ["on its way", "written"])
def test_a_transaction_that_fails_after_inserting_names_leaves_none_of_them(desk: Desk, stage: str) -> None:
    works = [insert("1/x")] if stage == "on its way" else [insert("1/x"), look("1/x")]
    answers = run_together(desk, insert("1/a"), refuse(*works), insert("1/x", "1/b"), refuse(insert("1/y")))
    assert [type(answer) for answer in answers] == [type(None), InvalidInput, type(None), InvalidInput]
    assert desk.names() == ["1/a", "1/b", "1/x"]
    assert desk.contradictions() == []


def test_a_failure_without_writes_makes_no_transaction_run_twice(own: Desk) -> None:
    runs: list[str] = []

    def count_runs(name: str, work: Work) -> Work:
        def run(tx: Transaction) -> Any:
            runs.append(name)
            return work(tx)

        return run

    works = [
        count_runs("inserts", insert("1/a")),
        count_runs("looks and is refused", refuse(look("1/a"))),
        count_runs("inserts and is refused", refuse(insert("1/b"))),
        count_runs("inserts after all", insert("1/b")),
    ]
    run_together(own, *works)
    assert len(runs) == len(works)
    assert own.names() == ["1/a", "1/b"]


Plan = tuple[list[tuple[str, str]], bool]
_STEPS = st.lists(st.tuples(st.sampled_from(["insert", "look"]), st.sampled_from("abcd")), max_size=4)
_prefixes = counting(1)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans=st.lists(st.tuples(_STEPS, st.booleans()), min_size=1, max_size=6))
def test_a_group_has_the_same_result_as_single_transactions(plans: list[Plan], own: Desk) -> None:
    """This holds for any inserts and reads, and if any of them fails at the end."""

    def follow_plan(prefix: int, plan: Plan) -> Work:
        steps = [insert(f"{prefix}/{key}") if step == "insert" else look(f"{prefix}/{key}") for step, key in plan[0]]
        return refuse(*steps) if plan[1] else lambda tx: [step(tx) for step in steps]

    one, other = next(_prefixes), next(_prefixes)
    grouped = run_together(own, *(follow_plan(one, plan) for plan in plans))
    alone = [run_together(own, follow_plan(other, plan))[0] for plan in plans]
    assert [results(answer) for answer in grouped] == [results(answer) for answer in alone]
    names = own.names()
    assert [name for name in names if name.startswith(f"{one}/")] == [
        f"{one}/{name.partition('/')[2]}" for name in names if name.startswith(f"{other}/")
    ]
    assert own.contradictions() == []


def results(answer: Any) -> Any:
    return type(answer) if isinstance(answer, Exception) else answer


PERSON = Prefetch("u-1", "POID-a")


def observe(tx: Transaction) -> str:
    """Insert a person as the registry does: a known one is not inserted again."""
    known = tx.person(PERSON.uuid_raw)
    if known is not None:
        return f"known as {known}"
    name = PERSON.name if tx.find(PERSON.name) is None else "POID-successor"
    tx.insert([change(name, scheme="ppid")])
    tx.put_persons({PERSON.uuid_raw: name})
    return f"made as {name}"


def test_a_prefetched_person_is_created_once(desk: Desk) -> None:
    results = run_together(desk, observe, observe, look("POID-a"), observe, foreseen=PERSON)
    assert results == ["made as POID-a", "known as POID-a", True, "known as POID-a"]
    assert run_together(desk, observe, foreseen=PERSON) == ["known as POID-a"]
    assert desk.names() == ["POID-a"]


def test_a_prefetched_name_that_another_transaction_created_is_taken(desk: Desk) -> None:
    results = run_together(desk, insert("POID-a"), observe, foreseen=PERSON)
    assert results == [None, "made as POID-successor"]
    assert desk.names() == ["POID-a", "POID-successor"]


def test_a_prefetched_name_is_free_again_if_its_transaction_is_refused(desk: Desk) -> None:
    refused, made = run_together(desk, refuse(observe), observe, foreseen=PERSON)
    assert isinstance(refused, InvalidInput)
    assert made == "made as POID-a"
    assert desk.names() == ["POID-a"]


def test_a_wrong_prefetch_changes_nothing(desk: Desk) -> None:
    unknown = Prefetch("u-2", "POID-b")
    assert run_together(desk, observe, observe, look("POID-b"), foreseen=unknown) == [
        "made as POID-a",
        "known as POID-a",
        False,
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 63, 64, 65, 130])
def test_groups_of_every_size_are_written_completely(own: Desk, count: int) -> None:
    names = [f"1/{number:03}" for number in range(count)]
    assert run_together(own, *(insert(name) for name in names)) == [None] * count
    assert own.names() == names
    changed = own.read(lambda reader: reader.changes(0, 1_000))
    assert [one.name for one in changed] == names
    assert len({one.number for one in changed}) == count
    assert own.contradictions() == []


def test_new_names_are_written_together_although_each_transaction_looks_for_others(own: Desk) -> None:
    def mint(*keys: str) -> Work:
        def work(tx: Transaction) -> int:
            assert isinstance(tx, SqliteTransaction)
            assert tx.find_many(keys) == {}
            tx.insert([change(key) for key in keys])
            tx.put_timeline("test", Fraction(int(keys[0])), Fraction(5))
            return tx.position().flushes

        return work

    flushes = run_together(own, mint("1", "a"), mint("2", "b"), mint("3", "c"))
    assert len(set(flushes)) == 1
    taken = run_together(own, mint("4", "d"), lambda tx: tx.find_many(["x", "d"]))[1]
    assert list(taken) == ["d"]
    assert set(own.runner.run(own.store.read(lambda reader: reader.find_many(["1", "2", "3", "4"])))) == set("1234")
