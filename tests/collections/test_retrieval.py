"""Items out of a collection: from a copy if the original cannot be read, and not at all if the disk is full."""

import errno
import os
from contextlib import closing
from io import FileIO
from pathlib import Path

import pytest
from tests.collections.item_office import THESIS, ItemOffice

from perdure.collections import content_copy, hashed_copy
from perdure.collections.copies import copy_item
from perdure.collections.retrieval import RetrievedItem, get_item
from perdure.collections.source_files import open_regular
from perdure.errors import StoreFull


def get(items: ItemOffice, label: str, to: Path, *, as_bag: bool = False) -> RetrievedItem:
    return items.office.run(get_item(items.office.registry, label, to, as_bag=as_bag))


def fail_to_write(descriptor: int, part: memoryview) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("as_bag", [False, True])
def test_a_full_disk_is_reported_and_nothing_is_left(
    items: ItemOffice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_bag: bool
) -> None:
    holding = items.put()
    monkeypatch.setattr(hashed_copy, "_write_all", fail_to_write)
    with pytest.raises(StoreFull, match=f"the disk of the directory {tmp_path}/here is full"):
        get(items, holding.label, tmp_path / "here" / "thesis", as_bag=as_bag)
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("as_bag", [False, True])
def test_an_original_that_cannot_be_read_is_taken_from_a_copy(
    items: ItemOffice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_bag: bool
) -> None:
    holding = items.put()
    items.office.do(copy_item, holding.label, "main", "second")

    def fail_in_main(file: Path) -> closing[FileIO]:
        if file.is_relative_to(items.folder / "main"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return open_regular(file)

    monkeypatch.setattr(content_copy, "open_regular", fail_in_main)
    got = get(items, holding.label, tmp_path / "thesis", as_bag=as_bag)
    assert got.collection == "second"
    assert "Input/output error" in str(got.problems[0])
    payload = tmp_path / "thesis" / "data" if as_bag else tmp_path / "thesis"
    assert (payload / "thesis.pdf").read_bytes() == THESIS["thesis.pdf"]


def test_half_a_copy_does_not_fill_the_disk(items: ItemOffice, monkeypatch: pytest.MonkeyPatch) -> None:
    holding = items.put()
    monkeypatch.setattr(hashed_copy, "_write_all", fail_to_write)
    with pytest.raises(StoreFull):
        items.office.do(copy_item, holding.label, "main", "second")
    assert list((items.folder / "second" / "extensions").rglob("staging/*")) == []
    monkeypatch.undo()
    assert items.office.do(copy_item, holding.label, "main", "second").version == 1
