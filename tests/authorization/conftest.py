"""One served registry for all tests of this folder that one process runs."""

from collections.abc import Iterator

import pytest
from tests.authorization.ground import Ground, ground_in
from tests.cli.conftest import quick

__all__ = ["ground", "quick"]


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_in(tmp_path_factory.mktemp("matrix") / "registry") as one:
        yield one
