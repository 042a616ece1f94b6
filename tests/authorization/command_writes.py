"""Writes of the command, and the commands that do not write."""

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
    right_to,
)
from tests.authorization.api_writes import ELSEWHERE, MARIA, RECORD
from tests.authorization.preparation import (
    URL,
    Stage,
    with_active,
    with_agent,
    with_answering_peer,
    with_bulk_withdrawal,
    with_copied_item,
    with_handle_user,
    with_item,
    with_keys,
    with_lent_prefix,
    with_merged_person,
    with_observation,
    with_person,
    with_plain_peer,
    with_pool,
    with_reserved,
    with_restricted_observation,
    with_restricted_person,
    with_retired_agent,
    with_split_person,
    with_subsystem,
    with_withdrawn,
    without_identifier,
)
from tests.authorization.served_registry import ServedRegistry
from tests.http.person_client import CURATOR, WHEN

from perdure.registry.entities import WHOLE_REGISTRY

WHY = ["--reason", "x"]
CURATED = ["--curator", CURATOR, "--at", "2025-02-03T09:00:00Z"]
HASH = "0" * 64


class Command(NamedTuple):
    """One way to write: the rights that it needs, its preparation, and its arguments."""

    command: str
    needs: Rights
    prepare: Callable[[ServedRegistry], Stage]
    arguments: Callable[[Stage], list[str]]
    stdin: Callable[[Stage], str] = lambda _: ""


def import_command(
    needs: Rights, prepare: Callable[[ServedRegistry], Stage], text: Callable[[Stage], str], *options: str
) -> Command:
    return Command("import", needs, prepare, lambda _: ["-", *options], text)


def observation_options(stage: Stage) -> str:
    return f"https://example.org/seen/{stage.number}"


def entry(**fields: str | list[str]) -> str:
    return json.dumps(fields) + "\n"


