"""Names of other servers: readers are sent on, and servers that lie, fail or are slow do no harm."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.http.federation.peers import ITEM, QUICK, ScriptedPeer, header_fields, make_key, scripted_peer
from tests.http.live_server import LiveServer, run_server

from perdure.names import ppid

ADMIN = {"If-Match": "*"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with run_server(tmp_path_factory.mktemp("federation") / "registry", settings=QUICK) as running:
        yield running


@pytest.fixture
def admin(server: LiveServer) -> Iterator[httpx.Client]:
    """Yield a client of the administrator. Afterwards the table is empty again."""
    with server.client() as client:
        yield client
        for peer in client.get("/api/v1/peers").json()["peers"]:
            assert client.delete(f"/api/v1/peers/{peer['name']}", headers=ADMIN).status_code == 200


@pytest.fixture
def reader(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client("") as client:
        yield client


@pytest.fixture
def peer() -> Iterator[ScriptedPeer]:
    with scripted_peer() as running:
        yield running


def add(admin: httpx.Client, peer: ScriptedPeer, *prefixes: str, **fields: Any) -> dict[str, Any]:
    body = {"url": peer.url, "private": True, "prefixes": prefixes} | fields
    added = admin.post("/api/v1/peers", json=body)
    assert added.status_code == 201, added.text
    document: dict[str, Any] = added.json()
    return document


def test_a_name_is_sent_on_and_the_response_says_who_answered_when_and_why(
    admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer
) -> None:
    added = add(admin, peer, "10.1000")
    assert added["announced"] == [{"prefix": "77777", "role": "original"}]
    for name in ("10.1000/a%20b", "77777/x"):
        sent = reader.get(f"/{name}")
        assert (sent.status_code, sent.headers["location"]) == (302, ITEM)
        fields = header_fields(sent.headers["perdure-answer"])
        assert (fields["server"], fields["state"], fields["why"]) == (peer.url, "original", "original")
        assert fields["by"] == added["name"]
        assert fields["at"].startswith("2026-")
    assert [one["name"] for one in peer.asked] == [["10.1000/a b"], ["77777/x"]]
    explained = reader.get("/10.1000/x?explain", headers={"accept": "application/json"}).json()
    assert explained["chosen"]["reason"] == "original"
    assert reader.get("/10.1000/x?explain", headers={"accept": "text/html"}).text.count(ITEM) == 1


def test_a_program_that_wants_the_record_gets_to_the_page_at_the_other_server(
    admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer
) -> None:
    add(admin, peer)
    record = reader.get("/77777/x", headers={"accept": "application/json"})
    assert record.headers["location"] == f"{peer.url}/77777/x"
    page = reader.get("/77777/x?site=nowhere&info&language=pt")
    assert page.headers["location"] == f"{peer.url}/77777/x?info"


def test_answers_are_used_again_for_a_while(admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer) -> None:
    add(admin, peer)
    for _ in range(3):
        assert reader.get("/77777/cached").status_code == 302
    assert len(peer.asked) == 1


def test_a_name_that_no_server_has_is_not_found_and_that_is_remembered_too(
    admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer
) -> None:
    peer.respond = lambda one, name, nonce: one.answer(name, nonce, state="unknown")
    add(admin, peer)
    assert [reader.get("/77777/missing").status_code for _ in range(2)] == [404, 404]
    assert len(peer.asked) == 1


def test_the_address_of_an_item_is_encoded_as_that_of_an_own_name(
    admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer
) -> None:
    add(admin, peer)
    peer.respond = lambda one, name, nonce: one.answer(name, nonce, url="https://bücher.example/ä b")
    assert reader.get("/77777/x").headers["location"] == "https://xn--bcher-kva.example/%C3%A4%20b"


def lie_about_another_name(peer: ScriptedPeer, name: str, nonce: str) -> bytes:
    return peer.answer(f"{name}-other", nonce)


def sign_with_another_key(peer: ScriptedPeer, name: str, nonce: str) -> bytes:
    peer.key, mine = make_key(99), peer.key
    try:
        return peer.answer(name, nonce)
    finally:
        peer.key = mine


LIES = {
    "another name": lie_about_another_name,
    "another key": sign_with_another_key,
    "an old answer": lambda peer, name, nonce: peer.answer(name, "another nonce"),
    "a script as the address": lambda peer, name, nonce: peer.answer(name, nonce, url="javascript:alert(1)"),
    "a file as the address": lambda peer, name, nonce: peer.answer(name, nonce, url="file:///etc/passwd"),
    "a line break in the address": lambda peer, name, nonce: peer.answer(
        name, nonce, url="https://x/\r\nset-cookie: a"
    ),
    "a script as the archive": lambda peer, name, nonce: peer.answer(name, nonce, archive="javascript:alert(1)"),
    "no archive": lambda peer, name, nonce: peer.answer(name, nonce, archive="", state="withdrawn", url=None),
    "a path as the archive": lambda peer, name, nonce: peer.answer(name, nonce, archive="/"),
    "an address without a host": lambda peer, name, nonce: peer.answer(name, nonce, url="https:///x"),
    "an address with a host that is none": lambda peer, name, nonce: peer.answer(name, nonce, url="https://[x/"),
    "an address with a port that is none": lambda peer, name, nonce: peer.answer(name, nonce, url="https://x:y/"),
    "an address with a backslash": lambda peer, name, nonce: peer.answer(name, nonce, url="https://x\\@y/"),
    "an address with a user": lambda peer, name, nonce: peer.answer(name, nonce, url="https://example.org@x/"),
    "an archive with a query": lambda peer, name, nonce: peer.answer(name, nonce, archive="https://x/?to="),
    "an unknown state": lambda peer, name, nonce: peer.answer(name, nonce, state="mine"),
    "a time that is none": lambda peer, name, nonce: peer.answer(name, nonce, timestamp="~"),
    "a huge answer": lambda peer, name, nonce: b" " * (65 << 10) + peer.answer(name, nonce),
    "no signature": lambda peer, name, nonce: b'{"type":"answer"}',
    "no JSON": lambda peer, name, nonce: b"<html>",
    "another statement": lambda peer, name, nonce: peer.describe(nonce),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_server_leads_nobody_anywhere(
    admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer, lie: str
) -> None:
    peer.respond = LIES[lie]
    add(admin, peer)
    sent = reader.get("/77777/x")
    assert (sent.status_code, sent.headers.get("location")) == (503, None)
    assert sent.headers["retry-after"]
    assert len(peer.asked) == 1


def test_an_answer_that_leads_back_here_is_not_followed(
    server: LiveServer, admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer
) -> None:
    add(admin, peer)
    peer.respond = lambda one, name, nonce: one.answer(name, nonce, url=f"{server.url}/{name}")
    assert reader.get("/77777/back").status_code == 404
    peer.respond = lambda one, name, nonce: one.answer(name, nonce, archive=server.url)
    assert reader.get("/77777/back2?info").status_code == 404
    peer.respond = lambda one, name, nonce: one.answer(name, nonce, url=f"{server.url}/%ff")
    assert reader.get("/77777/back3").status_code == 404


def test_a_slow_server_is_waited_for_only_so_long_and_then_left_alone(
    admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer
) -> None:
    add(admin, peer)
    peer.delay = 5.0
    started = time.monotonic()
    assert [reader.get(f"/77777/slow{number}").status_code for number in range(2)] == [503, 503]
    asked = time.monotonic() - started
    started = time.monotonic()
    assert [reader.get(f"/77777/later{number}").status_code for number in range(5)] == [503] * 5
    assert time.monotonic() - started < asked / 2, "it failed twice, and is left alone now"
    explained = reader.get("/77777/later9?explain", headers={"accept": "application/json"}).json()
    assert "left alone" in explained["failures"][0]["reason"]


@pytest.mark.parametrize("language", ["x" * 36, "pt%0d%0aX:1", "pt_BR", "%F0%9F%98%80", "a" * 3000])
def test_a_language_that_is_none_is_not_passed_on(
    admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer, language: str
) -> None:
    add(admin, peer)
    assert reader.get(f"/77777/x?language={language}").headers["location"] == ITEM
    assert "language" not in peer.asked[0]
    assert reader.get("/77777/y?language=PT-br").headers["location"] == ITEM
    assert peer.asked[1]["language"] == ["pt-br"]
    stated = reader.get(f"/.well-known/perdure/resolve?name=77777/z&language={language[:1000]}")
    assert stated.status_code == 200


@pytest.mark.parametrize(
    "name", ["77777/a%C2%A0b", "77777/a%00b", "77777/a%0Ab", "77777/%E2%80%AE", "", "%F0%9F%98%80"]
)
def test_every_name_gets_an_answer(reader: httpx.Client, name: str) -> None:
    stated = reader.get(f"/.well-known/perdure/resolve?name=x{name}")
    assert (stated.status_code, stated.json()["state"]) == (200, "unknown")


def test_readers_cannot_cut_a_server_off_with_questions_that_it_refuses(
    admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer
) -> None:
    add(admin, peer)
    peer.status = 422
    assert [reader.get(f"/77777/strange{number}").status_code for number in range(4)] == [503] * 4
    assert reader.get("/77777/" + "long/" * 450).status_code == 422
    assert len(peer.asked) == 4
    peer.status = 200
    assert reader.get("/77777/x").headers["location"] == ITEM


def test_a_copy_is_used_while_the_original_does_not_answer(admin: httpx.Client, reader: httpx.Client) -> None:
    with scripted_peer(11) as original, scripted_peer(12) as copying:
        copy = "https://example.org/copy"
        copying.respond = lambda one, name, nonce: one.answer(name, nonce, state="copy", url=copy, owner=False)
        add(admin, original, "77777", name="original")
        add(admin, copying, name="copying")
        assert reader.get("/77777/both").headers["location"] == ITEM
        assert reader.get("/77777/both?site=copying").headers["location"] == copy
        original.delay = 5.0
        sent = reader.get("/77777/another")
        assert sent.headers["location"] == copy
        assert header_fields(sent.headers["perdure-answer"])["why"] == "newest copy"


def test_a_tombstone_of_the_owner_wins_over_a_copy(admin: httpx.Client, reader: httpx.Client) -> None:
    with scripted_peer(11) as owner, scripted_peer(12) as copying:
        owner.respond = lambda one, name, nonce: one.answer(name, nonce, state="withdrawn", url=None)
        copying.respond = lambda one, name, nonce: one.answer(name, nonce, state="copy", owner=True)
        add(admin, owner, "77777", name="owner")
        add(admin, copying, name="copying")
        assert reader.get("/77777/gone").headers["location"] == f"{owner.url}/77777/gone"


@pytest.mark.parametrize("is_in_table", [True, False])
def test_a_server_takes_no_name_of_the_owner(admin: httpx.Client, reader: httpx.Client, is_in_table: bool) -> None:
    """It announces the prefix of another server, is faster, and states all that could count."""
    with scripted_peer(11) as owner, scripted_peer(12) as lying:
        claims = {"timestamp": "9999-01-01T00:00:00.000000Z", "version": 999, "url": "https://evil.example/"}
        add(admin, owner, *(["77777"] if is_in_table else []), name="owner")
        add(admin, lying, name="lying")
        for state in ("original", "withdrawn", "registered", "copy"):
            lying.respond = lambda one, name, nonce, state=state: one.answer(name, nonce, state=state, **claims)
            owner.delay = 0.1
            assert reader.get(f"/77777/{state}").headers["location"] == ITEM
            chosen = reader.get(f"/77777/{state}?explain", headers={"accept": "application/json"}).json()["chosen"]
            assert chosen["peer"] == "owner"
            owner.respond = lambda one, name, nonce: one.answer(name, nonce, state="withdrawn", url=None)
            gone = f"77777/{state}-gone"
            assert reader.get(f"/{gone}").headers["location"] == f"{owner.url}/{gone}"
            owner.respond = ScriptedPeer.answer


def test_a_changed_key_is_refused_until_it_is_accepted(
    admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer
) -> None:
    name = add(admin, peer)["name"]
    peer.key = make_key(44)
    assert reader.get("/77777/x").status_code == 503
    checked = admin.post(f"/api/v1/peers/{name}/check").json()
    assert "its key has changed" in checked["problem"]
    accepted = admin.patch(f"/api/v1/peers/{name}", json={"accept_key": True}, headers=ADMIN)
    assert accepted.json()["key"] == peer.key.public
    assert admin.post(f"/api/v1/peers/{name}/check").json().get("problem") is None
    assert reader.get("/77777/y").status_code == 302


def test_a_private_address_is_contacted_only_if_the_operator_allowed_it(
    admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer
) -> None:
    refused = admin.post("/api/v1/peers", json={"url": peer.url})
    assert (refused.status_code, refused.json()["code"]) == (502, "peer-unavailable")
    assert "--private" in refused.json()["detail"]
    add(admin, peer, key=peer.key.public, private=False, prefixes=["77777"])
    assert reader.get("/77777/x").status_code == 503
    assert peer.asked == []


def test_a_redirect_is_not_followed_by_the_server(admin: httpx.Client, peer: ScriptedPeer) -> None:
    with scripted_peer(10) as other:
        peer.redirects_all, peer.redirect_to = True, other.url
        refused = admin.post("/api/v1/peers", json={"url": peer.url, "private": True})
        assert (refused.status_code, refused.json()["code"]) == (502, "peer-unavailable")
        assert "its status is 302" in refused.json()["detail"]
        assert len(peer.visited) == 1
        assert other.visited == []


def test_a_loop_through_a_resolver_that_signs_nothing_ends(
    server: LiveServer, admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer
) -> None:
    peer.redirect_to = server.url  # it sends every name back
    add(admin, peer, "88888", plain=True)
    with httpx.Client(follow_redirects=True, max_redirects=20) as browser:
        ended = browser.get(f"{server.url}/88888/x")
    assert ended.status_code == 508
    assert peer.url in ended.text
    assert len(peer.visited) < 20
    assert reader.get("/88888/y").headers["location"] == f"{peer.url}/88888/y"


def test_a_question_that_has_passed_this_server_is_not_sent_on(
    server: LiveServer, admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer
) -> None:
    add(admin, peer)
    own = reader.get("/.well-known/perdure/server").json()["server"]

    def state(*via: str) -> str:
        answer: str = reader.get("/.well-known/perdure/resolve", params={"name": "77777/q", "via": via}).json()["state"]
        return answer

    assert state() == "original"
    assert state("x") == "original"
    assert state(own) == "unknown"
    assert state("x", "y", "z") == "unknown", "the number of servers that a question passes is bounded"
    before = len(peer.asked)
    assert state(peer.id) == "unknown", "a server is not asked what it asks itself"
    assert len(peer.asked) == before
    assert all(own in one["via"] for one in peer.asked)


def test_persons_are_sent_on_too(admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer) -> None:
    person = ppid.generate_poid("https://example.org/ada", "2025-01-09T10:30:00Z", "0" * 64)
    assert reader.get(f"/{person}").status_code == 404
    add(admin, peer, "ppid")
    page = f"{peer.url}/{person}"
    peer.respond = lambda one, name, nonce: one.answer(name, nonce, state="registered", url=page)
    for media in ("text/html", "text/turtle", "application/json"):
        sent = reader.get(f"/{person}", headers={"accept": media})
        assert (sent.status_code, sent.headers["location"]) == (302, page)


def test_metrics_count_the_answers_of_each_peer(admin: httpx.Client, reader: httpx.Client, peer: ScriptedPeer) -> None:
    name = add(admin, peer)["name"]
    reader.get("/77777/counted")
    text = reader.get("/metrics").text
    assert f'perdure_peer_answers_total{{outcome="original",peer="{name}"}}' in text
    assert f'perdure_peer_answer_seconds_count{{peer="{name}"}}' in text
