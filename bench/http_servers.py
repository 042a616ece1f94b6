"""Servers that the HTTP benchmark compares: nginx, Perdure, and other running resolvers."""

import grp
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from tests.http.proxy import nginx as nginx_program

from bench.rounds import CpuSeconds, cpu_of_tree

_TIMEOUT: Final = 60.0
# A constant response to every request: as fast as an HTTP server can be, and the same work for wrk.
_NGINX: Final = """
daemon off;
worker_processes 1;
user {user};
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  sendfile on;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/nginx-body;
  proxy_temp_path {folder}/nginx-proxy;
  fastcgi_temp_path {folder}/nginx-fastcgi;
  uwsgi_temp_path {folder}/nginx-uwsgi;
  scgi_temp_path {folder}/nginx-scgi;
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    location / {{ return 302 https://repository.example.org/items/1; }}
    location /files/ {{ alias {files}/; }}
  }}
}}
"""


class Server(NamedTuple):
    """A running server. `url` contains {name}; `cpu` returns the CPU seconds of its processes, if known."""

    what: str
    url: str
    cpu: CpuSeconds

    @property
    def root(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


@contextmanager
def run_nginx(folder: Path, files: Path | None = None) -> Iterator[Server]:
    """Run nginx with one worker. It redirects all requests, and serves `files` below /files/."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    file = folder.resolve() / "nginx.conf"
    shared = (files or folder / "nginx-files").resolve()
    user = f"{pwd.getpwuid(os.getuid()).pw_name} {grp.getgrgid(os.getgid()).gr_name}"  # who may read the files
    file.write_text(_NGINX.format(folder=folder.resolve(), port=port, files=shared, user=user))
    program = nginx_program()
    assert program is not None
    process = subprocess.Popen([program, "-p", str(folder), "-c", str(file)], stderr=subprocess.DEVNULL)
    try:
        _wait("nginx", lambda: _is_listening(port))
        yield Server("nginx, constant 302", f"http://127.0.0.1:{port}/{{name}}", lambda: cpu_of_tree(process.pid))
    finally:
        process.terminate()
        process.wait(_TIMEOUT)


@contextmanager
def run_perdure(folder: Path, what: str, more: CpuSeconds = lambda: 0.0) -> Iterator[Server]:
    """Run Perdure with one worker and no access log. `more` is the CPU time of its database server."""
    log = (folder / "server.log").open("w")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "perdure", "serve", "--registry", str(folder), "--workers", "1"),
            *("--no-access-log", "--port", "0", "--announce", "json"),
        ],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"the server did not start: {(folder / 'server.log').read_text()}")
        yield Server(what, f"{json.loads(line)['url']}/{{name}}", lambda: sum_or_none(cpu_of_tree(process.pid), more()))
    finally:
        process.terminate()
        process.communicate(timeout=_TIMEOUT)
        log.close()


def parse_peer(text: str) -> Server:
    """Parse NAME=URL of a running resolver. Without {name}, names are appended to the path."""
    what, _, url = text.partition("=")
    if not what or not url.startswith(("http://", "https://")):
        raise SystemExit(f"--peer is NAME=URL, as in reference=http://127.0.0.1:8000/{{name}}, not {text}")
    if "{name}" not in url:
        url = f"{url.rstrip('/')}/{{name}}"
    port = urlsplit(url).port or (443 if url.startswith("https") else 80)
    return Server(what, url, lambda: _cpu_of_listeners(port))


def create_registry(folder: Path, store: str | None = None) -> bool:
    """Create a registry in the folder, or return False if an earlier run created it."""
    if (folder / "perdure.toml").exists():
        return False
    shutil.rmtree(folder, ignore_errors=True)
    run_command("init", str(folder), "--name", "Bench", *(("--store", store) if store else ()))
    return True


def run_command(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "perdure", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"perdure {arguments[0]} failed: {done.stderr}")
    return done.stdout


def missing_programs() -> list[str]:
    return [name for name, path in (("wrk", shutil.which("wrk")), ("nginx", nginx_program())) if path is None]


def _wait(what: str, is_ready: Callable[[], bool]) -> None:
    until = time.monotonic() + _TIMEOUT
    while not is_ready():
        if time.monotonic() > until:
            raise SystemExit(f"{what} did not start")
        time.sleep(0.02)


def _is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _cpu_of_listeners(port: int) -> float | None:
    """Return the CPU seconds of all processes that listen on a port, and of their children. Only on Linux."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        file = Path("/proc/net") / table
        for line in file.read_text().splitlines()[1:] if file.exists() else ():
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{fields[9]}]")
    owners = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if inodes & _sockets_of(pid)]
    parents = [pid for pid in owners if _parent_of(pid) not in owners]
    seconds = [cpu_of_tree(pid) for pid in parents]
    return sum_or_none(*seconds) if seconds else None


def _sockets_of(pid: int) -> set[str]:
    try:
        return {os.readlink(link.path) for link in os.scandir(f"/proc/{pid}/fd")}
    except OSError:  # it has ended, or belongs to another user
        return set()


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def sum_or_none(*parts: float | None) -> float | None:
    return None if None in parts else sum(part for part in parts if part is not None)
