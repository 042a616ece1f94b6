"""One served registry for all tests of this folder in one process."""

from collections.abc import Iterator

import pytest
from tests.authorization.served_registry import ServedRegistry, served_registry_in
from tests.cli.conftest import quick

__all__ = ["quick", "served_registry"]


@pytest.fixture(scope="session")
def served_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedRegistry]:
    with served_registry_in(tmp_path_factory.mktemp("matrix") / "registry") as one:
        yield one
