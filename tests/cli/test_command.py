"""Tests of the command as a whole: help, exit codes, closed streams, completion."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import COMMAND, Run

import perdure
from perdure.cli.command_name import program_call

# The reference is generated from the help of the commands; tests/test_docs.py checks that it is current.
REFERENCE = Path(__file__).parents[2].joinpath("docs", "reference", "commands.md").read_text("utf-8")
HELP = dict(re.findall(r"^## `perdure ?(.*?)`\n\n```text\n(.*?)^```", REFERENCE, re.MULTILINE | re.DOTALL))


def test_help_teaches_with_groups_and_examples() -> None:
    for group in ("Start here", "Mint", "Find", "Permissions", "Import, export", "Work without a registry"):
        assert group in HELP[""]
    for example in ("perdure init", "perdure mint", "perdure explain", "perdure check", "perdure tour"):
        assert example in HELP[""]


@pytest.mark.parametrize("command", [command for command in HELP if command])
def test_every_command_has_an_example(command: str) -> None:
    assert "Example" in HELP[command]
    assert f"perdure {command}" in " ".join(HELP[command].partition("Example")[2].split())


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_streams_do_not_crash(closed: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m perdure explain --json 10.1000/182 {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_closed_input_is_reported() -> None:
    for command in ("explain", "check -"):
        shell = f"{shlex.quote(sys.executable)} -m perdure {command} <&-"
        done = subprocess.run(["sh", "-c", shell], capture_output=True, check=False)
        assert done.returncode == 2
        assert b"standard input is closed" in done.stderr


def test_characters_that_the_terminal_cannot_show_are_escaped(run: Run) -> None:
    done = run("explain", "10.1000/a\u2013b", env={"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "\\u2013" in done.stdout


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"perdure {perdure.__version__}\n"


def test_a_wrong_command_is_exit_code_2(run: Run) -> None:
    done = run("frobnicate")
    assert done.returncode == 2
    assert "frobnicate" in done.stderr


@pytest.mark.parametrize(
    ("words", "index", "completions"),
    [
        ("perdure re", 1, ["recover", "redact", "reinstate", "remove-value", "resolve", "restore", "retarget"]),
        (
            "perdure agent ",
            2,
            ["add", "grant", "key", "list", "quota", "recover", "reinstate", "rename", "retire", "revoke"],
        ),
        ("perdure ex", 1, ["explain", "export"]),
        ("perdure generate p", 2, ["pilin", "poid", "prid"]),
        ("perdure check --s", 2, ["--scheme", "--show"]),
        ("perdure check --scheme o", 3, ["orcid"]),
    ],
)
def test_the_shell_completes(run: Run, words: str, index: int, completions: list[str]) -> None:
    env = {"_PERDURE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(index)}
    assert sorted(run(env=env).stdout.split()) == completions


@pytest.mark.parametrize("command", list(HELP))
def test_help_shows_no_types(command: str) -> None:
    assert not re.search(r"(?<!\\g)<[a-z\[\]|]+>", HELP[command])  # a reference to a group of a regex is no type


def _commands(group: Any) -> Iterator[Any]:
    for command in group.commands.values():
        yield command
        if hasattr(command, "commands"):
            yield from _commands(command)


def test_every_option_with_a_value_names_the_value() -> None:
    for command in _commands(COMMAND):
        for option in command.params:
            if option.param_type_name == "option" and not option.is_flag:
                assert option.metavar, f"{command.name} {option.name}"


def test_a_command_to_copy_calls_this_program() -> None:
    done = subprocess.run(["sh", "-c", f"{program_call()} --version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"perdure {perdure.__version__}\n"
