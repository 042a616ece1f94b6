"""Folders for registries on either engine. Assertions outside the test files say what they compared, too."""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.crash.ground", "tests.crash.killing", "tests.crash.ledger")

from tests.crash.ground import Elsewhere  # noqa: E402
from tests.postgres.shared import database  # noqa: E402
from tests.registry_fixture import ENGINES, need_engine  # noqa: E402

NewFolder = Callable[[str], Path]


@pytest.fixture(params=ENGINES)
def new_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewFolder]:
    """Makes an empty folder of that name, for a registry on the engine of this case."""
    need_engine(request.param)
    schemas: list[str] = []

    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        if request.param == "postgres":
            schemas.append(f"t_{secrets.token_hex(6)}")
            Elsewhere(database().address(schemas[-1])).leave_in(folder)
        return folder

    yield make
    for schema in schemas:
        database().drop(schema)
