"""The registry under test: served, with all actors, and with a watcher of its store."""

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from tests.authorization.actors import (
    ANONYMOUS,
    ENDED,
    EXPIRED,
    GRANTS_HELD,
    KEY,
    LABELS,
    LENT,
    LOCAL,
    NAME_AND_KEY,
    OTHER,
    OURS,
    OWNER,
    PASSWORD,
    POID,
    PRID,
    REGISTRY_ADMIN,
    REVOKED,
    RIGHT,
    SESSION,
    SHORT,
    THEIRS,
    WRONG,
    Caller,
)
from tests.authorization.store_snapshot import StoreWatcher
from tests.http.federation.peers import scripted_peer
from tests.http.handle_client import RSA_KEY, b64, basic_header, handle_header, public_proof, secret_proof, wire
from tests.http.handle_server import EVERYTHING, administrator, text
from tests.http.live_server import LiveServer, run_server
from tests.registry_fixture import ManualClock

from perdure.collections.collection_admin import create_collection
from perdure.folder.registry_folder import make_registry, open_registry
from perdure.http.shared.upload_folder import UPLOADS
from perdure.registry import (
    Agent,
    Registry,
    add_agent,
    add_prefix,
    add_subsystem,
    authenticate,
    grant,
    new_key,
    revoke_key,
)
from perdure.registry.entities import ACTIONS
from perdure.settings_file import DATABASE

LONG_AGO, UNTIL = Fraction(1_600_000_000), "2020-09-14T00:00:00Z"
WORD = "open sesame"
HOST, COLLECTION = "mtc-m18.sid.inpe.br", "archive"
ADMIN, ADMIN_OF_OTHERS, ADMIN_OF_RECORDS, GONE = f"{OURS}/ADMIN", f"{THEIRS}/ADMIN", f"{OURS}/LOCAL", f"{OURS}/GONE"
_HANDLES = {
    ANONYMOUS: f"{OURS}/ANONYMOUS",
    RIGHT: ADMIN,
    WRONG: ADMIN,
    OTHER: ADMIN_OF_OTHERS,
    LOCAL: ADMIN_OF_RECORDS,
    EXPIRED: GONE,
}
SECRET = text(300, "HS_SECKEY", WORD, permissions="1100")
PUBLIC = {"index": 301, "type": "HS_PUBKEY", "data": {"format": "base64", "value": b64(wire(RSA_KEY))}}
_addresses = count(1)


class ServedRegistry:
    """A served registry, and the authentication of each actor; preparations are done by its administrator."""

    def __init__(self, server: LiveServer, keys: dict[str, str], answering_url: str) -> None:
        self.server = server
        self.answering_url = answering_url  # below its path /k12, there is another server, number 12
        self.keys = keys
        self.client = httpx.Client(base_url=server.url, headers=server.forwarded, timeout=30, verify=False)
        self.admin_client = server.client()
        self.watch = StoreWatcher(server.folder / DATABASE, server.folder / UPLOADS)
        self._sessions: dict[str, str] = {}

    def close(self) -> None:
        self.client.close()
        self.admin_client.close()
        self.watch.close()

    def headers(self, caller: Caller) -> dict[str, str]:
        if caller == Caller(ANONYMOUS, KEY):
            return {}
        return {"Authorization": _WAYS[caller.way](self, caller.actor)}

    def bearer(self, actor: str) -> str:
        return f"Bearer {self.keys[actor]}"

    def name_and_key(self, actor: str) -> str:
        """Return the name with a key. The wrong one is a valid key of another agent."""
        return basic_header(
            SHORT[RIGHT if actor in (WRONG, EXPIRED) else actor], self.keys[OTHER if actor == WRONG else actor]
        )

    def password(self, actor: str) -> str:
        return basic_header(f"300:{_HANDLES[actor]}", "guess" if actor == WRONG else WORD)

    def session(self, actor: str) -> str:
        """Return a session opened before.

        The challenge of an anonymous one is not answered, and of a wrong one wrongly.
        """
        if actor in (ANONYMOUS, WRONG):
            begun = self._begun()
            if actor == ANONYMOUS:
                return handle_header(sessionId=begun["sessionId"])
            return handle_header(sessionId=begun["sessionId"], id=f"300:{ADMIN}", **_secret_proof(begun, "guess"))
        return handle_header(sessionId=self._sessions[actor])

    def open_sessions(self) -> None:
        for actor in (RIGHT, OTHER, LOCAL, EXPIRED):
            begun = self._begun()
            if actor == RIGHT:
                proof = {"id": f"301:{ADMIN}", **public_proof(b64decode(begun["nonce"]), RSA_KEY, "SHA256")}
            else:
                proof = {"id": f"300:{_HANDLES[actor]}", **_secret_proof(begun, WORD)}
            opened = self.client.put("/api/sessions/this", json={"sessionId": begun["sessionId"], **proof})
            assert opened.json()["authenticated"], opened.text
            self._sessions[actor] = begun["sessionId"]

    def _begun(self) -> dict[str, str]:
        return dict(self.client.post("/api/sessions").json())

    def do(self, act: Callable[..., Awaitable[Any]], *arguments: Any, **more: Any) -> Any:
        """Run a use case that no API offers, as the administrator of the whole registry."""

        async def work() -> Any:
            async with open_registry(self.server.folder) as registry:
                return await act(registry, await authenticate(registry, self.keys[REGISTRY_ADMIN]), *arguments, **more)

        return asyncio.run(work())


