"""The limit on failed logins: it slows down a client that guesses, and no other client."""

import asyncio
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.http.handle_client import (
    ADMIN,
    PASSWORD,
    PRIVATE,
    AuthenticatorFixture,
    authenticator_on,
    basic_header,
    handle_header,
    secret_proof,
)

from perdure.errors import BadKey, PerdureError
from perdure.http.auth.rate_limit import FREE, FREE_FOR_ADDRESS, LONGEST_WAIT, LoginThrottle
from perdure.http.shared.http_errors import TooManyAttempts
from perdure.records.value import Text, Value
from perdure.registry import mint
from perdure.registry.handles import put_values
from perdure.registry.new_record import Statement

IDENTITY = f"300:{ADMIN}"
RIGHT = basic_header(IDENTITY, PASSWORD)
WRONG = basic_header(IDENTITY, "wrong")


class Time:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def auth(tmp_path: Path) -> Iterator[AuthenticatorFixture]:
    with authenticator_on("sqlite", tmp_path) as fixture:
        yield fixture


@pytest.fixture
def time() -> Time:
    return Time()


def fail(auth: AuthenticatorFixture, header: str, times: int, **more: str) -> None:
    for _ in range(times):
        with pytest.raises(BadKey):
            auth.authenticate(header, **more)


def test_after_some_wrong_passwords_even_the_right_one_must_wait(auth: AuthenticatorFixture) -> None:
    fail(auth, WRONG, FREE)
    for header in (WRONG, RIGHT):
        with pytest.raises(TooManyAttempts) as refusal:
            auth.authenticate(header)
        assert 0 < refusal.value.wait <= 1


def test_another_address_and_another_identity_do_not_wait(auth: AuthenticatorFixture) -> None:
    fail(auth, WRONG, FREE)
    assert auth.authenticate(RIGHT, client="127.0.0.2") is not None
    assert auth.authenticate(f"Bearer {auth.office.key}") is not None
    with pytest.raises(BadKey):
        auth.authenticate(basic_header("301:12345/OTHER", "wrong"))


def test_the_right_password_makes_earlier_failures_forgotten(auth: AuthenticatorFixture) -> None:
    for _ in range(3):
        fail(auth, WRONG, FREE - 1)
        assert auth.authenticate(RIGHT) is not None


def test_every_spelling_of_an_identity_shares_one_counter(auth: AuthenticatorFixture) -> None:
    """A counter for each spelling of a name would multiply the free attempts."""
    ways = [
        "hdl:",
        "HDL:",
        "doi:",
        "https://hdl.handle.net/",
        "info:hdl/",
        *("hdl:" + " " * more for more in range(20)),
    ]
    for way in ways[:FREE]:
        fail(auth, basic_header(f"300:{way}{ADMIN}", "wrong"), 1)
    for way in ways:
        with pytest.raises(TooManyAttempts):
            auth.authenticate(basic_header(f"300:{way}{ADMIN}", PASSWORD))
    with pytest.raises(TooManyAttempts):
        auth.authenticate(RIGHT)


def test_a_name_and_its_corrected_misspellings_share_one_counter(auth: AuthenticatorFixture) -> None:
    auth.office.prefix("54321")
    for _ in range(40):
        name = auth.office.do(mint, "54321", statement=Statement("https://example.org/"))[0].name
    auth.office.do(put_values, name, [Value(300, "HS_SECKEY", Text(PASSWORD), permissions=PRIVATE)])
    right = name.partition("/")[2]
    slips = [
        f"54321/{suffix}"
        for suffix in (right.lower(), right.replace("0", "O"), right.replace("1", "i"), right.lower().replace("0", "o"))
    ]
    assert auth.authenticate(basic_header(f"300:{slips[0]}", PASSWORD)) is not None
    for number in range(FREE):
        fail(auth, basic_header(f"300:{slips[number % len(slips)]}", "wrong"), 1)
    with pytest.raises(TooManyAttempts):
        auth.authenticate(basic_header(f"300:{name}", PASSWORD))


def test_all_invalid_names_share_one_counter(auth: AuthenticatorFixture) -> None:
    for number in range(FREE):
        fail(auth, basic_header(f"{number}:no handle {number}", "wrong"), 1)
    with pytest.raises(TooManyAttempts):
        auth.authenticate(basic_header("300:nor this", "wrong"))


