"""Writes of the registry's own API: identifiers, prefixes and imports."""

import json
from typing import Any

from tests.authorization.actors import (
    BY_PREFIX,
    BY_RECORD,
    LABELS,
    OTHER,
    OURS,
    OWNER,
    THEIRS,
    right_to,
)
from tests.authorization.openapi_writes import CSV, NDJSON, Write
from tests.authorization.preparation import (
    MORE,
    URL,
    Stage,
    with_active,
    with_agent,
    with_answering_peer,
    with_bulk_withdrawal,
    with_keys,
    with_other_owner,
    with_plain_peer,
    with_pool,
    with_reserved,
    with_retired_agent,
    with_withdrawn,
    without_identifier,
)
from tests.http.handle_server import text

from perdure.registry.entities import WHOLE_REGISTRY

ELSEWHERE = f"{URL}elsewhere"
MARIA = "https://orcid.org/0000-0002-1825-0097"
RECORD = f"0.NA/{OURS}"
LONG_AGO = "2020-01-01T00:00:00.000000Z"


def new(stage: Stage, *values: dict[str, Any], prefix: str = OURS) -> dict[str, Any]:
    return {"prefix": prefix, "suffix": stage.suffix, "target": URL, "values": list(values)}


def line(stage: Stage, **fields: Any) -> str:
    return json.dumps({"name": stage.name, **fields}) + "\n"


def mint_line(stage: Stage, *values: dict[str, Any]) -> str:
    return json.dumps({"suffix": stage.suffix, "target": URL, "values": list(values)}) + "\n"


def value(index: int, type: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"index": index, "type": type, "data": data}


def history(stage: Stage) -> str:
    """Return a name with its history, as in an export of another registry."""
    record = {"state": "active", "creator": MARIA, "created": "2020-01-01T00:00:00Z"}
    past = {"version": 1, "at": LONG_AGO, "agent": "maria", "action": "mint", "record": record}
    return json.dumps({"name": stage.name, "scheme": "handle", "revisions": [past]}) + "\n"


def setting_line(kind: str, **fields: Any) -> str:
    """Return a part of a registry, as in an export."""
    return json.dumps({"entry": kind, **fields}) + "\n"


