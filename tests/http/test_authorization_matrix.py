"""Every write, by everybody who might try, through every door: exactly what is allowed succeeds, and nothing else is
changed by trying."""

import asyncio
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import httpx
import pytest
from tests.cli.conftest import Run
from tests.http.handle_office import EVERYTHING, administrator, basic, text
from tests.http.live import LiveServer, serving
from tests.http.person_client import CURATED, conclusion, observed, reconstructed, source
from tests.registry_fixture import ManualClock

from perdure.folder import open_registry
from perdure.names.ppid import generate_poid
from perdure.registry import add_agent, add_prefix, authenticate, grant, new_key
from perdure.registry.entities import ACTIONS

OURS, THEIRS = "20.500.1", "20.500.2"
PASSWORD = "open sesame"
LONG_AGO = Fraction(1_600_000_000)
NOBODY, WRONG, OTHER, LAPSED, RIGHT, CHIEF = (
    "nobody",
    "wrong secret",
    "other prefix's admin",
    "lapsed",
    "right",
    "chief",
)
ACTORS = (NOBODY, WRONG, OTHER, LAPSED, RIGHT, CHIEF)
_numbers = count(1)
_stood: dict[str, tuple[str, str, str]] = {}  # of a person: two observations, and somebody else


class Doors(NamedTuple):
    """A served registry, and how each actor shows who it is: the key of an agent, and a Handle client's password."""

    server: LiveServer
    keys: dict[str, str]
    passwords: dict[str, dict[str, str]]

    def headers(self, actor: str, way: str) -> dict[str, str]:
        if actor == NOBODY:
            return {}
        if way == "password":
            return self.passwords[actor]
        return {"Authorization": f"Bearer {self.keys[actor]}"}

    def chief(self) -> httpx.Client:
        return self.server.client()

    def version(self, name: str) -> tuple[int, bytes]:
        """Everything that can be seen of a name by who may see everything."""
        with self.chief() as client:
            shown = client.get(f"/api/v1/identifiers/{quote(name, safe='')}")
        return shown.status_code, shown.content


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    folder = tmp_path_factory.mktemp("matrix") / "registry"
    with serving(folder) as server:
        keys = asyncio.run(_agents(folder, server.key))
        passwords = _administrators(server)
        yield Doors(server, keys, passwords)


async def _agents(folder: Path, key: str) -> dict[str, str]:
    async with open_registry(folder) as registry:
        chief = await authenticate(registry, key)
        for prefix in (OURS, THEIRS):
            await add_prefix(registry, chief, prefix, minter="chosen")
        keys = {CHIEF: key}
        for short, prefix, actor in (("ours", OURS, RIGHT), ("theirs", THEIRS, OTHER)):
            await add_agent(registry, chief, short, f"Keeper of {prefix}")
            await grant(registry, chief, short, prefix, [action for action in ACTIONS if action != "admin"])
            keys[actor] = (await new_key(registry, chief, short))[1]
        for persons in ("POID", "PRID"):
            await grant(registry, chief, "ours", persons, [action for action in ACTIONS if action != "admin"])
        right = keys[RIGHT]
        keys[WRONG] = right[:-8] + ("0" * 8 if right[-8:] != "0" * 8 else "1" * 8)
    async with open_registry(folder, ManualClock(LONG_AGO)) as then:
        keys[LAPSED] = (await new_key(then, chief, "ours", expires="2020-09-14T00:00:00Z"))[1]
    return keys


def _administrators(server: LiveServer) -> dict[str, dict[str, str]]:
    """One for each prefix, with a password; what has lapsed is the key of one whose value was taken away."""
    with server.client() as client:
        for prefix, name in ((OURS, "ADMIN"), (THEIRS, "ADMIN"), (OURS, "GONE")):
            whole = f"{prefix}/{name}"
            secret = text(300, "HS_SECKEY", PASSWORD, permissions="1100")
            assert client.put(f"/api/handles/{whole}", json=[administrator(name=whole), secret]).status_code == 201
        for prefix, name, index in ((OURS, "ADMIN", 101), (THEIRS, "ADMIN", 101), (OURS, "GONE", 102)):
            may = administrator(index, name=f"{prefix}/{name}", permissions=EVERYTHING)
            done = client.put(f"/api/handles/0.NA/{prefix}", json=may, params={"index": index})
            assert done.status_code in (200, 201), done.text
        assert client.delete(f"/api/handles/{OURS}/GONE", params={"index": 300}).status_code == 200
    return {
        RIGHT: basic(name=f"{OURS}/ADMIN", word=PASSWORD),
        OTHER: basic(name=f"{THEIRS}/ADMIN", word=PASSWORD),
        LAPSED: basic(name=f"{OURS}/GONE", word=PASSWORD),
        WRONG: basic(name=f"{OURS}/ADMIN", word="guess"),
        CHIEF: {"Authorization": f"Bearer {server.key}"},
    }


