"""A server with twenty names, n0 to n19, each with its own target."""

from collections.abc import Iterator

import pytest
from tests.http.furnished import furnish
from tests.http.live import LiveServer, serving

TARGETS = {f"n{number}": f"https://example.org/{number}" for number in range(20)}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("served") / "registry"
    furnish(folder, TARGETS)
    with serving(folder, "--no-access-log") as one:
        yield one
        assert "Traceback" not in (folder / "server.log").read_text()
