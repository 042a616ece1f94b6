"""A PostgreSQL server for tests: in a private folder, on a private port, and killed at will."""

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final
from urllib.parse import quote

import psycopg
from psycopg import sql
from tests.postgres import cleanup
from tests.postgres.addresses import address_of
from tests.postgres.binaries import binaries
from tests.postgres.run_folder import run_folder

USER: Final = "perdure"
TRUST: Final = ("local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust")
_PATIENCE: Final = 60.0  # seconds, on a machine that has much else to do


class ServerFailed(Exception):
    """The server did not start; the message is its log."""


class PostgresServer:
    """A server that runs after `start()`. `close()` stops it and removes its folder; so does the end of the test run.

    Without `fsync` it loses data if the *machine* fails, which no test can cause; a crash of the server loses nothing.
    `settings` are those of postgresql.conf, `access` the lines of pg_hba.conf.
    """

    def __init__(
        self,
        *,
        fsync: bool = False,
        settings: Mapping[str, str] | None = None,
        access: Sequence[str] = TRUST,
    ) -> None:
        found = binaries()
        if found is None:
            raise ServerFailed("there is no PostgreSQL on this machine: ask system_packages.need('postgresql') first")
        self._programs = found
        self._account = _account()
        self.folder = Path(tempfile.mkdtemp(prefix="server-", dir=run_folder()))
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self.port = _free_port()
        self._access = access
        self._settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "max_connections": "200",
            "shared_buffers": "64MB",
            "fsync": "on" if fsync else "off",
            "full_page_writes": "on" if fsync else "off",
            "dynamic_shared_memory_type": "mmap",  # files of its folder, so that a kill leaves nothing elsewhere
            "log_min_messages": "warning",
            **(settings or {}),
        }
        self._process: subprocess.Popen[bytes] | None = None

    # Its life

    def start(self) -> None:
        """Start the server and wait until it accepts connections; after a kill, until it has recovered."""
        assert self._process is None, "it runs already"
        if not self.data.exists():
            self._initialise()
        for attempt in range(5):
            try:
                self._start_once()
            except ServerFailed as failure:
                # Only the first time: clients know the port afterwards, so it must not change.
                if attempt == 4 or "Address already in use" not in str(failure) or self._has_run():
                    raise
                self.port = _free_port()
            else:
                return

    def stop(self) -> None:
        """Stop the server in order, without waiting for clients. Its data stays, for the next start."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Send SIGKILL to the server and all its processes, as when the machine's memory runs out."""
        if self._process is None or self._process.poll() is not None:
            self._process = None
            return
        self._process.send_signal(signal.SIGSTOP)  # so that it has no more children after these were counted
        children = _children(self._process.pid)
        for pid in (self._process.pid, *children):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None
        _wait_for("the children of the server to die", lambda: not any(_lives(pid) for pid in children))

    def restart(self) -> None:
        self.stop()
        self.start()

    def await_recovery(self) -> None:
        """Wait, after one of its processes was killed, until the server has ended all others and accepts connections."""
        _wait_for("the server to recover", self._takes_in)

    def leave_running(self) -> None:
        """Let the server outlive this process, until the end of the run."""
        assert self._process is not None
        self._process.returncode = 0  # or Python would complain of a child that was not waited for
        self._process = None

    def close(self) -> None:
        self._end(signal.SIGQUIT)
        with suppress(OSError, IndexError):  # it was killed, and did not tidy up
            cleanup.remove_shared_memory((self.data / "postmaster.pid").read_text().splitlines())
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "PostgresServer":
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    # Queries

    def address(self, database: str = "postgres", schema: str | None = None, *, over_socket: bool = False) -> str:
        if over_socket:
            base = f"postgresql://{USER}@/?host={quote(str(self.folder), safe='')}&port={self.port}"
        else:
            base = f"postgresql://{USER}@127.0.0.1:{self.port}/"
        return address_of(base, database, schema)

    def create_database(self, name: str) -> None:
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))

    def put(self, name: str, content: bytes) -> Path:
        """Write a file beside its data that only the server may read: a certificate, a key."""
        file = self.folder / name
        file.write_bytes(content)
        file.chmod(0o600)
        self._give(file)
        return file

    # How it is done

    def _initialise(self) -> None:
        self._give(self.folder)
        # A linguistic collation differs from the order of bytes, so that code which relies on the default fails.
        languages = (["--locale-provider=icu", "--icu-locale=en-US", "--locale=C"], ["--locale=C"])
        for language in languages:
            done = self._run(
                "initdb", "-D", str(self.data), "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync", *language
            )
            if done.returncode == 0:
                break
            shutil.rmtree(self.data, ignore_errors=True)
        else:
            raise ServerFailed(done.stderr)
        (self.data / "pg_hba.conf").write_text("".join(f"{line}\n" for line in self._access))

    def _start_once(self) -> None:
        settings = [f"--{name}={value}" for name, value in {**self._settings, "port": str(self.port)}.items()]
        with self.log.open("ab") as log:
            begins = log.tell()
            self._give(self.log)
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.data, *settings],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # or Ctrl-C would reach it before the tests are done with it
                **self._how(),
            )
        try:
            _wait_for("the server to start", self._answers)
        except BaseException as problem:
            self.kill()
            raise ServerFailed(self.log.read_bytes()[begins:].decode(errors="replace") or str(problem)) from problem

    def _answers(self) -> bool:
        """Return whether the server is ready, which the last line of its pid file shows."""
        assert self._process is not None
        if self._process.poll() is not None:
            raise ServerFailed("it ended at once")
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(self._process.pid) and lines[7].strip() == "ready"

    def _takes_in(self) -> bool:
        try:
            psycopg.connect(self.address()).close()
        except psycopg.OperationalError:
            return False
        return True

    def _has_run(self) -> bool:
        return (self.data / "postmaster.opts").exists()

    def _end(self, sign: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(sign)
        try:
            self._process.wait(_PATIENCE)
            self._process = None
        except subprocess.TimeoutExpired:
            self.kill()

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._programs / program, *arguments], capture_output=True, text=True, check=False, **self._how()
        )

    def _how(self) -> dict[str, Any]:
        """Return how to run a program: PostgreSQL refuses to run as root, so it runs as the user of its package."""
        how: dict[str, Any] = {"cwd": self.folder, "env": {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}}
        if self._account is not None:
            how |= {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}
        return how

    def _give(self, file: Path) -> None:
        if self._account is not None:
            os.chown(file, self._account.pw_uid, self._account.pw_gid)


def _account() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServerFailed("PostgreSQL does not run as root, and there is neither a user `postgres` nor `nobody`")


def _free_port() -> int:
    """Return a port below those of outgoing connections, so that it is still free after a kill."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as trial, suppress(OSError):
            trial.bind(("127.0.0.1", port))
            return port


def _children(pid: int) -> list[int]:
    """Return the child processes; none without /proc: they notice by themselves that their server has ended."""
    return [int(file.parent.name) for file in Path("/proc").glob("[0-9]*/stat") if _status(file)[1:] == [str(pid)]]


def _lives(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    return _status(Path(f"/proc/{pid}/stat"))[:1] not in ([], ["Z"], ["X"])


def _status(file: Path) -> list[str]:
    """Return state and parent, which follow the name in parentheses; nothing if the process has ended."""
    try:
        return file.read_text(errors="replace").rpartition(")")[2].split()[:2]
    except OSError:
        return []


def _wait_for(what: str, happened: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE
    while not happened():
        if time.monotonic() > until:
            raise ServerFailed(f"waited in vain for {what}")
        time.sleep(0.01)
