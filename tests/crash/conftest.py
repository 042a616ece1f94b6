"""Folders for registries on either engine; assertions in helper modules are rewritten too."""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.crash.crash_registry", "tests.crash.kill", "tests.crash.ledger")

from tests.crash.crash_registry import ServerNote  # noqa: E402
from tests.postgres.shared_server import database  # noqa: E402
from tests.registry_fixture import ENGINES, need_engine  # noqa: E402

NewFolder = Callable[[str], Path]


@pytest.fixture(params=ENGINES)
def new_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewFolder]:
    """Return a function that creates an empty folder, for a registry on the engine of this case."""
    need_engine(request.param)
    schemas: list[str] = []

    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        if request.param == "postgres":
            schemas.append(f"t_{secrets.token_hex(6)}")
            ServerNote(database().address(schemas[-1])).write_to(folder)
        return folder

    yield make
    for schema in schemas:
        database().drop(schema)
