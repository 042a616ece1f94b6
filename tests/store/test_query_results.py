"""Stored answers: a request that is repeated with the same token is run once."""

import asyncio
import contextlib

import pytest
from tests.registry_fixture import StoreFactory
from tests.store.record_strategies import AT, Desk, change

from perdure.errors import Conflict
from perdure.registry.store_interface import Transaction

LATER = "2027-01-16T08:00:00.000000Z"


def put(tx: Transaction, token: str, answer: bytes = b"answer", at: str = AT, agent: str = "jan") -> None:
    tx.put_answer(agent, token, b"digest", answer, at)


def test_a_response_is_stored_completely(desk: Desk) -> None:
    everything = bytes(range(256))
    desk.write(lambda tx: tx.put_answer("jan", "token", b"\x00digest", everything, AT))
    assert desk.read(lambda reader: reader.find_answer("jan", "token")) == (b"\x00digest", everything, AT)


def test_a_token_belongs_to_its_agent(desk: Desk) -> None:
    desk.write(lambda tx: (put(tx, "token", b"jan's"), put(tx, "token", b"ada's", agent="ada")))
    answers = desk.read(lambda reader: [reader.find_answer(agent, "token") for agent in ("jan", "ada", "piet")])
    assert [answer and answer[1] for answer in answers] == [b"jan's", b"ada's", None]
    assert desk.read(lambda reader: reader.find_answer("jan", "other")) is None


def test_a_second_response_to_one_token_is_refused_and_rolled_back(desk: Desk) -> None:
    desk.write(lambda tx: put(tx, "token", b"first"))

    def answer_again(tx: Transaction) -> None:
        tx.insert([change("1/a")])
        put(tx, "token", b"second")

    with pytest.raises(Conflict):
        desk.write(answer_again)
    assert desk.names() == []
    answer = desk.read(lambda reader: reader.find_answer("jan", "token"))
    assert answer is not None
    assert answer[1] == b"first"


def test_a_transaction_sees_its_own_responses(desk: Desk) -> None:
    def work(tx: Transaction) -> object:
        put(tx, "token")
        with pytest.raises(Conflict):
            put(tx, "token")
        return tx.find_answer("jan", "token")

    assert desk.write(work) == (b"digest", b"answer", AT)


def test_a_response_is_rolled_back_with_its_transaction(desk: Desk) -> None:
    def work(tx: Transaction) -> None:
        put(tx, "token")
        raise KeyError

    with pytest.raises(KeyError):
        desk.write(work)
    assert desk.read(lambda reader: reader.find_answer("jan", "token")) is None
    desk.write(lambda tx: put(tx, "token"))


def test_a_response_in_a_failed_attempt_is_forgotten(desk: Desk) -> None:
    def work(tx: Transaction) -> object:
        put(tx, "kept")
        with contextlib.suppress(KeyError), tx.attempt():
            put(tx, "dropped")
            raise KeyError
        return tx.find_answer("jan", "dropped")

    assert desk.write(work) is None
    answers = desk.read(lambda reader: [reader.find_answer("jan", token) for token in ("kept", "dropped")])
    assert [answer is not None for answer in answers] == [True, False]


@pytest.mark.parametrize("tokens", [1, 25], ids=["one token", "many tokens"])
def test_only_one_of_concurrent_requests_with_one_token_runs_and_all_get_its_response(
    desk: Desk, store_factory: StoreFactory, tokens: int
) -> None:
    """On two stores, as in two processes: many times, to make them collide."""
    stores = [desk.store, store_factory()]

    def work(number: int, token: str):
        def mint(tx: Transaction) -> bytes:
            stored = tx.find_answer("jan", token)
            if stored is not None:
                return stored[1]
            name = f"{token}/{number:02d}"
            tx.insert([change(name)])
            put(tx, token, name.encode())
            return name.encode()

        return mint

    async def run_all(turn: int) -> list[list[bytes]]:
        requests = [
            [stores[number % 2].write(work(number, f"{turn}-{token}")) for number in range(6)]
            for token in range(tokens)
        ]
        return [list(await asyncio.gather(*those)) for those in await _start_all(requests)]

    async def _start_all(requests: list[list]) -> list[list[asyncio.Task[bytes]]]:
        return [[asyncio.ensure_future(one) for one in those] for those in requests]

    for turn in range(8):
        answers = desk.runner.run(run_all(turn))
        assert [len(set(those)) for those in answers] == [1] * tokens
        names = [key for key in desk.names() if key.startswith(f"{turn}-")]
        assert sorted(those[0].decode() for those in answers) == names


def test_only_one_transaction_that_does_not_check_the_token_first_succeeds(
    desk: Desk, store_factory: StoreFactory
) -> None:
    stores = [desk.store, store_factory()]

    async def run_all() -> list[object]:
        works = [stores[number % 2].write(lambda tx, n=number: put(tx, "token", b"%d" % n)) for number in range(10)]
        return await asyncio.gather(*works, return_exceptions=True)

    answers = desk.runner.run(run_all())
    assert answers.count(None) == 1
    assert sum(isinstance(answer, Conflict) for answer in answers) == 9


def test_old_responses_are_deleted_a_thousand_at_a_time(desk: Desk) -> None:
    days = [f"2027-01-{1 + number % 10:02d}T00:00:00.000000Z" for number in range(1300)]
    desk.write(lambda tx: [put(tx, f"{number}", at=at) for number, at in enumerate(days)])
    desk.write(lambda tx: put(tx, "late", at=LATER))
    assert [desk.write(lambda tx: tx.forget_answers(AT)) for _ in range(3)] == [1000, 300, 0]
    assert desk.read(lambda reader: reader.find_answer("jan", "late")) is not None
    assert desk.read(lambda reader: reader.find_answer("jan", "7")) is None
    desk.write(lambda tx: put(tx, "7"))


def test_the_oldest_responses_are_deleted_first(desk: Desk) -> None:
    days = [f"2027-01-{1 + number // 100:02d}T00:00:00.000000Z" for number in range(1200)]
    desk.write(lambda tx: [put(tx, f"{number}", at=at) for number, at in enumerate(days)])
    desk.write(lambda tx: tx.forget_answers(AT))
    left = desk.read(lambda reader: [reader.find_answer("jan", f"{number}") is not None for number in range(1200)])
    assert left == [False] * 1000 + [True] * 200


def test_a_token_that_a_transaction_deleted_can_be_used_again_in_it(desk: Desk) -> None:
    desk.write(lambda tx: put(tx, "token", b"old"))

    def work(tx: Transaction) -> int:
        assert tx.find_answer("jan", "token") is not None
        forgotten = tx.forget_answers(LATER)
        put(tx, "token", b"new", at=LATER)
        return forgotten

    assert desk.write(work) == 1
    assert desk.read(lambda reader: reader.find_answer("jan", "token")) == (b"digest", b"new", LATER)
