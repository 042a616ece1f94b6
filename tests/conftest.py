"""How hypothesis works here: as many examples as `make test` has time for, many more in `make test-slow`.

And what belongs to a run as a whole: the folder of its servers, and the list of what could not be tested.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import system_packages
from tests.postgres import run_folder, shared

for profile, examples in (("usual", 300), ("thorough", 2000)):
    settings.register_profile(
        profile, max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the workers of pytest-xdist are part of a run that began elsewhere
        run_folder.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    shared.close_database()
    if not hasattr(config, "workerinput"):
        run_folder.end()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """After everything else, where it cannot be overlooked."""
    yield
    skipped = [(report.nodeid, str(report.longrepr)) for report in terminalreporter.stats.get("skipped", [])]
    lines = system_packages.not_tested(skipped)
    if lines:
        terminalreporter.section("NOT TESTED", sep="!", red=True, bold=True)
        for line in lines:
            terminalreporter.write_line(line, red=True)
