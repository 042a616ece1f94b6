"""Proxies in front of a server: nginx as the documentation describes it, and common setups of nginx and HAProxy."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_DOCUMENTATION = Path(__file__).parents[2] / "docs"
WITH_CERTIFICATES = _DOCUMENTATION / "reference" / "authentication.md"
USUAL = _DOCUMENTATION / "how-to" / "serve.md"
_PATIENCE = 20.0
_TRIES = 5


def nginx() -> str | None:
    """Return the path of the program, which may be outside the PATH of ordinary users."""
    return _program("nginx")


def haproxy() -> str | None:
    return _program("haproxy")


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin{os.pathsep}/usr/local/sbin")


def read_documentation(page: Path) -> str:
    """Return the configuration that a page of the documentation shows."""
    found = re.findall(r"^```nginx\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    return found[0]


def write_configuration(
    page: Path, folder: Path, port: int, upstream: tuple[str, int], certificate: Path, key: Path
) -> str:
    """Write the documented configuration with other addresses and files, and nothing else changed."""
    configuration = read_documentation(page).replace("listen 80;", f"listen unix:{folder}/http.socket;")
    for old, new in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("/etc/ssl/id.example.org.pem", str(certificate)),
        ("/etc/ssl/id.example.org.key", str(key)),
        ("http://127.0.0.1:8080;", f"http://{upstream[0]}:{upstream[1]};"),
    ):
        assert configuration.count(old) == 1, old
        configuration = configuration.replace(old, new)
    return _nginx_file(folder, configuration)


def _nginx_file(folder: Path, inside: str) -> str:
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{temporary}{inside}}}\n"
    )


@contextmanager
def run_proxy(
    folder: Path, upstream: tuple[str, int], certificate: Path, key: Path, page: Path = WITH_CERTIFICATES
) -> Iterator[str]:
    """Run nginx as a page documents it, and yield its address."""
    with _nginx_with(folder, lambda port: write_configuration(page, folder, port, upstream, certificate, key)) as port:
        yield f"https://127.0.0.1:{port}"


@contextmanager
def websocket_nginx(folder: Path, upstream: tuple[str, int]) -> Iterator[tuple[str, int]]:
    """Run nginx with the usual lines for WebSockets and with connections that it keeps; yield its address."""
    lines = f"""
map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
upstream registry {{ server {upstream[0]}:{upstream[1]}; keepalive 1; }}
server {{
    listen 127.0.0.1:PORT;
    location / {{
        proxy_pass http://registry;
        proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $connection_upgrade;
        proxy_set_header Host $http_host;
        proxy_request_buffering off;
    }}
}}
"""
    with _nginx_with(folder, lambda port: _nginx_file(folder, lines.replace("PORT", str(port)))) as port:
        yield "127.0.0.1", port


@contextmanager
def keeping_haproxy(folder: Path, upstream: tuple[str, int]) -> Iterator[tuple[str, int]]:
    """Run HAProxy with connections to the server that all clients share; yield its address."""
    folder.mkdir(exist_ok=True)

    def configuration(port: int) -> str:
        return f"""
global
    maxconn 200
    nbthread 1
defaults
    mode http
    timeout connect 5s
    timeout client 20s
    timeout server 20s
    http-reuse always
frontend front
    bind 127.0.0.1:{port}
    default_backend registry
backend registry
    server one {upstream[0]}:{upstream[1]} pool-max-conn 1
"""

    file = folder / "haproxy.cfg"
    with _run_program(file, configuration, [haproxy() or "", "-db", "-f", str(file)], folder / "haproxy.log") as port:
        yield "127.0.0.1", port


@contextmanager
def _nginx_with(folder: Path, configuration: Callable[[int], str]) -> Iterator[int]:
    folder.mkdir(exist_ok=True)
    file, log = folder / "nginx.conf", folder / "error.log"
    with _run_program(
        file, configuration, [nginx() or "", "-p", str(folder), "-c", str(file), "-e", str(log)], log
    ) as port:
        yield port


@contextmanager
def _run_program(file: Path, configuration: Callable[[int], str], command: list[str], log: Path) -> Iterator[int]:
    """Run a proxy with a configuration for a free port, which is yielded for as long as it runs."""
    for _ in range(_TRIES):  # another process may take the port in between
        port = _free_port()
        file.write_text(configuration(port))
        with log.open("ab") as errors:
            process = subprocess.Popen(command, stderr=errors, stdout=errors, stdin=subprocess.DEVNULL)
        try:
            if _is_up(process, port):
                yield port
                return
        finally:
            process.terminate()
            process.wait(_PATIENCE)
    raise AssertionError(log.read_text())


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
