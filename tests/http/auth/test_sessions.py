"""Sessions of Handle clients: a challenge, one proof for it, and its id from then on, in every worker process."""

import asyncio
import os
import re
import stat
import threading
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.http.handle_client import (
    ADMIN,
    PASSWORD,
    RSA_KEY,
    AuthenticatorFixture,
    authenticator_on,
    basic_header,
    handle_header,
    public_proof,
    secret_proof,
)

from perdure.errors import BadKey, StoreUnavailable
from perdure.http.auth import NOT_VERIFIED, Authenticator, Session
from perdure.http.auth.credentials import Identity
from perdure.http.auth.session_store import SessionStore
from perdure.http.auth.sessions import LIFETIME, PROOF_TIMEOUT
from perdure.http.shared.http_errors import InsecureCredentials
from perdure.http.shared.worker_environment import SECRET_VARIABLE, SESSIONS_VARIABLE
from perdure.records.value import Text, Value
from perdure.registry.handles import delete_values, find_key_material, put_values

IDENTITY = f"300:{ADMIN}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the processes of one server share."""
    folder = tmp_path / "sessions"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv(SESSIONS_VARIABLE, str(folder))
    monkeypatch.setenv(SECRET_VARIABLE, "0" * 64)
    return folder


@pytest.fixture
def auth(tmp_path: Path, folder: Path) -> Iterator[AuthenticatorFixture]:
    with authenticator_on("sqlite", tmp_path) as fixture:
        yield fixture


def other_process(auth: AuthenticatorFixture) -> Authenticator:
    return Authenticator(auth.office.registry, auth.options)


def proof(session: Session) -> dict[str, str]:
    return {"sessionId": session.id, "id": IDENTITY, **secret_proof(session.nonce, PASSWORD, "SHA256")}


def answer_session(auth: AuthenticatorFixture, parameters: dict[str, str], **more: str) -> Session:
    return auth.office.run(auth.authenticator.answer_session(auth.request(**more), parameters))


def session_header(session: Session) -> str:
    return handle_header(sessionId=session.id)


def authenticated_session(auth: AuthenticatorFixture) -> Session:
    return answer_session(auth, proof(auth.authenticator.sessions.create()))


def is_refused(auth: AuthenticatorFixture, header: str) -> bool:
    try:
        auth.authenticate(header)
    except BadKey:
        return True
    return False


def test_a_challenge_can_be_answered(auth: AuthenticatorFixture) -> None:
    (_, basic), (_, challenge) = auth.authenticator.challenges()
    assert basic == b'Basic realm="handle"'
    match = re.fullmatch(r'Handle sessionId="([^"]+)", nonce="([^"]+)"', challenge.decode())
    assert match is not None
    signed = public_proof(b64decode(match[2]), RSA_KEY, "SHA256")
    identity = auth.authenticate(handle_header(sessionId=match[1], id=f"301:{ADMIN}", **signed))
    assert identity is not None
    assert auth.authenticate(handle_header(sessionId=match[1])) == identity


def test_a_challenge_after_a_failure_has_an_error(auth: AuthenticatorFixture) -> None:
    headers = auth.authenticator.challenges(error=NOT_VERIFIED)
    assert headers[1][1].endswith(b', error="Identity not verified"')


def test_a_session_without_a_proof_is_anonymous(auth: AuthenticatorFixture) -> None:
    session = auth.authenticator.sessions.create()
    assert auth.authenticate(session_header(session)) is None
    assert auth.authenticate('Handle cnonce="AAAA"') is None
    found = auth.office.run(auth.authenticator.sessions.find(session.id))
    assert found == session


def test_an_authenticated_session_belongs_to_its_client_in_every_process(auth: AuthenticatorFixture) -> None:
    session = other_process(auth).sessions.create()
    answered = answer_session(auth, proof(session))
    assert answered.actor is not None
    request = auth.request(session_header(session))
    assert auth.office.run(other_process(auth).authenticate(request)) == answered.actor


