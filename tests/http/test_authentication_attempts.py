"""Guessing is slowed, whoever guesses; and nobody else waits for it."""

import asyncio
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.http.handle_client import (
    ADMIN,
    PASSWORD,
    PRIVATE,
    Door,
    basic_header,
    door_on,
    handle_header,
    secret_proof,
)

from perdure.errors import BadKey, PerdureError
from perdure.http.authentication.attempts import FREE, FREE_FOR_ADDRESS, LONGEST_WAIT, Attempts
from perdure.http.refusals import TooManyAttempts
from perdure.records.value import Text, Value
from perdure.registry import mint
from perdure.registry.handles import put_values
from perdure.registry.statement import Statement

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


def test_however_an_identity_is_written_it_is_one(door: Door) -> None:
    """A counter for each way to write a name would be as many free attempts as there are ways."""
    ways = [
        "hdl:",
        "HDL:",
        "doi:",
        "https://hdl.handle.net/",
        "info:hdl/",
        *("hdl:" + " " * more for more in range(20)),
    ]
    for way in ways[:FREE]:
        fail(door, basic_header(f"300:{way}{ADMIN}", "wrong"), 1)
    for way in ways:
        with pytest.raises(TooManyAttempts):
            door.ask(basic_header(f"300:{way}{ADMIN}", PASSWORD))
    with pytest.raises(TooManyAttempts):
        door.ask(RIGHT)


def test_a_name_that_is_forgiven_its_slips_is_one_with_each_of_them(door: Door) -> None:
    door.office.prefix("54321")
    for _ in range(40):
        name = door.office.do(mint, "54321", said=Statement("https://example.org/"))[0].name
    door.office.do(put_values, name, [Value(300, "HS_SECKEY", Text(PASSWORD), permissions=PRIVATE)])
    right = name.partition("/")[2]
    slips = [
        f"54321/{suffix}"
        for suffix in (right.lower(), right.replace("0", "O"), right.replace("1", "i"), right.lower().replace("0", "o"))
    ]
    assert door.ask(basic_header(f"300:{slips[0]}", PASSWORD)) is not None
    for number in range(FREE):
        fail(door, basic_header(f"300:{slips[number % len(slips)]}", "wrong"), 1)
    with pytest.raises(TooManyAttempts):
        door.ask(basic_header(f"300:{name}", PASSWORD))


def test_what_cannot_be_a_name_is_one_identity_as_well(door: Door) -> None:
    for number in range(FREE):
        fail(door, basic_header(f"{number}:no handle {number}", "wrong"), 1)
    with pytest.raises(TooManyAttempts):
        door.ask(basic_header("300:nor this", "wrong"))


@pytest.mark.parametrize("own", ["a key of Perdure", "a password"])
def test_who_has_a_right_credential_guesses_those_of_others_no_faster(door: Door, own: str) -> None:
    mine = f"Bearer {door.office.key}" if own == "a key of Perdure" else RIGHT
    for number in range(FREE_FOR_ADDRESS):
        assert door.ask(mine) is not None
        fail(door, basic_header(f"300:12345/OTHER{number}", "wrong"), 1)
    with pytest.raises(TooManyAttempts):
        door.ask(basic_header("300:12345/ANOTHER", "wrong"))


def test_the_key_at_one_index_gains_nothing_for_guessing_that_at_another(door: Door) -> None:
    """Index 0 stands for all of them: the right one would make the guesses at the others forgotten."""
    door.office.do(put_values, ADMIN, [Value(303, "HS_SECKEY", Text("mine"), permissions=PRIVATE)])
    for _ in range(FREE):
        assert door.ask(basic_header(f"0:{ADMIN}", "mine")) is not None
        fail(door, basic_header(f"0:{ADMIN}", "wrong"), 1)
    with pytest.raises(TooManyAttempts):
        door.ask(basic_header(f"0:{ADMIN}", "wrong"))