NDJSON, BATCH = ("--format", "ndjson"), ("--format", "batch")
IDENTIFIERS: dict[str, Command] = {
    "mint": Command("mint", right_to("mint"), without_identifier, lambda s: [OURS, URL, "--suffix", s.suffix]),
    "mint --from": Command(
        "mint",
        right_to("mint"),
        without_identifier,
        lambda _: [OURS, "--from", "-"],
        lambda s: f"url,suffix\n{URL},{s.suffix}\n",
    ),
    "bind": Command("bind", right_to("edit"), with_reserved, lambda s: [s.name, URL]),
    "set": Command("set", right_to("edit"), with_active, lambda s: [s.name, ELSEWHERE]),
    "set the owner": Command(
        "set", right_to("edit") | right_to("transfer"), with_active, lambda s: [s.name, "--owner", MARIA]
    ),
    "add-value": Command("add-value", right_to("edit"), with_active, lambda s: [s.name, "EMAIL", "a@b.c"]),
    "add-value to the record of a prefix": Command(
        "add-value", right_to("admin"), without_identifier, lambda s: [RECORD, "DESC", f"number {s.number}"]
    ),
    "remove-value": Command("remove-value", right_to("edit"), with_active, lambda s: [s.name, "1"]),
    "remove-value of an administrator": Command(
        "remove-value", right_to("edit") | right_to("transfer"), with_active, lambda s: [s.name, "101"]
    ),
    "remove-value of a secret": Command(
        "remove-value", right_to("edit") | right_to("admin"), with_keys, lambda s: [s.name, "300"]
    ),
    "redact": Command("redact", right_to("admin"), with_active, lambda s: [s.name, "--index", "1", *WHY, "--for-good"]),
    "redact a secret": Command(
        "redact", right_to("admin"), with_keys, lambda s: [s.name, "--index", "300", *WHY, "--for-good"]
    ),
    "withdraw": Command("withdraw", right_to("withdraw"), with_active, lambda s: [s.name, *WHY]),
    "reinstate": Command("reinstate", right_to("withdraw"), with_withdrawn, lambda s: [s.name]),
    "transfer": Command("transfer", right_to("transfer"), with_active, lambda s: [SHORT[OTHER], s.name]),
    "transfer --under": Command(
        "transfer", right_to("transfer", LENT), with_lent_prefix, lambda s: [SHORT[OTHER], "--under", s.prefix]
    ),
    "transfer --prefix": Command(
        "transfer",
        right_to("transfer", LENT) | right_to("admin", LENT),
        with_lent_prefix,
        lambda s: [SHORT[OTHER], "--prefix", s.prefix, "--from", "ours"],
    ),
    "retarget": Command(
        "retarget",
        right_to("edit"),
        with_active,
        lambda s: ["--from", URL, "--to", ELSEWHERE, "--under", s.name, "--yes"],
    ),
    "bulk withdraw": Command(
        "bulk withdraw", right_to("withdraw"), with_active, lambda _: ["-", *WHY, "--yes"], lambda s: s.name
    ),
    "bulk transfer": Command(
        "bulk transfer", right_to("transfer"), with_active, lambda _: [SHORT[OTHER], "-", "--yes"], lambda s: s.name
    ),
    "bulk undo": Command(
        "bulk undo", right_to("withdraw") | right_to("admin"), with_bulk_withdrawal, lambda s: [s.other, "--yes"]
    ),
    "import": import_command(right_to("import"), without_identifier, lambda s: entry(name=s.name, target=URL), *NDJSON),
    "import --update": import_command(
        right_to("import") | right_to("edit"),
        with_active,
        lambda s: entry(name=s.name, target=ELSEWHERE),
        *NDJSON,
        "--update",
    ),
    "import of an owner": import_command(
        right_to("import") | right_to("edit") | right_to("transfer"),
        with_active,
        lambda s: entry(name=s.name, owners=[MARIA]),
        *NDJSON,
        "--update",
    ),
    "import of a batch that modifies": import_command(
        right_to("import") | right_to("edit"),
        with_active,
        lambda s: f"MODIFY {s.name}\n1 URL 86400 1110 UTF8 {ELSEWHERE}\n",
        *BATCH,
    ),
    "import of a batch that deletes": import_command(
        right_to("import") | right_to("withdraw"), with_active, lambda s: f"DELETE {s.name}\n", *BATCH
    ),
}
PEOPLE: dict[str, Command] = {
    "prefix add": Command(
        "prefix add", right_to("admin", WHOLE_REGISTRY), without_identifier, lambda s: [f"20.800.{s.number}"]
    ),
    "prefix derive": Command(
        "prefix derive", right_to("derive"), without_identifier, lambda s: [f"{OURS}.c{s.number}"]
    ),
    "prefix change": Command(
        "prefix change", right_to("admin"), without_identifier, lambda s: [OURS, "--policy", f"Kept {s.number}."]
    ),
    "pool add": Command(
        "pool add",
        right_to("admin", WHOLE_REGISTRY),
        with_pool,
        lambda s: [f"new-{s.name}", s.prefix],
    ),
    "pool change": Command(
        "pool change", right_to("admin", WHOLE_REGISTRY), with_pool, lambda s: [s.name, "--policy", "hash"]
    ),
    "pool remove": Command("pool remove", right_to("admin", WHOLE_REGISTRY), with_pool, lambda s: [s.name]),
    "prefix reset": Command("prefix reset", right_to("admin"), without_identifier, lambda _: [OURS, *WHY]),
    "agent add": Command(
        "agent add",
        right_to("admin", WHOLE_REGISTRY),
        without_identifier,
        lambda s: [f"b{s.number}", "--name", "Somebody"],
    ),
    "agent key": Command("agent key", right_to("admin", WHOLE_REGISTRY), with_agent, lambda s: [s.agent]),
    "agent key --revoke": Command(
        "agent key", right_to("admin", WHOLE_REGISTRY), with_agent, lambda s: [s.agent, "--revoke", s.key]
    ),
    "agent rename": Command(
        "agent rename", right_to("admin", WHOLE_REGISTRY), with_agent, lambda s: [s.agent, "--name", "Nobody"]
    ),
    "agent retire": Command("agent retire", right_to("admin", WHOLE_REGISTRY), with_agent, lambda s: [s.agent, *WHY]),
    "agent reinstate": Command(
        "agent reinstate", right_to("admin", WHOLE_REGISTRY), with_retired_agent, lambda s: [s.agent]
    ),
    "agent quota": Command(
        "agent quota", right_to("admin", WHOLE_REGISTRY), with_agent, lambda s: [s.agent, "--limit", "1GB"]
    ),
    "agent grant": Command("agent grant", right_to("admin"), with_agent, lambda s: [s.agent, OURS, "edit"]),
    "agent grant of everything": Command(
        "agent grant", right_to("admin", WHOLE_REGISTRY), with_agent, lambda s: [s.agent, "*", "edit"]
    ),
    "agent revoke": Command("agent revoke", right_to("admin"), with_agent, lambda s: [s.agent, OURS]),
    "agent revoke of everything": Command(
        "agent revoke", right_to("admin", WHOLE_REGISTRY), with_agent, lambda s: [s.agent, "*"]
    ),
    "peer add": Command(
        "peer add",
        right_to("admin", WHOLE_REGISTRY),
        without_identifier,
        lambda s: [f"https://q{s.number}.example.org", "--plain", "--prefix", "10"],
    ),
    "peer add of one that answers": Command(
        "peer add",
        right_to("admin", WHOLE_REGISTRY),
        without_identifier,
        lambda s: [f"{s.served_registry.answering_url}/k{s.number}", "--private", "--name", f"n{s.number}"],
    ),
    "peer change": Command(
        "peer change", right_to("admin", WHOLE_REGISTRY), with_plain_peer, lambda s: [s.other, "--add-prefix", "ppid"]
    ),
    "peer change of the key": Command(
        "peer change",
        right_to("admin", WHOLE_REGISTRY),
        with_answering_peer,
        lambda s: [s.other, "--accept-key", "--add-prefix", "ppid"],
    ),
    "peer remove": Command("peer remove", right_to("admin", WHOLE_REGISTRY), with_plain_peer, lambda s: [s.other]),
    "peer check": Command("peer check", right_to("admin", WHOLE_REGISTRY), with_answering_peer, lambda s: [s.other]),
    "peer import": Command(
        "peer import",
        right_to("admin", WHOLE_REGISTRY),
        without_identifier,
        lambda _: ["-"],
        lambda s: f"prefix,url\n10,https://i{s.number}.example.org\n",
    ),
    "peer identity": Command(
        "peer identity", right_to("admin", WHOLE_REGISTRY), without_identifier, lambda _: ["--new-key"]
    ),
    "handle-user add": Command(
        "handle-user add",
        right_to("mint") | right_to("admin"),
        without_identifier,
        lambda s: [f"300:{s.name}", "--password-stdin"],
        lambda s: f"password {s.number}",
    ),
    "handle-user add with another password": Command(
        "handle-user add",
        right_to("admin"),
        with_handle_user,
        lambda s: [f"300:{s.name}", "--password-stdin"],
        lambda s: f"password {s.number}",
    ),
    "handle-user remove": Command(
        "handle-user remove", right_to("admin"), with_handle_user, lambda s: [f"300:{s.name}"]
    ),
}
PERSONS: dict[str, Command] = {
    "mint POID": Command(
        "mint",
        right_to("mint", POID),
        without_identifier,
        lambda s: [POID, "--source", observation_options(s), "--at", WHEN, "--hash", HASH],
    ),
    "mint PRID": Command(
        "mint", right_to("mint", PRID), with_observation, lambda s: [PRID, "--observation", s.name, *CURATED]
    ),
    "set": Command("set", right_to("edit", PRID), with_person, lambda s: [s.name, "--observation", s.one, *CURATED]),
    "observe": Command(
        "person observe",
        right_to("mint", POID),
        without_identifier,
        lambda s: [observation_options(s), "--at", WHEN, "--hash", HASH, "--claim", "name=Jan"],
    ),
    "import": Command(
        "person import",
        right_to("mint", POID),
        without_identifier,
        lambda _: ["-", *NDJSON],
        lambda s: entry(source_url=observation_options(s), retrieval_timestamp=WHEN, content_hash=HASH),
    ),
    "import of a table": Command(
        "person import",
        right_to("mint", POID),
        without_identifier,
        lambda s: ["-", "--format", "csv", "--set", f"retrieval_timestamp={WHEN}"],
        lambda s: f"source_url,name\n{observation_options(s)},Jan\n",
    ),
    "reconstruct": Command(
        "person reconstruct", right_to("mint", PRID), with_observation, lambda s: ["--observation", s.name, *CURATED]
    ),
    "revise": Command(
        "person revise", right_to("edit", PRID), with_person, lambda s: [s.name, "--notes", "a second look"]
    ),
    "revise its links": Command(
        "person revise", right_to("edit", PRID), with_person, lambda s: [s.name, "--link", "close:viaf:64205559"]
    ),
    "merge": Command(
        "person merge",
        right_to("withdraw", PRID) | right_to("edit", PRID),
        with_person,
        lambda s: [s.name, "--into", s.other, *CURATED, *WHY],
    ),
    "split": Command(
        "person split",
        right_to("withdraw", PRID) | right_to("mint", PRID),
        with_person,
        lambda s: [s.name, "--part", s.one, "--part", s.two, *CURATED, *WHY],
    ),
    "undo a merge": Command(
        "person undo",
        right_to("withdraw", PRID) | right_to("edit", PRID),
        with_merged_person,
        lambda s: [s.name, *CURATED, *WHY],
    ),
    "undo a split": Command("person undo", right_to("withdraw", PRID), with_split_person, lambda s: [s.name, *WHY]),
    "add a link": Command(
        "person revise", right_to("edit", PRID), with_person, lambda s: [s.name, "--add-link", "close:viaf:64205559"]
    ),
    "restrict with the observations": Command(
        "person restrict",
        right_to("withdraw", PRID) | right_to("withdraw", POID),
        with_person,
        lambda s: [s.name, *WHY, "--with-observations"],
    ),
    "restrict": Command("person restrict", right_to("withdraw", PRID), with_person, lambda s: [s.name, *WHY]),
    "restrict an observation": Command(
        "person restrict", right_to("withdraw", POID), with_observation, lambda s: [s.name, *WHY]
    ),
    "lift": Command("person lift", right_to("withdraw", PRID), with_restricted_person, lambda s: [s.name, *WHY]),
    "lift from an observation": Command(
        "person lift", right_to("withdraw", POID), with_restricted_observation, lambda s: [s.name, *WHY]
    ),
    "redact": Command("person redact", right_to("admin", PRID), with_person, lambda s: [s.name, *WHY, "--for-good"]),
    "redact an observation": Command(
        "person redact", right_to("admin", POID), with_observation, lambda s: [s.name, *WHY, "--for-good"]
    ),
}
COLLECTIONS: dict[str, Command] = {
    "create": Command(
        "collection create",
        right_to("admin", WHOLE_REGISTRY),
        with_subsystem,
        lambda s: [f"e{s.number}", "--path", f"{s.other}.items", "--url", f"{URL}e{s.number}"],
    ),
    "change": Command(
        "collection change",
        right_to("admin", WHOLE_REGISTRY),
        with_item,
        lambda s: [s.one, "--url", f"{ELSEWHERE}/{s.number}"],
    ),
    "put a new item": Command(
        "collection put",
        right_to("mint", LENT) | right_to("edit", LENT),
        with_subsystem,
        lambda s: [s.one, s.other, "--subsystem", s.prefix],
    ),
    "put a new version": Command(
        "collection put", right_to("edit", LENT), with_item, lambda s: [s.one, s.other, "--label", s.name]
    ),
    "copy": Command("collection copy", right_to("edit", LENT), with_item, lambda s: [s.name, s.one, s.two]),
    "migrate": Command("collection migrate", right_to("edit", LENT), with_item, lambda s: [s.name, s.one, s.two]),
    "migrate --all": Command(
        "collection migrate", right_to("edit", LENT), with_item, lambda s: ["--all", s.one, s.two]
    ),
    "migrate --remove-source": Command(
        "collection migrate",
        right_to("edit", LENT) | right_to("withdraw", LENT),
        with_item,
        lambda s: [s.name, s.one, s.two, "--remove-source"],
    ),
    "install": Command(
        "collection install",
        right_to("edit", LENT),
        with_item,
        lambda s: [s.name, s.two, "--from", f"{s.served_registry.server.url}/items/{s.one}"],
    ),
    "remove": Command("collection remove", right_to("withdraw", LENT), with_copied_item, lambda s: [s.name, s.two]),
    "remove the last": Command(
        "collection remove",
        right_to("withdraw", LENT) | right_to("admin", LENT),
        with_item,
        lambda s: [s.name, s.one, "--last", *WHY],
    ),
    "verify": Command("collection verify", right_to("admin", WHOLE_REGISTRY), with_item, lambda s: [s.one]),
    "verify --rolling": Command(
        "collection verify", right_to("admin", WHOLE_REGISTRY), with_item, lambda s: [s.one, "--rolling", "1d"]
    ),
}
# They show what there is, or work without a registry.
READS: dict[str, Callable[[Stage], list[str]]] = {
    "show": lambda s: [s.name],
    "resolve": lambda s: [with_active(s.served_registry).name],
    "history": lambda s: [s.name],
    "diff": lambda s: [s.name, "1", "2"],
    "search": lambda _: ["vries"],
    "list": lambda _: ["--under", OURS],
    "bulk list": lambda _: [],
    "bulk show": lambda s: [with_bulk_withdrawal(s.served_registry).other],
    "log": lambda _: [],
    "export": lambda _: ["-"],
    "verify": lambda _: [],
    "stats": lambda _: [],
    "collection list": lambda _: [],
    "collection show": lambda s: [with_item(s.served_registry).name],
    "collection export": lambda s: [(item := with_item(s.served_registry)).one, "--portable", f"{item.other}.medium"],
    "collection get": lambda s: [(item := with_item(s.served_registry)).name, "--to", f"{item.other}.copy"],
    "person show": lambda s: [s.name],
    "person history": lambda s: [s.name],
    "person find": lambda _: ["vries"],
    "person export": lambda _: ["--format", "ndjson"],
    "pool list": lambda _: [],
    "pool show": lambda s: [with_pool(s.served_registry).name],
    "prefix list": lambda _: [],
    "prefix show": lambda _: [OURS],
    "agent list": lambda _: ["--keys"],
    "peer list": lambda _: [],
    "peer show": lambda s: [with_answering_peer(s.served_registry).other],
    "peer export": lambda _: ["-"],
    "handle-user list": lambda _: [],
}
NEED_NO_REGISTRY = {
    "explain",
    "check",
    "ibi simulate",
    "generate pilin",
    "generate ibi",
    "generate poid",
    "generate prid",
    "tour",
}
# They create, maintain or move the files themselves, for operators who can read and write those (docs/people.md).
OF_FILES = {"init", "serve", "backup", "restore", "recover", "move", "migrate", "compact", "agent recover"}
