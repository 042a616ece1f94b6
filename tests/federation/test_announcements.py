"""What other servers announce: read again when it is old, and bounded whatever they state."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.http.federation.peers import ScriptedPeer, scripted_peer
from tests.registry_fixture import Office

from perdure.errors import PeerUnavailable
from perdure.federation import peer_statements
from perdure.federation.announcement_refresh import AnnouncementRefresh
from perdure.federation.peer_client import PeerClient
from perdure.federation.registration import add_peer
from perdure.registry.entities import Peer


@pytest.fixture
def server() -> Iterator[ScriptedPeer]:
    with scripted_peer() as running:
        yield running


def announce(*prefixes: str) -> list[dict[str, str]]:
    return [{"prefix": prefix, "role": "original"} for prefix in prefixes]


def add(office: Office, server: ScriptedPeer, name: str) -> Peer:
    peer: Peer = office.do(add_peer, server.url, name=name, private=True)
    return peer


def refresh(office: Office) -> None:
    async def work() -> None:
        client = PeerClient(2.0)
        try:
            await AnnouncementRefresh(office.registry, client).refresh()
        finally:
            await client.close()

    office.run(work())


def read_announced(office: Office) -> dict[str, list[str]]:
    return {peer.name: [one.prefix for one in peer.announced] for peer in office.read(lambda reader: reader.peers())}


def test_an_announcement_is_read_again_after_a_quarter_of_an_hour(office: Office, server: ScriptedPeer) -> None:
    add(office, server, "a")
    server.announced = announce("88888")
    office.clock.step(890)
    refresh(office)
    assert read_announced(office) == {"a": ["77777"]}
    office.clock.step(20)
    refresh(office)
    assert read_announced(office) == {"a": ["88888"]}


def test_an_announcement_is_read_again_after_the_clock_was_set_back(office: Office, server: ScriptedPeer) -> None:
    add(office, server, "a")
    server.announced = announce("88888")
    office.clock.step(-86_400)
    refresh(office)
    assert read_announced(office) == {"a": ["88888"]}


def test_a_server_that_fails_keeps_its_announcement_and_others_are_read(office: Office) -> None:
    with scripted_peer(1) as other:
        with scripted_peer(2) as gone:
            add(office, gone, "a")
        add(office, other, "b")
        other.announced = announce("88888")
        office.clock.step(1000)
        refresh(office)
    assert read_announced(office) == {"a": ["77777"], "b": ["88888"]}


@pytest.mark.parametrize("prefix", ["upn:4cr88ap", "*", "ppid", "", "a\0b", "1" * 256, "a\nb", "\u202e1"])
def test_what_no_server_may_announce_is_left_out(office: Office, server: ScriptedPeer, prefix: str) -> None:
    server.announced = announce(prefix, "88888", "poid")
    add(office, server, "a")
    assert read_announced(office) == {"a": ["88888", "poid"]}


def test_the_number_of_announced_prefixes_is_bounded(office: Office, server: ScriptedPeer) -> None:
    pages: list[int] = []

    def page(nonce: str, **fields: Any) -> bytes:
        pages.append(len(pages))
        server.announced = announce(*(f"20.{len(pages)}.{number}" for number in range(1000)))
        return ScriptedPeer.announce(server, nonce, next=f"{len(pages):09}")

    server.announce = page  # type: ignore[method-assign]
    add(office, server, "a")
    assert len(read_announced(office)["a"]) == 10_000
    assert len(pages) == 20


def test_a_server_whose_pages_never_end_is_waited_for_only_so_long(
    office: Office, server: ScriptedPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_statements, "_ANNOUNCEMENT_SECONDS", 0.5)
    pages: list[int] = []

    def page(nonce: str) -> bytes:
        pages.append(len(pages))
        return ScriptedPeer.announce(server, nonce, next=f"{len(pages):09}")

    server.announce = page  # type: ignore[method-assign]
    server.delay = 0.2
    with pytest.raises(PeerUnavailable, match=r"within 0\.5 s"):
        add(office, server, "a")
    assert len(pages) < 4
