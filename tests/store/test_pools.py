"""Pools and timelines that are peeked at, on both engines."""

from fractions import Fraction

from tests.store.record_strategies import AT, Desk

from perdure.registry.entities import Pool
from perdure.registry.store_interface import TimelineState, Transaction

POOL = Pool("main", "least-waiting", ("example.org/a", "example.org/ü"), AT)


def test_a_pool_is_stored_field_by_field(desk: Desk) -> None:
    other = Pool("a-1", "hash", ("example.org/b",), AT)
    desk.write(lambda tx: [tx.put_pool(one) for one in (POOL, other)])
    assert desk.read(lambda reader: reader.pool("main")) == POOL
    assert desk.read(lambda reader: reader.pools()) == [other, POOL]
    assert desk.read(lambda reader: reader.pool("MAIN")) is None


def test_policy_and_members_of_a_pool_can_be_changed(desk: Desk) -> None:
    desk.write(lambda tx: tx.put_pool(POOL))
    changed = Pool("main", "round-robin", ("example.org/c",), AT)

    def change(tx: Transaction) -> Pool | None:
        assert tx.pool("main") == POOL
        tx.put_pool(changed)
        return tx.pool("main")

    assert desk.write(change) == changed
    assert desk.read(lambda reader: reader.pool("main")) == changed


def test_a_removed_pool_is_gone_at_once(desk: Desk) -> None:
    desk.write(lambda tx: tx.put_pool(POOL))

    def remove(tx: Transaction) -> Pool | None:
        assert tx.pool("main") is not None
        tx.remove_pool("main")
        return tx.pool("main")

    assert desk.write(remove) is None
    assert desk.read(lambda reader: reader.pools()) == []


def test_timelines_show_their_dates_before_they_are_locked(desk: Desk) -> None:
    desk.write(lambda tx: tx.put_timeline("a", Fraction(5, 2), Fraction(0)))

    def work(tx: Transaction) -> dict[str, Fraction | None]:
        before = tx.peek_timelines(["a", "new"])
        assert tx.try_timeline("a")
        assert tx.try_timeline("new")
        assert tx.timeline("new") is None
        tx.put_timeline("new", Fraction(7), Fraction(0))
        assert tx.peek_timelines(["new"])["new"] == TimelineState(Fraction(7), True)
        assert tx.peek_timelines(["a"])["a"] == TimelineState(Fraction(5, 2), True)
        return {key: state.last for key, state in before.items()}

    assert desk.write(work) == {"a": Fraction(5, 2), "new": None}
    assert desk.read(lambda reader: reader.timelines()) == {"a": Fraction(5, 2), "new": Fraction(7)}
