"""One server for all tests of a file, on the embedded store."""

from collections.abc import Iterator

import pytest
from tests.cli.conftest import quick
from tests.http.handle_server import HandleOffice, handle_office
from tests.http.live_server import LiveServer, run_server
from tests.http.numbered_names import numbered_server

__all__ = ["numbered_server", "office", "quick", "server"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with run_server(tmp_path_factory.mktemp("numbered_server") / "registry") as one:
        yield one


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandleOffice]:
    with handle_office(tmp_path_factory.mktemp("numbered_server") / "registry") as one:
        yield one
