"""Encrypted secrets are stored by name and index, apart from everything that is read, searched or exported."""

import asyncio
from pathlib import Path

import pytest
from tests.registry_fixture import StoreFactory
from tests.store.record_strategies import Desk, change, revise

from perdure.errors import PerdureError
from perdure.store.sqlite import SqliteStore


class Refusal(Exception):
    pass


@pytest.fixture
def secret_store(desk: Desk) -> Desk:
    desk.insert(change("1/a"), change("1/b"))
    return desk


def test_a_secret_is_stored_byte_by_byte(secret_store: Desk) -> None:
    everything = bytes(range(256))
    secret_store.write(lambda tx: tx.put_secret("1/a", 300, everything))
    assert secret_store.read(lambda reader: reader.secret("1/a", 300)) == everything
    assert secret_store.read(lambda reader: (reader.secret("1/a", 301), reader.secret("1/b", 300))) == (None, None)


def test_a_secret_is_replaced_and_removed(secret_store: Desk) -> None:
    for sealed in (b"first", b"second"):
        secret_store.write(lambda tx, sealed=sealed: tx.put_secret("1/a", 300, sealed))
    secret_store.write(lambda tx: tx.put_secret("1/a", 301, b"other"))
    assert secret_store.read(lambda reader: reader.secret("1/a", 300)) == b"second"
    secret_store.write(lambda tx: tx.put_secret("1/a", 300, None))
    secret_store.write(lambda tx: tx.put_secret("1/b", 300, None))
    assert secret_store.read(lambda reader: reader.secrets()) == [("1/a", 301, b"other")]


def test_secrets_come_in_the_order_of_names_and_indexes(secret_store: Desk) -> None:
    rows = [("1/a", 2, b"x"), ("1/a", 300, b"y"), ("1/b", 1, b"z")]
    secret_store.write(lambda tx: [tx.put_secret(*row) for row in rows[::-1]])
    assert secret_store.read(lambda reader: reader.secrets()) == rows


def test_a_transaction_sees_the_secret_that_it_wrote(secret_store: Desk) -> None:
    def work(tx):
        tx.put_secret("1/a", 300, b"x")
        return tx.secret("1/a", 300)

    assert secret_store.write(work) == b"x"


def test_a_failed_transaction_leaves_no_secret(secret_store: Desk) -> None:
    def work(tx):
        tx.update([revise("1/a", 2, b"x")])
        tx.put_secret("1/a", 300, b"x")
        raise Refusal

    with pytest.raises(Refusal):
        secret_store.write(work)
    assert secret_store.read(lambda reader: reader.secrets()) == []


def test_only_failed_transactions_of_a_group_lose_their_secret(secret_store: Desk) -> None:
    def work(number: int):
        def write(tx):
            tx.insert([change(f"2/{number:02d}")])
            tx.put_secret(f"2/{number:02d}", 300, b"x")
            if number % 5 == 2:
                raise Refusal

        return write

    async def run_all() -> None:
        await asyncio.gather(*(secret_store.store.write(work(number)) for number in range(40)), return_exceptions=True)

    secret_store.runner.run(run_all())
    there = [f"2/{number:02d}" for number in range(40) if number % 5 != 2]
    assert [key for key, _, _ in secret_store.read(lambda reader: reader.secrets())] == there
    assert [key for key in secret_store.names() if key.startswith("2/")] == there


def test_a_secret_without_an_identifier_is_a_contradiction(secret_store: Desk) -> None:
    secret_store.write(lambda tx: (tx.put_secret("1/a", 300, b"x"), tx.put_secret("1/gone", 300, b"x")))
    assert secret_store.contradictions() == ["1/gone: it has a secret, but does not exist"]


@pytest.mark.parametrize("index", ["x", None])
def test_an_index_is_a_number(secret_store: Desk, index: object) -> None:
    with pytest.raises(PerdureError):
        secret_store.write(lambda tx: tx.put_secret("1/a", index, b"x"))  # type: ignore[arg-type]
    assert secret_store.read(lambda reader: reader.secrets()) == []


def test_a_backup_holds_the_sealed_secrets(secret_store: Desk, store_factory: StoreFactory, tmp_path: Path) -> None:
    secret_store.write(lambda tx: tx.put_secret("1/a", 300, b"sealed"))
    secret_store.runner.run(secret_store.store.backup(tmp_path / "copy.db", lambda done, of: None))
    copy = Desk(secret_store.runner, SqliteStore(tmp_path / "copy.db"))
    assert copy.read(lambda reader: reader.secrets()) == [("1/a", 300, b"sealed")]
    assert copy.contradictions() == []
    copy.store.close()
