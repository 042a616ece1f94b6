"""Documentation that is not tested is not true for long."""

import doctest
import importlib.util
import re
import secrets
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from perdure.cli.app import app
from tests.postgres.shared import database, need_postgres

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.joinpath("docs").rglob("*.md")])
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def sessions(page: Path) -> list[tuple[str, str]]:
    """The shell sessions of a page, in order: each command, and what it prints."""
    found = []
    for block in CONSOLE.findall(page.read_text("utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed))
    return found


def without_line_ends(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def pattern_of(printed: str) -> str:
    """What is printed, as a pattern: … stands for whatever changes from one day to the next."""
    return ".*?".join(re.escape(piece) for piece in without_line_ends(printed).split("…"))


@pytest.mark.parametrize("page", [page for page in PAGES if sessions(page)], ids=lambda page: page.name)
def test_what_the_documentation_shows_is_what_is_printed(page: Path, tmp_path: Path) -> None:
    """The commands of a page are run one after the other in one empty folder."""
    command_file = tmp_path / "bin" / "perdure"
    command_file.parent.mkdir()
    command_file.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m perdure "$@"\n')
    command_file.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    databases = {}
    if "$DATABASE" in page.read_text("utf-8"):
        need_postgres()
        schemas = [f"docs_{secrets.token_hex(6)}" for _ in range(2)]
        databases = dict(zip(("DATABASE", "OTHER_DATABASE"), map(database().address, schemas), strict=True))
    for command, printed in sessions(page):
        done = subprocess.run(
            ["sh", "-c", command],
            capture_output=True,
            encoding="utf-8",
            env={"PYTHONUTF8": "1", "PATH": f"{command_file.parent}:/usr/bin:/bin"} | databases,
            cwd=folder,
            check=False,
        )
        if page.name != "keeping.md":  # where warnings are part of the story
            assert done.stderr == "", command
        shown = without_line_ends(done.stdout)
        assert re.fullmatch(pattern_of(printed), shown, re.DOTALL), f"$ {command}\n{shown}"
    for address in databases.values():
        database().drop(address.rpartition("=")[2])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page: Path) -> None:
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_the_examples_are_found() -> None:
    assert sum(len(sessions(page)) for page in PAGES) >= 40
    assert sum(">>>" in page.read_text("utf-8") for page in PAGES) >= 4


def test_the_site_builds_strictly(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert tmp_path.joinpath("decisions", "recognising", "index.html").exists()


def load_generator() -> object:
    spec = importlib.util.spec_from_file_location("command_reference", ROOT / "docs" / "command_reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_reference_is_current() -> None:
    written = ROOT.joinpath("docs", "commands.md").read_text("utf-8")
    assert written.rstrip() == load_generator().reference().rstrip(), "run: make docs-reference"  # type: ignore[attr-defined]


def commands(group: typer.core.TyperGroup, path: str = "") -> list[str]:
    found = []
    for name, command in group.commands.items():
        found.append(f"{path}{name}")
        if isinstance(command, typer.core.TyperGroup):
            found += commands(command, f"{path}{name} ")
    return found


def test_every_command_is_documented() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    assert sorted(commands(group)) == sorted(name for name in load_generator().COMMANDS if name)  # type: ignore[attr-defined]


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    index = folder.joinpath("index.md").read_text("utf-8")
    for page in folder.glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index


@pytest.mark.skipif(not ROOT.joinpath(".git").exists(), reason="this is no clone, so nothing is tracked")
def test_nothing_leads_to_a_machine_of_ours() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout.split()
    for name in tracked:
        text = ROOT.joinpath(name).read_text("utf-8")
        assert not re.search(rf"(?<![\w.-]){re.escape(str(ROOT))}/", text), name
        assert "pythonhosted" + ".org" not in text, name
