"""What is missing on a machine is said loudly, and nothing else stops because of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
A_TEST = "tests/store/test_registry_tables.py::test_facts"
PYTEST = ("pytest", "-p", "no:cacheprovider", "-p", "no:schemathesis")  # which takes longer to load than all the rest


def without_postgres(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """On a machine where there is no PostgreSQL, nor an apt-get that could bring it."""
    hidden = ("PERDURE_TEST_RUN", "PERDURE_TEST_POSTGRES", "PERDURE_NOTHING_SKIPPED", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env={**kept, "PATH": "", "PERDURE_POSTGRES_BIN": os.devnull, **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_was_not_tested_is_listed_at_the_end(workers: str) -> None:
    done = without_postgres(*PYTEST, "-n", workers, A_TEST)
    assert done.returncode == 0, done.stdout
    summary, end = done.stdout.rpartition("NOT TESTED")[::2]
    assert summary, done.stdout
    assert "1 tests were NOT run, for want of PostgreSQL" in end
    assert "tests/store/test_registry_tables.py (1)" in end
    assert "apt-get install postgresql" in end
    assert "1 passed, 1 skipped" in end


def test_where_nothing_may_be_skipped_it_is_an_error() -> None:
    done = without_postgres(*PYTEST, "-n", "0", A_TEST, PERDURE_NOTHING_SKIPPED="1")
    assert done.returncode == 1, done.stdout
    assert "1 passed, 1 error" in done.stdout


def test_before_the_tests_the_missing_package_is_named_and_they_go_on() -> None:
    done = without_postgres("tests.system_packages")
    assert done.returncode == 0
    assert "PostgreSQL 15 or newer is missing" in done.stderr


def test_before_the_tests_a_missing_package_stops_them_where_nothing_may_be_skipped() -> None:
    assert without_postgres("tests.system_packages", PERDURE_NOTHING_SKIPPED="1").returncode == 1
