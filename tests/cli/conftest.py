"""Fixtures that run the command, in a process of its own or in this one."""

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from typer.main import get_command

from perdure.cli.app import app, main

COMMAND = get_command(app)  # built once, because building it takes longer than most commands
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the command in a process of its own, as a user does."""

    def run(
        *arguments: str, stdin: str | bytes = "", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "perdure", *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=tmp_path,
            env={"PATH": "", "PYTHONUTF8": "1", "COLUMNS": "80", "TERM": "dumb", **(env or {})},
            timeout=120,
            check=False,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process, because starting a process takes longer than most commands."""

    def run(
        *arguments: str, stdin: str | bytes = "", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        code: object = 0
        with (
            monkeypatch.context() as now,
            tempfile.TemporaryFile() as file,
            io.TextIOWrapper(file, "utf-8") as standard_input,
            open(os.devnull, "w") as devnull,
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            file.write(stdin.encode() if isinstance(stdin, str) else stdin)
            file.seek(0)
            now.setattr(f"{main.__module__}.open", lambda *_: devnull, raising=False)  # otherwise it would stay open
            now.setattr(f"{main.__module__}.app", COMMAND)
            now.chdir(tmp_path)
            now.setattr(sys, "argv", ["perdure", *arguments])
            now.setattr(sys, "stdin", standard_input)
            for name in ("PERDURE_KEY", "PERDURE_REGISTRY", "PERDURE_SERVER"):
                now.delenv(name, raising=False)
            for name, value in ({"COLUMNS": "80", "TERM": "dumb"} | (env or {})).items():
                now.setenv(name, value)
            try:
                main()
            except SystemExit as end:
                code = end.code or 0
        output, errors = (stream.buffer.getvalue().decode() for stream in (out, err))
        assert isinstance(code, int)
        return subprocess.CompletedProcess(arguments, code, output, errors)

    return run