def test_a_proof_that_somebody_was_shown_does_not_make_guesses_forgotten(door: Door) -> None:
    def verified(parameters: dict[str, str]) -> bool:
        parameters = parameters | {"nonce": b64encode(b"nonce").decode()}
        return door.office.run(door.authenticator.verify(door.request(), 300, ADMIN, parameters))

    shown = secret_proof(b"nonce", PASSWORD, "SHA256")
    for _ in range(FREE):
        assert verified(shown)
        assert not verified(secret_proof(b"nonce", "wrong", "SHA256"))
    with pytest.raises(TooManyAttempts):
        verified(shown)


def test_who_leaves_before_the_answer_has_tried_as_well(door: Door) -> None:
    async def leave() -> None:
        session = door.authenticator.sessions.create()
        proof = secret_proof(session.nonce, "wrong", "PBKDF2-HMAC-SHA1", iterations=100_000)
        header = handle_header(sessionId=session.id, id=WHO, **proof)
        asking = asyncio.create_task(door.authenticator.actor(door.request(header)))
        async with asyncio.timeout(30):
            while not len(door.authenticator._attempts) and not asking.done():
                await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()

    door.office.run(leave())
    fail(door, WRONG, FREE - 1)
    with pytest.raises(TooManyAttempts):
        door.ask(RIGHT)


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
        waits.append(attempts.wait("192.0.2.1", "a"))
        time.now += waits[-1]
    assert waits[: FREE - 1] == [0.0] * (FREE - 1)
    assert waits[FREE - 1 : FREE + 3] == [1.0, 2.0, 4.0, 8.0]
    assert waits[-1] == LONGEST_WAIT


def test_who_tries_one_password_on_everybody_waits_as_well(time: Time) -> None:
    attempts = Attempts(time)
    for number in range(FREE_FOR_ADDRESS):
        attempts.begin("192.0.2.1", f"identity {number}")
    with pytest.raises(TooManyAttempts):
        attempts.begin("192.0.2.1", "another identity")
    attempts.begin("192.0.2.2", "identity 1")


def test_once_the_wait_is_over_right_ones_follow_each_other_without_another(time: Time) -> None:
    """Others behind the same address have guessed: each of their guesses makes one wait, and no right answer does."""
    attempts = Attempts(time)
    for number in range(FREE_FOR_ADDRESS + 5):
        attempts.begin("192.0.2.1", f"identity {number}")
        time.now += attempts.wait("192.0.2.1", "")
    for _ in range(50):
        attempts.begin("192.0.2.1", "rightful").succeeded()
    attempts.begin("192.0.2.1", "another guess")
    assert attempts.wait("192.0.2.1", "rightful") == 64.0


def test_an_attempt_that_is_under_way_when_others_fail_ends_no_wait_of_theirs(time: Time) -> None:
    attempts = Attempts(time)
    slow = attempts.begin("192.0.2.1", "rightful")
    for number in range(FREE_FOR_ADDRESS - 1):
        attempts.begin("192.0.2.1", f"identity {number}")
    time.now += 1
    attempts.begin("192.0.2.1", "another")
    slow.succeeded()
    with pytest.raises(TooManyAttempts):
        attempts.begin("192.0.2.1", "one more")


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


def test_right_ones_leave_nothing_behind_and_keep_no_failure_from_being_forgotten(time: Time) -> None:
    attempts = Attempts(time)
    for number in range(FREE_FOR_ADDRESS - 1):
        attempts.begin("192.0.2.1", f"identity {number}")
    remembered = len(attempts)
    for _ in range(3):
        time.now += 3599
        attempts.begin("192.0.2.1", "rightful").succeeded()
        attempts.begin("192.0.2.2", "rightful").succeeded(forgives=False)
        assert len(attempts) <= remembered
    attempts.begin("192.0.2.1", "wrong")
    assert attempts.wait("192.0.2.1", "another") == 0


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
