"""A full disk is called a full disk, wherever it is met. /dev/full is one that always is."""

import resource
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from psycopg import errors as pg

from perdure.errors import StoreFull
from perdure.http import problems
from perdure.http.handle_api import codes
from perdure.http.v1.answer_lines import AnswerLines
from perdure.http.v1.told import ImportProblem
from perdure.store.commit_mark import CommitMarkFile
from perdure.store.high_water import HighWater
from perdure.store.postgres.connection import translated
from perdure.store.sqlite.connection import connect

FULL = Path("/dev/full")
LIMITS = resource.getrlimit(resource.RLIMIT_FSIZE)


def test_the_mark_of_the_last_commit(tmp_path: Path) -> None:
    mark = CommitMarkFile(tmp_path)
    mark.path("a" * 32).symlink_to(FULL)
    with pytest.raises(StoreFull, match="the disk of the mark of the last commit"):
        mark.create("a" * 32)


def test_the_high_water_mark(tmp_path: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, LIMITS[1]))  # no file may grow
    try:
        with pytest.raises(StoreFull, match="the disk of the high-water mark"):
            HighWater(tmp_path / "high-water.json").reach("12345", Fraction(1), Fraction(5))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, LIMITS)


def test_the_lines_of_a_bulk_answer() -> None:
    """What is buffered is written at the end: only then it shows that there is no room for it."""
    lines = AnswerLines(1_000_000)
    line = ImportProblem(line=1, reason="x" * 1_000, refused=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((1 << 20) + 500, LIMITS[1]))
    try:
        with pytest.raises(StoreFull, match=r"the temporary folder is full, .* may have been written"):
            fill(lines, line)
    finally:
        lines.close()  # although what is buffered still does not fit
        resource.setrlimit(resource.RLIMIT_FSIZE, LIMITS)


def fill(lines: AnswerLines, line: ImportProblem) -> None:
    for _ in range(1_033):  # a little more than what is held in memory
        lines.add(line)
    lines.end(line)


def test_a_registry_is_not_opened_on_a_full_disk(tmp_path: Path) -> None:
    """SQLite makes a small file beside the database, whose size the limit forbids as a full disk does."""
    file = tmp_path / "registry.db"
    with closing(connect(file, create=True)) as connection:
        connection.execute("CREATE TABLE one (text)")
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, LIMITS[1]))
    try:
        with pytest.raises(StoreFull, match="the disk of the database"):
            connect(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, LIMITS)


def test_the_server_s_disk() -> None:
    assert isinstance(translated(pg.DiskFull()), StoreFull)


def test_over_http_it_is_507() -> None:
    problem = StoreFull("the disk of the database")
    assert problems.status_of(problem) == 507
    assert "full" in problems.document(problem)["detail"]
    assert codes.status_of(problem) == 507
