"""The command: every subcommand that writes, with the keys of every actor."""

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from tests.authorization.actors import (
    ANONYMOUS,
    DONE,
    ENDED,
    GRANTS_HELD,
    REFUSED,
    REGISTRY_ADMIN,
    SHORT,
    UNKNOWN,
    Caller,
    by_grant,
)
from tests.authorization.attempts import NO_GRANT, try_all
from tests.authorization.command_writes import (
    COLLECTIONS,
    IDENTIFIERS,
    NEED_NO_REGISTRY,
    OF_FILES,
    PEOPLE,
    PERSONS,
    READS,
    Command,
)
from tests.authorization.preparation import Stage, with_restricted_person, without_identifier
from tests.authorization.served_registry import ServedRegistry
from tests.cli.conftest import COMMAND, Run

COMMANDS: dict[str, Command] = {
    **IDENTIFIERS,
    **PEOPLE,
    **{f"person: {name}": row for name, row in PERSONS.items()},
    **{f"collection: {name}": row for name, row in COLLECTIONS.items()},
}


@pytest.mark.parametrize("command", COMMANDS)
def test_only_permitted_actors_succeed(served_registry: ServedRegistry, command: str, quick: Run) -> None:
    """The key is taken from the environment."""
    row = COMMANDS[command]

    def attempt(caller: Caller, stage: Stage) -> str:
        given = [*row.command.split(), *row.arguments(stage)]
        return outcome_of_command(run(quick, served_registry, caller.actor, given, row.stdin(stage)))

    try_all(served_registry, row.prepare, by_grant(row.needs), attempt)


def test_every_agent_can_make_its_own_keys(served_registry: ServedRegistry, quick: Run) -> None:
    """An agent whose grants have all expired cannot: its keys end with the last of them."""

    def attempt(caller: Caller, _: Stage) -> str:
        return outcome_of_command(
            run(quick, served_registry, caller.actor, ["agent", "key", SHORT.get(caller.actor, "ours")])
        )

    try_all(served_registry, without_identifier, by_grant(None, also=frozenset(GRANTS_HELD) - {ENDED}), attempt)


@pytest.mark.parametrize("command", READS)
def test_commands_that_show_something_change_nothing(served_registry: ServedRegistry, command: str, quick: Run) -> None:
    """This holds even with the key of an administrator."""
    given = [*command.split(), *READS[command](with_restricted_person(served_registry))]
    before = served_registry.watch.state()
    done = run(quick, served_registry, REGISTRY_ADMIN, given)
    assert done.returncode == 0, done.stderr
    assert served_registry.watch.state() == before


def test_every_command_that_writes_is_tried() -> None:
    """A new command needs a row in one of the tables, unless it writes nothing, or the files themselves."""
    tried, others = {row.command for row in COMMANDS.values()}, READS.keys() | NEED_NO_REGISTRY | OF_FILES
    assert tried & others == set()
    assert tried | others == set(commands(COMMAND))


def commands(tree: Any, *path: str) -> Iterator[str]:
    if not hasattr(tree, "commands"):
        yield " ".join(path)
        return
    for name, below in tree.commands.items():
        yield from commands(below, *path, name)


def run(
    quick: Run, served_registry: ServedRegistry, actor: str, given: list[str], stdin: str = ""
) -> "subprocess.CompletedProcess[str]":
    shown = {"PERDURE_KEY": "" if actor == ANONYMOUS else served_registry.keys[actor]}
    return quick(*given, "--registry", str(served_registry.server.folder), stdin=stdin, env=shown)


def outcome_of_command(done: "subprocess.CompletedProcess[str]") -> str:
    if done.returncode == 0:
        return DONE
    if done.returncode in (1, 2) and NO_GRANT in done.stderr:
        return REFUSED
    return UNKNOWN if "the key was not accepted" in done.stderr else f"exit {done.returncode}: {done.stderr}"
