import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import perdure

# The reference is made from the commands' own help, and tests/test_docs.py holds it current.
REFERENCE = Path(__file__).parents[2].joinpath("docs", "commands.md").read_text("utf-8")
HELP = dict(re.findall(r"^## `perdure ?(.*?)`\n\n```text\n(.*?)^```", REFERENCE, re.MULTILINE | re.DOTALL))


def test_help_teaches_with_groups_and_examples() -> None:
    for group in ("Start here", "Mint", "Find", "Who may do what", "Move in and out", "Any identifier"):
        assert group in HELP[""]
    for example in ("perdure init", "perdure mint", "perdure explain", "perdure check", "perdure tour"):
        assert example in HELP[""]


@pytest.mark.parametrize("command", [command for command in HELP if command])
def test_every_command_has_an_example(command: str) -> None:
    assert "Example" in HELP[command]
    assert f"perdure {command}" in " ".join(HELP[command].partition("Example")[2].split())


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_streams_are_no_crash(closed: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m perdure explain --json 10.1000/182 {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_closed_input_is_said() -> None:
    for command in ("explain", "check -"):
        shell = f"{shlex.quote(sys.executable)} -m perdure {command} <&-"
        done = subprocess.run(["sh", "-c", shell], capture_output=True, check=False)
        assert done.returncode == 2
        assert b"standard input is closed" in done.stderr


def test_a_terminal_that_knows_few_characters_gets_escapes(run: Run) -> None:
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
    ("words", "index", "offered"),
    [
        ("perdure re", 1, ["recover", "redact", "reinstate", "remove-value", "resolve", "restore"]),
        ("perdure agent ", 2, ["add", "grant", "key", "list", "recover", "revoke"]),
        ("perdure ex", 1, ["explain", "export"]),
        ("perdure generate p", 2, ["pilin", "poid", "prid"]),
        ("perdure check --s", 2, ["--scheme", "--show"]),
        ("perdure check --scheme o", 3, ["orcid"]),
    ],
)
def test_the_shell_completes(run: Run, words: str, index: int, offered: list[str]) -> None:
    env = {"_PERDURE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(index)}
    assert sorted(run(env=env).stdout.split()) == offered
