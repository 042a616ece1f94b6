"""Writes of the registry's own API: persons.

`mint` allows to observe and to reconstruct, and `edit` to revise. Writes that hide a person, or replace one by another,
need more.
"""

import json
from typing import Any

from tests.authorization.actors import BY_RECORD, POID, PRID, right_to
from tests.authorization.openapi_writes import CSV, FORM, NDJSON, Write
from tests.authorization.preparation import (
    Stage,
    with_administrators,
    with_hidden_person,
    with_merged_person,
    with_observation,
    with_person,
    with_restricted_observation,
    with_restricted_person,
    with_split_person,
    with_withdrawn_person,
    without_identifier,
)
from tests.http.handle_server import text
from tests.http.person_client import CURATED, conclusion, source

LINK = {"relation": "close", "scheme": "viaf", "value": "64205559"}
WHY = {"reason": "x"}
TO_POID = "POST /poid"


def observation_body(stage: Stage, **fields: Any) -> dict[str, Any]:
    return source(
        source_url=f"https://example.org/seen/{stage.number}", claims=[{"type": "name", "value": "Jan"}], **fields
    )


def form(stage: Stage) -> dict[str, Any]:
    fields = {key: value for key, value in observation_body(stage).items() if key != "content_hash"}
    return {"observation": (None, json.dumps(fields), "application/json"), "content": ("page.html", b"<p>Jan</p>")}


def table(stage: Stage) -> str:
    fields = {key: value for key, value in observation_body(stage).items() if key != "claims"}
    return f"{','.join(fields)},name\n{','.join(fields.values())},Jan\n"


PERSONS: dict[str, Write] = {
    "observe": Write(TO_POID, right_to("mint", POID), without_identifier, observation_body),
    "observe with a file": Write(TO_POID, right_to("mint", POID), without_identifier, form, FORM),
    "observe many": Write(
        "POST /observations",
        right_to("mint", POID),
        without_identifier,
        lambda stage: json.dumps(observation_body(stage)),
        NDJSON,
    ),
    "observe a table": Write("POST /observations", right_to("mint", POID), without_identifier, table, CSV),
    "reconstruct": Write("POST /prid", right_to("mint", PRID), with_observation, lambda stage: conclusion(stage.name)),
    "revise": Write(
        "PUT /{ppid}",
        right_to("edit", PRID),
        with_person,
        lambda stage: conclusion(stage.one, stage.two, notes="a second look"),
    ),
    "revise by what is hidden": Write(
        "PUT /{ppid}",
        right_to("edit", PRID) | right_to("edit", POID),
        with_hidden_person,
        lambda stage: conclusion(stage.one, stage.two, claims=[{"observation_id": stage.one, "claim": 1}]),
    ),
    "link": Write("PUT /{ppid}/links", right_to("edit", PRID), with_person, lambda _: {"links": [LINK]}),
    "add a link": Write("PATCH /{ppid}/links", right_to("edit", PRID), with_person, lambda _: {"add": [LINK]}),
    "merge": Write(
        "POST /{ppid}/merge",
        right_to("withdraw", PRID) | right_to("edit", PRID),
        with_person,
        lambda stage: {**CURATED, **WHY, "into": stage.other},
    ),
    "split": Write(
        "POST /{ppid}/split",
        right_to("withdraw", PRID) | right_to("mint", PRID),
        with_person,
        lambda stage: {**CURATED, **WHY, "parts": [[stage.one], [stage.two]]},
    ),
    "undo a merge": Write(
        "POST /{ppid}/undo",
        right_to("withdraw", PRID) | right_to("edit", PRID),
        with_merged_person,
        lambda _: {**CURATED, **WHY},
    ),
    "undo a split": Write("POST /{ppid}/undo", right_to("withdraw", PRID), with_split_person, lambda _: WHY),
    "restrict": Write("POST /{ppid}/restrict", right_to("withdraw", PRID), with_person, lambda _: WHY),
    "restrict an observation": Write(
        "POST /{ppid}/restrict", right_to("withdraw", POID), with_observation, lambda _: WHY
    ),
    "restrict with the observations": Write(
        "POST /{ppid}/restrict",
        right_to("withdraw", PRID) | right_to("withdraw", POID),
        with_person,
        lambda _: {**WHY, "with_observations": True},
    ),
    "lift": Write("POST /{ppid}/lift-restriction", right_to("withdraw", PRID), with_restricted_person, lambda _: WHY),
    "lift from an observation": Write(
        "POST /{ppid}/lift-restriction", right_to("withdraw", POID), with_restricted_observation, lambda _: WHY
    ),
    "redact": Write("POST /{ppid}/redact", right_to("admin", PRID), with_person, lambda _: WHY),
    "redact an observation": Write("POST /{ppid}/redact", right_to("admin", POID), with_observation, lambda _: WHY),
}
# Through the paths that all identifiers have.
AS_IDENTIFIERS: dict[str, Write] = {
    "add a value": Write(
        "POST /values/{name}", right_to("edit", PRID), with_person, lambda _: {"values": [text(9, "EMAIL", "a@b.c")]}
    ),
    "withdraw": Write("DELETE /identifiers/{name}", right_to("withdraw", PRID), with_person, parameters=WHY),
    "withdraw an observation": Write(
        "DELETE /identifiers/{name}", right_to("withdraw", POID), with_observation, parameters=WHY
    ),
    "reinstate": Write("POST /reinstatements/{name}", right_to("withdraw", PRID), with_withdrawn_person),
    "transfer": Write(
        "POST /transfers",
        right_to("transfer", PRID),
        with_person,
        lambda stage: {"names": [stage.name], "to": "theirs"},
    ),
}
# By an HS_ADMIN in the record of a person: as far as that goes, and not on to others, to new names, or for good.
ADMINISTERED: dict[str, Write] = {
    "revise": PERSONS["revise"]._replace(prepare=with_administrators, stated=BY_RECORD),
    "link": PERSONS["link"]._replace(prepare=with_administrators, stated=BY_RECORD),
    "restrict": PERSONS["restrict"]._replace(prepare=with_administrators, stated=BY_RECORD),
    "withdraw": AS_IDENTIFIERS["withdraw"]._replace(prepare=with_administrators, stated=BY_RECORD),
    "merge": PERSONS["merge"]._replace(prepare=with_administrators),
    "split": PERSONS["split"]._replace(prepare=with_administrators),
    "redact": PERSONS["redact"]._replace(prepare=with_administrators),
}
