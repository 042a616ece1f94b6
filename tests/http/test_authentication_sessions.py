"""Sessions of Handle clients: a challenge, one answer to it, and its id from then on, in whichever process."""

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
    Door,
    basic_header,
    door_on,
    handle_header,
    public_proof,
    secret_proof,
)

from perdure.errors import BadKey, StoreUnavailable
from perdure.http.authentication import NOT_VERIFIED, Authenticator, Session
from perdure.http.authentication.credentials import Identity
from perdure.http.authentication.sessions import ANSWERED_WITHIN, LASTS
from perdure.http.authentication.shelf import Shelf
from perdure.http.refusals import PlainCredentials
from perdure.http.surroundings import SECRET, SESSIONS
from perdure.records.value import Text, Value
from perdure.registry.handles import delete_values, key_material, put_values

WHO = f"300:{ADMIN}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the processes of one server share."""
    folder = tmp_path / "sessions"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv(SESSIONS, str(folder))
    monkeypatch.setenv(SECRET, "0" * 64)
    return folder


@pytest.fixture
def door(tmp_path: Path, folder: Path) -> Iterator[Door]:
    with door_on("sqlite", tmp_path) as one:
        yield one


def other_process(door: Door) -> Authenticator:
    return Authenticator(door.office.registry, door.options)


def proof(session: Session) -> dict[str, str]:
    return {"sessionId": session.id, "id": WHO, **secret_proof(session.nonce, PASSWORD, "SHA256")}


def answer(door: Door, parameters: dict[str, str], **more: str) -> Session:
    return door.office.run(door.authenticator.answer_session(door.request(**more), parameters))


def alone(session: Session) -> str:
    return handle_header(sessionId=session.id)


def opened(door: Door) -> Session:
    return answer(door, proof(door.authenticator.sessions.create()))


def is_refused(door: Door, header: str) -> bool:
    try:
        door.ask(header)
    except BadKey:
        return True
    return False


def test_a_challenge_can_be_answered(door: Door) -> None:
    (_, basic), (_, challenge) = door.authenticator.challenges(door.request())
    assert basic == b'Basic realm="handle"'
    found = re.fullmatch(r'Handle sessionId="([^"]+)", nonce="([^"]+)"', challenge.decode())
    assert found is not None
    signed = public_proof(b64decode(found[2]), RSA_KEY, "SHA256")
    who = door.ask(handle_header(sessionId=found[1], id=f"301:{ADMIN}", **signed))
    assert who is not None
    assert door.ask(handle_header(sessionId=found[1])) == who


def test_a_challenge_after_a_failure_says_so(door: Door) -> None:
    headers = door.authenticator.challenges(door.request(), error=NOT_VERIFIED)
    assert headers[1][1].endswith(b', error="Identity not verified"')


def test_a_session_that_nobody_answered_is_nobody(door: Door) -> None:
    session = door.authenticator.sessions.create()
    assert door.ask(alone(session)) is None
    assert door.ask('Handle cnonce="AAAA"') is None
    found = door.office.run(door.authenticator.sessions.find(session.id))
    assert found == session


def test_an_answered_session_is_its_clients_in_every_process(door: Door) -> None:
    session = other_process(door).sessions.create()
    answered = answer(door, proof(session))
    assert answered.actor is not None
    asking = door.request(alone(session))
    assert door.office.run(other_process(door).actor(asking)) == answered.actor


def test_the_same_proof_again_is_the_same_client_until_the_session_ends(door: Door) -> None:
    session = door.authenticator.sessions.create()
    header = handle_header(**proof(session))
    assert door.ask(header) == door.ask(header)
    assert door.office.run(other_process(door).actor(door.request(header))) is not None
    door.authenticator.sessions.end(session.id)
    for again in (header, alone(session)):
        assert is_refused(door, again)
        with pytest.raises(BadKey):
            door.office.run(other_process(door).actor(door.request(again)))


def test_the_same_proof_in_many_requests_at_the_same_moment_opens_for_all_of_them(door: Door) -> None:
    async def all_at_once(header: str) -> list[object]:
        return await asyncio.gather(*(door.authenticator.actor(door.request(header)) for _ in range(20)))

    for _ in range(10):
        header = handle_header(**proof(door.authenticator.sessions.create()))
        assert None not in door.office.run(all_at_once(header))


def test_a_session_is_answered_once(door: Door) -> None:
    session = opened(door)
    signed = public_proof(session.nonce, RSA_KEY, "SHA256")
    with pytest.raises(BadKey):
        answer(door, {"sessionId": session.id, "id": f"301:{ADMIN}", **signed})
    found = door.office.run(door.authenticator.sessions.find(session.id))
    assert found is not None
    assert found.actor == session.actor