def test_the_same_proof_again_is_the_same_client_until_the_session_ends(auth: AuthenticatorFixture) -> None:
    session = auth.authenticator.sessions.create()
    header = handle_header(**proof(session))
    assert auth.authenticate(header) == auth.authenticate(header)
    assert auth.office.run(other_process(auth).authenticate(auth.request(header))) is not None
    auth.authenticator.sessions.end(session.id)
    for header_again in (header, session_header(session)):
        assert is_refused(auth, header_again)
        with pytest.raises(BadKey):
            auth.office.run(other_process(auth).authenticate(auth.request(header_again)))


def test_the_same_proof_in_many_requests_at_the_same_moment_is_accepted_in_all(auth: AuthenticatorFixture) -> None:
    async def all_at_once(header: str) -> list[object]:
        return await asyncio.gather(*(auth.authenticator.authenticate(auth.request(header)) for _ in range(20)))

    for _ in range(10):
        header = handle_header(**proof(auth.authenticator.sessions.create()))
        assert None not in auth.office.run(all_at_once(header))


def test_a_session_is_answered_once(auth: AuthenticatorFixture) -> None:
    session = authenticated_session(auth)
    signed = public_proof(session.nonce, RSA_KEY, "SHA256")
    with pytest.raises(BadKey):
        answer_session(auth, {"sessionId": session.id, "id": f"301:{ADMIN}", **signed})
    found = auth.office.run(auth.authenticator.sessions.find(session.id))
    assert found is not None
    assert found.actor == session.actor


def test_ending_an_unauthenticated_session_leaves_no_file(auth: AuthenticatorFixture, folder: Path) -> None:
    """Every client may begin one: files left by its end would be a way to fill the disk."""
    for _ in range(3):
        session = auth.authenticator.sessions.create()
        auth.authenticator.sessions.end(session.id)
        assert list(folder.iterdir()) == []
        assert auth.authenticate(session_header(session)) is None


def test_another_encoding_of_an_id_does_not_find_the_session(auth: AuthenticatorFixture) -> None:
    """The last character of base64 has unused bits."""
    session = authenticated_session(auth)
    auth.authenticator.sessions.end(session.id)
    for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_":
        for spelling in (session.id[:-1] + last, session.id[:-1] + last + "=", session.id + "\n"):
            found = auth.office.run(auth.authenticator.sessions.find(spelling))
            assert found is None


def test_a_proof_that_comes_too_late_is_refused(auth: AuthenticatorFixture) -> None:
    session = auth.authenticator.sessions.create()
    auth.office.clock.step(PROOF_TIMEOUT)
    with pytest.raises(BadKey):
        answer_session(auth, proof(session))


def test_a_proof_whose_check_took_too_long_is_refused(auth: AuthenticatorFixture) -> None:
    session = auth.authenticator.sessions.create()
    identity = Identity(300, ADMIN)
    keys = auth.office.ask(find_key_material, 300, ADMIN)
    auth.office.clock.step(PROOF_TIMEOUT)
    assert auth.office.run(auth.authenticator.sessions.authenticate(session, identity, keys.candidates[0])) is None


def test_a_session_expires_and_its_proof_does_not_renew_it(auth: AuthenticatorFixture) -> None:
    session = auth.authenticator.sessions.create()
    header = handle_header(**proof(session))
    assert auth.authenticate(header) is not None
    auth.office.clock.step(LIFETIME - 1)
    assert auth.authenticate(session_header(session)) is not None
    auth.office.clock.step(1)
    assert is_refused(auth, session_header(session))
    assert is_refused(auth, header)


