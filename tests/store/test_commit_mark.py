"""The mark of the last commit: two slots, of which a crash can only damage one."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.store.commit_mark import ChangeMark, CommitMarkFile, has_restarted
from perdure.store.event_chain import EventMark

LINEAGE = "0123456789abcdef" * 2


@pytest.fixture
def mark(tmp_path: Path) -> CommitMarkFile:
    file = CommitMarkFile(tmp_path, LINEAGE)
    file.record_commit(ChangeMark(5, "1/a", b"five"), EventMark(1, b"one"))
    file.record_commit(ChangeMark(6, "1/b", b"six"), EventMark())
    return file


def test_the_mark_has_the_last_commit(mark: CommitMarkFile) -> None:
    stored = mark.read(LINEAGE)
    assert stored is not None
    assert (stored.change, stored.event, stored.is_open) == (ChangeMark(6, "1/b", b"six"), EventMark(1, b"one"), True)
    assert not has_restarted(stored)
    assert mark.path(LINEAGE).stat().st_mode & 0o077 == 0


def test_the_mark_does_not_go_back(mark: CommitMarkFile) -> None:
    mark.record_commit(ChangeMark(4, "1/c", b"four"), EventMark())
    stored = mark.read(LINEAGE)
    assert stored is not None
    assert stored.change.number == 6


def test_another_process_can_write_the_mark(mark: CommitMarkFile, tmp_path: Path) -> None:
    other = CommitMarkFile(tmp_path, LINEAGE)
    other.record_commit(ChangeMark(7, "1/d", b"seven"), EventMark(2, b"two"))
    mark.record_commit(ChangeMark(8, "1/e", b"eight"), EventMark())
    stored = mark.read(LINEAGE)
    assert stored is not None
    assert (stored.change.number, stored.event.number) == (8, 2)


@pytest.mark.parametrize(("position", "left"), [(10, 5), (100, 5), (1030, 6), (1200, 6)])
def test_a_damaged_slot_does_not_affect_the_other(mark: CommitMarkFile, position: int, left: int) -> None:
    content = bytearray(mark.path(LINEAGE).read_bytes())
    content[position] ^= 1
    mark.path(LINEAGE).write_bytes(content)
    stored = mark.read(LINEAGE)
    assert stored is not None
    assert stored.change == {5: ChangeMark(5, "1/a", b"five"), 6: ChangeMark(6, "1/b", b"six")}[left]


def test_a_mark_of_garbage_is_read_as_none(mark: CommitMarkFile) -> None:
    mark.path(LINEAGE).write_bytes(b"x" * 2048)
    assert mark.read(LINEAGE) is None


def test_the_close_is_recorded(mark: CommitMarkFile) -> None:
    mark.record_close(LINEAGE, had_log=True)
    stored = mark.read(LINEAGE)
    assert stored is not None
    assert not stored.is_open
    assert stored.change.number == 6


@given(key=st.text(min_size=1, max_size=3000))
def test_a_key_of_any_length_fits(key: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = CommitMarkFile(tmp_path_factory.mktemp("mark"), LINEAGE)
    file.record_commit(ChangeMark(1 << 60, key, b"x" * 32), EventMark(1 << 60, b"y" * 32))
    stored = file.read(LINEAGE)
    file.close()
    assert stored is not None
    assert stored.change.key
    assert key.startswith(stored.change.key)
    assert file.path(LINEAGE).stat().st_size == 2048
