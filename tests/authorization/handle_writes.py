"""Writes of the Handle API: records of handles, of persons and of prefixes, their values of every kind, and prefixes."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.authorization.actors import (
    BY_NOBODY,
    BY_PREFIX,
    BY_RECORD,
    LENT,
    OURS,
    PRID,
    Rights,
    to,
)
from tests.authorization.ground import Ground
from tests.authorization.stages import (
    ADMINS,
    MORE,
    NOTED_AT,
    URL,
    Stage,
    active,
    keyed,
    lent,
    noted,
    nothing,
    person,
    reserved,
    withdrawn,
)
from tests.authorization.trying import Sent
from tests.http.handle_office import administrator, text

from perdure.registry.entities import EVERYWHERE

HANDLES, PREFIXES = "/api/handles", "/api/prefixes"
RECORD = f"0.NA/{OURS}"
LEADS = text(1, "URL", URL)
LEADS_ELSEWHERE = text(1, "URL", f"{URL}elsewhere")
NOTE = text(9, "DESC", "a note")
KEYS = ("HS_SECKEY", "HS_PUBKEY", "HS_VLIST")


class HandleWrite(NamedTuple):
    """One way to change something. `needs` is None where nobody may; `stated` are those who may by an HS_ADMIN.

    `values` are sent as they are, under `name` or the name that was prepared; `index` says which ones are meant.
    """

    operation: str
    needs: Rights | None
    stated: frozenset[str]
    prepare: Callable[[Ground], Stage]
    values: Callable[[Stage], list[dict[str, Any]]] | None = None
    name: Callable[[Stage], str] = lambda stage: stage.name
    parameters: dict[str, Any] = {}  # noqa: RUF012  (never changed)
    by_index: bool = False

    def sent(self, stage: Stage) -> Sent:
        method, root = self.operation.split(" ")
        more: dict[str, Any] = {"params": dict(self.parameters)}
        if self.values is not None:
            more["json"] = self.values(stage)
            if self.by_index:
                more["params"]["index"] = [value["index"] for value in more["json"]]
        return Sent(method, f"{root}/{self.name(stage)}", more)


def creating(needs: Rights, *values: dict[str, Any]) -> HandleWrite:
    return HandleWrite(f"PUT {HANDLES}", needs, BY_PREFIX, nothing, lambda _: list(values))


def creating_again(needs: Rights, *values: dict[str, Any]) -> HandleWrite:
    return HandleWrite(f"PUT {HANDLES}", needs, BY_PREFIX, withdrawn, lambda _: list(values))


def overwriting(needs: Rights, stated: frozenset[str], *values: dict[str, Any]) -> HandleWrite:
    return HandleWrite(f"PUT {HANDLES}", needs, stated, active, lambda _: list(values))


def putting(
    needs: Rights, stated: frozenset[str], value: dict[str, Any], prepare: Callable[[Ground], Stage] = active
) -> HandleWrite:
    return HandleWrite(f"PUT {HANDLES}", needs, stated, prepare, lambda _: [value], by_index=True)


def deleting(needs: Rights, stated: frozenset[str], index: int) -> HandleWrite:
    return HandleWrite(f"DELETE {HANDLES}", needs, stated, keyed, parameters={"index": index})


def putting_into(record: str, needs: Rights, stated: frozenset[str], value: dict[str, Any]) -> HandleWrite:
    """Into a record that all share: each time at another index."""

    def values(stage: Stage) -> list[dict[str, Any]]:
        return [{**value, "index": 200_000 + stage.number}]

    return HandleWrite(f"PUT {HANDLES}", needs, stated, nothing, values, lambda _: record, by_index=True)


def homing(needs: Rights, stated: frozenset[str], prefix: Callable[[Stage], str]) -> HandleWrite:
    return HandleWrite(f"POST {PREFIXES}", needs, stated, nothing, name=lambda stage: f"0.NA/{prefix(stage)}")


HANDLE_WRITES: dict[str, HandleWrite] = {
    "create": creating(to("mint"), LEADS),
    "create with HS_ADMIN": creating(to("mint"), LEADS, MORE["HS_ADMIN"]),
    **{f"create with {kind}": creating(to("mint") | to("admin"), LEADS, MORE[kind]) for kind in KEYS},
    "mint a suffix": HandleWrite(
        f"PUT {HANDLES}",
        to("mint"),
        BY_PREFIX,
        nothing,
        lambda _: [LEADS],
        lambda _: f"{OURS}/",
        {"mintNewSuffix": "true"},
    ),
    "mint a suffix with HS_SECKEY": HandleWrite(
        f"PUT {HANDLES}",
        to("mint") | to("admin"),
        BY_PREFIX,
        nothing,
        lambda _: [MORE["HS_SECKEY"]],
        lambda _: f"{OURS}/thesis-",
        {"mintNewSuffix": "true"},
    ),
    "bind": HandleWrite(f"PUT {HANDLES}", to("edit"), BY_NOBODY, reserved, lambda _: [LEADS]),
    "bind with HS_SECKEY": HandleWrite(
        f"PUT {HANDLES}", to("edit") | to("admin"), BY_NOBODY, reserved, lambda _: [LEADS, MORE["HS_SECKEY"]]
    ),
    "create again": creating_again(to("mint") | to("withdraw"), *ADMINS, LEADS),
    "create again otherwise": creating_again(to("mint") | to("withdraw") | to("edit"), *ADMINS, LEADS_ELSEWHERE),
    "create again without HS_ADMIN": creating_again(to("mint") | to("withdraw") | to("transfer"), LEADS),
    **{
        f"create again with {kind}": creating_again(
            to("mint") | to("withdraw") | to("admin"), *ADMINS, LEADS, MORE[kind]
        )
        for kind in KEYS
    },
    "overwrite": overwriting(to("edit"), BY_RECORD, *ADMINS, LEADS_ELSEWHERE),
    "overwrite without HS_ADMIN": overwriting(to("edit") | to("transfer"), BY_RECORD, LEADS_ELSEWHERE),
    **{
        f"overwrite with {kind}": overwriting(to("edit") | to("admin"), BY_PREFIX, *ADMINS, LEADS_ELSEWHERE, MORE[kind])
        for kind in KEYS
    },
    "put a value": putting(to("edit"), BY_RECORD, NOTE),
    "put HS_ADMIN": putting(to("transfer"), BY_RECORD, MORE["HS_ADMIN"]),
    "put another HS_ADMIN": putting(to("transfer"), BY_RECORD, administrator(100, "20.500.2/ADMIN", 0)),
    **{f"put {kind}": putting(to("admin"), BY_PREFIX, MORE[kind]) for kind in KEYS},
    "put another HS_SECKEY": putting(to("admin"), BY_PREFIX, {**MORE["HS_SECKEY"], "index": 300}, keyed),
    "put another HS_PUBKEY": putting(to("admin"), BY_PREFIX, {**MORE["HS_PUBKEY"], "index": 301, "ttl": 60}, keyed),
    "put another HS_VLIST": putting(to("admin"), BY_PREFIX, {**MORE["HS_VLIST"], "index": 200, "ttl": 60}, keyed),
    "put a value in place of HS_ADMIN": putting(to("edit") | to("transfer"), BY_RECORD, {**NOTE, "index": 100}),
    "put HS_SECKEY in place of a value": putting(
        to("edit") | to("admin"), BY_PREFIX, {**MORE["HS_SECKEY"], "index": 1}
    ),
    "delete a value": deleting(to("edit"), BY_RECORD, 1),
    "delete HS_ADMIN": deleting(to("transfer"), BY_RECORD, 100),
    "delete HS_SECKEY": deleting(to("admin"), BY_PREFIX, 300),
    "delete HS_PUBKEY": deleting(to("admin"), BY_PREFIX, 301),
    "delete HS_VLIST": deleting(to("admin"), BY_PREFIX, 200),
    "delete": HandleWrite(f"DELETE {HANDLES}", to("withdraw"), BY_RECORD, active),
    "put a value into a person": putting(to("edit", PRID), BY_NOBODY, NOTE, person),
    "put HS_ADMIN into a person": putting(to("transfer", PRID), BY_NOBODY, MORE["HS_ADMIN"], person),
    "put HS_SECKEY into a person": putting(to("admin", PRID), BY_NOBODY, MORE["HS_SECKEY"], person),
    "delete a person": HandleWrite(f"DELETE {HANDLES}", to("withdraw", PRID), BY_NOBODY, person),
}
RECORDS_OF_PREFIXES: dict[str, HandleWrite] = {
    **{f"put {value['type']}": putting_into(RECORD, to("admin"), BY_PREFIX, value) for value in (NOTE, *MORE.values())},
    "delete a value": HandleWrite(
        f"DELETE {HANDLES}", to("admin"), BY_PREFIX, noted, name=lambda _: RECORD, parameters={"index": NOTED_AT}
    ),
    "overwrite": HandleWrite(
        f"PUT {HANDLES}",
        to("admin", LENT),
        BY_NOBODY,
        lent,
        lambda _: [MORE["HS_ADMIN"]],
        lambda stage: f"0.NA/{stage.prefix}",
    ),
    "delete": HandleWrite(f"DELETE {HANDLES}", None, BY_NOBODY, nothing, name=lambda _: RECORD),
    "create that of a prefix that is not kept": HandleWrite(
        f"PUT {HANDLES}",
        to("admin", EVERYWHERE),
        BY_NOBODY,
        nothing,
        lambda _: [MORE["HS_ADMIN"]],
        lambda stage: f"0.NA/20.997.{stage.number}",
    ),
    "write that of them all": HandleWrite(
        f"PUT {HANDLES}",
        to("admin", EVERYWHERE),
        BY_NOBODY,
        nothing,
        lambda stage: [text(1, "DESC", f"number {stage.number}")],
        lambda _: "0.NA/0.NA",
    ),
    "home": homing(to("admin", EVERYWHERE), BY_NOBODY, lambda stage: f"20.701.{stage.number}"),
    "home a derived one": homing(to("derive"), BY_PREFIX, lambda stage: f"{OURS}.h{stage.number}"),
    "home one further down": homing(to("admin", EVERYWHERE), BY_NOBODY, lambda stage: f"{OURS}.d{stage.number}.1"),
    "unhome": HandleWrite(f"DELETE {PREFIXES}", None, BY_NOBODY, nothing, name=lambda _: RECORD),
}
