"""Collections, and which of them holds the original or a copy of an item."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from tests.store.record_strategies import AT, Desk, change

from perdure.errors import PerdureError
from perdure.registry.holdings import Collection, CollectionTotals, Holding
from perdure.registry.store_copy import FIRST_HOLDING, holding_key, holdings_chunk
from perdure.registry.store_interface import Transaction

MAIN = Collection("main", "/items", "https://example.org/items/main", AT)
SECOND = Collection("second", "/copies", None, AT)
LATER = "2027-02-01T00:00:00Z"


def holding(subject: str, collection: str = "main", role: str = "original", **fields: object) -> Holding:
    one = Holding(subject, collection, subject.upper(), role, AT, 1, 2, 300, "ab" * 32, None, AT, "put")
    return msgspec.structs.replace(one, **fields)


@pytest.fixture
def holdings_store(desk: Desk) -> Desk:
    desk.insert(change("1/a"), change("1/b"))
    desk.write(lambda tx: (tx.put_collection(SECOND), tx.put_collection(MAIN)))
    return desk


def test_collections_come_in_the_order_of_their_names(holdings_store: Desk) -> None:
    assert holdings_store.read(lambda reader: reader.collections()) == [MAIN, SECOND]
    assert holdings_store.read(lambda reader: (reader.collection("second"), reader.collection("x"))) == (SECOND, None)


def test_a_collection_gets_another_address(holdings_store: Desk) -> None:
    other = msgspec.structs.replace(SECOND, url="https://other.example.org", path="/disk2")
    holdings_store.write(lambda tx: tx.put_collection(other))
    assert holdings_store.read(lambda reader: reader.collections()) == [MAIN, other]


def test_the_original_of_an_item_comes_first(holdings_store: Desk) -> None:
    rows = [holding("1/a", "second"), holding("1/a", "main", "copy", main_file="ä/ü.pdf", outcome="damaged")]
    holdings_store.write(lambda tx: [tx.put_holding(row) for row in rows[::-1]])
    assert holdings_store.read(lambda reader: reader.holdings("1/a")) == rows
    assert holdings_store.read(lambda reader: reader.holdings("1/b")) == []


def test_a_holding_is_replaced_and_removed(holdings_store: Desk) -> None:
    newer = holding("1/a", version=2, size=1 << 40, verified_at=LATER, outcome="valid", main_file="x", source="y")
    holdings_store.write(lambda tx: tx.put_holding(holding("1/a")))
    holdings_store.write(lambda tx: tx.put_holding(newer))
    assert holdings_store.read(lambda reader: reader.holdings("1/a")) == [newer]
    holdings_store.write(lambda tx: (tx.remove_holding("1/a", "second"), tx.remove_holding("1/b", "main")))
    assert holdings_store.read(lambda reader: reader.holdings("1/a")) == [newer]
    holdings_store.write(lambda tx: tx.remove_holding("1/a", "main"))
    assert holdings_store.read(lambda reader: reader.holdings("1/a")) == []


def test_no_item_has_two_originals(holdings_store: Desk) -> None:
    holdings_store.write(lambda tx: tx.put_holding(holding("1/a")))
    with pytest.raises(PerdureError):
        holdings_store.write(lambda tx: tx.put_holding(holding("1/a", "second")))
    assert holdings_store.read(lambda reader: reader.holdings("1/a")) == [holding("1/a")]


def test_the_original_moves_in_one_transaction(holdings_store: Desk) -> None:
    holdings_store.write(lambda tx: (tx.put_holding(holding("1/a")), tx.put_holding(holding("1/a", "second", "copy"))))

    def work(tx: Transaction) -> list[Holding]:
        tx.put_holding(holding("1/a", "main", "copy"))
        tx.put_holding(holding("1/a", "second"))
        return tx.holdings("1/a")

    moved = [holding("1/a", "second"), holding("1/a", "main", "copy")]
    assert holdings_store.write(work) == moved
    assert holdings_store.read(lambda reader: reader.holdings("1/a")) == moved


def test_of_many_works_that_take_the_last_but_one_copy_one_succeeds(holdings_store: Desk) -> None:
    for role, collection in (("original", "main"), ("copy", "second")):
        holdings_store.write(lambda tx, r=role, c=collection: tx.put_holding(holding("1/a", c, r)))

    def remove(collection: str):
        def work(tx: Transaction) -> bool:
            if len(tx.holdings("1/a")) < 2:
                return False
            tx.remove_holding("1/a", collection)
            return True

        return work

    async def run_all() -> list[bool]:
        works = [remove(collection) for collection in ("main", "second") * 4]
        return await asyncio.gather(*(holdings_store.store.write(work) for work in works))

    assert sum(holdings_store.runner.run(run_all())) == 1
    assert len(holdings_store.read(lambda reader: reader.holdings("1/a"))) == 1


def test_a_holding_needs_its_collection(holdings_store: Desk) -> None:
    with pytest.raises(PerdureError):
        holdings_store.write(lambda tx: tx.put_holding(holding("1/a", "unknown")))


def test_holdings_are_read_in_chunks(holdings_store: Desk) -> None:
    rows = [holding(f"1/{number:02d}", "second", "copy") for number in range(30)]
    holdings_store.write(lambda tx: [tx.put_holding(row) for row in rows])
    first = holdings_store.read(lambda reader: reader.holdings_after("second", "", 20))
    second = holdings_store.read(lambda reader: reader.holdings_after("second", first[-1].subject, 20))
    assert [*first, *second] == rows
    assert holdings_store.read(lambda reader: reader.holdings_after("main", "", 20)) == []


def test_those_never_verified_are_the_first_to_be_verified(holdings_store: Desk) -> None:
    times = {"1/a": "2027-03-01", "1/b": None, "1/c": "2027-01-01", "1/d": "2027-05-01", "1/e": None}
    holdings_store.write(lambda tx: [tx.put_holding(holding(key, verified_at=at)) for key, at in times.items()])
    due = holdings_store.read(lambda reader: reader.unverified_holdings("main", "2027-04-01", 10))
    assert [one.subject for one in due] == ["1/b", "1/e", "1/c", "1/a"]
    assert len(holdings_store.read(lambda reader: reader.unverified_holdings("main", "2027-04-01", 3))) == 3


def test_a_collection_is_added_up(holdings_store: Desk) -> None:
    rows = [holding("1/a", outcome="valid"), holding("1/b", outcome="damaged"), holding("1/c", "main", "copy")]
    holdings_store.write(lambda tx: [tx.put_holding(row) for row in rows])
    assert holdings_store.read(lambda reader: reader.collection_totals("main")) == CollectionTotals(3, 2, 6, 900, 1)
    assert holdings_store.read(lambda reader: reader.collection_totals("second")) == CollectionTotals(0, 0, 0, 0, 0)


def test_chunks_continue_in_the_next_collection(holdings_store: Desk) -> None:
    rows = [holding("1/b"), holding("1/a", "second"), holding("1/b", "second", "copy")]
    holdings_store.write(lambda tx: [tx.put_holding(row) for row in rows])
    assert holdings_store.read(lambda reader: holdings_chunk(reader, FIRST_HOLDING)) == rows[:1]
    assert holdings_store.read(lambda reader: holdings_chunk(reader, holding_key(rows[0]))) == rows[1:]
    assert holdings_store.read(lambda reader: holdings_chunk(reader, holding_key(rows[-1]))) == []


def test_a_holding_under_a_second_name_is_a_contradiction(holdings_store: Desk) -> None:
    holdings_store.insert(change("1/alias", subject="1/a"))
    holdings_store.write(lambda tx: tx.put_holding(holding("1/alias")))
    assert "1/alias: a collection holds it under a second name of its item" in holdings_store.contradictions()


def test_a_failed_work_leaves_no_holding(holdings_store: Desk, tmp_path: Path) -> None:
    def work(tx: Transaction) -> None:
        tx.insert([change("1/new")])
        tx.put_holding(holding("1/new"))
        raise LookupError

    with pytest.raises(LookupError):
        holdings_store.write(work)
    assert holdings_store.read(lambda reader: reader.holdings("1/new")) == []


def test_an_item_of_another_server_is_found_by_each_of_its_labels(holdings_store: Desk) -> None:
    names = ("a.org/x/2026/01.02.03.04.05", "8jmkd3mgp6w/4gqp3hqw47")
    rows = [holding(names[0], collection, "copy", names=names) for collection in ("main", "second")]
    holdings_store.write(lambda tx: [tx.put_holding(row) for row in rows])
    assert holdings_store.read(lambda reader: reader.holdings(names[0])) == rows
    assert holdings_store.read(lambda reader: [reader.held_subject(name) for name in (*names, "x")]) == [
        names[0],
        names[0],
        None,
    ]
    both = [(name, names[0]) for name in sorted(names)]
    assert holdings_store.read(lambda reader: reader.held_names_after("", 10)) == both
    assert holdings_store.read(lambda reader: reader.held_names_after("", 1)) == both[:1]
    assert holdings_store.read(lambda reader: reader.held_names_after(both[0][0], 10)) == both[1:]
    assert holdings_store.read(lambda reader: reader.held_names_after("", 10, "a.org/x/")) == both[1:]

    holdings_store.write(lambda tx: tx.put_holding(msgspec.structs.replace(rows[0], names=names[:1])))
    assert holdings_store.read(lambda reader: reader.held_subject(names[1])) == names[0], "the other one has it still"
    holdings_store.write(lambda tx: tx.remove_holding(names[0], "second"))
    assert holdings_store.read(lambda reader: [reader.held_subject(name) for name in names]) == [names[0], None]
