"""Documentation that is not tested is not true for long."""

import doctest
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from perdure.cli.app import app
from tests.console_pages import PAGES, failures, matches, name_of, read_steps, update_page
from tests.postgres.shared_server import need_postgres

ROOT = Path(__file__).parents[1]
BINARY = {".png"}


@pytest.mark.parametrize("page", [page for page in PAGES if read_steps(page)], ids=name_of)
def test_the_documentation_shows_the_real_output(page: Path, tmp_path: Path) -> None:
    """All commands of a page run one after the other in one shell, as a reader pastes them."""
    if "$DATABASE" in page.read_text("utf-8"):
        need_postgres()
    if any("curl " in step.command for step in read_steps(page)) and not shutil.which("curl"):
        pytest.skip("not installed: curl")
    report = failures(page, tmp_path / "page")
    assert not report, f"{name_of(page)}, or run: python docs/update_outputs.py {name_of(page)}\n{report}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_examples_run(page: Path) -> None:
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_an_ellipsis_stands_for_any_text() -> None:
    assert matches("a … c", "a b\nb c")
    assert not matches("a … c", "a b")
    assert not matches("a", "a b")
    assert matches("a\n…\nb", "a\nb")
    assert matches("a\n…\nb", "a\nx\ny\nb")
    assert matches("", "")
    assert not matches("", "a")


def test_continued_commands_are_read_whole(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ cat <<E \\\n  | sort\n> b\n> a\n> E\na\nb\n$ cd /\n```\n\n```console\n$ pwd\n/\n```\n"
    )
    assert [step.script for step in read_steps(page)] == ["cat <<E \\\n  | sort\nb\na\nE", "cd /", "pwd"]
    assert failures(page, tmp_path / "run") == ""


def test_outputs_are_updated(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ echo same $$\nsame …\n$ printf 'a %s\\nnew\\n' $$\na …\nold\n$ echo $$; echo now\nold\n$ true\nold\n```\n"
    )
    assert update_page(page) == ["printf 'a %s\\nnew\\n' $$", "echo $$; echo now", "true"]
    assert page.read_text() == (
        "```console\n$ echo same $$\nsame …\n$ printf 'a %s\\nnew\\n' $$\na …\nnew\n$ echo $$; echo now\n…\nnow\n$ true\n```\n"
    )


def test_the_examples_are_found() -> None:
    assert sum(len(read_steps(page)) for page in PAGES) >= 40
    assert sum(">>>" in page.read_text("utf-8") for page in PAGES) >= 4


def test_the_copy_button_copies_the_commands(tmp_path: Path) -> None:
    block = "$ cat <<E \\\n  | sort\n> b\n>\n> E\nb\n$ pwd\n/\n"
    page = tmp_path / "page.md"
    page.write_text(f"```console\n{block}```\n")
    copied = load_generator("copy_button").list_commands(block)  # type: ignore[attr-defined]
    assert copied == "\n".join(step.script for step in read_steps(page)) == "cat <<E \\\n  | sort\nb\n\nE\npwd"


def test_the_site_builds_strictly(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert tmp_path.joinpath("decisions", "recognising", "index.html").exists()
    assert 'data-copy="perdure init archive' in tmp_path.joinpath("start", "tutorial", "index.html").read_text("utf-8")


def load_generator(name: str = "command_reference") -> object:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_reference_is_current() -> None:
    written = ROOT.joinpath("docs", "reference", "commands.md").read_text("utf-8")
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
def test_no_page_links_to_an_internal_machine() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout.split()
    for name in tracked:
        if Path(name).suffix in BINARY:
            continue
        text = ROOT.joinpath(name).read_text("utf-8")
        assert not re.search(rf"(?<![\w.-]){re.escape(str(ROOT))}/", text), name
        assert "pythonhosted" + ".org" not in text, name
