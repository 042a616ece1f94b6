"""A full disk is reported as such, wherever it occurs. /dev/full is always full."""

import resource
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from psycopg import errors as pg

from perdure.errors import StoreFull
from perdure.http.api.bulk_response import SpooledLines
from perdure.http.api.schemas.responses import ImportProblem
from perdure.http.handle_api import response_codes
from perdure.http.shared import problem_json
from perdure.store.commit_mark import CommitMarkFile
from perdure.store.high_water import HighWater
from perdure.store.postgres.connection import to_store_error
from perdure.store.sqlite.connection import connect

FULL = Path("/dev/full")
LIMITS = resource.getrlimit(resource.RLIMIT_FSIZE)


def test_a_full_disk_of_the_commit_mark_is_reported(tmp_path: Path) -> None:
    mark = CommitMarkFile(tmp_path)
    mark.path("a" * 32).symlink_to(FULL)
    with pytest.raises(StoreFull, match="the disk of the mark of the last commit"):
        mark.create("a" * 32)


def test_a_full_disk_of_the_high_water_mark_is_reported(tmp_path: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, LIMITS[1]))  # no file may grow
    try:
        with pytest.raises(StoreFull, match="the disk of the high-water mark"):
            HighWater(tmp_path / "high-water.json").reach("12345", Fraction(1), Fraction(5))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, LIMITS)


def test_a_full_temporary_folder_for_a_bulk_response_is_reported() -> None:
    """Buffered lines are written at the end, and only then fail."""
    lines = SpooledLines(1_000_000)
    line = ImportProblem(line=1, reason="x" * 1_000, refused=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((1 << 20) + 500, LIMITS[1]))
    try:
        with pytest.raises(StoreFull, match=r"the temporary folder is full, .* may have been written"):
            fill(lines, line)
    finally:
        lines.close()  # although the buffer still does not fit
        resource.setrlimit(resource.RLIMIT_FSIZE, LIMITS)


def fill(lines: SpooledLines, line: ImportProblem) -> None:
    for _ in range(1_033):  # a little more than the buffer in memory
        lines.add(line)
    lines.finish(line)


def test_a_registry_is_not_opened_on_a_full_disk(tmp_path: Path) -> None:
    """SQLite creates a small file beside the database, which the size limit forbids as a full disk does."""
    file = tmp_path / "registry.db"
    with closing(connect(file, create=True)) as connection:
        connection.execute("CREATE TABLE one (text)")
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, LIMITS[1]))
    try:
        with pytest.raises(StoreFull, match="the disk of the database"):
            connect(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, LIMITS)


def test_a_full_disk_of_the_database_server_is_reported() -> None:
    assert isinstance(to_store_error(pg.DiskFull()), StoreFull)


def test_a_full_disk_is_status_507_over_http() -> None:
    problem = StoreFull("the disk of the database")
    assert problem_json.status_of(problem) == 507
    assert "full" in problem_json.problem_document(problem)["detail"]
    assert response_codes.status_of(problem) == 507
