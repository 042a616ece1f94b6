"""Writes of the own API: persons.

To mint is to observe and to conclude, and nothing else; to edit is to revise. What hides a person, or lets one stand for
another, takes more.
"""

import json
from typing import Any

from tests.authorization.actors import BY_RECORD, POID, PRID, to
from tests.authorization.document import CSV, FORM, NDJSON, Write
from tests.authorization.stages import (
    Stage,
    administered,
    hidden,
    merged,
    nothing,
    observation,
    person,
    restricted,
    restricted_observation,
    split,
    withdrawn_person,
)
from tests.http.handle_office import text
from tests.http.person_client import CURATED, conclusion, source

LINK = {"relation": "close", "scheme": "viaf", "value": "64205559"}
WHY = {"reason": "x"}
TO_POID = "POST /poid"


def seen(stage: Stage, **said: Any) -> dict[str, Any]:
    return source(
        source_url=f"https://example.org/seen/{stage.number}", claims=[{"type": "name", "value": "Jan"}], **said
    )


def form(stage: Stage) -> dict[str, Any]:
    said = {key: value for key, value in seen(stage).items() if key != "content_hash"}
    return {"observation": (None, json.dumps(said), "application/json"), "content": ("page.html", b"<p>Jan</p>")}


def table(stage: Stage) -> str:
    said = {key: value for key, value in seen(stage).items() if key != "claims"}
    return f"{','.join(said)},name\n{','.join(said.values())},Jan\n"


PERSONS: dict[str, Write] = {
    "observe": Write(TO_POID, to("mint", POID), nothing, seen),
    "observe with a file": Write(TO_POID, to("mint", POID), nothing, form, FORM),
    "observe many": Write(
        "POST /observations", to("mint", POID), nothing, lambda stage: json.dumps(seen(stage)), NDJSON
    ),
    "observe a table": Write("POST /observations", to("mint", POID), nothing, table, CSV),
    "reconstruct": Write("POST /prid", to("mint", PRID), observation, lambda stage: conclusion(stage.name)),
    "revise": Write(
        "PUT /{ppid}", to("edit", PRID), person, lambda stage: conclusion(stage.one, stage.two, notes="a second look")
    ),
    "revise by what is hidden": Write(
        "PUT /{ppid}",
        to("edit", PRID) | to("edit", POID),
        hidden,
        lambda stage: conclusion(stage.one, stage.two, claims=[{"observation_id": stage.one, "claim": 1}]),
    ),
    "link": Write("PUT /{ppid}/links", to("edit", PRID), person, lambda _: {"links": [LINK]}),
    "merge": Write(
        "POST /{ppid}/merge",
        to("withdraw", PRID) | to("edit", PRID),
        person,
        lambda stage: {**CURATED, **WHY, "into": stage.other},
    ),
    "split": Write(
        "POST /{ppid}/split",
        to("withdraw", PRID) | to("mint", PRID),
        person,
        lambda stage: {**CURATED, **WHY, "parts": [[stage.one], [stage.two]]},
    ),
    "undo a merge": Write(
        "POST /{ppid}/undo", to("withdraw", PRID) | to("edit", PRID), merged, lambda _: {**CURATED, **WHY}
    ),
    "undo a split": Write("POST /{ppid}/undo", to("withdraw", PRID), split, lambda _: WHY),
    "restrict": Write("POST /{ppid}/restrict", to("withdraw", PRID), person, lambda _: WHY),
    "restrict an observation": Write("POST /{ppid}/restrict", to("withdraw", POID), observation, lambda _: WHY),
    "lift": Write("POST /{ppid}/lift-restriction", to("withdraw", PRID), restricted, lambda _: WHY),
    "lift from an observation": Write(
        "POST /{ppid}/lift-restriction", to("withdraw", POID), restricted_observation, lambda _: WHY
    ),
    "redact": Write("POST /{ppid}/redact", to("admin", PRID), person, lambda _: WHY),
    "redact an observation": Write("POST /{ppid}/redact", to("admin", POID), observation, lambda _: WHY),
}
# Through the paths that all identifiers have.
AS_IDENTIFIERS: dict[str, Write] = {
    "add a value": Write(
        "POST /values/{name}", to("edit", PRID), person, lambda _: {"values": [text(9, "EMAIL", "a@b.c")]}
    ),
    "withdraw": Write("DELETE /identifiers/{name}", to("withdraw", PRID), person, parameters=WHY),
    "withdraw an observation": Write("DELETE /identifiers/{name}", to("withdraw", POID), observation, parameters=WHY),
    "reinstate": Write("POST /reinstatements/{name}", to("withdraw", PRID), withdrawn_person),
    "transfer": Write(
        "POST /transfers", to("transfer", PRID), person, lambda stage: {"names": [stage.name], "to": "theirs"}
    ),
}
# By an HS_ADMIN in the record of a person: as far as that goes, and not on to others, to new names, or for good.
ADMINISTERED: dict[str, Write] = {
    "revise": PERSONS["revise"]._replace(prepare=administered, stated=BY_RECORD),
    "link": PERSONS["link"]._replace(prepare=administered, stated=BY_RECORD),
    "restrict": PERSONS["restrict"]._replace(prepare=administered, stated=BY_RECORD),
    "withdraw": AS_IDENTIFIERS["withdraw"]._replace(prepare=administered, stated=BY_RECORD),
    "merge": PERSONS["merge"]._replace(prepare=administered),
    "split": PERSONS["split"]._replace(prepare=administered),
    "redact": PERSONS["redact"]._replace(prepare=administered),
}
