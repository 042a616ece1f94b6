"""Writes of the Handle API: records of handles, of persons and of prefixes, values of every kind, and prefixes."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.authorization.actors import (
    BY_NO_ADMINISTRATOR,
    BY_PREFIX,
    BY_RECORD,
    LENT,
    OURS,
    PRID,
    Rights,
    right_to,
)
from tests.authorization.attempts import SentRequest
from tests.authorization.preparation import (
    ADMINS,
    MORE,
    NOTED_AT,
    URL,
    Stage,
    with_active,
    with_keys,
    with_lent_prefix,
    with_note,
    with_person,
    with_reserved,
    with_withdrawn,
    without_identifier,
)
from tests.authorization.served_registry import ServedRegistry
from tests.http.handle_server import administrator, text

from perdure.registry.entities import WHOLE_REGISTRY

HANDLES, PREFIXES = "/api/handles", "/api/prefixes"
RECORD = f"0.NA/{OURS}"
LEADS = text(1, "URL", URL)
LEADS_ELSEWHERE = text(1, "URL", f"{URL}elsewhere")
NOTE = text(9, "DESC", "a note")
KEYS = ("HS_SECKEY", "HS_PUBKEY", "HS_VLIST")


class HandleWrite(NamedTuple):
    """One way to write. `needs` is None if no agent is allowed; `stated` are the clients that an HS_ADMIN allows.

    `values` are sent unchanged, under `name` or the prepared name; `index` selects values.
    """

    operation: str
    needs: Rights | None
    stated: frozenset[str]
    prepare: Callable[[ServedRegistry], Stage]
    values: Callable[[Stage], list[dict[str, Any]]] | None = None
    name: Callable[[Stage], str] = lambda stage: stage.name
    parameters: dict[str, Any] = {}  # noqa: RUF012  (never changed)
    by_index: bool = False

    def request_for(self, stage: Stage) -> SentRequest:
        method, root = self.operation.split(" ")
        more: dict[str, Any] = {"params": dict(self.parameters)}
        if self.values is not None:
            more["json"] = self.values(stage)
            if self.by_index:
                more["params"]["index"] = [value["index"] for value in more["json"]]
        return SentRequest(method, f"{root}/{self.name(stage)}", more)


def create_write(needs: Rights, *values: dict[str, Any]) -> HandleWrite:
    return HandleWrite(f"PUT {HANDLES}", needs, BY_PREFIX, without_identifier, lambda _: list(values))


def recreate_write(needs: Rights, *values: dict[str, Any]) -> HandleWrite:
    return HandleWrite(f"PUT {HANDLES}", needs, BY_PREFIX, with_withdrawn, lambda _: list(values))


def overwrite_write(needs: Rights, stated: frozenset[str], *values: dict[str, Any]) -> HandleWrite:
    return HandleWrite(f"PUT {HANDLES}", needs, stated, with_active, lambda _: list(values))


def put_write(
    needs: Rights,
    stated: frozenset[str],
    value: dict[str, Any],
    prepare: Callable[[ServedRegistry], Stage] = with_active,
) -> HandleWrite:
    return HandleWrite(f"PUT {HANDLES}", needs, stated, prepare, lambda _: [value], by_index=True)


def delete_write(needs: Rights, stated: frozenset[str], index: int) -> HandleWrite:
    return HandleWrite(f"DELETE {HANDLES}", needs, stated, with_keys, parameters={"index": index})


def put_into_write(record: str, needs: Rights, stated: frozenset[str], value: dict[str, Any]) -> HandleWrite:
    """Write into a shared record, each time at another index."""

    def values(stage: Stage) -> list[dict[str, Any]]:
        return [{**value, "index": 200_000 + stage.number}]

    return HandleWrite(f"PUT {HANDLES}", needs, stated, without_identifier, values, lambda _: record, by_index=True)


def home_write(needs: Rights, stated: frozenset[str], prefix: Callable[[Stage], str]) -> HandleWrite:
    return HandleWrite(
        f"POST {PREFIXES}", needs, stated, without_identifier, name=lambda stage: f"0.NA/{prefix(stage)}"
    )


HANDLE_WRITES: dict[str, HandleWrite] = {
    "create": create_write(right_to("mint"), LEADS),
    "create with HS_ADMIN": create_write(right_to("mint"), LEADS, MORE["HS_ADMIN"]),
    **{f"create with {kind}": create_write(right_to("mint") | right_to("admin"), LEADS, MORE[kind]) for kind in KEYS},
    "mint a suffix": HandleWrite(
        f"PUT {HANDLES}",
        right_to("mint"),
        BY_PREFIX,
        without_identifier,
        lambda _: [LEADS],
        lambda _: f"{OURS}/",
        {"mintNewSuffix": "true"},
    ),
    "mint a suffix with HS_SECKEY": HandleWrite(
        f"PUT {HANDLES}",
        right_to("mint") | right_to("admin"),
        BY_PREFIX,
        without_identifier,
        lambda _: [MORE["HS_SECKEY"]],
        lambda _: f"{OURS}/thesis-",
        {"mintNewSuffix": "true"},
    ),
    "bind": HandleWrite(f"PUT {HANDLES}", right_to("edit"), BY_NO_ADMINISTRATOR, with_reserved, lambda _: [LEADS]),
    "bind with HS_SECKEY": HandleWrite(
        f"PUT {HANDLES}",
        right_to("edit") | right_to("admin"),
        BY_NO_ADMINISTRATOR,
        with_reserved,
        lambda _: [LEADS, MORE["HS_SECKEY"]],
    ),
    "create again": recreate_write(right_to("mint") | right_to("withdraw"), *ADMINS, LEADS),
    "create again otherwise": recreate_write(
        right_to("mint") | right_to("withdraw") | right_to("edit"), *ADMINS, LEADS_ELSEWHERE
    ),
    "create again without HS_ADMIN": recreate_write(
        right_to("mint") | right_to("withdraw") | right_to("transfer"), LEADS
    ),
    **{
        f"create again with {kind}": recreate_write(
            right_to("mint") | right_to("withdraw") | right_to("admin"), *ADMINS, LEADS, MORE[kind]
        )
        for kind in KEYS
    },
    "overwrite": overwrite_write(right_to("edit"), BY_RECORD, *ADMINS, LEADS_ELSEWHERE),
    "overwrite without HS_ADMIN": overwrite_write(right_to("edit") | right_to("transfer"), BY_RECORD, LEADS_ELSEWHERE),
    **{
        f"overwrite with {kind}": overwrite_write(
            right_to("edit") | right_to("admin"), BY_PREFIX, *ADMINS, LEADS_ELSEWHERE, MORE[kind]
        )
        for kind in KEYS
    },
    "put a value": put_write(right_to("edit"), BY_RECORD, NOTE),
    "put HS_ADMIN": put_write(right_to("transfer"), BY_RECORD, MORE["HS_ADMIN"]),
    "put another HS_ADMIN": put_write(right_to("transfer"), BY_RECORD, administrator(100, "20.500.2/ADMIN", 0)),
    **{f"put {kind}": put_write(right_to("admin"), BY_PREFIX, MORE[kind]) for kind in KEYS},
    "put another HS_SECKEY": put_write(right_to("admin"), BY_PREFIX, {**MORE["HS_SECKEY"], "index": 300}, with_keys),
    "put another HS_PUBKEY": put_write(
        right_to("admin"), BY_PREFIX, {**MORE["HS_PUBKEY"], "index": 301, "ttl": 60}, with_keys
    ),
    "put another HS_VLIST": put_write(
        right_to("admin"), BY_PREFIX, {**MORE["HS_VLIST"], "index": 200, "ttl": 60}, with_keys
    ),
    "put a value in place of HS_ADMIN": put_write(
        right_to("edit") | right_to("transfer"), BY_RECORD, {**NOTE, "index": 100}
    ),
    "put HS_SECKEY in place of a value": put_write(
        right_to("edit") | right_to("admin"), BY_PREFIX, {**MORE["HS_SECKEY"], "index": 1}
    ),
    "delete a value": delete_write(right_to("edit"), BY_RECORD, 1),
    "delete HS_ADMIN": delete_write(right_to("transfer"), BY_RECORD, 100),
    "delete HS_SECKEY": delete_write(right_to("admin"), BY_PREFIX, 300),
    "delete HS_PUBKEY": delete_write(right_to("admin"), BY_PREFIX, 301),
    "delete HS_VLIST": delete_write(right_to("admin"), BY_PREFIX, 200),
    "delete": HandleWrite(f"DELETE {HANDLES}", right_to("withdraw"), BY_RECORD, with_active),
    "put a value into a person": put_write(right_to("edit", PRID), BY_NO_ADMINISTRATOR, NOTE, with_person),
    "put HS_ADMIN into a person": put_write(
        right_to("transfer", PRID), BY_NO_ADMINISTRATOR, MORE["HS_ADMIN"], with_person
    ),
    "put HS_SECKEY into a person": put_write(
        right_to("admin", PRID), BY_NO_ADMINISTRATOR, MORE["HS_SECKEY"], with_person
    ),
    "delete a person": HandleWrite(f"DELETE {HANDLES}", right_to("withdraw", PRID), BY_NO_ADMINISTRATOR, with_person),
}
RECORDS_OF_PREFIXES: dict[str, HandleWrite] = {
    **{
        f"put {value['type']}": put_into_write(RECORD, right_to("admin"), BY_PREFIX, value)
        for value in (NOTE, *MORE.values())
    },
    "delete a value": HandleWrite(
        f"DELETE {HANDLES}",
        right_to("admin"),
        BY_PREFIX,
        with_note,
        name=lambda _: RECORD,
        parameters={"index": NOTED_AT},
    ),
    "overwrite": HandleWrite(
        f"PUT {HANDLES}",
        right_to("admin", LENT),
        BY_NO_ADMINISTRATOR,
        with_lent_prefix,
        lambda _: [MORE["HS_ADMIN"]],
        lambda stage: f"0.NA/{stage.prefix}",
    ),
    "delete": HandleWrite(f"DELETE {HANDLES}", None, BY_NO_ADMINISTRATOR, without_identifier, name=lambda _: RECORD),
    "create that of a prefix that is not kept": HandleWrite(
        f"PUT {HANDLES}",
        right_to("admin", WHOLE_REGISTRY),
        BY_NO_ADMINISTRATOR,
        without_identifier,
        lambda _: [MORE["HS_ADMIN"]],
        lambda stage: f"0.NA/20.997.{stage.number}",
    ),
    "write that of them all": HandleWrite(
        f"PUT {HANDLES}",
        right_to("admin", WHOLE_REGISTRY),
        BY_NO_ADMINISTRATOR,
        without_identifier,
        lambda stage: [text(1, "DESC", f"number {stage.number}")],
        lambda _: "0.NA/0.NA",
    ),
    "home": home_write(right_to("admin", WHOLE_REGISTRY), BY_NO_ADMINISTRATOR, lambda stage: f"20.701.{stage.number}"),
    "home a derived one": home_write(right_to("derive"), BY_PREFIX, lambda stage: f"{OURS}.h{stage.number}"),
    "home one further down": home_write(
        right_to("admin", WHOLE_REGISTRY), BY_NO_ADMINISTRATOR, lambda stage: f"{OURS}.d{stage.number}.1"
    ),
    "unhome": HandleWrite(f"DELETE {PREFIXES}", None, BY_NO_ADMINISTRATOR, without_identifier, name=lambda _: RECORD),
}
