"""The command with `--server`: the same output, exit codes and permissions as beside the registry."""

import re
import subprocess
from functools import partial
from http.client import HTTPConnection

import pytest
from tests.authorization.actors import ANONYMOUS, DONE, OTHER, OURS, REGISTRY_ADMIN
from tests.authorization.api_writes import RECORD
from tests.authorization.command_writes import COLLECTIONS, IDENTIFIERS, PEOPLE, PERSONS, READS, Command
from tests.authorization.preparation import (
    Stage,
    with_active,
    with_observation,
    with_person,
    with_restricted_person,
    without_identifier,
)
from tests.authorization.served_registry import ServedRegistry
from tests.authorization.test_command import commands, outcome_of_command
from tests.authorization.test_command import run as run_locally
from tests.cli.conftest import COMMAND, Run

from perdure.cli.remote import api_client
from perdure.cli.remote.commands import LOCAL_ONLY, REMOTE, WITHOUT_REGISTRY

ROWS: dict[str, Command] = {
    name: row
    for name, row in {**IDENTIFIERS, **PEOPLE, **{f"person: {name}": row for name, row in PERSONS.items()}}.items()
    if row.command in REMOTE
}
# The API has no such operation: the text of the error is tested below.
WITHOUT_OPERATION = {
    "transfer --prefix",
    "import of a batch that modifies",
    "import of a batch that deletes",
}
# `stats`: its counts are of a moment. Items: a server does not show when it checked them (tests/cli).
COMPARED_ELSEWHERE = {"stats", "collection list", "collection show", "collection get", "collection put"}
PUTS = {name: row for name, row in COLLECTIONS.items() if row.command == "collection put"}
QUERIES = {name: options for name, options in READS.items() if name in REMOTE and name not in COMPARED_ELSEWHERE}
NEED_A_KEY = {"agent list", "peer list", "peer show", "peer export", "export", "list", "bulk list", "bulk show"}
VERSION = re.compile(r"version (\d+)")  # of the record of a prefix, which many tests change