def test_ending_a_session_that_nobody_answered_leaves_nothing_behind(door: Door, folder: Path) -> None:
    """Anybody may begin one: whatever its end left would be a way to fill the server."""
    for _ in range(3):
        session = door.authenticator.sessions.create()
        door.authenticator.sessions.end(session.id)
        assert list(folder.iterdir()) == []
        assert door.ask(alone(session)) is None


def test_an_id_written_in_another_way_is_no_other_session(door: Door) -> None:
    """The last character of base64 has bits that say nothing."""
    session = opened(door)
    door.authenticator.sessions.end(session.id)
    for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_":
        for written in (session.id[:-1] + last, session.id[:-1] + last + "=", session.id + "\n"):
            found = door.office.run(door.authenticator.sessions.find(written))
            assert found is None


def test_an_answer_that_comes_too_late_is_refused(door: Door) -> None:
    session = door.authenticator.sessions.create()
    door.office.clock.step(ANSWERED_WITHIN)
    with pytest.raises(BadKey):
        answer(door, proof(session))


def test_an_answer_that_was_too_long_in_the_checking_is_refused(door: Door) -> None:
    session = door.authenticator.sessions.create()
    who = Identity(300, ADMIN)
    keys = door.office.ask(key_material, 300, ADMIN)
    door.office.clock.step(ANSWERED_WITHIN)
    assert door.office.run(door.authenticator.sessions.opened(session, who, keys.candidates[0])) is None


def test_a_session_lapses_and_its_proof_does_not_open_it_again(door: Door) -> None:
    session = door.authenticator.sessions.create()
    header = handle_header(**proof(session))
    assert door.ask(header) is not None
    door.office.clock.step(LASTS - 1)
    assert door.ask(alone(session)) is not None
    door.office.clock.step(1)
    assert is_refused(door, alone(session))
    assert is_refused(door, header)


def test_a_session_ends_with_the_key_that_opened_it(door: Door) -> None:
    session = opened(door)
    door.office.do(put_values, ADMIN, [Value(5, "DESC", Text("something else"))])
    assert door.ask(alone(session)) is not None
    door.set_keys("another")
    assert is_refused(door, alone(session))
    door.set_keys()
    assert is_refused(door, alone(session))  # it has ended, and does not come back with the password
    session = opened(door)
    door.office.do(delete_values, ADMIN, [300])
    assert is_refused(door, alone(session))


def test_a_session_of_a_private_key_ends_with_it(door: Door) -> None:
    session = door.authenticator.sessions.create()
    signed = public_proof(session.nonce, RSA_KEY, "SHA1")
    assert answer(door, {"sessionId": session.id, "id": f"301:{ADMIN}", **signed}).actor is not None
    door.set_keys(rsa_key=rsa.generate_private_key(65537, 2048))
    assert is_refused(door, alone(session))


