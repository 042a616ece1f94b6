"""Writes of the command, and the commands that are none."""

import json
from collections.abc import Callable
from typing import NamedTuple

from tests.authorization.actors import (
    LENT,
    OTHER,
    OURS,
    POID,
    PRID,
    SHORT,
    Rights,
    to,
)
from tests.authorization.ground import Ground
from tests.authorization.own_writes import ELSEWHERE, MARIA, RECORD
from tests.authorization.stages import (
    URL,
    Stage,
    active,
    hired,
    keyed,
    lent,
    merged,
    nothing,
    observation,
    person,
    reserved,
    restricted,
    restricted_observation,
    split,
    withdrawn,
)
from tests.http.person_client import CURATOR, WHEN

from perdure.registry.entities import EVERYWHERE

WHY = ["--reason", "x"]
CURATED = ["--curator", CURATOR, "--at", "2025-02-03T09:00:00Z"]
HASH = "0" * 64


class Command(NamedTuple):
    """One way to change something: what it takes, what must be there, and what is typed."""

    command: str
    needs: Rights
    prepare: Callable[[Ground], Stage]
    arguments: Callable[[Stage], list[str]]
    stdin: Callable[[Stage], str] = lambda _: ""


def importing(
    needs: Rights, prepare: Callable[[Ground], Stage], text: Callable[[Stage], str], *options: str
) -> Command:
    return Command("import", needs, prepare, lambda _: ["-", *options], text)


def seen(stage: Stage) -> str:
    return f"https://example.org/seen/{stage.number}"


def entry(**said: str | list[str]) -> str:
    return json.dumps(said) + "\n"


