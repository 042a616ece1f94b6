"""One server for all tests of a file, on the embedded store."""

from collections.abc import Iterator

import pytest
from tests.cli.conftest import quick
from tests.http.handle_office import HandleOffice, handle_office
from tests.http.live import LiveServer, serving
from tests.http.numbered import served

__all__ = ["office", "quick", "served", "server"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with serving(tmp_path_factory.mktemp("served") / "registry") as one:
        yield one


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandleOffice]:
    with handle_office(tmp_path_factory.mktemp("served") / "registry") as one:
        yield one
