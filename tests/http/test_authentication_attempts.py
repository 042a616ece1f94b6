"""Guessing is slowed, whoever guesses; and nobody else waits for it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.http.handle_client import ADMIN, PASSWORD, Door, basic_header, door_on, handle_header, secret_proof

from perdure.errors import BadKey, PerdureError
from perdure.http.authentication.attempts import FREE, FREE_FOR_ADDRESS, LONGEST_WAIT, Attempts
from perdure.http.refusals import TooManyAttempts

WHO = f"300:{ADMIN}"
RIGHT = basic_header(WHO, PASSWORD)
WRONG = basic_header(WHO, "wrong")


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with door_on("sqlite", tmp_path) as one:
        yield one


@pytest.fixture
def time() -> Time:
    return Time()


def fail(door: Door, header: str, times: int, **more: str) -> None:
    for _ in range(times):
        with pytest.raises(BadKey):
            door.ask(header, **more)


def test_after_some_wrong_passwords_even_the_right_one_must_wait(door: Door) -> None:
    fail(door, WRONG, FREE)
    for header in (WRONG, RIGHT):
        with pytest.raises(TooManyAttempts) as refusal:
            door.ask(header)
        assert 0 < refusal.value.wait <= 1


def test_another_address_and_another_identity_do_not_wait(door: Door) -> None:
    fail(door, WRONG, FREE)
    assert door.ask(RIGHT, client="127.0.0.2") is not None
    assert door.ask(f"Bearer {door.office.key}") is not None
    with pytest.raises(BadKey):
        door.ask(basic_header("301:12345/OTHER", "wrong"))


def test_the_right_password_makes_earlier_failures_forgotten(door: Door) -> None:
    for _ in range(3):
        fail(door, WRONG, FREE - 1)
        assert door.ask(RIGHT) is not None


def test_wrong_proofs_and_verifications_count_like_wrong_passwords(door: Door) -> None:
    for _ in range(FREE // 2):
        session = door.authenticator.sessions.create()
        fail(door, handle_header(sessionId=session.id, id=WHO, **secret_proof(session.nonce, "wrong", "SHA1")), 1)
        parameters = secret_proof(b"nonce", "wrong", "SHA1") | {"nonce": "bm9uY2U="}
        assert not door.office.run(door.authenticator.verify(door.request(), 300, ADMIN, parameters))
    with pytest.raises(TooManyAttempts):
        door.ask(RIGHT)
    with pytest.raises(TooManyAttempts):
        door.office.run(door.authenticator.verify(door.request(), 300, "12345/admin", parameters))


def test_wrong_keys_are_told_to_wait_and_the_right_one_is_not(door: Door) -> None:
    """Nobody guesses a key, so whoever has one is not kept out by others behind the same address."""
    fail(door, "Bearer wrong", FREE - 1)
    with pytest.raises(TooManyAttempts):
        door.ask("Bearer wrong")
    assert door.ask(f"Bearer {door.office.key}") is not None
    fail(door, "Bearer wrong", 1)


def test_many_guesses_at_the_same_moment_gain_nothing(door: Door) -> None:
    fail(door, WRONG, FREE)
    attempts = door.authenticator._attempts
    passed = Time()
    attempts._now = passed
    for one in attempts._known.values():
        one.until = one.last = passed.now = 10_000.0

    async def all_at_once() -> list[object]:
        asking = [door.authenticator.actor(door.request(WRONG)) for _ in range(50)]
        return await asyncio.gather(*asking, return_exceptions=True)

    told = door.office.run(all_at_once())
    assert sum(isinstance(one, BadKey) for one in told) == 1
    assert sum(isinstance(one, TooManyAttempts) for one in told) == 49


def test_many_right_passwords_at_the_same_moment_all_pass(door: Door) -> None:
    async def all_at_once() -> list[object]:
        return await asyncio.gather(*(door.authenticator.actor(door.request(RIGHT)) for _ in range(50)))

    assert None not in door.office.run(all_at_once())


def test_each_wait_is_twice_the_one_before_up_to_a_bound(time: Time) -> None:
    attempts = Attempts(time)
    waits = []
    for _ in range(FREE + 20):
        attempts.begin("192.0.2.1", "a")
        attempts.failed("192.0.2.1", "a")
        waits.append(attempts.wait("192.0.2.1", "a"))
        time.now += waits[-1]
    assert waits[: FREE - 1] == [0.0] * (FREE - 1)
    assert waits[FREE - 1 : FREE + 3] == [1.0, 2.0, 4.0, 8.0]
    assert waits[-1] == LONGEST_WAIT


def test_who_tries_one_password_on_everybody_waits_as_well(time: Time) -> None:
    attempts = Attempts(time)
    for number in range(FREE_FOR_ADDRESS):
        attempts.begin("192.0.2.1", f"identity {number}")
        attempts.failed("192.0.2.1", f"identity {number}")
    with pytest.raises(TooManyAttempts):
        attempts.begin("192.0.2.1", "another identity")
    attempts.begin("192.0.2.2", "identity 1")


def test_all_addresses_of_one_network_of_version_6_are_one(time: Time) -> None:
    attempts = Attempts(time)
    for number in range(FREE):
        attempts.failed(f"2001:db8::{number:x}", "a")
    with pytest.raises(TooManyAttempts):
        attempts.begin("2001:db8::ffff", "a")
    attempts.begin("2001:db8:0:1::1", "a")
    for _ in range(FREE):
        attempts.failed("192.0.2.1", "a")
    with pytest.raises(TooManyAttempts):
        attempts.begin("::ffff:192.0.2.1", "a")


def test_failures_are_forgotten_after_a_time(time: Time) -> None:
    attempts = Attempts(time)
    for _ in range(FREE - 1):
        attempts.failed("192.0.2.1", "a")
    time.now += 3601
    attempts.failed("192.0.2.1", "a")
    attempts.begin("192.0.2.1", "a")


def test_what_is_remembered_is_bounded(time: Time) -> None:
    attempts = Attempts(time, most=100)
    for number in range(1000):
        attempts.failed(f"192.0.{number // 256}.{number % 256}", "a" * number)
    assert len(attempts) <= 100


def test_failures_of_the_store_are_nobodys_wrong_password(door: Door) -> None:
    door.office.registry.store.close()
    for _ in range(FREE + 1):
        with pytest.raises(PerdureError) as refusal:
            door.ask(RIGHT)
        assert refusal.value.code == "store-unavailable"