@pytest.mark.parametrize("own", ["a key of Perdure", "a password"])
def test_a_valid_credential_does_not_help_to_guess_those_of_others(auth: AuthenticatorFixture, own: str) -> None:
    mine = f"Bearer {auth.office.key}" if own == "a key of Perdure" else RIGHT
    for number in range(FREE_FOR_ADDRESS):
        assert auth.authenticate(mine) is not None
        fail(auth, basic_header(f"300:12345/OTHER{number}", "wrong"), 1)
    with pytest.raises(TooManyAttempts):
        auth.authenticate(basic_header("300:12345/ANOTHER", "wrong"))


def test_the_key_at_one_index_does_not_help_to_guess_that_at_another(auth: AuthenticatorFixture) -> None:
    """Index 0 means all keys: success with one of them must not clear the failed guesses at the others."""
    auth.office.do(put_values, ADMIN, [Value(303, "HS_SECKEY", Text("mine"), permissions=PRIVATE)])
    for _ in range(FREE):
        assert auth.authenticate(basic_header(f"0:{ADMIN}", "mine")) is not None
        fail(auth, basic_header(f"0:{ADMIN}", "wrong"), 1)
    with pytest.raises(TooManyAttempts):
        auth.authenticate(basic_header(f"0:{ADMIN}", "wrong"))


def test_a_proof_that_another_client_has_seen_does_not_clear_failed_guesses(auth: AuthenticatorFixture) -> None:
    def verify(parameters: dict[str, str]) -> bool:
        parameters = parameters | {"nonce": b64encode(b"nonce").decode()}
        return auth.office.run(auth.authenticator.verify(auth.request(), 300, ADMIN, parameters))

    valid = secret_proof(b"nonce", PASSWORD, "SHA256")
    for _ in range(FREE):
        assert verify(valid)
        assert not verify(secret_proof(b"nonce", "wrong", "SHA256"))
    with pytest.raises(TooManyAttempts):
        verify(valid)


def test_a_client_that_disconnects_before_the_response_has_used_an_attempt(auth: AuthenticatorFixture) -> None:
    async def disconnect() -> None:
        session = auth.authenticator.sessions.create()
        proof = secret_proof(session.nonce, "wrong", "PBKDF2-HMAC-SHA1", iterations=100_000)
        header = handle_header(sessionId=session.id, id=IDENTITY, **proof)
        task = asyncio.create_task(auth.authenticator.authenticate(auth.request(header)))
        async with asyncio.timeout(30):
            while not len(auth.authenticator._attempts) and not task.done():
                await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    auth.office.run(disconnect())
    fail(auth, WRONG, FREE - 1)
    with pytest.raises(TooManyAttempts):
        auth.authenticate(RIGHT)