@pytest.fixture(autouse=True)
def another_loopback_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connect from 127.0.0.2: the server takes 127.0.0.1 for a proxy, whose clients are on other machines."""
    monkeypatch.setattr(api_client, "HTTPConnection", partial(HTTPConnection, source_address=("127.0.0.2", 0)))


def test_every_command_is_remote_or_says_that_it_is_not() -> None:
    known = [*REMOTE, *LOCAL_ONLY, *WITHOUT_REGISTRY]
    assert sorted(known) == sorted(commands(COMMAND))


def test_every_remote_command_is_compared() -> None:
    assert {row.command for row in ROWS.values()} | QUERIES.keys() | COMPARED_ELSEWHERE == REMOTE


@pytest.mark.parametrize("name", [name for name in ROWS if name not in WITHOUT_OPERATION])
def test_a_remote_change_is_like_a_local_one(served_registry: ServedRegistry, name: str, quick: Run) -> None:
    row = ROWS[name]
    here, there = row.prepare(served_registry), row.prepare(served_registry)
    local = run_locally(quick, served_registry, REGISTRY_ADMIN, arguments(row, here), row.stdin(here))
    remote = run_remotely(quick, served_registry, REGISTRY_ADMIN, arguments(row, there), row.stdin(there))
    assert local.returncode == 0, local.stderr
    assert describe(remote, there) == describe(local, here)


@pytest.mark.parametrize("name", [name for name in [*ROWS, *PUTS] if name not in WITHOUT_OPERATION])
def test_a_remote_change_needs_the_same_permission(served_registry: ServedRegistry, name: str, quick: Run) -> None:
    row = PUTS[name] if name in PUTS else ROWS[name]
    stage = row.prepare(served_registry)
    served_registry.client.get(
        "/.well-known/perdure/server"
    )  # the server makes its key for signatures when it needs it
    before = served_registry.watch.state()
    local = run_locally(quick, served_registry, OTHER, arguments(row, stage), row.stdin(stage))
    remote = run_remotely(quick, served_registry, OTHER, arguments(row, stage), row.stdin(stage))
    assert outcome_of_command(remote) == outcome_of_command(local) != DONE
    assert served_registry.watch.state() == before


@pytest.mark.parametrize("json", [False, True])
@pytest.mark.parametrize("command", QUERIES)
@pytest.mark.parametrize("actor", [REGISTRY_ADMIN, ANONYMOUS])
def test_a_remote_query_shows_the_same(
    served_registry: ServedRegistry, command: str, actor: str, json: bool, quick: Run
) -> None:
    if actor == ANONYMOUS and command in NEED_A_KEY:
        return
    stage = with_restricted_person(served_registry)
    given = [
        *command.split(),
        *QUERIES[command](stage),
        *(["--json"] if json and command not in ("export", "peer export") else []),
    ]
    local = run_locally(quick, served_registry, actor, given)
    remote = run_remotely(quick, served_registry, actor, given)
    assert local.returncode == 0, local.stderr
    if command == "prefix show":  # the API does not show the date of the newest name
        local.stdout = re.sub(r'(?m)^last .*\n|, "last": "[^"]*"', "", local.stdout)
    # Without a key, a local command says so and shows public data; a server shows them without a word.
    errors = re.sub("perdure: the key was not accepted: .*; showing only public data\n", "", local.stderr)
    assert (remote.returncode, remote.stdout, remote.stderr) == (0, local.stdout, errors)


@pytest.mark.parametrize("name", ["reserved", "active", "person", "observation"])
def test_a_record_and_its_history_look_the_same(served_registry: ServedRegistry, name: str, quick: Run) -> None:
    stage = {
        "reserved": without_identifier,
        "active": with_active,
        "person": with_person,
        "observation": with_observation,
    }[name](served_registry)
    if name == "active":
        for number in range(25):  # more than a page of records
            url = f"https://example.org/{number}"
            changed = run_locally(quick, served_registry, REGISTRY_ADMIN, ["set", stage.name, url])
            assert changed.returncode == 0, changed.stderr
    for command in ("show", "history", "person show", "person history"):
        for options in ([], ["--json"]):
            given = [*command.split(), stage.name, *options]
            local = run_locally(quick, served_registry, REGISTRY_ADMIN, given)
            remote = run_remotely(quick, served_registry, REGISTRY_ADMIN, given)
            assert result(remote) == result(local), given


WRONG = [
    ["show", f"{OURS}/none"],
    ["show", "99.99/none"],
    ["resolve", "nothing"],
    ["history", f"{OURS}/none"],
    ["mint", "99.99"],
    ["mint", OURS, "--count", "0"],
    ["mint", OURS, "not a url", "--suffix", "x"],
    ["set", f"{OURS}/none", "https://example.org/"],
    ["transfer", "nobody", f"{OURS}/none"],
    ["search", "ab*"],
    ["search", "nothing-has-this-word"],
    ["search", "x", "--limit", "0"],
    ["prefix", "show", "99.99"],
    ["prefix", "add", OURS],
    ["prefix", "derive", "77.1"],
    ["person", "show", "PRID-0000-0000-0000-0000"],
    ["person", "show", f"{OURS}/none"],
    ["person", "find", "--link", "viaf:x"],
    ["person", "find", "--link", "nowhere:1"],
    ["stats", f"{OURS}/none"],
    ["stats", OURS, "--since", "yesterday"],
    ["stats", OURS],
]


@pytest.mark.parametrize("given", WRONG, ids=" ".join)
def test_errors_are_the_same(served_registry: ServedRegistry, given: list[str], quick: Run) -> None:
    local = run_locally(quick, served_registry, REGISTRY_ADMIN, given)
    remote = run_remotely(quick, served_registry, REGISTRY_ADMIN, given)
    assert result(remote) == result(local)


def test_a_lost_update_is_refused_with_the_same_words(served_registry: ServedRegistry, quick: Run) -> None:
    stage = with_active(served_registry)
    given = ["set", stage.name, "https://example.org/new", "--if-version", "7"]
    local = run_locally(quick, served_registry, REGISTRY_ADMIN, given)
    remote = run_remotely(quick, served_registry, REGISTRY_ADMIN, given)
    assert local.returncode == 2
    assert result(remote) == result(local)


@pytest.mark.parametrize("name", sorted(WITHOUT_OPERATION))
def test_what_the_api_cannot_do_says_so(served_registry: ServedRegistry, name: str, quick: Run) -> None:
    row = ROWS[name]
    stage = row.prepare(served_registry)
    before = served_registry.watch.state()
    remote = run_remotely(quick, served_registry, REGISTRY_ADMIN, arguments(row, stage), row.stdin(stage))
    assert remote.returncode in (1, 2)
    assert "machine of the registry only" in remote.stderr or "into a remote registry cannot" in remote.stderr
    assert served_registry.watch.state() == before


@pytest.mark.parametrize("command", sorted(LOCAL_ONLY))
def test_local_commands_say_where_they_work(served_registry: ServedRegistry, command: str, quick: Run) -> None:
    if command in ("serve", "move", "migrate"):  # before its arguments are complete
        return
    rows = [*IDENTIFIERS.values(), *PEOPLE.values(), *PERSONS.values(), *COLLECTIONS.values()]
    row = next((row for row in rows if row.command == command), None)
    stage = row.prepare(served_registry) if row in COLLECTIONS.values() else Stage(served_registry)
    options = row.arguments(stage) if row else []
    options = options or (READS[command](Stage(served_registry)) if command in READS else [])
    options = options or {"backup": ["x.db"], "restore": ["x.db"], "agent recover": ["admin", "--reason", "x"]}.get(
        command, []
    )
    remote = run_remotely(quick, served_registry, REGISTRY_ADMIN, [*command.split(), *options])
    assert remote.returncode == 2
    assert f"perdure {command} works on the machine of the registry only" in remote.stderr, remote.stderr


def arguments(row: Command, stage: Stage) -> list[str]:
    return [*row.command.split(), *row.arguments(stage)]


def run_remotely(
    quick: Run, served_registry: ServedRegistry, actor: str, given: list[str], stdin: str = ""
) -> "subprocess.CompletedProcess[str]":
    shown_key = {} if actor == ANONYMOUS else {"PERDURE_KEY": served_registry.keys[actor]}
    server = ["--server", served_registry.server.url, "--insecure-http"]
    return quick(*server, *given, stdin=stdin, env=shown_key)


def result(done: "subprocess.CompletedProcess[str]") -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr


def describe(done: "subprocess.CompletedProcess[str]", stage: Stage) -> tuple[int, str, str]:
    """Return what was printed, without what is different for each identifier."""
    return done.returncode, _generalise(done.stdout, stage), _generalise(done.stderr, stage)


def _generalise(text: str, stage: Stage) -> str:
    for name in (stage.name, stage.prefix, f"20.800.{stage.number}", f"{OURS}.c{stage.number}"):
        text = text.replace(name, "<name>") if name else text
    text = re.sub(rf"\b{stage.suffix or None}\b", "<suffix>", text)  # in the copy of a table
    text = re.sub(r"P[OR]ID(-\w{4}){4}", "<ppid>", text)
    text = re.sub(r"perdure_\w+|\b[0-9a-f]{12}\b", "<key>", text)
    text = re.sub(rf"\b(b{stage.number}|{stage.agent or None})\b|hdl:local-\w+/\w+", "<agent>", text)
    text = re.sub(r"/k\d+|\b[pqian]\d+(\.example\.org)?\b|([0-9a-f]{4} ){7}[0-9a-f]{4}", "<peer>", text)
    text = re.sub(r"bulk undo \w+", "bulk undo <id>", text)
    return text.replace(f"version {VERSION.findall(text)[0]}", "version 0") if RECORD in text else text
