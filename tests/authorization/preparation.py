"""The preparations before an attempt. Each attempt gets a new one, because a successful write uses it up."""

import json
from fractions import Fraction
from itertools import count
from typing import Any

from tests.authorization.actors import GRANTS_HELD, LENT, OURS, OWNER, SHORT
from tests.authorization.served_registry import ADMIN, ADMIN_OF_RECORDS, PUBLIC, SECRET, ServedRegistry
from tests.http.handle_server import administrator, text
from tests.http.person_client import ANY, CURATED, create_observation, create_reconstruction, named_source

from perdure.collections.collection_admin import create_collection
from perdure.collections.copies import copy_item
from perdure.collections.deposit import put_item, reserve_name
from perdure.collections.source_files import LocalFile
from perdure.federation.registration import add_peer
from perdure.registry import (
    Agent,
    Registry,
    add_agent,
    add_handle_user,
    add_pool,
    add_prefix,
    add_subsystem,
    grant,
    new_key,
    retire_agent,
)
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY
from perdure.registry.handles.users import HandleUser

URL = "https://example.org/"
# Named in the prepared records: the administrator of the prefix, and one that the prefix does not name.
ADMINS = [administrator(100, ADMIN, 0), administrator(101, ADMIN_OF_RECORDS, 0)]
LIST = {"index": 200, "type": "HS_VLIST", "data": {"format": "vlist", "value": [{"handle": ADMIN, "index": 300}]}}
MORE = {
    "HS_ADMIN": administrator(110, ADMIN, 301),
    "HS_SECKEY": text(310, "HS_SECKEY", "another", permissions="1100"),
    "HS_PUBKEY": {**PUBLIC, "index": 311},
    "HS_VLIST": {**LIST, "index": 210},
}
NOTED_AT = 9_999
_numbers = count(1)


class Stage:
    """A unique number, and what was prepared under it."""

    def __init__(self, served_registry: ServedRegistry) -> None:
        self.served_registry = served_registry
        self.number = next(_numbers)
        self.name = f"{OURS}/n{self.number}"
        self.one = self.two = self.other = ""  # of a person: two observations, and another person
        self.prefix = self.agent = self.identifier = self.key = ""

    @property
    def suffix(self) -> str:
        return self.name.partition("/")[2]

    def put(self, *values: dict[str, Any]) -> None:
        made = self.served_registry.admin_client.put(f"/api/handles/{self.name}", json=list(values))
        assert made.status_code == 201, made.text

    def act(self, name: str, act: str, **fields: Any) -> dict[str, Any]:
        done = self.served_registry.admin_client.post(
            f"/api/v1/{name}/{act}", json={"reason": "x", **fields}, headers=ANY
        )
        assert done.status_code in (200, 201), done.text
        return dict(done.json())


def without_identifier(served_registry: ServedRegistry) -> Stage:
    return Stage(served_registry)


def with_reserved(served_registry: ServedRegistry) -> Stage:
    stage = Stage(served_registry)
    made = served_registry.admin_client.post("/api/v1/identifiers", json={"prefix": OURS, "suffix": stage.suffix})
    assert made.status_code == 201, made.text
    return stage


def with_active(served_registry: ServedRegistry) -> Stage:
    stage = Stage(served_registry)
    stage.put(*ADMINS, text(1, "URL", URL))
    return stage


def with_keys(served_registry: ServedRegistry) -> Stage:
    """Prepare an identifier with all values that identify administrators."""
    stage = Stage(served_registry)
    stage.put(*ADMINS, text(1, "URL", URL), LIST, SECRET, PUBLIC)
    return stage


def with_other_owner(served_registry: ServedRegistry) -> Stage:
    """Prepare an identifier of an agent whose grants are for own identifiers."""
    stage = with_active(served_registry)
    moved = served_registry.admin_client.post("/api/v1/transfers", json={"names": [stage.name], "to": SHORT[OWNER]})
    assert moved.status_code == 200, moved.text
    return stage


def with_withdrawn(served_registry: ServedRegistry) -> Stage:
    stage = with_active(served_registry)
    assert served_registry.admin_client.delete(f"/api/handles/{stage.name}").status_code == 200
    return stage


