"""Deriving a key from a secret is slow on purpose: nobody can make the server do much of it."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.http.handle_client import ADMIN, PASSWORD, PRIVATE, Door, b64, door_on, handle_header, secret_proof

from perdure.errors import BadKey
from perdure.http.handle_api.codes import code_of, status_of
from perdure.http.problems import headers_of
from perdure.http.problems import status_of as own_status_of
from perdure.http.refusals import TooManyAtOnce
from perdure.records.value import Text, Value
from perdure.registry.handles import put_handle

DERIVED = "PBKDF2-HMAC-SHA1"
DEAR = {"iterations": 100_000, "length": 256}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with door_on("sqlite", tmp_path) as one:
        yield one


def shown(password: str = PASSWORD, **more: int) -> dict[str, str]:
    nonce = os.urandom(16)
    return secret_proof(nonce, password, DERIVED, **more) | {"nonce": b64(nonce)}


def test_who_asks_for_many_at_once_is_refused_and_others_are_not_kept_waiting(door: Door) -> None:
    """Two derive and two wait, of one address; whoever comes from another waits for those at most."""

    async def all_at_once() -> tuple[list[object], bool, int]:
        asking = [
            asyncio.create_task(
                door.authenticator.verify(door.request(client="192.0.2.1"), 300, f"12345/{n}", shown(**DEAR))
            )
            for n in range(20)
        ]
        await asyncio.sleep(0)
        honest = await door.authenticator.verify(door.request(client="192.0.2.2"), 300, ADMIN, shown())
        done_before = sum(one.done() and one.exception() is None for one in asking)
        return await asyncio.gather(*asking, return_exceptions=True), honest, done_before

    told, honest, done_before = door.office.run(all_at_once())
    assert honest
    assert done_before <= 4
    assert sum(one is False for one in told) == 4
    assert sum(isinstance(one, TooManyAtOnce) for one in told) == 16


def test_being_refused_for_that_is_no_wrong_attempt_and_passes(door: Door) -> None:
    async def all_at_once() -> list[object]:
        asking = (door.authenticator.verify(door.request(), 300, ADMIN, shown()) for _ in range(50))
        return await asyncio.gather(*asking, return_exceptions=True)

    for _ in range(2):
        told = door.office.run(all_at_once())
        assert {type(one) for one in told} == {bool, TooManyAtOnce}
        assert False not in told
    assert door.office.run(door.authenticator.verify(door.request(), 300, ADMIN, shown()))


def test_proofs_in_sessions_are_bounded_in_the_same_way(door: Door) -> None:
    async def all_at_once() -> list[object]:
        asking = []
        for _ in range(20):
            session = door.authenticator.sessions.create()
            header = handle_header(
                sessionId=session.id, id=f"300:{ADMIN}", **secret_proof(session.nonce, PASSWORD, DERIVED)
            )
            asking.append(door.authenticator.actor(door.request(header)))
        return await asyncio.gather(*asking, return_exceptions=True)

    told = door.office.run(all_at_once())
    refused = [one for one in told if isinstance(one, Exception)]
    assert 0 < len(refused) < 20
    assert {type(one) for one in refused} == {TooManyAtOnce}


def test_where_the_index_is_left_open_only_the_first_few_keys_are_derived_from(door: Door) -> None:
    words = [f"word {number}" for number in range(5)]
    values = [Value(300 + n, "HS_SECKEY", Text(word), permissions=PRIVATE) for n, word in enumerate(words)]
    door.office.do(put_handle, "12345/MANY", values)

    def is_verified(index: int, word: str) -> bool:
        return door.office.run(door.authenticator.verify(door.request(), index, "12345/MANY", shown(word)))

    assert [is_verified(0, word) for word in words] == [True, True, True, False, False]
    assert [is_verified(300 + n, word) for n, word in enumerate(words)] == [True] * 5


@pytest.mark.parametrize(("length", "is_taken"), [(64, True), (160, True), (256, True), (264, False), (1024, False)])
def test_the_length_of_a_derived_key_is_bounded(door: Door, length: int, is_taken: bool) -> None:
    try:
        assert door.office.run(door.authenticator.verify(door.request(), 300, ADMIN, shown(length=length)))
    except BadKey as refusal:
        assert not is_taken
        assert "from 64 to 256" in refusal.reason
    else:
        assert is_taken


def test_at_either_door_it_is_429_with_a_time_to_come_back() -> None:
    problem = TooManyAtOnce("searches")
    assert (code_of(problem), status_of(problem), own_status_of(problem)) == (3, 429, 429)
    assert headers_of(problem) == [(b"retry-after", b"1")]
    assert problem.code == "too-many-at-once"