def test_wrong_proofs_and_verifications_count_like_wrong_passwords(auth: AuthenticatorFixture) -> None:
    for _ in range(FREE // 2):
        session = auth.authenticator.sessions.create()
        fail(auth, handle_header(sessionId=session.id, id=IDENTITY, **secret_proof(session.nonce, "wrong", "SHA1")), 1)
        parameters = secret_proof(b"nonce", "wrong", "SHA1") | {"nonce": "bm9uY2U="}
        assert not auth.office.run(auth.authenticator.verify(auth.request(), 300, ADMIN, parameters))
    with pytest.raises(TooManyAttempts):
        auth.authenticate(RIGHT)
    with pytest.raises(TooManyAttempts):
        auth.office.run(auth.authenticator.verify(auth.request(), 300, "12345/admin", parameters))


def test_wrong_keys_have_to_wait_and_the_right_one_does_not(auth: AuthenticatorFixture) -> None:
    """A key cannot be guessed, so failures of other clients at the same address do not lock its owner out."""
    fail(auth, "Bearer wrong", FREE - 1)
    with pytest.raises(TooManyAttempts):
        auth.authenticate("Bearer wrong")
    assert auth.authenticate(f"Bearer {auth.office.key}") is not None
    fail(auth, "Bearer wrong", 1)


def test_many_guesses_at_the_same_moment_gain_nothing(auth: AuthenticatorFixture) -> None:
    fail(auth, WRONG, FREE)
    attempts = auth.authenticator._attempts
    passed = Time()
    attempts._now = passed
    for failures in attempts._failures.values():
        failures.until = failures.last = passed.now = 10_000.0

    async def all_at_once() -> list[object]:
        requests = [auth.authenticator.authenticate(auth.request(WRONG)) for _ in range(50)]
        return await asyncio.gather(*requests, return_exceptions=True)

    results = auth.office.run(all_at_once())
    assert sum(isinstance(result, BadKey) for result in results) == 1
    assert sum(isinstance(result, TooManyAttempts) for result in results) == 49


def test_many_right_passwords_at_the_same_moment_all_pass(auth: AuthenticatorFixture) -> None:
    async def all_at_once() -> list[object]:
        return await asyncio.gather(*(auth.authenticator.authenticate(auth.request(RIGHT)) for _ in range(50)))

    assert None not in auth.office.run(all_at_once())


def test_each_wait_is_twice_the_one_before_up_to_a_bound(time: Time) -> None:
    attempts = LoginThrottle(time)
    waits = []
    for _ in range(FREE + 20):
        attempts.begin("192.0.2.1", "a")
        waits.append(attempts.wait("192.0.2.1", "a"))
        time.now += waits[-1]
    assert waits[: FREE - 1] == [0.0] * (FREE - 1)
    assert waits[FREE - 1 : FREE + 3] == [1.0, 2.0, 4.0, 8.0]
    assert waits[-1] == LONGEST_WAIT


def test_a_client_that_tries_one_password_on_many_identities_waits_as_well(time: Time) -> None:
    attempts = LoginThrottle(time)
    for number in range(FREE_FOR_ADDRESS):
        attempts.begin("192.0.2.1", f"identity {number}")
    with pytest.raises(TooManyAttempts):
        attempts.begin("192.0.2.1", "another identity")
    attempts.begin("192.0.2.2", "identity 1")


def test_after_the_wait_valid_logins_follow_each_other_without_another_wait(time: Time) -> None:
    """Other clients at the same address have guessed. Each wrong guess causes a wait; a valid login does not."""
    attempts = LoginThrottle(time)
    for number in range(FREE_FOR_ADDRESS + 5):
        attempts.begin("192.0.2.1", f"identity {number}")
        time.now += attempts.wait("192.0.2.1", "")
    for _ in range(50):
        attempts.begin("192.0.2.1", "valid").record_success()
    attempts.begin("192.0.2.1", "another guess")
    assert attempts.wait("192.0.2.1", "valid") == 64.0


def test_a_success_that_began_before_other_attempts_failed_does_not_end_their_wait(time: Time) -> None:
    attempts = LoginThrottle(time)
    slow = attempts.begin("192.0.2.1", "valid")
    for number in range(FREE_FOR_ADDRESS - 1):
        attempts.begin("192.0.2.1", f"identity {number}")
    time.now += 1
    attempts.begin("192.0.2.1", "another")
    slow.record_success()
    with pytest.raises(TooManyAttempts):
        attempts.begin("192.0.2.1", "one more")


def test_all_addresses_of_one_ipv6_network_share_one_counter(time: Time) -> None:
    attempts = LoginThrottle(time)
    for number in range(FREE):
        attempts.record_failure(f"2001:db8::{number:x}", "a")
    with pytest.raises(TooManyAttempts):
        attempts.begin("2001:db8::ffff", "a")
    attempts.begin("2001:db8:0:1::1", "a")
    for _ in range(FREE):
        attempts.record_failure("192.0.2.1", "a")
    with pytest.raises(TooManyAttempts):
        attempts.begin("::ffff:192.0.2.1", "a")


def test_failures_are_forgotten_after_a_time(time: Time) -> None:
    attempts = LoginThrottle(time)
    for _ in range(FREE - 1):
        attempts.record_failure("192.0.2.1", "a")
    time.now += 3601
    attempts.record_failure("192.0.2.1", "a")
    attempts.begin("192.0.2.1", "a")


def test_valid_logins_use_no_memory_and_do_not_extend_the_life_of_failures(time: Time) -> None:
    attempts = LoginThrottle(time)
    for number in range(FREE_FOR_ADDRESS - 1):
        attempts.begin("192.0.2.1", f"identity {number}")
    remembered = len(attempts)
    for _ in range(3):
        time.now += 3599
        attempts.begin("192.0.2.1", "valid").record_success()
        attempts.begin("192.0.2.2", "valid").record_success(forgives=False)
        assert len(attempts) <= remembered
    attempts.begin("192.0.2.1", "wrong")
    assert attempts.wait("192.0.2.1", "another") == 0


def test_the_number_of_remembered_failures_is_bounded(time: Time) -> None:
    attempts = LoginThrottle(time, most=100)
    for number in range(1000):
        attempts.record_failure(f"192.0.{number // 256}.{number % 256}", "a" * number)
    assert len(attempts) <= 100


def test_failures_of_the_store_do_not_count_as_wrong_passwords(auth: AuthenticatorFixture) -> None:
    auth.office.registry.store.close()
    for _ in range(FREE + 1):
        with pytest.raises(PerdureError) as refusal:
            auth.authenticate(RIGHT)
        assert refusal.value.code == "store-unavailable"