NDJSON, BATCH = ("--format", "ndjson"), ("--format", "batch")
IDENTIFIERS: dict[str, Command] = {
    "mint": Command("mint", to("mint"), nothing, lambda s: [OURS, URL, "--suffix", s.suffix]),
    "bind": Command("bind", to("edit"), reserved, lambda s: [s.name, URL]),
    "set": Command("set", to("edit"), active, lambda s: [s.name, ELSEWHERE]),
    "set the owner": Command("set", to("edit") | to("transfer"), active, lambda s: [s.name, "--owner", MARIA]),
    "add-value": Command("add-value", to("edit"), active, lambda s: [s.name, "EMAIL", "a@b.c"]),
    "add-value to the record of a prefix": Command(
        "add-value", to("admin"), nothing, lambda s: [RECORD, "DESC", f"number {s.number}"]
    ),
    "remove-value": Command("remove-value", to("edit"), active, lambda s: [s.name, "1"]),
    "remove-value of an administrator": Command(
        "remove-value", to("edit") | to("transfer"), active, lambda s: [s.name, "101"]
    ),
    "remove-value of a secret": Command("remove-value", to("edit") | to("admin"), keyed, lambda s: [s.name, "300"]),
    "redact": Command("redact", to("admin"), active, lambda s: [s.name, "--index", "1", *WHY, "--for-good"]),
    "redact a secret": Command("redact", to("admin"), keyed, lambda s: [s.name, "--index", "300", *WHY, "--for-good"]),
    "withdraw": Command("withdraw", to("withdraw"), active, lambda s: [s.name, *WHY]),
    "reinstate": Command("reinstate", to("withdraw"), withdrawn, lambda s: [s.name]),
    "transfer": Command("transfer", to("transfer"), active, lambda s: [SHORT[OTHER], s.name]),
    "transfer --under": Command("transfer", to("transfer", LENT), lent, lambda s: [SHORT[OTHER], "--under", s.prefix]),
    "transfer --prefix": Command(
        "transfer",
        to("transfer", LENT) | to("admin", LENT),
        lent,
        lambda s: [SHORT[OTHER], "--prefix", s.prefix, "--from", "ours"],
    ),
    "import": importing(to("import"), nothing, lambda s: entry(name=s.name, target=URL), *NDJSON),
    "import --update": importing(
        to("import") | to("edit"), active, lambda s: entry(name=s.name, target=ELSEWHERE), *NDJSON, "--update"
    ),
    "import of an owner": importing(
        to("import") | to("edit") | to("transfer"),
        active,
        lambda s: entry(name=s.name, owners=[MARIA]),
        *NDJSON,
        "--update",
    ),
    "import of a batch that modifies": importing(
        to("import") | to("edit"), active, lambda s: f"MODIFY {s.name}\n1 URL 86400 1110 UTF8 {ELSEWHERE}\n", *BATCH
    ),
    "import of a batch that deletes": importing(
        to("import") | to("withdraw"), active, lambda s: f"DELETE {s.name}\n", *BATCH
    ),
}
PEOPLE: dict[str, Command] = {
    "prefix add": Command("prefix add", to("admin", EVERYWHERE), nothing, lambda s: [f"20.800.{s.number}"]),
    "prefix derive": Command("prefix derive", to("derive"), nothing, lambda s: [f"{OURS}.c{s.number}"]),
    "prefix change": Command("prefix change", to("admin"), nothing, lambda s: [OURS, "--policy", f"Kept {s.number}."]),
    "prefix reset": Command("prefix reset", to("admin"), nothing, lambda _: [OURS, *WHY]),
    "agent add": Command(
        "agent add", to("admin", EVERYWHERE), nothing, lambda s: [f"b{s.number}", "--name", "Somebody"]
    ),
    "agent key": Command("agent key", to("admin", EVERYWHERE), hired, lambda s: [s.agent]),
    "agent key --revoke": Command("agent key", to("admin", EVERYWHERE), hired, lambda s: [s.agent, "--revoke", s.key]),
    "agent grant": Command("agent grant", to("admin"), hired, lambda s: [s.agent, OURS, "edit"]),
    "agent grant of everything": Command(
        "agent grant", to("admin", EVERYWHERE), hired, lambda s: [s.agent, "*", "edit"]
    ),
    "agent revoke": Command("agent revoke", to("admin"), hired, lambda s: [s.agent, OURS]),
    "agent revoke of everything": Command("agent revoke", to("admin", EVERYWHERE), hired, lambda s: [s.agent, "*"]),
}
PERSONS: dict[str, Command] = {
    "mint POID": Command(
        "mint", to("mint", POID), nothing, lambda s: [POID, "--source", seen(s), "--at", WHEN, "--hash", HASH]
    ),
    "mint PRID": Command("mint", to("mint", PRID), observation, lambda s: [PRID, "--observation", s.name, *CURATED]),
    "set": Command("set", to("edit", PRID), person, lambda s: [s.name, "--observation", s.one, *CURATED]),
    "observe": Command(
        "person observe",
        to("mint", POID),
        nothing,
        lambda s: [seen(s), "--at", WHEN, "--hash", HASH, "--claim", "name=Jan"],
    ),
    "import": Command(
        "person import",
        to("mint", POID),
        nothing,
        lambda _: ["-", *NDJSON],
        lambda s: entry(source_url=seen(s), retrieval_timestamp=WHEN, content_hash=HASH),
    ),
    "import of a table": Command(
        "person import",
        to("mint", POID),
        nothing,
        lambda s: ["-", "--format", "csv", "--set", f"retrieval_timestamp={WHEN}"],
        lambda s: f"source_url,name\n{seen(s)},Jan\n",
    ),
    "reconstruct": Command(
        "person reconstruct", to("mint", PRID), observation, lambda s: ["--observation", s.name, *CURATED]
    ),
    "revise": Command("person revise", to("edit", PRID), person, lambda s: [s.name, "--notes", "a second look"]),
    "revise its links": Command(
        "person revise", to("edit", PRID), person, lambda s: [s.name, "--link", "close:viaf:64205559"]
    ),
    "merge": Command(
        "person merge",
        to("withdraw", PRID) | to("edit", PRID),
        person,
        lambda s: [s.name, "--into", s.other, *CURATED, *WHY],
    ),
    "split": Command(
        "person split",
        to("withdraw", PRID) | to("mint", PRID),
        person,
        lambda s: [s.name, "--part", s.one, "--part", s.two, *CURATED, *WHY],
    ),
    "undo a merge": Command(
        "person undo", to("withdraw", PRID) | to("edit", PRID), merged, lambda s: [s.name, *CURATED, *WHY]
    ),
    "undo a split": Command("person undo", to("withdraw", PRID), split, lambda s: [s.name, *WHY]),
    "restrict": Command("person restrict", to("withdraw", PRID), person, lambda s: [s.name, *WHY]),
    "restrict an observation": Command("person restrict", to("withdraw", POID), observation, lambda s: [s.name, *WHY]),
    "lift": Command("person lift", to("withdraw", PRID), restricted, lambda s: [s.name, *WHY]),
    "lift from an observation": Command(
        "person lift", to("withdraw", POID), restricted_observation, lambda s: [s.name, *WHY]
    ),
    "redact": Command("person redact", to("admin", PRID), person, lambda s: [s.name, *WHY, "--for-good"]),
    "redact an observation": Command(
        "person redact", to("admin", POID), observation, lambda s: [s.name, *WHY, "--for-good"]
    ),
}
# They show what there is, or work without a registry.
READS: dict[str, Callable[[Stage], list[str]]] = {
    "show": lambda s: [s.name],
    "resolve": lambda s: [active(s.ground).name],
    "history": lambda s: [s.name],
    "diff": lambda s: [s.name, "1", "2"],
    "search": lambda _: ["vries"],
    "log": lambda _: [],
    "export": lambda _: ["-"],
    "verify": lambda _: [],
    "stats": lambda _: [],
    "person show": lambda s: [s.name],
    "person history": lambda s: [s.name],
    "person find": lambda _: ["vries"],
    "person export": lambda _: ["--format", "ndjson"],
    "prefix list": lambda _: [],
    "prefix show": lambda _: [OURS],
    "agent list": lambda _: ["--keys"],
}
NEED_NO_REGISTRY = {"explain", "check", "generate pilin", "generate ibi", "generate poid", "generate prid", "tour"}
# They make, keep or move the files themselves, and are for whoever may read and write those: docs/people.md says so.
OF_FILES = {"init", "serve", "backup", "restore", "recover", "move", "migrate", "compact", "agent recover"}
