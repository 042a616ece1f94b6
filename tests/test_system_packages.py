"""Tests of `tests.system_packages`: a missing program is reported, and all other tests still run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
A_TEST = "tests/store/test_registry_tables.py::test_facts_are_stored"
PYTEST = ("pytest", "-p", "no:cacheprovider", "-p", "no:schemathesis")  # slow to load


def without_postgres(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a module as on a machine without PostgreSQL and without apt-get."""
    hidden = ("PERDURE_TEST_RUN", "PERDURE_TEST_POSTGRES", "PERDURE_NOTHING_SKIPPED", "PYTEST_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env={**environment, "PATH": "", "PERDURE_POSTGRES_BIN": os.devnull, **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("workers", ["0", "1"])
def test_tests_that_were_not_run_are_listed_at_the_end(workers: str) -> None:
    done = without_postgres(*PYTEST, "-n", workers, A_TEST)
    assert done.returncode == 0, done.stdout
    summary, end = done.stdout.rpartition("NOT TESTED")[::2]
    assert summary, done.stdout
    assert "1 tests were NOT run, because PostgreSQL" in end
    assert "tests/store/test_registry_tables.py (1)" in end
    assert "apt-get install postgresql" in end
    assert "1 passed, 1 skipped" in end


def test_a_missing_program_is_an_error_if_skipping_is_forbidden() -> None:
    done = without_postgres(*PYTEST, "-n", "0", A_TEST, PERDURE_NOTHING_SKIPPED="1")
    assert done.returncode == 1, done.stdout
    assert "1 passed, 1 error" in done.stdout


def test_a_missing_package_is_named_before_the_tests() -> None:
    done = without_postgres("tests.system_packages")
    assert done.returncode == 0
    assert "PostgreSQL 15 or newer is missing" in done.stderr


def test_a_missing_package_stops_the_tests_if_skipping_is_forbidden() -> None:
    assert without_postgres("tests.system_packages", PERDURE_NOTHING_SKIPPED="1").returncode == 1
