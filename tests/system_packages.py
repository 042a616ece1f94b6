"""What tests need beside Python: programs of the system. Installed when that can be done, and missed loudly when not.

`make test` runs this file first: as root, on a system with apt-get, it installs what is missing. Whatever is still
missing then is skipped, and a list at the end of the run says what was not tested. With PERDURE_NOTHING_SKIPPED=1, as
in .ci/run, that is an error instead.
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


class Package(NamedTuple):
    """Something that tests need; `debian` is what apt-get knows it by."""

    debian: str
    present: Callable[[], bool]
    what: str
    advice: str


PACKAGES: Final = {
    "postgresql": Package(
        "postgresql",
        lambda: binaries() is not None,
        f"PostgreSQL {OLDEST} or newer",
        "apt-get install postgresql (or `make test` as root, which does it), "
        "or PERDURE_TEST_POSTGRES=postgresql://… to name a server that is there already",
    ),
    "haproxy": Package(
        "haproxy",
        lambda: haproxy() is not None,
        "HAProxy",
        "apt-get install haproxy (or `make test` as root, which does it)",
    ),
    "nginx": Package(
        "nginx",
        lambda: nginx() is not None,
        "nginx",
        "apt-get install nginx (or `make test` as root, which does it)",
    ),
}

# What only a benchmark needs: `python -m tests.system_packages bench` installs it too.
FOR_BENCHMARKS: Final = (
    Package(
        "wrk", lambda: shutil.which("wrk") is not None, "wrk", "apt-get install wrk (or `make bench-http` as root)"
    ),
)


def need(name: str) -> None:
    """Skips the test that calls it, or fails it where nothing may be skipped, unless the package is there."""
    if PACKAGES[name].present():
        return
    if strict():
        pytest.fail(f"{_MISSING}{name}, and {STRICT} is set: {PACKAGES[name].advice}", pytrace=False)
    pytest.skip(f"{_MISSING}{name}")


def strict() -> bool:
    return os.environ.get(STRICT, "") not in ("", "0")


def not_tested(skipped: Iterable[tuple[str, str]]) -> list[str]:
    """The list at the end of the run, out of every skipped test's id and reason; empty, if nothing was missing."""
    missed: dict[str, Counter[str]] = {}
    for test, reason in skipped:
        found = re.search(rf"{_MISSING}([\w-]+)", reason)
        if found:
            missed.setdefault(found[1], Counter())[test.partition("::")[0]] += 1
    lines = []
    for name, files in sorted(missed.items()):
        lines.append(f"{files.total()} tests were NOT run, for want of {PACKAGES[name].what}:")
        lines += [f"    {file} ({count})" for file, count in sorted(files.items())]
        lines.append(f"  To get it: {PACKAGES[name].advice}.")
    return lines


def install(packages: Iterable[Package]) -> int:
    """Whether the tests can begin, as an exit status."""
    missing = [package for package in packages if not package.present()]
    if not missing:
        return 0
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _apt_get([package.debian for package in missing])
        binaries.cache_clear()
        missing = [package for package in missing if not package.present()]
    for package in missing:
        print(f"{package.what} is missing: its tests will be skipped. To get it: {package.advice}.", file=sys.stderr)
    return 1 if missing and strict() else 0


def _apt_get(names: list[str]) -> None:
    print(f"Installing what the tests need: {', '.join(names)} (apt-get, once) …", flush=True)
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
    sys.exit(install([*PACKAGES.values(), *(FOR_BENCHMARKS if "bench" in sys.argv[1:] else ())]))
