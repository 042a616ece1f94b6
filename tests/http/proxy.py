"""nginx in front of a server, configured as the documentation says."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "authentication.md"
_PATIENCE = 20.0
_TRIES = 5


def nginx() -> str | None:
    """The program; it lies where the shells of ordinary users do not look."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin{os.pathsep}/usr/local/sbin")


def documented() -> str:
    """The configuration that the documentation shows."""
    found = re.findall(r"^```nginx\n(.*?)^```", DOCUMENTATION.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    return found[0]


def adapted(folder: Path, port: int, upstream: tuple[str, int], certificate: Path, key: Path) -> str:
    """The same, at another place: nothing is changed but addresses and files."""
    said = documented()
    for old, new in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("/etc/ssl/id.example.org.pem", str(certificate)),
        ("/etc/ssl/id.example.org.key", str(key)),
        ("http://127.0.0.1:8080;", f"http://{upstream[0]}:{upstream[1]};"),
    ):
        assert said.count(old) == 1, old
        said = said.replace(old, new)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{temporary}{said}}}\n"
    )


@contextmanager
def proxied(folder: Path, upstream: tuple[str, int], certificate: Path, key: Path) -> Iterator[str]:
    """Its address, for as long as it runs."""
    folder.mkdir(exist_ok=True)
    program = nginx()
    assert program is not None
    for _ in range(_TRIES):  # somebody else may take the port in between
        port = _free_port()
        file = folder / "nginx.conf"
        file.write_text(adapted(folder, port, upstream, certificate, key))
        process = subprocess.Popen(
            [program, "-p", str(folder), "-c", str(file), "-e", str(folder / "error.log")],
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        try:
            if _is_up(process, port):
                yield f"https://127.0.0.1:{port}"
                return
        finally:
            process.terminate()
            process.wait(_PATIENCE)
    raise AssertionError((folder / "error.log").read_text())


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _is_up(process: "subprocess.Popen[bytes]", port: int) -> bool:
    deadline = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.02)
    return False