_WAYS: dict[str, Callable[[ServedRegistry, str], str]] = {
    KEY: ServedRegistry.bearer,
    NAME_AND_KEY: ServedRegistry.name_and_key,
    PASSWORD: ServedRegistry.password,
    SESSION: ServedRegistry.session,
}


def new_address() -> str:
    """Return a local address without failed logins: after too many, an address is blocked for a while."""
    number = next(_addresses)
    return f"127.1.{number >> 8}.{number & 255}"


@contextmanager
def served_registry_in(folder: Path) -> Iterator[ServedRegistry]:
    key = asyncio.run(make_registry(folder, name="Tests")).key
    keys = asyncio.run(_hire(folder, key))
    with run_server(folder, settings='trusted_proxies = ["127.0.0.1"]') as server, scripted_peer() as answering:
        served_registry = ServedRegistry(server, keys, answering.url)
        try:
            _appoint(served_registry)
            yield served_registry
        finally:
            served_registry.close()


async def _hire(folder: Path, key: str) -> dict[str, str]:
    """Add the agents with their grants. Return the key of each."""
    keys = {REGISTRY_ADMIN: key}
    async with open_registry(folder) as registry:
        admin_client = await authenticate(registry, key)
        for prefix in (OURS, THEIRS):
            await add_prefix(registry, admin_client, prefix, minter="chosen")
        await add_subsystem(registry, admin_client, HOST, "150.163.34.243", granularity=Fraction(1, 1000))
        await create_collection(
            registry, admin_client, COLLECTION, folder.parent / COLLECTION, f"https://id.example.org/items/{COLLECTION}"
        )
        for actor, held in GRANTS_HELD.items():
            if actor == REGISTRY_ADMIN:
                continue
            await add_agent(registry, admin_client, SHORT[actor], actor)
            for scope in {scope for _, scope in held} - {LENT}:
                actions = [action for action in ACTIONS if (action, scope) in held]
                await grant(registry, admin_client, SHORT[actor], scope, actions)
            keys[actor] = (await new_key(registry, admin_client, SHORT[actor]))[1]
        for scope in (OURS, POID, PRID, LABELS):
            await grant(registry, admin_client, SHORT[OWNER], scope, ACTIONS, own=True)
        keys[WRONG] = keys[RIGHT][:-8] + ("0" * 8 if keys[RIGHT][-8:] != "0" * 8 else "1" * 8)
        revoked, keys[REVOKED] = await new_key(registry, admin_client, SHORT[RIGHT])
        await revoke_key(registry, admin_client, revoked.id)
    async with open_registry(folder, ManualClock(LONG_AGO)) as then:
        keys[EXPIRED] = await _add_expired(then, admin_client)
    return keys


async def _add_expired(then: Registry, admin_client: Agent) -> str:
    """Add a key and grants that were valid for one day, long ago."""
    for scope in (OURS, POID, PRID):
        await grant(then, admin_client, SHORT[ENDED], scope, ACTIONS, until=UNTIL)
    return (await new_key(then, admin_client, SHORT[RIGHT], expires=UNTIL))[1]


def _appoint(served_registry: ServedRegistry) -> None:
    """Add administrators as in the Handle System. An expired one is a key whose value was removed."""
    put = served_registry.admin_client.put
    for name in (ADMIN, ADMIN_OF_OTHERS, ADMIN_OF_RECORDS, GONE):
        assert put(f"/api/handles/{name}", json=[administrator(name=name), SECRET, PUBLIC]).status_code == 201
    for index, prefix, name in ((101, OURS, ADMIN), (102, OURS, GONE), (101, THEIRS, ADMIN_OF_OTHERS)):
        value = administrator(index, name, 0, EVERYTHING)
        done = put(f"/api/handles/0.NA/{prefix}", json=value, params={"index": index})
        assert done.status_code in (200, 201), done.text
    served_registry.open_sessions()
    assert served_registry.admin_client.delete(f"/api/handles/{GONE}", params={"index": [300, 301]}).status_code == 200


def _secret_proof(begun: dict[str, str], word: str) -> dict[str, str]:
    return secret_proof(b64decode(begun["nonce"]), word, "SHA256")
