"""Credentials at the doors of a server that runs, with two processes that know nothing of each other but what they share."""

import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.http.handle_client import basic_header, handle_header, secret_proof
from tests.http.handle_office import ADMIN, INDEX, PASSWORD, HandleOffice, handle_office, place, text

WHO = f"{INDEX}:{ADMIN}"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandleOffice]:
    with handle_office(tmp_path_factory.mktemp("served") / "registry", "--workers", "2") as one:
        yield one


def anew(
    office: HandleOffice, method: str, path: str, authorization: str | None = None, **more: object
) -> httpx.Response:
    """On a connection of its own, which any of the processes may get."""
    headers = {} if authorization is None else {"Authorization": authorization}
    return httpx.request(method, f"{office.server.url}{path}", headers=headers, timeout=30, **more)  # type: ignore[arg-type]


def challenge(response: httpx.Response) -> tuple[str, bytes]:
    told = response.headers.get_list("www-authenticate")
    assert 'Basic realm="handle"' in told
    found = next(
        re.match(r'Handle sessionId="([^"]+)", nonce="([^"]+)"', one) for one in told if one.startswith("Handle")
    )
    assert found is not None
    return found[1], b64decode(found[2])


def create(office: HandleOffice, authorization: str | None) -> httpx.Response:
    return anew(office, "PUT", place(office.name()), authorization, json={"values": [text(1, "DESC", "a thing")]})


def test_the_challenge_of_one_process_is_answered_to_another(office: HandleOffice) -> None:
    for _ in range(20):
        refused = create(office, None)
        assert refused.status_code == 401
        session, nonce = challenge(refused)
        proof = secret_proof(nonce, PASSWORD, "PBKDF2-HMAC-SHA1")
        assert create(office, handle_header(sessionId=session, id=WHO, **proof)).status_code == 201
        assert create(office, handle_header(sessionId=session)).status_code == 201


def test_a_session_of_one_process_is_known_to_others_until_it_ends(office: HandleOffice) -> None:
    begun = anew(office, "POST", "/api/sessions").json()
    proof = secret_proof(b64decode(begun["nonce"]), PASSWORD, "SHA256")
    answer = {"sessionId": begun["sessionId"], "id": WHO, **proof}
    said = anew(office, "PUT", "/api/sessions/this", json=answer)
    assert said.status_code == 200, said.text
    assert said.json()["authenticated"] is True
    header = handle_header(sessionId=begun["sessionId"])
    for _ in range(10):
        assert create(office, header).status_code == 201
    assert anew(office, "DELETE", "/api/sessions/this", header).status_code == 204
    for _ in range(10):
        assert create(office, header).status_code == 401
        assert create(office, handle_header(**answer)).status_code == 401


def test_a_proof_in_the_header_answers_the_session_with_put_and_with_post(office: HandleOffice) -> None:
    for method in ("PUT", "POST"):
        begun = anew(office, "POST", "/api/sessions", 'Handle cnonce="AAAAAAAAAAAAAAAA"').json()
        proof = secret_proof(b64decode(begun["nonce"]), PASSWORD, "SHA1")
        said = anew(office, method, "/api/sessions/this", handle_header(sessionId=begun["sessionId"], id=WHO, **proof))
        assert said.json()["authenticated"] is True
        assert create(office, handle_header(sessionId=begun["sessionId"])).status_code == 201


def test_every_way_in_opens_and_a_wrong_secret_does_not(office: HandleOffice) -> None:
    assert create(office, f"Bearer {office.server.key}").status_code == 201
    assert create(office, basic_header("admin", office.server.key)).status_code == 201
    assert create(office, basic_header(WHO, PASSWORD)).status_code == 201
    wrong = create(office, basic_header(WHO, "wrong"))
    assert wrong.status_code == 401
    assert challenge(wrong)
    assert "Identity not verified" in wrong.headers["www-authenticate"]


def test_a_key_that_is_revoked_beside_the_server_is_refused_at_once(office: HandleOffice) -> None:
    token = re.search(r"perdure_\w+", office.server.perdure("agent", "key", "admin"))
    assert token is not None
    assert create(office, f"Bearer {token[0]}").status_code == 201
    office.server.perdure("agent", "key", "admin", "--revoke", token[0].split("_")[2])
    for _ in range(5):
        assert create(office, f"Bearer {token[0]}").status_code == 401


def test_guessing_is_answered_with_a_time_to_wait(tmp_path: Path) -> None:
    with handle_office(tmp_path / "registry") as office:
        told = [create(office, basic_header(WHO, f"guess {number}")) for number in range(12)]
        assert [one.status_code for one in told[:10]] == [401] * 10
        assert told[-1].status_code == 429
        assert int(told[-1].headers["retry-after"]) >= 1
        assert create(office, f"Bearer {office.server.key}").status_code == 201


def test_no_secret_is_in_the_log_or_in_an_answer(tmp_path: Path) -> None:
    with handle_office(tmp_path / "registry") as office:
        begun = anew(office, "POST", "/api/sessions").json()
        proof = secret_proof(b64decode(begun["nonce"]), PASSWORD, "SHA256")
        answers = [
            create(office, basic_header(WHO, PASSWORD)),
            create(office, basic_header(WHO, "a wrong guess")),
            create(office, f"Bearer {office.server.key}"),
            create(office, f"Bearer {office.server.key}0"),
            create(office, handle_header(sessionId=begun["sessionId"], id=WHO, **proof)),
            anew(office, "GET", place(ADMIN), basic_header(WHO, PASSWORD)),
        ]
        said = "".join(f"{answer.headers}{answer.text}" for answer in answers)
        assert office.server.stop() == 0
        said += (office.server.folder / "server.log").read_text()
    for secret in (PASSWORD, "a wrong guess", office.server.key, begun["sessionId"], proof["signature"]):
        assert secret not in said