def with_bulk_withdrawal(served_registry: ServedRegistry) -> Stage:
    """Prepare an identifier that was withdrawn by a bulk change under our prefix; `other` is the id of that."""
    stage = with_active(served_registry)
    request = {"kind": "withdraw", "query": {"prefix": stage.name}, "reason": "x"}
    done = served_registry.admin_client.post("/api/v1/bulk-changes", json=request)
    assert done.status_code == 200, done.text
    stage.other = json.loads(done.text.splitlines()[-1])["id"]
    return stage


def with_observation(served_registry: ServedRegistry) -> Stage:
    stage = Stage(served_registry)
    stage.name = create_observation(served_registry.admin_client, named_source("Jan de Vries"))
    return stage


def with_restricted_observation(served_registry: ServedRegistry) -> Stage:
    stage = with_observation(served_registry)
    stage.act(stage.name, "restrict")
    return stage


def with_person(served_registry: ServedRegistry) -> Stage:
    """Prepare a reconstruction from two observations, and another one."""
    stage = Stage(served_registry)
    stage.one, stage.two = (
        create_observation(served_registry.admin_client, named_source("Jan de Vries")) for _ in range(2)
    )
    stage.name, stage.other = (
        create_reconstruction(served_registry.admin_client, stage.one, stage.two),
        create_reconstruction(served_registry.admin_client),
    )
    return stage


def with_administrators(served_registry: ServedRegistry) -> Stage:
    """Prepare a person whose record names administrators, as handles do, and another one without."""
    stage = with_person(served_registry)
    done = served_registry.admin_client.post(f"/api/v1/values/{stage.name}", json={"values": ADMINS}, headers=ANY)
    assert done.status_code == 200, done.text
    return stage


def with_merged_person(served_registry: ServedRegistry) -> Stage:
    stage = with_person(served_registry)
    stage.act(stage.name, "merge", into=stage.other, **CURATED)
    return stage


def with_split_person(served_registry: ServedRegistry) -> Stage:
    stage = with_person(served_registry)
    stage.act(stage.name, "split", parts=[[stage.one], [stage.two]], **CURATED)
    return stage


def with_restricted_person(served_registry: ServedRegistry) -> Stage:
    stage = with_person(served_registry)
    stage.act(stage.name, "restrict")
    return stage


def with_hidden_person(served_registry: ServedRegistry) -> Stage:
    """Prepare a person whose observations are restricted too: choosing their claims reveals them."""
    stage = with_restricted_person(served_registry)
    stage.act(stage.one, "restrict")
    return stage


def with_withdrawn_person(served_registry: ServedRegistry) -> Stage:
    stage = with_person(served_registry)
    gone = served_registry.admin_client.delete(f"/api/v1/identifiers/{stage.name}", params={"reason": "x"}, headers=ANY)
    assert gone.status_code == 200, gone.text
    return stage


def with_lent_prefix(served_registry: ServedRegistry) -> Stage:
    """Prepare a prefix with an identifier, on which all agents have the same grants as on ours."""
    stage = Stage(served_registry)
    stage.prefix = f"20.600.{stage.number}"
    stage.name = f"{stage.prefix}/a"

    async def keep(registry: Registry, by: Agent) -> None:
        await add_prefix(registry, by, stage.prefix, minter="chosen")
        for actor, held in GRANTS_HELD.items():
            if actions := [action for action in ACTIONS if (action, LENT) in held]:
                await grant(registry, by, SHORT[actor], stage.prefix, actions)

    served_registry.do(keep)
    stage.put(text(1, "URL", URL))
    return stage


def with_pool(served_registry: ServedRegistry) -> Stage:
    """Prepare a subsystem, and a pool of it."""
    stage = Stage(served_registry)
    stage.name = f"p{stage.number}"

    async def add(registry: Registry, by: Agent) -> None:
        host = f"{stage.name}.pools.example.org"
        stage.prefix = (await add_subsystem(registry, by, host, "150.163.34.244", ip_port=3000 + stage.number)).name
        await add_pool(registry, by, stage.name, [stage.prefix])

    served_registry.do(add)
    return stage


