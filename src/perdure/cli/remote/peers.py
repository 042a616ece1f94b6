"""Other servers in the table of a remote registry."""

from collections.abc import Sequence

import msgspec

from perdure.cli.remote.remote_registry import RemoteRegistry, path_to
from perdure.federation.registration import PeerCheck
from perdure.registry.entities import Agent, HeldPrefix, Peer


class _PeerItem(msgspec.Struct, kw_only=True):
    name: str
    url: str
    prefixes: tuple[str, ...]
    server: str | None = None
    key: str | None = None
    private: bool = False
    added: str = ""
    announced: tuple[HeldPrefix, ...] | None = None
    checkpoint: int = 0
    seen: str | None = None

    def to_domain(self) -> Peer:
        return Peer(
            name=self.name,
            url=self.url,
            prefixes=self.prefixes,
            server=self.server,
            key=self.key,
            private=self.private,
            added=self.added,
            announced=self.announced or (),
            checkpoint=self.checkpoint,
            seen=self.seen,
        )


class _PeerList(msgspec.Struct):
    peers: tuple[_PeerItem, ...]


class _CheckItem(msgspec.Struct):
    peer: _PeerItem
    problem: str | None = None


async def list_peers(remote: RemoteRegistry, by: Agent | None = None) -> list[Peer]:
    """List all other servers. The server adds the upstream of its settings as the last one."""
    return [one.to_domain() for one in remote.get("/peers", _PeerList).peers]


async def show_peer(remote: RemoteRegistry, by: Agent | None, name: str) -> Peer:
    return remote.get(path_to("peers", name), _PeerItem).to_domain()


async def add_peer(
    remote: RemoteRegistry,
    by: Agent,
    url: str,
    *,
    name: str | None = None,
    prefixes: Sequence[str] = (),
    private: bool = False,
    plain: bool = False,
    key: str | None = None,
) -> Peer:
    body = {"url": url, "prefixes": list(prefixes), "private": private, "plain": plain}
    body |= {field: value for field, value in (("name", name), ("key", key)) if value is not None}
    return remote.decode(remote.send("POST", "/peers", body), _PeerItem).to_domain()


async def change_peer(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    *,
    prefixes: Sequence[str] | None = None,
    added: Sequence[str] = (),
    dropped: Sequence[str] = (),
    url: str | None = None,
    private: bool | None = None,
    accept_key: bool = False,
    expected: str | None = None,
) -> Peer:
    body: dict[str, object] = {"add": list(added), "drop": list(dropped), "accept_key": accept_key}
    fields = {"prefixes": None if prefixes is None else list(prefixes), "url": url, "private": private}
    body |= {field: value for field, value in fields.items() if value is not None}
    return remote.change("PATCH", path_to("peers", name), _PeerItem, body, expected=expected).to_domain()


async def remove_peer(remote: RemoteRegistry, by: Agent, name: str, *, expected: str | None = None) -> Peer:
    return remote.change("DELETE", path_to("peers", name), _PeerItem, expected=expected).to_domain()


async def check_peer(remote: RemoteRegistry, by: Agent, name: str) -> PeerCheck:
    checked = remote.decode(remote.send("POST", f"{path_to('peers', name)}/check"), _CheckItem)
    return PeerCheck(checked.peer.to_domain(), checked.problem)
