"""What must be there before somebody tries: each time anew, since whoever succeeds has used it up."""

from itertools import count
from typing import Any

from tests.authorization.actors import HELD, LENT, OURS, OWNER, SHORT
from tests.authorization.ground import ADMIN, ADMIN_OF_RECORDS, PUBLIC, SECRET, Ground
from tests.http.handle_office import administrator, text
from tests.http.person_client import ANY, CURATED, named, observed, reconstructed

from perdure.registry import Agent, Registry, add_agent, add_prefix, grant, new_key
from perdure.registry.entities import ACTIONS, EVERYWHERE

URL = "https://example.org/"
# Named in what is prepared: the administrator of the prefix, and one whom the prefix does not know.
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
    """A number that is nobody else's, and what was made ready under it."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.number = next(_numbers)
        self.name = f"{OURS}/n{self.number}"
        self.one = self.two = self.other = ""  # of a person: two observations, and somebody else
        self.prefix = self.agent = self.identifier = self.key = ""

    @property
    def suffix(self) -> str:
        return self.name.partition("/")[2]

    def put(self, *values: dict[str, Any]) -> None:
        made = self.ground.chief.put(f"/api/handles/{self.name}", json=list(values))
        assert made.status_code == 201, made.text

    def act(self, name: str, act: str, **said: Any) -> dict[str, Any]:
        done = self.ground.chief.post(f"/api/v1/{name}/{act}", json={"reason": "x", **said}, headers=ANY)
        assert done.status_code in (200, 201), done.text
        return dict(done.json())


def nothing(ground: Ground) -> Stage:
    return Stage(ground)


def reserved(ground: Ground) -> Stage:
    stage = Stage(ground)
    made = ground.chief.post("/api/v1/identifiers", json={"prefix": OURS, "suffix": stage.suffix})
    assert made.status_code == 201, made.text
    return stage


def active(ground: Ground) -> Stage:
    stage = Stage(ground)
    stage.put(*ADMINS, text(1, "URL", URL))
    return stage


def keyed(ground: Ground) -> Stage:
    """With all that says who an administrator is."""
    stage = Stage(ground)
    stage.put(*ADMINS, text(1, "URL", URL), LIST, SECRET, PUBLIC)
    return stage


def somebodys(ground: Ground) -> Stage:
    """Of an agent whose grants are for what is their own."""
    stage = active(ground)
    moved = ground.chief.post("/api/v1/transfers", json={"names": [stage.name], "to": SHORT[OWNER]})
    assert moved.status_code == 200, moved.text
    return stage


def withdrawn(ground: Ground) -> Stage:
    stage = active(ground)
    assert ground.chief.delete(f"/api/handles/{stage.name}").status_code == 200
    return stage


def observation(ground: Ground) -> Stage:
    stage = Stage(ground)
    stage.name = observed(ground.chief, named("Jan de Vries"))
    return stage


def restricted_observation(ground: Ground) -> Stage:
    stage = observation(ground)
    stage.act(stage.name, "restrict")
    return stage


def person(ground: Ground) -> Stage:
    """A reconstruction from two observations, and another one."""
    stage = Stage(ground)
    stage.one, stage.two = (observed(ground.chief, named("Jan de Vries")) for _ in range(2))
    stage.name, stage.other = reconstructed(ground.chief, stage.one, stage.two), reconstructed(ground.chief)
    return stage


def administered(ground: Ground) -> Stage:
    """A person whose record names administrators, as those of handles do; that of the other one does not."""
    stage = person(ground)
    done = ground.chief.post(f"/api/v1/values/{stage.name}", json={"values": ADMINS}, headers=ANY)
    assert done.status_code == 200, done.text
    return stage


def merged(ground: Ground) -> Stage:
    stage = person(ground)
    stage.act(stage.name, "merge", into=stage.other, **CURATED)
    return stage


def split(ground: Ground) -> Stage:
    stage = person(ground)
    stage.act(stage.name, "split", parts=[[stage.one], [stage.two]], **CURATED)
    return stage


def restricted(ground: Ground) -> Stage:
    stage = person(ground)
    stage.act(stage.name, "restrict")
    return stage


def hidden(ground: Ground) -> Stage:
    """A person whose observations are restricted too: to choose their claims is to see them."""
    stage = restricted(ground)
    stage.act(stage.one, "restrict")
    return stage


def withdrawn_person(ground: Ground) -> Stage:
    stage = person(ground)
    gone = ground.chief.delete(f"/api/v1/identifiers/{stage.name}", params={"reason": "x"}, headers=ANY)
    assert gone.status_code == 200, gone.text
    return stage


def lent(ground: Ground) -> Stage:
    """A prefix with an identifier, on which everybody holds what they hold on ours."""
    stage = Stage(ground)
    stage.prefix = f"20.600.{stage.number}"
    stage.name = f"{stage.prefix}/a"

    async def keep(registry: Registry, by: Agent) -> None:
        await add_prefix(registry, by, stage.prefix, minter="chosen")
        for actor, held in HELD.items():
            if actions := [action for action in ACTIONS if (action, LENT) in held]:
                await grant(registry, by, SHORT[actor], stage.prefix, actions)

    ground.do(keep)
    stage.put(text(1, "URL", URL))
    return stage


def hired(ground: Ground) -> Stage:
    """An agent with a key, and with grants to give back."""
    stage = Stage(ground)
    stage.agent = f"a{stage.number}"

    async def hire(registry: Registry, by: Agent) -> None:
        stage.identifier = (await add_agent(registry, by, stage.agent, "Somebody")).identifier
        for scope in (OURS, EVERYWHERE):
            await grant(registry, by, stage.agent, scope, ["mint"])
        stage.key = (await new_key(registry, by, stage.agent))[0].id

    ground.do(hire)
    return stage


def noted(ground: Ground) -> Stage:
    """A value in the record of our prefix, which all share: so it stands where nobody else puts one."""
    stage = Stage(ground)
    note = text(NOTED_AT, "DESC", f"number {stage.number}")
    put = ground.chief.put(f"/api/handles/0.NA/{OURS}", json=[note], params={"index": NOTED_AT})
    assert put.status_code in (200, 201), put.text
    return stage
