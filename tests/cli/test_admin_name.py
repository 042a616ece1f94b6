"""The name of the administrator of a new registry: given, typed at a terminal, or that of the machine."""

import getpass
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Run
from tests.http.live_server import run_server

DEFAULT = f"Administrator of {socket.gethostname()}"
COMMAND = [sys.executable, "-m", "perdure"]


def administrator(quick: Run, folder: Path) -> str:
    return quick("agent", "list", "--registry", str(folder)).stdout.split("\t")[1]


def run_at_terminal(*arguments: str, typed: str) -> str:
    """Run a command at a pseudo-terminal, type an answer, and return all that it printed."""
    controller, terminal = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PERDURE_")}
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=terminal, stdout=terminal, stderr=terminal, env=environment, close_fds=True
    )
    os.close(terminal)
    os.write(controller, typed.encode())
    printed = b""
    while b"perdure agent rename" not in printed and b"agent list" not in printed:
        try:
            data = os.read(controller, 65_536)
        except OSError:  # the command has ended
            break
        if not data:
            break
        printed += data
    process.send_signal(signal.SIGINT)
    process.wait(60)
    os.close(controller)
    return re.sub(r"\s+", " ", printed.decode())


def test_without_a_terminal_the_name_is_that_of_the_machine(quick: Run, tmp_path: Path) -> None:
    done = quick("init", str(tmp_path / "archive"))
    assert done.returncode == 0, done.stderr
    assert administrator(quick, tmp_path / "archive") == DEFAULT
    assert "perdure agent rename admin --name" in done.stdout
    assert getpass.getuser() not in done.stdout.replace(str(tmp_path), "")


def test_a_given_name_is_used(quick: Run, tmp_path: Path) -> None:
    quick("init", str(tmp_path / "archive"), "--name", "City Archive")
    assert administrator(quick, tmp_path / "archive") == "City Archive"


def test_a_bad_name_creates_nothing(quick: Run, tmp_path: Path) -> None:
    done = quick("init", str(tmp_path / "archive"), "--name", "two\nlines")
    assert done.returncode != 0
    assert not (tmp_path / "archive").exists()


def test_at_a_terminal_the_operator_types_the_name(quick: Run, tmp_path: Path) -> None:
    run_at_terminal("init", str(tmp_path / "archive"), typed="\x01Jan de Vries\n Jan de Vries\n")
    assert administrator(quick, tmp_path / "archive").strip() == "Jan de Vries"


def test_an_empty_answer_takes_the_default(quick: Run, tmp_path: Path) -> None:
    printed = run_at_terminal("init", str(tmp_path / "archive"), typed="\n")
    assert DEFAULT in printed
    assert administrator(quick, tmp_path / "archive") == DEFAULT


def test_a_server_that_creates_a_registry_takes_the_name(quick: Run, tmp_path: Path) -> None:
    folder = tmp_path / "served"
    process = subprocess.Popen(
        [*COMMAND, "serve", "--registry", str(folder), "--port", "0", "--name", "City Archive"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    printed = ""
    while "admin key" not in printed:
        line = process.stdout.readline()
        assert line, printed
        printed += line
    process.terminate()
    process.communicate(timeout=60)
    assert "signed by   City Archive" in printed
    assert re.search(r"agent rename admin --name NAME --registry \S+", printed)
    assert administrator(quick, folder) == "City Archive"


def test_the_name_can_be_changed_later(quick: Run, tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    quick("init", str(folder))
    done = quick("agent", "rename", "admin", "--name", "City Archive", "--registry", str(folder))
    assert "is now called City Archive" in done.stdout
    done = quick("agent", "rename", "admin", "--name", "City Archive Ltd.", "--registry", str(folder))
    assert "is now called City Archive Ltd. Its" in done.stdout
    quick("agent", "rename", "admin", "--name", "City Archive", "--registry", str(folder))
    assert administrator(quick, folder) == "City Archive"
    with run_server(folder) as server, server.client() as client:
        me = client.get("/api/v1/agents/me").json()
        page = client.get(f"/{me['identifier'].removeprefix('hdl:')}?info", headers={"Accept": "text/html"}).text
        name = client.post("/api/v1/identifiers", json={"prefix": me["identifier"][4:].partition("/")[0]}).json()
        gone = f"/{name['identifiers'][0]['name']}"
        client.request("DELETE", f"/api/v1/identifiers{gone}", params={"reason": "x"}, headers={"If-Match": "*"})
        linked = client.get(gone, headers={"Accept": "text/turtle"})
    assert me["name"] == "City Archive"
    assert "City Archive" in page
    assert DEFAULT not in page
    assert "City Archive" in linked.text
    assert DEFAULT not in linked.text
