"""Documentation that is not tested is not true for long."""

import doctest
import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from perdure.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.joinpath("docs").rglob("*.md")])
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def sessions() -> list[tuple[str, str, str]]:
    """Every shell session of the documentation: where, the command, what it prints."""
    found = []
    for page in PAGES:
        for block in CONSOLE.findall(page.read_text("utf-8")):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, printed = part.partition("\n")
                found.append((page.name, command, printed))
    return found


def without_line_ends(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


@pytest.mark.parametrize(
    ("page", "command", "printed"), sessions(), ids=[f"{page}: {command[:50]}" for page, command, _ in sessions()]
)
def test_what_the_documentation_shows_is_what_is_printed(page: str, command: str, printed: str) -> None:
    perdure = f"{shlex.quote(sys.executable)} -m perdure"
    shell = re.sub(r"(^|\| )perdure ", lambda match: f"{match[1]}{perdure} ", command)
    done = subprocess.run(
        ["sh", "-c", shell],
        capture_output=True,
        encoding="utf-8",
        env={"PYTHONUTF8": "1", "PATH": "/usr/bin:/bin"},
        check=False,
    )
    assert done.stderr == ""
    assert without_line_ends(done.stdout) == without_line_ends(printed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page: Path) -> None:
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_the_examples_are_found() -> None:
    assert len(sessions()) >= 8
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
