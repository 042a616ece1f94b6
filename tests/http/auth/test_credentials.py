"""Credentials on a running server, with two worker processes that share only a folder and a secret."""

import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.http.handle_client import basic_header, handle_header, secret_proof
from tests.http.handle_server import ADMIN, INDEX, PASSWORD, HandleOffice, handle_office, handle_path, text

IDENTITY = f"{INDEX}:{ADMIN}"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandleOffice]:
    with handle_office(tmp_path_factory.mktemp("served") / "registry", "--workers", "2") as fixture:
        yield fixture


def send(
    office: HandleOffice, method: str, path: str, authorization: str | None = None, **more: object
) -> httpx.Response:
    """Send a request on a connection of its own, which any of the workers may accept."""
    headers = {} if authorization is None else {"Authorization": authorization}
    return httpx.request(method, f"{office.server.url}{path}", headers=headers, timeout=30, **more)  # type: ignore[arg-type]


def challenge(response: httpx.Response) -> tuple[str, bytes]:
    challenges = response.headers.get_list("www-authenticate")
    assert 'Basic realm="handle"' in challenges
    match = next(
        re.match(r'Handle sessionId="([^"]+)", nonce="([^"]+)"', line)
        for line in challenges
        if line.startswith("Handle")
    )
    assert match is not None
    return match[1], b64decode(match[2])


def create(office: HandleOffice, authorization: str | None) -> httpx.Response:
    return send(office, "PUT", handle_path(office.name()), authorization, json={"values": [text(1, "DESC", "a thing")]})


def test_a_challenge_of_one_process_can_be_answered_at_another(office: HandleOffice) -> None:
    for _ in range(20):
        refused = create(office, None)
        assert refused.status_code == 401
        session, nonce = challenge(refused)
        proof = secret_proof(nonce, PASSWORD, "PBKDF2-HMAC-SHA1")
        assert create(office, handle_header(sessionId=session, id=IDENTITY, **proof)).status_code == 201
        assert create(office, handle_header(sessionId=session)).status_code == 201


def test_a_session_of_one_process_is_known_to_others_until_it_ends(office: HandleOffice) -> None:
    begun = send(office, "POST", "/api/sessions").json()
    proof = secret_proof(b64decode(begun["nonce"]), PASSWORD, "SHA256")
    answer = {"sessionId": begun["sessionId"], "id": IDENTITY, **proof}
    response = send(office, "PUT", "/api/sessions/this", json=answer)
    assert response.status_code == 200, response.text
    assert response.json()["authenticated"] is True
    header = handle_header(sessionId=begun["sessionId"])
    for _ in range(10):
        assert create(office, header).status_code == 201
    assert send(office, "DELETE", "/api/sessions/this", header).status_code == 204
    for _ in range(10):
        assert create(office, header).status_code == 401
        assert create(office, handle_header(**answer)).status_code == 401


def test_a_proof_in_the_header_answers_the_session_with_put_and_with_post(office: HandleOffice) -> None:
    for method in ("PUT", "POST"):
        begun = send(office, "POST", "/api/sessions", 'Handle cnonce="AAAAAAAAAAAAAAAA"').json()
        proof = secret_proof(b64decode(begun["nonce"]), PASSWORD, "SHA1")
        response = send(
            office, method, "/api/sessions/this", handle_header(sessionId=begun["sessionId"], id=IDENTITY, **proof)
        )
        assert response.json()["authenticated"] is True
        assert create(office, handle_header(sessionId=begun["sessionId"])).status_code == 201


def test_every_kind_of_credential_is_accepted_and_a_wrong_secret_is_refused(office: HandleOffice) -> None:
    assert create(office, f"Bearer {office.server.key}").status_code == 201
    assert create(office, basic_header("admin", office.server.key)).status_code == 201
    assert create(office, basic_header(IDENTITY, PASSWORD)).status_code == 201
    wrong = create(office, basic_header(IDENTITY, "wrong"))
    assert wrong.status_code == 401
    assert challenge(wrong)
    assert "Identity not verified" in wrong.headers["www-authenticate"]


def test_a_key_that_another_process_revokes_is_refused_at_once(office: HandleOffice) -> None:
    token = re.search(r"perdure_\w+", office.server.perdure("agent", "key", "admin"))
    assert token is not None
    assert create(office, f"Bearer {token[0]}").status_code == 201
    office.server.perdure("agent", "key", "admin", "--revoke", token[0].split("_")[2])
    for _ in range(5):
        assert create(office, f"Bearer {token[0]}").status_code == 401


def test_guessing_is_answered_with_a_time_to_wait(tmp_path: Path) -> None:
    with handle_office(tmp_path / "registry") as office:
        responses = [create(office, basic_header(IDENTITY, f"guess {number}")) for number in range(12)]
        assert [response.status_code for response in responses[:10]] == [401] * 10
        assert responses[-1].status_code == 429
        assert int(responses[-1].headers["retry-after"]) >= 1
        assert create(office, f"Bearer {office.server.key}").status_code == 201


def test_no_secret_is_in_the_log_or_in_an_answer(tmp_path: Path) -> None:
    with handle_office(tmp_path / "registry") as office:
        begun = send(office, "POST", "/api/sessions").json()
        proof = secret_proof(b64decode(begun["nonce"]), PASSWORD, "SHA256")
        answers = [
            create(office, basic_header(IDENTITY, PASSWORD)),
            create(office, basic_header(IDENTITY, "a wrong guess")),
            create(office, f"Bearer {office.server.key}"),
            create(office, f"Bearer {office.server.key}0"),
            create(office, handle_header(sessionId=begun["sessionId"], id=IDENTITY, **proof)),
            send(office, "GET", handle_path(ADMIN), basic_header(IDENTITY, PASSWORD)),
        ]
        output = "".join(f"{answer.headers}{answer.text}" for answer in answers)
        assert office.server.stop() == 0
        output += (office.server.folder / "server.log").read_text()
    for secret in (PASSWORD, "a wrong guess", office.server.key, begun["sessionId"], proof["signature"]):
        assert secret not in output