Act = Callable[[httpx.Client, str], httpx.Response]


class Write(NamedTuple):
    """One way to change something. `state`: what must be there before; `allowed`: who may."""

    act: Act
    state: str = "active"
    allowed: frozenset[str] = frozenset({RIGHT, CHIEF})


ONLY_CHIEF = frozenset({CHIEF})
ANY = {"If-Match": "*"}


def v1(name: str) -> str:
    return quote(name, safe="")


OWN_API: dict[str, Write] = {
    "mint": Write(
        lambda c, n: c.post(
            "/api/v1/identifiers",
            json={"prefix": OURS, "suffix": n.partition("/")[2], "target": "https://example.org/"},
        ),
        state="none",
    ),
    "change": Write(
        lambda c, n: c.patch(f"/api/v1/identifiers/{v1(n)}", json={"target": "https://example.org/2"}, headers=ANY)
    ),
    "bind": Write(
        lambda c, n: c.post(f"/api/v1/bindings/{v1(n)}", json={"target": "https://example.org/"}, headers=ANY),
        state="reserved",
    ),
    "add values": Write(
        lambda c, n: c.post(f"/api/v1/values/{v1(n)}", json={"values": [text(9, "EMAIL", "a@b.c")]}, headers=ANY)
    ),
    "remove values": Write(
        lambda c, n: c.delete(f"/api/v1/values/{v1(n)}", params={"index": 1}, headers=ANY),
    ),
    "withdraw": Write(lambda c, n: c.delete(f"/api/v1/identifiers/{v1(n)}", params={"reason": "x"}, headers=ANY)),
    "reinstate": Write(lambda c, n: c.post(f"/api/v1/reinstatements/{v1(n)}", headers=ANY), state="withdrawn"),
    "transfer": Write(lambda c, n: c.post("/api/v1/transfers", json={"names": [n], "to": "theirs"})),
    "add prefix": Write(
        lambda c, n: c.post("/api/v1/prefixes", json={"prefix": f"20.600.{n.rpartition('n')[2]}"}),
        state="none",
        allowed=ONLY_CHIEF,
    ),
    "derive prefix": Write(
        lambda c, n: c.post("/api/v1/derived-prefixes", json={"prefix": f"{OURS}.{n.rpartition('n')[2]}"}),
        state="none",
    ),
    "change prefix": Write(
        lambda c, n: c.patch(f"/api/v1/prefixes/{OURS}", json={"policy": "Kept."}), allowed=ONLY_CHIEF
    ),
}
PERSONS: dict[str, Write] = {
    "observe": Write(lambda c, n: c.post("/api/v1/poid", json=source()), "none"),
    "reconstruct": Write(
        lambda c, n: c.post("/api/v1/prid", json=conclusion(n, timestamp="2025-05-05T05:05:05Z")), "observation"
    ),
    "revise": Write(
        lambda c, n: c.put(f"/api/v1/{n}", json=conclusion(_stood[n][0], notes="x"), headers=ANY), "person"
    ),
    "link": Write(
        lambda c, n: c.put(
            f"/api/v1/{n}/links",
            json={"links": [{"relation": "close", "scheme": "viaf", "value": "64205559"}]},
            headers=ANY,
        ),
        "person",
    ),
    "merge": Write(
        lambda c, n: c.post(f"/api/v1/{n}/merge", json={**CURATED, "into": _stood[n][2], "reason": "x"}, headers=ANY),
        "person",
    ),
    "split": Write(
        lambda c, n: c.post(
            f"/api/v1/{n}/split",
            json={**CURATED, "parts": [[one] for one in _stood[n][:2]], "reason": "x"},
            headers=ANY,
        ),
        "person",
    ),
    "undo": Write(
        lambda c, n: c.post(f"/api/v1/{n}/undo", json={**CURATED, "reason": "x"}, headers=ANY), "merged person"
    ),
    "restrict": Write(lambda c, n: c.post(f"/api/v1/{n}/restrict", json={"reason": "x"}, headers=ANY), "person"),
    "lift a restriction": Write(
        lambda c, n: c.post(f"/api/v1/{n}/lift-restriction", json={"reason": "x"}, headers=ANY), "restricted person"
    ),
    "redact": Write(
        lambda c, n: c.post(f"/api/v1/{n}/redact", json={"reason": "x"}, headers=ANY), "person", ONLY_CHIEF
    ),
}
HANDLE_API: dict[str, Write] = {
    "create": Write(lambda c, n: c.put(f"/api/handles/{n}", json=[text(1, "URL", "https://example.org/")]), "none"),
    "mint a suffix": Write(
        lambda c, n: c.put(f"/api/handles/{OURS}/", params={"mintNewSuffix": "true"}, json=[]), state="none"
    ),
    "overwrite": Write(
        lambda c, n: c.put(
            f"/api/handles/{n}", json=[administrator(name=f"{OURS}/ADMIN"), text(1, "URL", "https://e.org/2")]
        )
    ),
    "put a value": Write(
        lambda c, n: c.put(f"/api/handles/{n}", params={"index": 5}, json=[text(5, "EMAIL", "a@b.c")])
    ),
    "delete a value": Write(lambda c, n: c.delete(f"/api/handles/{n}", params={"index": 1})),
    "delete": Write(lambda c, n: c.delete(f"/api/handles/{n}")),
    "create again": Write(
        lambda c, n: c.put(f"/api/handles/{n}", json=[text(1, "URL", "https://example.org/")]), state="withdrawn"
    ),
    "home a prefix": Write(
        lambda c, n: c.post(f"/api/prefixes/0.NA/20.700.{n.rpartition('n')[2]}"), state="none", allowed=ONLY_CHIEF
    ),
}