def test_a_made_up_or_altered_id_is_no_session(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(door)
    middle = session.id[:8] + ("A" if session.id[8] != "A" else "B") + session.id[9:]
    for made_up in (
        "",
        "x",
        "é",
        middle,
        session.id[:-4],
        session.id + "AAAA",
        urlsafe_b64encode(os.urandom(56)).decode(),
    ):
        assert door.office.run(door.authenticator.sessions.find(made_up)) is None
        door.authenticator.sessions.end(made_up)
    assert door.ask(alone(session)) is not None
    monkeypatch.setenv(SECRET, "1" * 64)
    assert door.office.run(other_process(door).sessions.find(session.id)) is None


def test_sessions_work_without_anything_that_is_shared(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SESSIONS)
    monkeypatch.delenv(SECRET)
    door.with_options()
    session = opened(door)
    assert door.ask(alone(session)) == session.actor
    assert door.office.run(other_process(door).sessions.find(session.id)) is None


def test_a_session_can_begin_with_a_password(door: Door) -> None:
    begun = door.office.run(door.authenticator.begin_session(door.request(basic_header(WHO, PASSWORD))))
    assert begun.actor is not None
    assert door.ask(alone(begun)) == begun.actor
    unanswered = door.office.run(door.authenticator.begin_session(door.request()))
    assert unanswered.actor is None
    named = door.office.run(door.authenticator.begin_session(door.request(handle_header(**proof(unanswered)))))
    assert (named.id, named.actor) == (unanswered.id, begun.actor)


def test_an_answer_in_a_body_needs_a_private_channel_too(door: Door) -> None:
    with pytest.raises(PlainCredentials):
        answer(door, proof(door.authenticator.sessions.create()), client="192.0.2.7")


def test_what_is_kept_is_private_and_tells_no_secret(door: Door, folder: Path) -> None:
    session = opened(door)
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = file.name.encode() + file.read_bytes()
    for secret in (session.id.encode(), PASSWORD.encode(), session.nonce, session.nonce.hex().encode()):
        assert secret not in kept


def test_a_challenge_that_nobody_answers_is_kept_nowhere(door: Door, folder: Path) -> None:
    for _ in range(100):
        door.authenticator.challenges(door.request())
    assert list(folder.iterdir()) == []


def test_when_there_are_too_many_the_oldest_go_that_cannot_be_answered_again(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "shelf", most=3, between_tidyings=1)
    for number in range(6):
        assert shelf.put(f"old {number}", b"x", needed_until=100 + number, now=number)
    assert shelf.put("new", b"x", needed_until=1000, now=103)
    left = {file.name for file in (tmp_path / "shelf").iterdir()}
    assert left == {"old 3", "old 4", "old 5", "new"}
    assert not shelf.put("new", b"y", needed_until=1000, now=103)
    assert shelf.get("new") == b"x"
    shelf.clear("new")
    assert shelf.get("new") == b""
    assert not shelf.put("new", b"y", needed_until=1000, now=103)


def test_when_too_many_begin_in_too_short_a_time_no_more_are_taken(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "shelf", most=3, between_tidyings=1)
    for number in range(31):
        assert shelf.put(f"one {number}", b"", needed_until=1000, now=200)
    with pytest.raises(StoreUnavailable):
        shelf.put("one more", b"", needed_until=1000, now=200)
    assert shelf.put("later", b"", needed_until=2000, now=1000)


def test_a_shelf_that_is_full_is_not_searched_again_for_each_who_comes(tmp_path: Path) -> None:
    """Looking through it takes long, and nothing on it can go before its time."""
    shelf = Shelf(tmp_path / "shelf", most=3, between_tidyings=1)
    for number in range(31):
        assert shelf.put(f"one {number}", b"", needed_until=1000, now=200)
    with pytest.raises(StoreUnavailable):
        shelf.put("one more", b"", needed_until=1000, now=200)
    for file in (tmp_path / "shelf").iterdir():
        file.unlink()  # if it looked, it would see that there is room
    with pytest.raises(StoreUnavailable):
        shelf.put("one more", b"", needed_until=1000, now=999)
    assert shelf.put("later", b"", needed_until=2000, now=1000)


def test_what_is_on_the_shelf_is_only_counted_while_there_is_room(tmp_path: Path) -> None:
    """A name that leads nowhere cannot be asked for its date, and need not be."""
    shelf = Shelf(tmp_path / "shelf", most=3, between_tidyings=1)
    assert shelf.put("one", b"", needed_until=1000, now=200)
    (tmp_path / "shelf" / "loop").symlink_to("loop")
    assert shelf.put("another", b"", needed_until=1000, now=200)


def test_the_shelf_is_tidied_while_others_are_answered(door: Door) -> None:
    class Slow(Shelf):
        def _tidy(self, now: int) -> None:
            assert others_were_answered.wait(30)
            super()._tidy(now)

    others_were_answered = threading.Event()
    door.authenticator.sessions._shelf = Slow(door.authenticator.sessions._shelf._folder)

    async def both() -> Session:
        session = door.authenticator.sessions.create()
        answering = asyncio.create_task(door.authenticator.answer_session(door.request(), proof(session)))
        for _ in range(10):
            await asyncio.sleep(0.01)
        others_were_answered.set()
        return await answering

    assert door.office.run(both()).actor is not None


@pytest.mark.parametrize(
    ("id", "password", "is_right"),
    [(300, PASSWORD, True), (0, PASSWORD, True), (300, "wrong", False), (301, PASSWORD, False)],
)
def test_a_proof_for_somebody_elses_number_is_verified(door: Door, id: int, password: str, is_right: bool) -> None:
    nonce = os.urandom(16)
    for algorithm in ("SHA1", "PBKDF2-HMAC-SHA1"):
        parameters = secret_proof(nonce, password, algorithm) | {"nonce": urlsafe_b64encode(nonce).decode()}
        del parameters["type"]
        verified = door.office.run(door.authenticator.verify(door.request(), id, ADMIN, parameters))
        assert verified is is_right


def test_a_signature_is_verified_without_being_told_what_key_it_is(door: Door) -> None:
    nonce = os.urandom(16)
    parameters = public_proof(nonce, RSA_KEY, "SHA256") | {"nonce": urlsafe_b64encode(nonce).decode()}
    del parameters["type"]
    for index, is_right in ((301, True), (0, True), (302, False), (300, False), (9, False)):
        assert door.office.run(door.authenticator.verify(door.request(), index, ADMIN, parameters)) is is_right
    with pytest.raises(BadKey):
        door.office.run(door.authenticator.verify(door.request(), 301, ADMIN, parameters | {"nonce": ""}))
