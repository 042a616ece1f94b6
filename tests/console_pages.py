"""The console blocks of documentation pages: read them, run a page in one shell, and update its output."""

import difflib
import os
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from tests.postgres.shared_server import database

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.joinpath("docs").rglob("*.md")])
SECONDS_PER_PAGE = 300
DOCUMENTED_PORT = "8080"  # pages use this port, as in `perdure serve --port 8080`; a run uses a free one instead
DOCUMENTED_HOME = "/home/maria"  # and this home folder; a run uses a temporary one

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
# A command begins with "$ ". It goes on in the next line after a backslash, and in lines that begin with ">".
_COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*(?:\n>(?: .*)?$)*)\n(?P<printed>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_WORD_ENDS = re.compile(r"""([\s/'",=()]+)""")


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a page, and the text that the page shows below it."""

    command: str
    printed: str
    span: tuple[int, int]  # of the printed text, in the page

    @property
    def script(self) -> str:
        """The command without the prompts of its continuation lines."""
        return re.sub(r"\n> ?", "\n", self.command)


def read_steps(page: Path) -> list[Step]:
    """Return the commands of all console blocks of a page, in order."""
    text = page.read_text("utf-8")
    steps = []
    for block in _BLOCK.finditer(text):
        for match in _COMMAND.finditer(block[1]):
            first, last = match.span("printed")
            steps.append(Step(match["command"], match["printed"], (block.start(1) + first, block.start(1) + last)))
    return steps


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def strip_line_ends(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def matches(shown: str, printed: str) -> bool:
    """Return whether a page shows the printed output.

    An ellipsis (…) in the page stands for any text. Alone in a line, it stands for any number of lines, or none.
    """
    pattern = ""
    for line in strip_line_ends(shown).splitlines():
        if line == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r"[\s\S]*?".join(re.escape(piece) for piece in line.split("…")) + r"\n"
    return re.fullmatch(pattern, strip_line_ends(printed) + "\n" if printed else "") is not None


def run_page(page: Path, folder: Path) -> list[str]:
    """Run all commands of a page one after the other in one shell, which starts in an empty folder.

    Return the output of each command: standard output and standard error together, as a terminal shows them.
    """
    steps = read_steps(page)
    folder = folder.resolve()
    programs = folder / "bin"
    programs.mkdir(parents=True)
    for name, arguments in (("perdure", "-m perdure"), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        program.chmod(0o755)
    home = folder / "home"
    home.mkdir()
    outputs = folder / "outputs"
    outputs.mkdir()
    port = _free_port()
    script = folder / "page.sh"
    with script.open("w", encoding="utf-8") as file:
        for number, step in enumerate(steps):
            command = step.script.replace(DOCUMENTED_PORT, port)
            file.write(f"eval {shlex.quote(command)} >{shlex.quote(str(outputs / str(number)))} 2>&1\n")
    with _databases(page) as databases:
        environment = {
            "PYTHONUTF8": "1",
            "LC_ALL": "C.UTF-8",
            "HOME": str(home),
            "PATH": f"{programs}:/usr/bin:/bin",
        } | databases
        _run_shell(script, home, environment)
    printed = []
    for number in range(len(steps)):
        output = outputs / str(number)
        text = output.read_text("utf-8") if output.exists() else "(this command did not run: the shell had ended)"
        text = text.replace(port, DOCUMENTED_PORT).replace(str(home), DOCUMENTED_HOME)
        printed.append(strip_line_ends(text))
    return printed


def failures(page: Path, folder: Path) -> str:
    """Run a page, and describe each command that printed something else than the page shows."""
    reports = []
    for step, printed in zip(read_steps(page), run_page(page, folder), strict=True):
        if not matches(step.printed, printed):
            reports.append(f"$ {step.command}\n--- printed:\n{printed}\n--- the page shows:\n{step.printed}")
    return "\n".join(reports)


def update_page(page: Path) -> list[str]:
    """Update the output that a page shows where it differs from the current output. Return the commands concerned.

    The page runs twice: words that differ from one run to the other become an ellipsis. So do words at the position of an
    ellipsis in the old text. Output that the old text still matches stays as it is.
    """
    runs = []
    for _ in range(2):
        folder = Path(tempfile.mkdtemp(prefix="perdure-docs-"))
        try:
            runs.append(run_page(page, folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    text = page.read_text("utf-8")
    changed = []
    for step, first, second in reversed(list(zip(read_steps(page), *runs, strict=True))):
        if matches(step.printed, first) and matches(step.printed, second):
            continue
        new = _keep_ellipses(step.printed, _hide_differences(first, second))
        start, end = step.span
        text = text[:start] + (new + "\n" if new else "") + text[end:]
        changed.append(step.command)
    if changed:
        page.write_text(text, "utf-8")
    return changed[::-1]


def _hide_differences(first: str, second: str) -> str:
    """Replace by an ellipsis each word that differs between two runs of one command, and the dates of today."""
    today = re.compile(rf"{datetime.now(timezone.utc):%Y-%m-%d}(T[\d:.]+Z)?")
    first, second = today.sub("…", first), today.sub("…", second)
    if len(first.splitlines()) != len(second.splitlines()):
        return first
    lines = []
    for line, other in zip(first.splitlines(), second.splitlines(), strict=True):
        words, others = _WORD_ENDS.split(line), _WORD_ENDS.split(other)
        if len(words) == len(others):
            line = "".join(map(_hide_difference, words, others))
            line = re.sub(r"…(/…)+", "…", line)
        lines.append(line)
    return "\n".join(lines)


def _hide_difference(word: str, other: str) -> str:
    """Replace the part of a word that differs by an ellipsis, as in perdure_…, or in before-….db."""
    if word == other:
        return word
    start = re.match(r".*[_-]|", os.path.commonprefix([word, other]))  # noqa: RUF071 - words, not paths
    end = re.search(r"\..*|$", os.path.commonprefix([word[::-1], other[::-1]])[::-1])  # noqa: RUF071
    assert start
    assert end
    return f"{start[0]}…{end[0]}"


def _keep_ellipses(old: str, new: str) -> str:
    """Keep the lines of an old text that still match, and the line "…" that stands for any number of lines."""
    before, after = strip_line_ends(old).splitlines(), new.splitlines()
    same = [next((o for o in before if "…" in o and o != "…" and matches(o, line)), line) for line in after]
    result = []
    for act, old_start, old_end, new_start, new_end in difflib.SequenceMatcher(None, before, same, False).get_opcodes():
        if act in ("delete", "replace") and before[old_start:old_end] == ["…"]:
            result.append("…")
        else:
            result += same[new_start:new_end]
    return "\n".join(result)


@contextmanager
def _databases(page: Path) -> Iterator[dict[str, str]]:
    """Provide two empty databases to a page that uses $DATABASE."""
    if "$DATABASE" not in page.read_text("utf-8"):
        yield {}
        return
    schemas = [f"docs_{secrets.token_hex(6)}" for _ in range(2)]
    try:
        yield dict(zip(("DATABASE", "OTHER_DATABASE"), map(database().address, schemas), strict=True))
    finally:
        for schema in schemas:
            database().drop(schema)


def _run_shell(script: Path, folder: Path, environment: dict[str, str]) -> None:
    """Run a script, and end all processes that it has left in the background."""
    shell = subprocess.Popen(
        ["bash", "--noprofile", "--norc", str(script)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        shell.wait(SECONDS_PER_PAGE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def _free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])