IDENTIFIERS: dict[str, Write] = {
    "mint": Write("POST /identifiers", right_to("mint"), without_identifier, new, stated=BY_PREFIX),
    "mint under another prefix": Write(
        "POST /identifiers",
        right_to("mint", THEIRS),
        without_identifier,
        lambda stage: new(stage, prefix=THEIRS),
        stated=frozenset({OTHER}),
    ),
    "mint with an administrator": Write(
        "POST /identifiers",
        right_to("mint"),
        without_identifier,
        lambda stage: new(stage, MORE["HS_ADMIN"]),
        stated=BY_PREFIX,
    ),
    "mint with a public key": Write(
        "POST /identifiers",
        right_to("mint") | right_to("admin"),
        without_identifier,
        lambda stage: new(stage, MORE["HS_PUBKEY"]),
        stated=BY_PREFIX,
    ),
    "mint with a list": Write(
        "POST /identifiers",
        right_to("mint") | right_to("admin"),
        without_identifier,
        lambda stage: new(stage, MORE["HS_VLIST"]),
        stated=BY_PREFIX,
    ),
    "mint in bulk": Write(
        "POST /identifiers/bulk",
        right_to("mint"),
        without_identifier,
        mint_line,
        NDJSON,
        stated=BY_PREFIX,
        parameters={"prefix": OURS},
    ),
    "mint in bulk with a list": Write(
        "POST /identifiers/bulk",
        right_to("mint") | right_to("admin"),
        without_identifier,
        lambda stage: mint_line(stage, MORE["HS_VLIST"]),
        NDJSON,
        stated=BY_PREFIX,
        parameters={"prefix": OURS},
    ),
    "mint a table": Write(
        "POST /identifiers/bulk",
        right_to("mint"),
        without_identifier,
        lambda stage: f"url,suffix\n{URL},{stage.suffix}\n",
        CSV,
        stated=BY_PREFIX,
        parameters={"prefix": OURS},
    ),
    "change": Write(
        "PATCH /identifiers/{name}", right_to("edit"), with_active, lambda _: {"target": ELSEWHERE}, stated=BY_RECORD
    ),
    "change another agent's own": Write(
        "PATCH /identifiers/{name}",
        right_to("edit"),
        with_other_owner,
        lambda _: {"target": ELSEWHERE},
        stated=BY_RECORD,
        also=frozenset({OWNER}),
    ),
    "change the owner": Write(
        "PATCH /identifiers/{name}",
        right_to("edit") | right_to("transfer"),
        with_active,
        lambda _: {"owners": [MARIA]},
        stated=BY_RECORD,
    ),
    "change the key": Write(
        "PATCH /identifiers/{name}",
        right_to("edit") | right_to("admin"),
        with_keys,
        lambda _: {"values": [{**MORE["HS_PUBKEY"], "index": 301, "ttl": 60}]},
        stated=BY_PREFIX,
    ),
    "change the record of a prefix": Write(
        "PATCH /identifiers/{name}",
        right_to("admin"),
        without_identifier,
        lambda stage: {"values": [text(7, "DESC", f"number {stage.number}")]},
        stated=BY_PREFIX,
        name=RECORD,
    ),
    "bind": Write("POST /bindings/{name}", right_to("edit"), with_reserved, lambda _: {"target": URL}),
    "bind with a key": Write(
        "POST /bindings/{name}",
        right_to("edit") | right_to("admin"),
        with_reserved,
        lambda _: {"target": URL, "values": [MORE["HS_PUBKEY"]]},
    ),
    "add a value": Write(
        "POST /values/{name}",
        right_to("edit"),
        with_active,
        lambda _: {"values": [text(9, "EMAIL", "a@b.c")]},
        stated=BY_RECORD,
    ),
    "add an administrator": Write(
        "POST /values/{name}",
        right_to("edit") | right_to("transfer"),
        with_active,
        lambda _: {"values": [MORE["HS_ADMIN"]]},
        stated=BY_RECORD,
    ),
    "add a public key": Write(
        "POST /values/{name}",
        right_to("edit") | right_to("admin"),
        with_active,
        lambda _: {"values": [MORE["HS_PUBKEY"]]},
        stated=BY_PREFIX,
    ),
    "add a list": Write(
        "POST /values/{name}",
        right_to("edit") | right_to("admin"),
        with_active,
        lambda _: {"values": [MORE["HS_VLIST"]]},
        stated=BY_PREFIX,
    ),
    "add to the record of a prefix": Write(
        "POST /values/{name}",
        right_to("admin"),
        without_identifier,
        lambda stage: {"values": [{**MORE["HS_ADMIN"], "index": 100_000 + stage.number}]},
        stated=BY_PREFIX,
        name=RECORD,
    ),
    "remove a value": Write(
        "DELETE /values/{name}", right_to("edit"), with_active, parameters={"index": 1}, stated=BY_RECORD
    ),
    "remove an administrator": Write(
        "DELETE /values/{name}",
        right_to("edit") | right_to("transfer"),
        with_active,
        parameters={"index": 101},
        stated=BY_RECORD,
    ),
    "remove a secret": Write(
        "DELETE /values/{name}",
        right_to("edit") | right_to("admin"),
        with_keys,
        parameters={"index": 300},
        stated=BY_PREFIX,
    ),
    "remove a public key": Write(
        "DELETE /values/{name}",
        right_to("edit") | right_to("admin"),
        with_keys,
        parameters={"index": 301},
        stated=BY_PREFIX,
    ),
    "remove a list": Write(
        "DELETE /values/{name}",
        right_to("edit") | right_to("admin"),
        with_keys,
        parameters={"index": 200},
        stated=BY_PREFIX,
    ),
    "redact a value": Write(
        "POST /redactions/{name}", right_to("admin"), with_active, lambda _: {"indexes": [1], "reason": "x"}
    ),
    "redact a secret": Write(
        "POST /redactions/{name}", right_to("admin"), with_keys, lambda _: {"indexes": [300], "reason": "x"}
    ),
    "withdraw": Write(
        "DELETE /identifiers/{name}", right_to("withdraw"), with_active, parameters={"reason": "x"}, stated=BY_RECORD
    ),
    "reinstate": Write("POST /reinstatements/{name}", right_to("withdraw"), with_withdrawn),
    "transfer": Write(
        "POST /transfers",
        right_to("transfer"),
        with_active,
        lambda stage: {"names": [stage.name], "to": "theirs"},
        stated=BY_RECORD,
    ),
    "retarget in bulk": Write(
        "POST /bulk-changes",
        right_to("edit"),
        with_active,
        lambda stage: {"kind": "retarget", "names": [stage.name], "from": URL, "to": ELSEWHERE},
        stated=BY_RECORD,
    ),
    "retarget what a query selects": Write(
        "POST /bulk-changes",
        right_to("edit"),
        with_active,
        lambda stage: {"kind": "retarget", "query": {"prefix": stage.name}, "from": URL, "to": ELSEWHERE},
    ),
    "withdraw in bulk": Write(
        "POST /bulk-changes",
        right_to("withdraw"),
        with_active,
        lambda stage: {"kind": "withdraw", "names": [stage.name], "reason": "x"},
        stated=BY_RECORD,
    ),
    "transfer in bulk": Write(
        "POST /bulk-changes",
        right_to("transfer"),
        with_active,
        lambda stage: {"kind": "transfer", "names": [stage.name], "agent": "theirs"},
        stated=BY_RECORD,
    ),
    "undo in bulk": Write(
        "POST /bulk-changes/{id}/undo", right_to("withdraw") | right_to("admin"), with_bulk_withdrawal
    ),
}
PREFIXES: dict[str, Write] = {
    "add": Write(
        "POST /prefixes",
        right_to("admin", WHOLE_REGISTRY),
        without_identifier,
        lambda stage: {"prefix": f"20.700.{stage.number}"},
    ),
    "add a subsystem": Write(
        "POST /prefixes",
        right_to("admin", WHOLE_REGISTRY),
        without_identifier,
        lambda stage: {"host": f"m{stage.number}.example.org", "ip": "150.163.34.243", "ip_port": 1000 + stage.number},
    ),
    "derive": Write(
        "POST /derived-prefixes",
        right_to("derive"),
        without_identifier,
        lambda stage: {"prefix": f"{OURS}.v{stage.number}"},
        stated=BY_PREFIX,
    ),
    "change": Write(
        "PATCH /prefixes/{name}",
        right_to("admin"),
        without_identifier,
        lambda stage: {"policy": f"Kept {stage.number}."},
        name=OURS,
    ),
    "add a pool": Write(
        "POST /pools",
        right_to("admin", WHOLE_REGISTRY),
        with_pool,
        lambda stage: {"name": f"new-{stage.name}", "members": [stage.prefix]},
    ),
    "change a pool": Write(
        "PATCH /pools/{name}", right_to("admin", WHOLE_REGISTRY), with_pool, lambda _: {"policy": "hash"}
    ),
    "remove a pool": Write("DELETE /pools/{name}", right_to("admin", WHOLE_REGISTRY), with_pool),
    "mint in a subsystem": Write(
        "POST /ibi/{name}", right_to("mint", LABELS), without_identifier, lambda _: {"target": URL}, name=LABELS
    ),
}
AGENTS: dict[str, Write] = {
    "add": Write(
        "POST /agents",
        right_to("admin", WHOLE_REGISTRY),
        without_identifier,
        lambda stage: {"id": f"c{stage.number}", "name": "Somebody"},
    ),
    "rename": Write(
        "PATCH /agents/{agent}", right_to("admin", WHOLE_REGISTRY), with_agent, lambda _: {"name": "Somebody else"}
    ),
    "retire": Write(
        "POST /agents/{agent}/retire", right_to("admin", WHOLE_REGISTRY), with_agent, lambda _: {"reason": "x"}
    ),
    "reinstate": Write("POST /agents/{agent}/reinstate", right_to("admin", WHOLE_REGISTRY), with_retired_agent),
    "create a key": Write(
        "POST /agents/{agent}/keys", right_to("admin", WHOLE_REGISTRY), with_agent, lambda _: {"label": "x"}
    ),
    "revoke a key": Write("DELETE /agents/{agent}/keys/{key}", right_to("admin", WHOLE_REGISTRY), with_agent),
    "grant": Write(
        "POST /agents/{agent}/grants",
        right_to("admin"),
        with_agent,
        lambda _: {"scope": OURS, "actions": ["edit"]},
    ),
    "grant everywhere": Write(
        "POST /agents/{agent}/grants",
        right_to("admin", WHOLE_REGISTRY),
        with_agent,
        lambda _: {"scope": WHOLE_REGISTRY, "actions": ["edit"]},
    ),
    "revoke a grant": Write("DELETE /agents/{agent}/grants", right_to("admin"), with_agent, parameters={"scope": OURS}),
    "revoke a grant of everything": Write(
        "DELETE /agents/{agent}/grants",
        right_to("admin", WHOLE_REGISTRY),
        with_agent,
        parameters={"scope": WHOLE_REGISTRY, "action": "mint"},
    ),
}
PEERS: dict[str, Write] = {
    "add": Write(
        "POST /peers",
        right_to("admin", WHOLE_REGISTRY),
        without_identifier,
        lambda stage: {"url": f"{stage.served_registry.answering_url}/k{stage.number}", "private": True},
    ),
    "change": Write(
        "PATCH /peers/{peer}", right_to("admin", WHOLE_REGISTRY), with_plain_peer, lambda _: {"add": ["10.1000"]}
    ),
    "remove": Write("DELETE /peers/{peer}", right_to("admin", WHOLE_REGISTRY), with_plain_peer),
    "check": Write("POST /peers/{peer}/check", right_to("admin", WHOLE_REGISTRY), with_answering_peer),
}
IMPORTS: dict[str, Write] = {
    "a new name": Write(
        "POST /imports", right_to("import"), without_identifier, lambda stage: line(stage, target=URL), NDJSON
    ),
    "a new name with a key": Write(
        "POST /imports",
        right_to("import") | right_to("admin"),
        without_identifier,
        lambda stage: line(stage, target=URL, values=[value(4, "HS_VLIST", {"format": "vlist", "value": []})]),
        NDJSON,
    ),
    "another target": Write(
        "POST /imports",
        right_to("import") | right_to("edit"),
        with_active,
        lambda stage: line(stage, target=ELSEWHERE),
        NDJSON,
        parameters={"update": "true"},
    ),
    "another owner": Write(
        "POST /imports",
        right_to("import") | right_to("edit") | right_to("transfer"),
        with_active,
        lambda stage: line(stage, owners=[MARIA]),
        NDJSON,
        parameters={"update": "true"},
    ),
    "a whole history": Write("POST /imports", right_to("admin", WHOLE_REGISTRY), without_identifier, history, NDJSON),
    "a prefix": Write(
        "POST /imports",
        right_to("admin", WHOLE_REGISTRY),
        without_identifier,
        lambda stage: setting_line(
            "prefix",
            key=f"20.900.{stage.number}",
            name=f"20.900.{stage.number}",
            scheme="handle",
            minter="chosen",
            case_sensitive=True,
            created=LONG_AGO,
        ),
        NDJSON,
    ),
    "an agent": Write(
        "POST /imports",
        right_to("admin", WHOLE_REGISTRY),
        without_identifier,
        lambda stage: setting_line(
            "agent",
            id=f"i{stage.number}",
            name="Somebody",
            identifier=f"https://example.org/people/{stage.number}",
            created=LONG_AGO,
        ),
        NDJSON,
    ),
    "a grant": Write(
        "POST /imports",
        right_to("admin", WHOLE_REGISTRY),
        with_agent,
        lambda stage: setting_line("grant", agent=stage.agent, identifier=stage.identifier, scope=OURS, action="admin"),
        NDJSON,
    ),
}
