"""Encrypted secrets are stored by name and index, apart from everything that is read, searched or exported."""

import asyncio
from pathlib import Path

import pytest
from tests.registry_fixture import StoreFactory
from tests.store.record_strategies import Desk, change, revised

from perdure.errors import PerdureError
from perdure.store.sqlite import SqliteStore


class Refused(Exception):
    pass


@pytest.fixture
def keeping(desk: Desk) -> Desk:
    desk.insert(change("1/a"), change("1/b"))
    return desk


def test_a_secret_is_stored_byte_by_byte(keeping: Desk) -> None:
    everything = bytes(range(256))
    keeping.write(lambda tx: tx.put_secret("1/a", 300, everything))
    assert keeping.read(lambda reader: reader.secret("1/a", 300)) == everything
    assert keeping.read(lambda reader: (reader.secret("1/a", 301), reader.secret("1/b", 300))) == (None, None)


def test_a_secret_is_replaced_and_removed(keeping: Desk) -> None:
    for sealed in (b"first", b"second"):
        keeping.write(lambda tx, sealed=sealed: tx.put_secret("1/a", 300, sealed))
    keeping.write(lambda tx: tx.put_secret("1/a", 301, b"other"))
    assert keeping.read(lambda reader: reader.secret("1/a", 300)) == b"second"
    keeping.write(lambda tx: tx.put_secret("1/a", 300, None))
    keeping.write(lambda tx: tx.put_secret("1/b", 300, None))
    assert keeping.read(lambda reader: reader.secrets()) == [("1/a", 301, b"other")]


def test_secrets_come_in_the_order_of_names_and_indexes(keeping: Desk) -> None:
    rows = [("1/a", 2, b"x"), ("1/a", 300, b"y"), ("1/b", 1, b"z")]
    keeping.write(lambda tx: [tx.put_secret(*row) for row in rows[::-1]])
    assert keeping.read(lambda reader: reader.secrets()) == rows


def test_a_transaction_sees_the_secret_that_it_wrote(keeping: Desk) -> None:
    def work(tx):
        tx.put_secret("1/a", 300, b"x")
        return tx.secret("1/a", 300)

    assert keeping.write(work) == b"x"


def test_a_failed_transaction_leaves_no_secret(keeping: Desk) -> None:
    def work(tx):
        tx.update([revised("1/a", 2, b"x")])
        tx.put_secret("1/a", 300, b"x")
        raise Refused

    with pytest.raises(Refused):
        keeping.write(work)
    assert keeping.read(lambda reader: reader.secrets()) == []


def test_only_failed_transactions_of_a_group_lose_their_secret(keeping: Desk) -> None:
    def work(number: int):
        def write(tx):
            tx.insert([change(f"2/{number:02d}")])
            tx.put_secret(f"2/{number:02d}", 300, b"x")
            if number % 5 == 2:
                raise Refused

        return write

    async def run_all() -> None:
        await asyncio.gather(*(keeping.store.write(work(number)) for number in range(40)), return_exceptions=True)

    keeping.runner.run(run_all())
    there = [f"2/{number:02d}" for number in range(40) if number % 5 != 2]
    assert [key for key, _, _ in keeping.read(lambda reader: reader.secrets())] == there
    assert [key for key in keeping.names() if key.startswith("2/")] == there


def test_a_secret_without_an_identifier_is_a_contradiction(keeping: Desk) -> None:
    keeping.write(lambda tx: (tx.put_secret("1/a", 300, b"x"), tx.put_secret("1/gone", 300, b"x")))
    assert keeping.contradictions() == ["1/gone: it has a secret, but does not exist"]


@pytest.mark.parametrize("index", ["x", None])
def test_an_index_is_a_number(keeping: Desk, index: object) -> None:
    with pytest.raises(PerdureError):
        keeping.write(lambda tx: tx.put_secret("1/a", index, b"x"))  # type: ignore[arg-type]
    assert keeping.read(lambda reader: reader.secrets()) == []


def test_a_backup_holds_the_sealed_secrets(keeping: Desk, store_factory: StoreFactory, tmp_path: Path) -> None:
    keeping.write(lambda tx: tx.put_secret("1/a", 300, b"sealed"))
    keeping.runner.run(keeping.store.backup(tmp_path / "copy.db", lambda done, of: None))
    copy = Desk(keeping.runner, SqliteStore(tmp_path / "copy.db"))
    assert copy.read(lambda reader: reader.secrets()) == [("1/a", 300, b"sealed")]
    assert copy.contradictions() == []
    copy.store.close()