def test_a_session_ends_with_the_key_that_authenticated_it(auth: AuthenticatorFixture) -> None:
    session = authenticated_session(auth)
    auth.office.do(put_values, ADMIN, [Value(5, "DESC", Text("something else"))])
    assert auth.authenticate(session_header(session)) is not None
    auth.set_keys("another")
    assert is_refused(auth, session_header(session))
    auth.set_keys()
    assert is_refused(auth, session_header(session))  # it has ended; restoring the password does not renew it
    session = authenticated_session(auth)
    auth.office.do(delete_values, ADMIN, [300])
    assert is_refused(auth, session_header(session))


def test_a_session_of_a_private_key_ends_with_it(auth: AuthenticatorFixture) -> None:
    session = auth.authenticator.sessions.create()
    signed = public_proof(session.nonce, RSA_KEY, "SHA1")
    assert answer_session(auth, {"sessionId": session.id, "id": f"301:{ADMIN}", **signed}).actor is not None
    auth.set_keys(rsa_key=rsa.generate_private_key(65537, 2048))
    assert is_refused(auth, session_header(session))


def test_an_invented_or_altered_id_finds_no_session(
    auth: AuthenticatorFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = authenticated_session(auth)
    middle = session.id[:8] + ("A" if session.id[8] != "A" else "B") + session.id[9:]
    for invalid in (
        "",
        "x",
        "é",
        middle,
        session.id[:-4],
        session.id + "AAAA",
        urlsafe_b64encode(os.urandom(56)).decode(),
    ):
        assert auth.office.run(auth.authenticator.sessions.find(invalid)) is None
        auth.authenticator.sessions.end(invalid)
    assert auth.authenticate(session_header(session)) is not None
    monkeypatch.setenv(SECRET_VARIABLE, "1" * 64)
    assert auth.office.run(other_process(auth).sessions.find(session.id)) is None


def test_sessions_work_without_a_shared_folder_and_secret(
    auth: AuthenticatorFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SESSIONS_VARIABLE)
    monkeypatch.delenv(SECRET_VARIABLE)
    auth.with_options()
    session = authenticated_session(auth)
    assert auth.authenticate(session_header(session)) == session.actor
    assert auth.office.run(other_process(auth).sessions.find(session.id)) is None


def test_a_session_can_begin_with_a_password(auth: AuthenticatorFixture) -> None:
    begun = auth.office.run(auth.authenticator.begin_session(auth.request(basic_header(IDENTITY, PASSWORD))))
    assert begun.actor is not None
    assert auth.authenticate(session_header(begun)) == begun.actor
    unanswered = auth.office.run(auth.authenticator.begin_session(auth.request()))
    assert unanswered.actor is None
    named = auth.office.run(auth.authenticator.begin_session(auth.request(handle_header(**proof(unanswered)))))
    assert (named.id, named.actor) == (unanswered.id, begun.actor)


def test_a_proof_in_a_body_needs_a_private_channel_too(auth: AuthenticatorFixture) -> None:
    with pytest.raises(InsecureCredentials):
        answer_session(auth, proof(auth.authenticator.sessions.create()), client="192.0.2.7")


def test_session_files_are_private_and_contain_no_secret(auth: AuthenticatorFixture, folder: Path) -> None:
    session = authenticated_session(auth)
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    stored = file.name.encode() + file.read_bytes()
    for secret in (session.id.encode(), PASSWORD.encode(), session.nonce, session.nonce.hex().encode()):
        assert secret not in stored


def test_an_unanswered_challenge_is_not_stored(auth: AuthenticatorFixture, folder: Path) -> None:
    for _ in range(100):
        auth.authenticator.challenges()
    assert list(folder.iterdir()) == []


def test_a_full_store_removes_the_oldest_expired_sessions(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "store", most=3, cleanup_interval=1)
    for number in range(6):
        assert store.put(f"old {number}", b"x", needed_until=100 + number, now=number)
    assert store.put("new", b"x", needed_until=1000, now=103)
    left = {file.name for file in (tmp_path / "store").iterdir()}
    assert left == {"old 3", "old 4", "old 5", "new"}
    assert not store.put("new", b"y", needed_until=1000, now=103)
    assert store.get("new") == b"x"
    store.remove("new")
    assert store.get("new") == b""
    assert not store.put("new", b"y", needed_until=1000, now=103)


def test_a_store_that_fills_too_fast_accepts_no_more(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "store", most=3, cleanup_interval=1)
    for number in range(31):
        assert store.put(f"one {number}", b"", needed_until=1000, now=200)
    with pytest.raises(StoreUnavailable):
        store.put("one more", b"", needed_until=1000, now=200)
    assert store.put("later", b"", needed_until=2000, now=1000)


def test_a_full_store_is_not_searched_again_for_each_new_session(tmp_path: Path) -> None:
    """A search takes long, and no file can be removed before it expires."""
    store = SessionStore(tmp_path / "store", most=3, cleanup_interval=1)
    for number in range(31):
        assert store.put(f"one {number}", b"", needed_until=1000, now=200)
    with pytest.raises(StoreUnavailable):
        store.put("one more", b"", needed_until=1000, now=200)
    for file in (tmp_path / "store").iterdir():
        file.unlink()  # a search would find free space
    with pytest.raises(StoreUnavailable):
        store.put("one more", b"", needed_until=1000, now=999)
    assert store.put("later", b"", needed_until=2000, now=1000)


def test_files_are_only_counted_while_the_store_has_space(tmp_path: Path) -> None:
    """The date of a broken link cannot be read, and does not need to be."""
    store = SessionStore(tmp_path / "store", most=3, cleanup_interval=1)
    assert store.put("one", b"", needed_until=1000, now=200)
    (tmp_path / "store" / "loop").symlink_to("loop")
    assert store.put("another", b"", needed_until=1000, now=200)


def test_expired_files_are_removed_while_others_are_served(auth: AuthenticatorFixture) -> None:
    class SlowStore(SessionStore):
        def _remove_expired(self, now: int) -> None:
            assert others_were_answered.wait(30)
            super()._remove_expired(now)

    others_were_answered = threading.Event()
    auth.authenticator.sessions._store = SlowStore(auth.authenticator.sessions._store._folder)

    async def both() -> Session:
        session = auth.authenticator.sessions.create()
        task = asyncio.create_task(auth.authenticator.answer_session(auth.request(), proof(session)))
        for _ in range(10):
            await asyncio.sleep(0.01)
        others_were_answered.set()
        return await task

    assert auth.office.run(both()).actor is not None


@pytest.mark.parametrize(
    ("id", "password", "is_right"),
    [(300, PASSWORD, True), (0, PASSWORD, True), (300, "wrong", False), (301, PASSWORD, False)],
)
def test_a_proof_for_a_nonce_of_another_server_is_verified(
    auth: AuthenticatorFixture, id: int, password: str, is_right: bool
) -> None:
    nonce = os.urandom(16)
    for algorithm in ("SHA1", "PBKDF2-HMAC-SHA1"):
        parameters = secret_proof(nonce, password, algorithm) | {"nonce": urlsafe_b64encode(nonce).decode()}
        del parameters["type"]
        verified = auth.office.run(auth.authenticator.verify(auth.request(), id, ADMIN, parameters))
        assert verified is is_right


def test_a_signature_is_verified_without_the_type_of_its_key(auth: AuthenticatorFixture) -> None:
    nonce = os.urandom(16)
    parameters = public_proof(nonce, RSA_KEY, "SHA256") | {"nonce": urlsafe_b64encode(nonce).decode()}
    del parameters["type"]
    for index, is_right in ((301, True), (0, True), (302, False), (300, False), (9, False)):
        assert auth.office.run(auth.authenticator.verify(auth.request(), index, ADMIN, parameters)) is is_right
    with pytest.raises(BadKey):
        auth.office.run(auth.authenticator.verify(auth.request(), 301, ADMIN, parameters | {"nonce": ""}))
