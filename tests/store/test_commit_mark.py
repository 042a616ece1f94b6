"""The mark of the last commit: two slots, of which a crash can only spoil one."""

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
    file.reach(ChangeMark(5, "1/a", b"five"), EventMark(1, b"one"))
    file.reach(ChangeMark(6, "1/b", b"six"), EventMark())
    return file


def test_it_says_what_was_committed_last(mark: CommitMarkFile) -> None:
    said = mark.read(LINEAGE)
    assert said is not None
    assert (said.change, said.event, said.is_open) == (ChangeMark(6, "1/b", b"six"), EventMark(1, b"one"), True)
    assert not has_restarted(said)
    assert mark.path(LINEAGE).stat().st_mode & 0o077 == 0


def test_it_does_not_go_back(mark: CommitMarkFile) -> None:
    mark.reach(ChangeMark(4, "1/c", b"four"), EventMark())
    said = mark.read(LINEAGE)
    assert said is not None
    assert said.change.number == 6


def test_another_process_writes_it_too(mark: CommitMarkFile, tmp_path: Path) -> None:
    other = CommitMarkFile(tmp_path, LINEAGE)
    other.reach(ChangeMark(7, "1/d", b"seven"), EventMark(2, b"two"))
    mark.reach(ChangeMark(8, "1/e", b"eight"), EventMark())
    said = mark.read(LINEAGE)
    assert said is not None
    assert (said.change.number, said.event.number) == (8, 2)


@pytest.mark.parametrize(("place", "left"), [(10, 5), (100, 5), (1030, 6), (1200, 6)])
def test_a_spoilt_slot_leaves_the_other(mark: CommitMarkFile, place: int, left: int) -> None:
    content = bytearray(mark.path(LINEAGE).read_bytes())
    content[place] ^= 1
    mark.path(LINEAGE).write_bytes(content)
    said = mark.read(LINEAGE)
    assert said is not None
    assert said.change == {5: ChangeMark(5, "1/a", b"five"), 6: ChangeMark(6, "1/b", b"six")}[left]


def test_a_mark_that_says_nothing_is_none(mark: CommitMarkFile) -> None:
    mark.path(LINEAGE).write_bytes(b"x" * 2048)
    assert mark.read(LINEAGE) is None


def test_the_end_is_recorded(mark: CommitMarkFile) -> None:
    mark.end(LINEAGE, had_log=True)
    said = mark.read(LINEAGE)
    assert said is not None
    assert not said.is_open
    assert said.change.number == 6


@given(key=st.text(min_size=1, max_size=3000))
def test_every_key_fits(key: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = CommitMarkFile(tmp_path_factory.mktemp("mark"), LINEAGE)
    file.reach(ChangeMark(1 << 60, key, b"x" * 32), EventMark(1 << 60, b"y" * 32))
    said = file.read(LINEAGE)
    file.close()
    assert said is not None
    assert said.change.key
    assert key.startswith(said.change.key)
    assert file.path(LINEAGE).stat().st_size == 2048