def with_subsystem(served_registry: ServedRegistry) -> Stage:
    """Prepare an IBI subsystem, on which all agents have the same grants as on ours, two collections, and a file."""
    stage = Stage(served_registry)
    stage.one, stage.two = f"c{stage.number}", f"d{stage.number}"
    items = served_registry.server.folder.parent / "items"
    items.mkdir(exist_ok=True)
    stage.other = str(items / f"{stage.number}.txt")
    (items / f"{stage.number}.txt").write_text("content")

    async def keep(registry: Registry, by: Agent) -> None:
        host, port = f"m{stage.number}.example.net", 3000 + stage.number
        subsystem = await add_subsystem(
            registry, by, host, "150.163.34.243", ip_port=port, granularity=Fraction(1, 1000)
        )
        stage.prefix = subsystem.key
        for actor, held in GRANTS_HELD.items():
            if actions := [action for action in ACTIONS if (action, LENT) in held]:
                await grant(registry, by, SHORT[actor], stage.prefix, actions)
        for name in (stage.one, stage.two):
            await create_collection(registry, by, name, items / name, f"{URL}{name}")

    served_registry.do(keep)
    return stage


def with_item(served_registry: ServedRegistry, *, is_copied: bool = False) -> Stage:
    """Prepare an item in the first of two collections; `name` is its label."""
    stage = with_subsystem(served_registry)

    async def put(registry: Registry, by: Agent) -> None:
        stage.name = (await reserve_name(registry, by, stage.one, stage.prefix)).name
        await put_item(registry, by, stage.one, stage.name, [LocalFile("a.txt", stage.other)])
        if is_copied:
            await copy_item(registry, by, stage.name, stage.one, stage.two)

    served_registry.do(put)
    return stage


def with_copied_item(served_registry: ServedRegistry) -> Stage:
    return with_item(served_registry, is_copied=True)


def with_agent(served_registry: ServedRegistry) -> Stage:
    """Prepare an agent with a key, and with grants to revoke."""
    stage = Stage(served_registry)
    stage.agent = f"a{stage.number}"

    async def hire(registry: Registry, by: Agent) -> None:
        stage.identifier = (await add_agent(registry, by, stage.agent, "Somebody")).identifier
        for scope in (OURS, WHOLE_REGISTRY):
            await grant(registry, by, stage.agent, scope, ["mint"])
        stage.key = (await new_key(registry, by, stage.agent))[0].id

    served_registry.do(hire)
    return stage


def with_retired_agent(served_registry: ServedRegistry) -> Stage:
    stage = with_agent(served_registry)
    served_registry.do(retire_agent, stage.agent, "x")
    return stage


def with_handle_user(served_registry: ServedRegistry) -> Stage:
    """Prepare a user of Handle clients, with a password."""
    stage = Stage(served_registry)
    served_registry.do(add_handle_user, HandleUser(300, stage.name), b"a password")
    return stage


def with_note(served_registry: ServedRegistry) -> Stage:
    """Prepare a value in the shared record of our prefix, at an index that is not used otherwise."""
    stage = Stage(served_registry)
    note = text(NOTED_AT, "DESC", f"number {stage.number}")
    put = served_registry.admin_client.put(f"/api/handles/0.NA/{OURS}", json=[note], params={"index": NOTED_AT})
    assert put.status_code in (200, 201), put.text
    return stage


def with_plain_peer(served_registry: ServedRegistry) -> Stage:
    """Prepare a server to which readers are only redirected."""
    stage = Stage(served_registry)
    stage.name = stage.other = f"p{stage.number}.example.org"
    served_registry.do(add_peer, f"https://{stage.other}", prefixes=["10.1001"], plain=True)
    return stage


def with_answering_peer(served_registry: ServedRegistry) -> Stage:
    """Prepare a server that answers, and signs its answers."""
    stage = Stage(served_registry)
    stage.name = stage.other = f"a{stage.number}.example.org"
    url = f"{served_registry.answering_url}/k{stage.number}"
    served_registry.do(add_peer, url, name=stage.other, private=True)
    return stage
