"""Backups are consistent copies, made while writes continue."""

import asyncio
from pathlib import Path

import pytest
from tests.store.record_strategies import Desk, change

from perdure.errors import StoreUnavailable
from perdure.store.sqlite import SqliteStore


def quiet(done: int, of: int) -> None:
    pass


def open_copy(runner: asyncio.Runner, file: Path) -> Desk:
    return Desk(runner, SqliteStore(file))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups"


def test_a_backup_is_consistent_while_writes_go_on(desk: Desk, folder: Path) -> None:
    """Facts and names are written together: the copy has as many names as its fact says."""
    file = folder / "copy.db"

    async def both() -> None:
        done = False
        begun = {name: asyncio.Event() for name in ("1", "2")}

        async def writing(name: str) -> None:
            number = 0
            while not done:
                number += 1

                def work(tx, number: int = number) -> None:
                    tx.insert([change(f"{name}/{number:05d}", words="some words " * 50)])
                    tx.put_fact(name, str(number))

                await desk.store.write(work)
                begun[name].set()

        async def copy_store() -> None:
            nonlocal done
            for one in begun.values():
                await one.wait()
            await desk.store.backup(file, quiet)
            done = True

        await asyncio.gather(writing("1"), writing("2"), copy_store())

    desk.runner.run(both())
    copy = open_copy(desk.runner, file)
    for name in ("1", "2"):
        names = [key for key in copy.names() if key.startswith(name)]
        assert len(names) == int(copy.read(lambda reader, name=name: reader.fact(name)) or 0) > 0
    assert copy.contradictions() == []
    copy.store.close()


def test_a_backup_has_everything_acknowledged_before_it(desk: Desk, folder: Path) -> None:
    desk.insert(*(change(f"1/{number}") for number in range(10)))
    desk.runner.run(desk.store.backup(folder / "copy.db", quiet))
    copy = open_copy(desk.runner, folder / "copy.db")
    assert copy.names() == desk.names()
    copy.store.close()


def test_a_backup_is_one_file(desk: Desk, folder: Path) -> None:
    desk.insert(change("1/a"))
    desk.runner.run(desk.store.backup(folder / "copy.db", quiet))
    assert [one.name for one in folder.iterdir()] == ["copy.db"]


def test_a_backup_reports_its_progress(desk: Desk, folder: Path) -> None:
    reported: list[tuple[int, int]] = []
    desk.runner.run(desk.store.backup(folder / "copy.db", lambda done, of: reported.append((done, of))))
    assert reported[-1][0] == reported[-1][1] > 0


def test_a_backup_that_fails_leaves_the_old_one(desk: Desk, folder: Path) -> None:
    desk.insert(change("1/a"))
    desk.runner.run(desk.store.backup(folder / "copy.db", quiet))
    before = (folder / "copy.db").read_bytes()

    def interrupt(done: int, of: int) -> None:
        raise KeyError("interrupted")

    with pytest.raises(KeyError):
        desk.runner.run(desk.store.backup(folder / "copy.db", interrupt))
    assert (folder / "copy.db").read_bytes() == before
    assert [one.name for one in folder.iterdir()] == ["copy.db"]
    assert desk.names() == ["1/a"]


def test_a_backup_into_a_folder_that_does_not_exist_is_refused(desk: Desk, folder: Path) -> None:
    with pytest.raises(StoreUnavailable):
        desk.runner.run(desk.store.backup(folder / "missing" / "copy.db", quiet))
