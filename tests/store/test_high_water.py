"""The high-water mark outside the database, which survives a restore."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from tests.store.record_strategies import Desk

from perdure.errors import StoreUnavailable
from perdure.store.high_water import HighWater

MINUTE = Fraction(60)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "high-water.json"


def test_the_mark_is_ahead_of_the_last_date(file: Path) -> None:
    mark = HighWater(file)
    mark.reach("1", Fraction(1001, 10), MINUTE)
    assert mark.marks() == HighWater(file).marks() == {"1": Fraction(1601, 10)}


def test_the_file_is_not_written_at_every_mint(file: Path) -> None:
    mark = HighWater(file)
    mark.reach("1", Fraction(100), MINUTE)
    written = file.stat().st_mtime_ns, file.stat().st_ino
    for last in range(101, 161):
        mark.reach("1", Fraction(last), MINUTE)
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == written
    mark.reach("1", Fraction(161), MINUTE)
    assert HighWater(file).marks() == {"1": Fraction(221)}


def test_the_mark_never_goes_back(file: Path) -> None:
    mark = HighWater(file)
    mark.reach("1", Fraction(100), MINUTE)
    mark.reach("1", Fraction(5), MINUTE)
    assert HighWater(file).marks() == {"1": Fraction(160)}


def test_two_processes_never_lower_each_others_marks(file: Path) -> None:
    one, other = HighWater(file), HighWater(file)
    one.reach("1", Fraction(1000), MINUTE)
    other.reach("1", Fraction(100), MINUTE)
    other.reach("2", Fraction(7), MINUTE)
    one.reach("3", Fraction(7), MINUTE)
    assert HighWater(file).marks() == {"1": Fraction(1060), "2": Fraction(67), "3": Fraction(67)}


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"1": "x"}', b'{"1": null}', b'{"1": []}', b'{"1": "1/0"}', b"\xff"]
)
def test_a_mark_that_cannot_be_read_is_an_error(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(StoreUnavailable, match=r"high-water\.json"):
        HighWater(file)


def test_a_mark_that_is_not_a_file_is_an_error_of_the_registry(file: Path) -> None:
    file.mkdir()
    with pytest.raises(StoreUnavailable, match=r"high-water\.json"):
        HighWater(file)


def test_nothing_is_issued_when_the_mark_cannot_be_written(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "registry" / ".high-water.json.new").mkdir()
    with pytest.raises(StoreUnavailable) as refusal:
        desk.write(lambda tx: tx.put_timeline("1", Fraction(5), MINUTE))
    assert refusal.value.safe_to_retry
    assert desk.read(lambda reader: reader.timeline("1")) is None


def test_the_store_moves_the_mark_before_it_commits(desk: Desk, tmp_path: Path) -> None:
    desk.write(lambda tx: tx.put_timeline("1", Fraction(5), MINUTE))
    marks = json.loads((tmp_path / "registry" / "high-water.json").read_text())
    assert marks == {"1": "65"}
