"""All sources are checked before a name is reserved: nothing is minted for files that cannot be stored."""

import os
from pathlib import Path

import pytest
from tests.collections.samples import ANNA, LABEL

from perdure.collections.source_check import SourceTotals, check_sources
from perdure.collections.source_files import LocalFile, find_file, list_directory
from perdure.collections.storage_root import StorageRoot
from perdure.collections.work_progress import Step
from perdure.errors import InvalidInput, RefusedFile, StoreFull


def test_files_are_counted_and_each_is_reported(source: Path) -> None:
    steps: list[Step] = []
    assert check_sources(list_directory(source), "thesis.pdf", steps.append) == SourceTotals(3, 400_006)
    assert {step.phase for step in steps} == {"check names"}
    assert steps[-1].files == 3


@pytest.mark.parametrize("name", ["CON.txt", "a\\b", "THESIS.PDF", "end.", "tab\t", "maps ", os.fsdecode(b"b\xff")])
def test_names_that_another_system_cannot_store_are_refused(source: Path, name: str) -> None:
    (source / name).write_bytes(b"x")
    with pytest.raises(RefusedFile):
        check_sources(list_directory(source))


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("thesis.pdf"), os.mkfifo])
def test_links_and_pipes_are_refused(source: Path, make) -> None:
    make(source / "other")
    with pytest.raises(RefusedFile) as refused:
        check_sources(list_directory(source))
    assert refused.value.path == "other"


def test_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedFile, match="cannot be read"):
        check_sources([LocalFile("a", tmp_path / "a", 1)])


def test_an_item_without_files_and_a_missing_main_file_are_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at least one"):
        check_sources(list_directory(_empty(tmp_path)))
    with pytest.raises(InvalidInput, match="not the main file"):
        check_sources(list_directory(source), "maps")


def test_empty_directories_are_reported(source: Path) -> None:
    (source / "maps" / "hollow").mkdir()
    empty: list[str] = []
    check_sources(list_directory(source, empty.append))
    assert empty == ["maps/hollow/"]


def test_a_new_item_that_is_larger_than_the_disk_is_refused(root: StorageRoot) -> None:
    root.check_room(1)
    with pytest.raises(StoreFull, match="are needed"):
        root.check_room(1 << 60)


def _empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


def test_a_file_that_is_changed_while_it_is_read_is_refused(root: StorageRoot, tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_bytes(b"a" * 100_000)
    os.utime(file, (0, 0))

    def change_file(step: Step) -> None:
        if step.bytes:
            with file.open("r+b") as stream:
                stream.write(b"b")

    with pytest.raises(RefusedFile) as refused:
        root.put_version(LABEL, [find_file(file)], agent=ANNA, report=change_file)
    assert "changed it while it was read" in refused.value.reason
    assert not root.has_item(LABEL)
