"""Settings of hypothesis, and hooks for a whole run of the tests.

`make test` uses fewer examples, `make test-slow` many more. The hooks manage the folder of the test servers, and print
the list of tests that could not run.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import system_packages
from tests.postgres import run_folder, shared_server

for profile, examples in (("usual", 300), ("thorough", 2000)):
    settings.register_profile(
        profile, max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # workers of pytest-xdist belong to a run that another process started
        run_folder.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    shared_server.close_database()
    if not hasattr(config, "workerinput"):
        run_folder.end()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Print the list after all other output, where it is easy to see."""
    yield
    skipped = [(report.nodeid, str(report.longrepr)) for report in terminalreporter.stats.get("skipped", [])]
    lines = system_packages.list_untested(skipped)
    if lines:
        terminalreporter.section("NOT TESTED", sep="!", red=True, bold=True)
        for line in lines:
            terminalreporter.write_line(line, red=True)
