"""A running server: `perdure serve` in a process of its own, on a free port."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from perdure.folder.registry_folder import make_registry

_PATIENCE = 60.0
_HERE = {"X-Forwarded-For": "127.0.0.2"}


class LiveServer(NamedTuple):
    """A server: its URL, the administrator's key, and the folder of its registry."""

    url: str
    key: str
    folder: Path
    process: "subprocess.Popen[str]"
    forwarded: dict[str, str] = {}  # noqa: RUF012  (what a trusted proxy would say of a client on this machine)

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.rpartition("//")[2].rpartition(":")
        return host.strip("[]"), int(port)

    def client(self, key: str | None = None) -> httpx.Client:
        """Return a client with a key: the administrator's, another one, or (with an empty one) none."""
        shown = self.key if key is None else key
        headers = self.forwarded | ({"Authorization": f"Bearer {shown}"} if shown else {})
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, follow_redirects=False, verify=False)

    def perdure(self, *arguments: str) -> str:
        """Run the command beside the server."""
        done = subprocess.run(
            [sys.executable, "-m", "perdure", *arguments, "--registry", str(self.folder)],
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self) -> int:
        """Stop the server with SIGTERM, and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_PATIENCE)


@contextmanager
def run_server(
    folder: Path, *options: str, settings: str = "", program: Sequence[str] = ("-m", "perdure")
) -> Iterator[LiveServer]:
    """Serve the registry of a folder, which is created if necessary. `settings` are lines for its section [http]."""
    if not (folder / "perdure.toml").exists():
        asyncio.run(make_registry(folder, name="Tests"))  # as `perdure init` does, but for the start of a process
    if settings:
        file = folder / "perdure.toml"
        file.write_text(file.read_text().replace("[http]", f"[http]\n{settings}", 1))
    log = (folder / "server.log").open("a")
    process = subprocess.Popen(
        [
            *(sys.executable, *program, "serve", "--registry", str(folder)),
            *("--port", "0", "--announce", "json", *options),
        ],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, (folder / "server.log").read_text()
        key = (folder / "admin.key").read_text().strip()
        forwarded = _HERE if "trusted_proxies" in settings else {}
        yield LiveServer(json.loads(line)["url"], key, folder, process, forwarded)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stdout.close()
        log.close()
