"""The limit on key derivations: they are slow on purpose, and a client cannot make the server run many."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.http.handle_client import (
    ADMIN,
    PASSWORD,
    PRIVATE,
    AuthenticatorFixture,
    authenticator_on,
    b64,
    handle_header,
    secret_proof,
)

from perdure.errors import BadKey
from perdure.http.handle_api.response_codes import code_of, status_of
from perdure.http.shared.http_errors import TooManyConcurrentRequests
from perdure.http.shared.problem_json import problem_headers
from perdure.http.shared.problem_json import status_of as api_status_of
from perdure.records.value import Text, Value
from perdure.registry.handles import put_handle

DERIVED = "PBKDF2-HMAC-SHA1"
EXPENSIVE = {"iterations": 100_000, "length": 256}


@pytest.fixture
def auth(tmp_path: Path) -> Iterator[AuthenticatorFixture]:
    with authenticator_on("sqlite", tmp_path) as fixture:
        yield fixture


def proof(password: str = PASSWORD, **more: int) -> dict[str, str]:
    nonce = os.urandom(16)
    return secret_proof(nonce, password, DERIVED, **more) | {"nonce": b64(nonce)}


def test_a_client_with_many_derivations_at_once_is_refused_and_others_do_not_wait(auth: AuthenticatorFixture) -> None:
    """Two requests of one address derive and two wait. A client at another address waits for those at most."""

    async def all_at_once() -> tuple[list[object], bool, int]:
        requests = [
            asyncio.create_task(
                auth.authenticator.verify(auth.request(client="192.0.2.1"), 300, f"12345/{n}", proof(**EXPENSIVE))
            )
            for n in range(20)
        ]
        await asyncio.sleep(0)
        honest = await auth.authenticator.verify(auth.request(client="192.0.2.2"), 300, ADMIN, proof())
        done_before = sum(task.done() and task.exception() is None for task in requests)
        return await asyncio.gather(*requests, return_exceptions=True), honest, done_before

    results, honest, done_before = auth.office.run(all_at_once())
    assert honest
    assert done_before <= 4
    assert sum(result is False for result in results) == 4
    assert sum(isinstance(result, TooManyConcurrentRequests) for result in results) == 16


def test_a_refusal_for_many_derivations_is_not_a_failed_attempt_and_ends(auth: AuthenticatorFixture) -> None:
    async def all_at_once() -> list[object]:
        requests = (auth.authenticator.verify(auth.request(), 300, ADMIN, proof()) for _ in range(50))
        return await asyncio.gather(*requests, return_exceptions=True)

    for _ in range(2):
        results = auth.office.run(all_at_once())
        assert {type(result) for result in results} == {bool, TooManyConcurrentRequests}
        assert False not in results
    assert auth.office.run(auth.authenticator.verify(auth.request(), 300, ADMIN, proof()))


def test_proofs_in_sessions_are_bounded_in_the_same_way(auth: AuthenticatorFixture) -> None:
    async def all_at_once() -> list[object]:
        requests = []
        for _ in range(20):
            session = auth.authenticator.sessions.create()
            header = handle_header(
                sessionId=session.id, id=f"300:{ADMIN}", **secret_proof(session.nonce, PASSWORD, DERIVED)
            )
            requests.append(auth.authenticator.authenticate(auth.request(header)))
        return await asyncio.gather(*requests, return_exceptions=True)

    results = auth.office.run(all_at_once())
    refused = [result for result in results if isinstance(result, Exception)]
    assert 0 < len(refused) < 20
    assert {type(error) for error in refused} == {TooManyConcurrentRequests}


def test_with_index_0_only_the_first_few_keys_are_derived(auth: AuthenticatorFixture) -> None:
    words = [f"word {number}" for number in range(5)]
    values = [Value(300 + n, "HS_SECKEY", Text(word), permissions=PRIVATE) for n, word in enumerate(words)]
    auth.office.do(put_handle, "12345/MANY", values)

    def is_verified(index: int, word: str) -> bool:
        return auth.office.run(auth.authenticator.verify(auth.request(), index, "12345/MANY", proof(word)))

    assert [is_verified(0, word) for word in words] == [True, True, True, False, False]
    assert [is_verified(300 + n, word) for n, word in enumerate(words)] == [True] * 5


@pytest.mark.parametrize(("length", "is_accepted"), [(64, True), (160, True), (256, True), (264, False), (1024, False)])
def test_the_length_of_a_derived_key_is_bounded(auth: AuthenticatorFixture, length: int, is_accepted: bool) -> None:
    try:
        assert auth.office.run(auth.authenticator.verify(auth.request(), 300, ADMIN, proof(length=length)))
    except BadKey as refusal:
        assert not is_accepted
        assert "from 64 to 256" in refusal.reason
    else:
        assert is_accepted


def test_in_both_apis_the_status_is_429_with_a_retry_time() -> None:
    problem = TooManyConcurrentRequests("searches")
    assert (code_of(problem), status_of(problem), api_status_of(problem)) == (3, 429, 429)
    assert problem_headers(problem) == [(b"retry-after", b"1")]
    assert problem.code == "too-many-at-once"
