"""Tests of `make serve`: the options PORT and HOST, and the commands that it prints."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


@contextmanager
def make_serve(folder: Path, *variables: str) -> Iterator[str]:
    """Run `make serve` in a folder with the Makefile and a ready environment, and yield its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PERDURE_", "MAKE"))}
    process = subprocess.Popen(
        ["make", "-o", ".venv/run.stamp", "serve", *variables],
        cwd=folder,
        env={**environment, "HOST": "not.this.host", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        printed = ""
        while "/docs" not in printed:
            line = process.stdout.readline()
            assert line, printed
            printed += line
        yield printed
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)


def test_every_printed_command_works_as_printed_on_every_start(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    (tmp_path / ".venv").symlink_to(sys.prefix)
    for start in ("the first", "a later one"):
        with make_serve(tmp_path, "PORT=0") as printed:
            assert ("admin key" in printed) == (start == "the first")
            block = printed.partition("Commands to try")[2].partition("\n")[2].partition("API documentation")[0]
            script = re.sub(r"^  curl ", "  curl -s ", block, flags=re.MULTILINE)
            done = subprocess.run(
                ["sh", "-ec", script], cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            assert "location: https://example.org/" in done.stdout
            assert '"responseCode":1' in done.stdout


def test_host_and_port_come_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    call = ["make", "-n", "-o", ".venv/run.stamp", "serve"]
    for variables, options in (
        ([], "--host 127.0.0.1 --port 8080"),
        (["PORT=8123"], "--host 127.0.0.1 --port 8123"),
        (["PORT=8123", "HOST=0.0.0.0"], "--host 0.0.0.0 --port 8123\n"),
        (["NAME=Jan's $$(library)"], r"""--port 8080 --name 'Jan'\''s $(library)'"""),
    ):
        environment = {**os.environ, "HOST": "not.this.host", "NAME": "not this name"}
        done = subprocess.run(
            [*call, *variables], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        assert options in done.stdout
