"""The preparations before an attempt. Each attempt gets a new one, because a successful write uses it up."""

from itertools import count
from typing import Any

from tests.authorization.actors import GRANTS_HELD, LENT, OURS, OWNER, SHORT
from tests.authorization.served_registry import ADMIN, ADMIN_OF_RECORDS, PUBLIC, SECRET, ServedRegistry
from tests.http.handle_server import administrator, text
from tests.http.person_client import ANY, CURATED, create_observation, create_reconstruction, named_source

from perdure.registry import Agent, Registry, add_agent, add_prefix, grant, new_key
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY

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

    def __init__(self, ground: ServedRegistry) -> None:
        self.ground = ground
        self.number = next(_numbers)
        self.name = f"{OURS}/n{self.number}"
        self.one = self.two = self.other = ""  # of a person: two observations, and another person
        self.prefix = self.agent = self.identifier = self.key = ""

    @property
    def suffix(self) -> str:
        return self.name.partition("/")[2]

    def put(self, *values: dict[str, Any]) -> None:
        made = self.ground.chief.put(f"/api/handles/{self.name}", json=list(values))
        assert made.status_code == 201, made.text

    def act(self, name: str, act: str, **fields: Any) -> dict[str, Any]:
        done = self.ground.chief.post(f"/api/v1/{name}/{act}", json={"reason": "x", **fields}, headers=ANY)
        assert done.status_code in (200, 201), done.text
        return dict(done.json())


def without_identifier(ground: ServedRegistry) -> Stage:
    return Stage(ground)


def with_reserved(ground: ServedRegistry) -> Stage:
    stage = Stage(ground)
    made = ground.chief.post("/api/v1/identifiers", json={"prefix": OURS, "suffix": stage.suffix})
    assert made.status_code == 201, made.text
    return stage


def with_active(ground: ServedRegistry) -> Stage:
    stage = Stage(ground)
    stage.put(*ADMINS, text(1, "URL", URL))
    return stage


def with_keys(ground: ServedRegistry) -> Stage:
    """Prepare an identifier with all values that identify administrators."""
    stage = Stage(ground)
    stage.put(*ADMINS, text(1, "URL", URL), LIST, SECRET, PUBLIC)
    return stage


def with_other_owner(ground: ServedRegistry) -> Stage:
    """Prepare an identifier of an agent whose grants are for own identifiers."""
    stage = with_active(ground)
    moved = ground.chief.post("/api/v1/transfers", json={"names": [stage.name], "to": SHORT[OWNER]})
    assert moved.status_code == 200, moved.text
    return stage


def with_withdrawn(ground: ServedRegistry) -> Stage:
    stage = with_active(ground)
    assert ground.chief.delete(f"/api/handles/{stage.name}").status_code == 200
    return stage


def with_observation(ground: ServedRegistry) -> Stage:
    stage = Stage(ground)
    stage.name = create_observation(ground.chief, named_source("Jan de Vries"))
    return stage


def with_restricted_observation(ground: ServedRegistry) -> Stage:
    stage = with_observation(ground)
    stage.act(stage.name, "restrict")
    return stage


def with_person(ground: ServedRegistry) -> Stage:
    """Prepare a reconstruction from two observations, and another one."""
    stage = Stage(ground)
    stage.one, stage.two = (create_observation(ground.chief, named_source("Jan de Vries")) for _ in range(2))
    stage.name, stage.other = (
        create_reconstruction(ground.chief, stage.one, stage.two),
        create_reconstruction(ground.chief),
    )
    return stage


def with_administrators(ground: ServedRegistry) -> Stage:
    """Prepare a person whose record names administrators, as handles do, and another one without."""
    stage = with_person(ground)
    done = ground.chief.post(f"/api/v1/values/{stage.name}", json={"values": ADMINS}, headers=ANY)
    assert done.status_code == 200, done.text
    return stage


def with_merged_person(ground: ServedRegistry) -> Stage:
    stage = with_person(ground)
    stage.act(stage.name, "merge", into=stage.other, **CURATED)
    return stage


def with_split_person(ground: ServedRegistry) -> Stage:
    stage = with_person(ground)
    stage.act(stage.name, "split", parts=[[stage.one], [stage.two]], **CURATED)
    return stage


def with_restricted_person(ground: ServedRegistry) -> Stage:
    stage = with_person(ground)
    stage.act(stage.name, "restrict")
    return stage


def with_hidden_person(ground: ServedRegistry) -> Stage:
    """Prepare a person whose observations are restricted too: choosing their claims reveals them."""
    stage = with_restricted_person(ground)
    stage.act(stage.one, "restrict")
    return stage


def with_withdrawn_person(ground: ServedRegistry) -> Stage:
    stage = with_person(ground)
    gone = ground.chief.delete(f"/api/v1/identifiers/{stage.name}", params={"reason": "x"}, headers=ANY)
    assert gone.status_code == 200, gone.text
    return stage


def with_lent_prefix(ground: ServedRegistry) -> Stage:
    """Prepare a prefix with an identifier, on which all agents have the same grants as on ours."""
    stage = Stage(ground)
    stage.prefix = f"20.600.{stage.number}"
    stage.name = f"{stage.prefix}/a"

    async def keep(registry: Registry, by: Agent) -> None:
        await add_prefix(registry, by, stage.prefix, minter="chosen")
        for actor, held in GRANTS_HELD.items():
            if actions := [action for action in ACTIONS if (action, LENT) in held]:
                await grant(registry, by, SHORT[actor], stage.prefix, actions)

    ground.do(keep)
    stage.put(text(1, "URL", URL))
    return stage


def with_agent(ground: ServedRegistry) -> Stage:
    """Prepare an agent with a key, and with grants to revoke."""
    stage = Stage(ground)
    stage.agent = f"a{stage.number}"

    async def hire(registry: Registry, by: Agent) -> None:
        stage.identifier = (await add_agent(registry, by, stage.agent, "Somebody")).identifier
        for scope in (OURS, WHOLE_REGISTRY):
            await grant(registry, by, stage.agent, scope, ["mint"])
        stage.key = (await new_key(registry, by, stage.agent))[0].id

    ground.do(hire)
    return stage


def with_note(ground: ServedRegistry) -> Stage:
    """Prepare a value in the shared record of our prefix, at an index that is not used otherwise."""
    stage = Stage(ground)
    note = text(NOTED_AT, "DESC", f"number {stage.number}")
    put = ground.chief.put(f"/api/handles/0.NA/{OURS}", json=[note], params={"index": NOTED_AT})
    assert put.status_code in (200, 201), put.text
    return stage
