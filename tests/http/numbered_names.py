"""A server with twenty names, n0 to n19, each with its own target."""

from collections.abc import Iterator

import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.sample_registry import fill_registry

TARGETS = {f"n{number}": f"https://example.org/{number}" for number in range(20)}


@pytest.fixture(scope="module")
def numbered_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("served") / "registry"
    fill_registry(folder, TARGETS)
    with run_server(folder, "--no-access-log") as one:
        yield one
        assert "Traceback" not in (folder / "server.log").read_text()