def prepared(doors: Doors, state: str) -> str:
    """A name of our prefix in some state, which our administrator administers."""
    name = f"{OURS}/n{next(_numbers)}"
    place = f"/api/handles/{name}"
    with doors.chief() as client:
        if state == "reserved":
            made = client.post("/api/v1/identifiers", json={"prefix": OURS, "suffix": name.partition("/")[2]})
            assert made.status_code == 201, made.text
        elif state != "none":
            values = [administrator(name=f"{OURS}/ADMIN"), text(1, "URL", "https://example.org/")]
            assert client.put(place, json=values).status_code == 201
        if state == "withdrawn":
            assert client.delete(place).status_code == 200
    return name


def person(doors: Doors, state: str) -> str:
    """An observation, or a reconstruction in some state."""
    with doors.chief() as client:
        one, two = observed(client), observed(client)
        if state == "observation":
            return one
        name, other = reconstructed(client, one, two), reconstructed(client)
        _stood[name] = (one, two, other)
        for begun, act, body in (
            ("merged", "merge", {**CURATED, "into": other, "reason": "x"}),
            ("restricted", "restrict", {"reason": "x"}),
        ):
            if state.startswith(begun):
                assert client.post(f"/api/v1/{name}/{act}", json=body, headers=ANY).status_code == 200
    return name


def check(doors: Doors, write: Write, actor: str, way: str) -> None:
    about_a_person = write.state.endswith(("person", "observation"))
    name = person(doors, write.state) if about_a_person else prepared(doors, write.state)
    before = doors.version(name)
    with httpx.Client(base_url=doors.server.url, headers=doors.headers(actor, way), timeout=30) as client:
        answer = write.act(client, name)
    if actor in write.allowed:
        assert answer.status_code in (200, 201), answer.text
    else:
        assert answer.status_code in (401, 403), answer.text
        assert doors.version(name) == before


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("write", OWN_API)
def test_own_api(doors: Doors, write: str, actor: str) -> None:
    check(doors, OWN_API[write], actor, "key")


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("write", PERSONS)
def test_persons(doors: Doors, write: str, actor: str) -> None:
    check(doors, PERSONS[write], actor, "key")


