"""Programs of the system that tests need: installed if possible, and reported if missing.

`make test` runs this file first. As root, on a system with apt-get, it installs missing programs. Tests of programs that
are still missing are skipped, and a list at the end of the run names them. With PERDURE_NOTHING_SKIPPED=1, as in
.ci/run, a missing program is an error.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.http.proxy import haproxy, nginx
from tests.postgres.binaries import OLDEST, binaries

STRICT: Final = "PERDURE_NOTHING_SKIPPED"
_MISSING: Final = "not installed: "
_NODE_FOLDER: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perdure-tests" / "node"


class Package(NamedTuple):
    """A program that tests need. `debian` is its name for apt-get, `npm` that of a library for Node.js."""

    debian: str
    present: Callable[[], bool]
    what: str
    advice: str
    npm: str = ""


PACKAGES: Final = {
    "postgresql": Package(
        "postgresql",
        lambda: binaries() is not None,
        f"PostgreSQL {OLDEST} or newer",
        "apt-get install postgresql (`make test` does this as root), "
        "or PERDURE_TEST_POSTGRES=postgresql://… to use a server that runs already",
    ),
    "haproxy": Package(
        "haproxy",
        lambda: haproxy() is not None,
        "HAProxy",
        "apt-get install haproxy (`make test` does this as root)",
    ),
    "chromium": Package(
        "chromium",
        lambda: chromium() is not None,
        "Chromium",
        "apt-get install chromium (`make test` does this as root)",
    ),
    "nginx": Package(
        "nginx",
        lambda: nginx() is not None,
        "nginx",
        "apt-get install nginx (`make test` does this as root)",
    ),
    "tus-js-client": Package(
        "npm",
        lambda: node_modules("tus-js-client") is not None,
        "tus-js-client, with Node.js",
        "apt-get install npm, and python -m tests.system_packages (`make test` does this as root)",
        "tus-js-client@4.3.1",
    ),
    "ocfl-js": Package(
        "npm",
        lambda: node_modules("@ocfl/ocfl-fs") is not None,
        "@ocfl/ocfl-fs, with Node.js",
        "apt-get install npm, and python -m tests.system_packages (`make test` does this as root)",
        "@ocfl/ocfl-fs@0.2.2",
    ),
}

# Programs for benchmarks only: `python -m tests.system_packages bench` installs them too.
FOR_BENCHMARKS: Final = (
    Package(
        "wrk",
        lambda: shutil.which("wrk") is not None,
        "wrk",
        "apt-get install wrk (`make bench-http` does this as root)",
    ),
)


def chromium() -> str | None:
    """Return the path of the browser, or None if it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def node_modules(library: str) -> Path | None:
    """Return the folder with a library for Node.js, or None if one of them is not installed."""
    folder = _NODE_FOLDER / "node_modules"
    return folder if shutil.which("node") and (folder / library / "package.json").exists() else None


def require_package(name: str) -> None:
    """Skip the calling test if a package is missing, or fail it if skipping is forbidden."""
    if PACKAGES[name].present():
        return
    if is_strict():
        pytest.fail(f"{_MISSING}{name}, and {STRICT} is set: {PACKAGES[name].advice}", pytrace=False)
    pytest.skip(f"{_MISSING}{name}")


def is_strict() -> bool:
    """Return whether a missing program is an error."""
    return os.environ.get(STRICT, "") not in ("", "0")


def list_untested(skipped: Iterable[tuple[str, str]]) -> list[str]:
    """Return the lines of the list at the end of the run, from the ids and reasons of skipped tests."""
    untested: dict[str, Counter[str]] = {}
    for test, reason in skipped:
        match = re.search(rf"{_MISSING}([\w-]+)", reason)
        if match:
            untested.setdefault(match[1], Counter())[test.partition("::")[0]] += 1
    lines = []
    for name, files in sorted(untested.items()):
        lines.append(f"{files.total()} tests were NOT run, because {PACKAGES[name].what} is missing:")
        lines += [f"    {file} ({count})" for file, count in sorted(files.items())]
        lines.append(f"  To install it: {PACKAGES[name].advice}.")
    return lines


def install_missing(packages: Iterable[Package]) -> int:
    """Install missing packages, and return an exit code: 0 if the tests can start."""
    missing = [package for package in packages if not package.present()]
    if not missing:
        return 0
    if os.geteuid() == 0 and shutil.which("apt-get"):
        names = [package.debian for package in missing if not (package.npm and shutil.which(package.debian))]
        if names:
            _apt_get(names)
        binaries.cache_clear()
    if shutil.which("npm"):
        for package in missing:
            if package.npm:
                _npm(package.npm)
    missing = [package for package in missing if not package.present()]
    for package in missing:
        print(
            f"{package.what} is missing: its tests will be skipped. To install it: {package.advice}.", file=sys.stderr
        )
    return 1 if missing and is_strict() else 0


def _npm(library: str) -> None:
    print(f"Installing a library for the tests: {library} (npm, once) …", flush=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(_NODE_FOLDER), library]
    _NODE_FOLDER.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)


def _apt_get(names: list[str]) -> None:
    print(f"Installing programs for the tests: {', '.join(names)} (apt-get, once) …", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", *names]):
        done = subprocess.run(
            ["apt-get", "-o", "DPkg::Lock::Timeout=300", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            cwd=Path("/"),
            check=False,
        )
        if done.returncode != 0:
            print(done.stdout, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(install_missing([*PACKAGES.values(), *(FOR_BENCHMARKS if "bench" in sys.argv[1:] else ())]))