@pytest.mark.parametrize("way", ["key", "password"])
@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("write", HANDLE_API)
def test_handle_api(doors: Doors, write: str, actor: str, way: str) -> None:
    check(doors, HANDLE_API[write], actor, way)


@pytest.mark.parametrize("actor", ACTORS)
def test_import(doors: Doors, actor: str) -> None:
    """Who may import somewhere is let in; each line is taken or refused by itself."""
    name = prepared(doors, "none")
    lines = f'{{"name": "{name}", "target": "https://example.org/"}}\n'
    headers = {**doors.headers(actor, "key"), "Content-Type": "application/x-ndjson"}
    answer = httpx.post(f"{doors.server.url}/api/v1/imports", content=lines, headers=headers, timeout=30)
    assert answer.status_code == (401 if actor in (NOBODY, WRONG, LAPSED) else 200), answer.text
    assert doors.version(name)[0] == (200 if actor in (RIGHT, CHIEF) else 404)


@pytest.mark.parametrize("kind", ["application/x-ndjson", "text/csv"])
@pytest.mark.parametrize("actor", ACTORS)
def test_many_observations(doors: Doors, actor: str, kind: str) -> None:
    """Who may not observe is refused as a whole, before a line is read."""
    seen = source()
    poid = generate_poid(seen["source_url"], seen["retrieval_timestamp"], seen["content_hash"])
    lines = json.dumps(seen)
    if kind == "text/csv":
        given = {field: seen[field] for field in ("source_url", "retrieval_timestamp", "content_hash")}
        lines = f"{','.join(given)},name\n{','.join(given.values())},Jan\n"
    headers = {**doors.headers(actor, "key"), "Content-Type": kind}
    answer = httpx.post(f"{doors.server.url}/api/v1/observations", content=lines, headers=headers, timeout=30)
    status = {NOBODY: 401, WRONG: 401, LAPSED: 401, OTHER: 403}.get(actor, 200)
    assert answer.status_code == status, answer.text
    assert doors.version(poid)[0] == (200 if actor in (RIGHT, CHIEF) else 404)


class Command(NamedTuple):
    arguments: Callable[[str], list[str]]
    state: str = "active"
    allowed: frozenset[str] = frozenset({RIGHT, CHIEF})


COMMANDS: dict[str, Command] = {
    "mint": Command(lambda n: ["mint", OURS, "https://example.org/", "--suffix", n.partition("/")[2]], "none"),
    "bind": Command(lambda n: ["bind", n, "https://example.org/"], "reserved"),
    "set": Command(lambda n: ["set", n, "https://example.org/3"]),
    "add-value": Command(lambda n: ["add-value", n, "EMAIL", "a@b.c"]),
    "remove-value": Command(lambda n: ["remove-value", n, "1"]),
    "withdraw": Command(lambda n: ["withdraw", n, "--reason", "x"]),
    "reinstate": Command(lambda n: ["reinstate", n], "withdrawn"),
    "transfer": Command(lambda n: ["transfer", "theirs", n]),
    "prefix add": Command(lambda n: ["prefix", "add", f"20.800.{n.rpartition('n')[2]}"], "none", ONLY_CHIEF),
    "prefix change": Command(lambda n: ["prefix", "change", OURS, "--policy", "Kept."], "active", ONLY_CHIEF),
    "agent add": Command(
        lambda n: ["agent", "add", f"a{n.rpartition('n')[2]}", "--name", "Somebody"], "none", ONLY_CHIEF
    ),
    "agent grant": Command(lambda n: ["agent", "grant", "theirs", OURS, "mint"], "none", ONLY_CHIEF),
}


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("command", COMMANDS)
def test_command(doors: Doors, command: str, actor: str, quick: Run) -> None:
    """The command takes the key from the environment; without one, and without the file, nobody acts."""
    it = COMMANDS[command]
    name = prepared(doors, it.state)
    before = doors.version(name)
    shown = {"PERDURE_KEY": "" if actor == NOBODY else doors.keys[actor]}
    done = quick(*it.arguments(name), "--registry", str(doors.server.folder), env=shown)
    if actor in it.allowed:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 2
        assert "key" in done.stderr or "grant" in done.stderr, done.stderr
        assert doors.version(name) == before
