"""The write-ahead log of the embedded store stays small with any number of readers."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

import apsw
import pytest
from tests.registry_fixture import StoreFactory
from tests.store.record_strategies import Desk, change

from perdure.store.sqlite import SqliteStore
from perdure.store.sqlite.checkpoints import Checkpointer
from perdure.store.sqlite.connection import BusyTimeout, connect

PAGE = 4096
BOUND = 200  # pages
SNAPSHOT = "BEGIN; SELECT count(*) FROM facts"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "perdure.db"


@contextmanager
def read_without_end(file: Path, threads: int = 2) -> Iterator[None]:
    """Run two overlapping readers in each thread, so that there is always an open snapshot."""
    done, begun = threading.Event(), threading.Barrier(threads + 1)
    problems: list[BaseException] = []

    def read() -> None:
        try:
            with closing(connect(file)) as one, closing(connect(file)) as other:
                one.execute(SNAPSHOT)
                begun.wait(30)
                while not done.is_set():
                    other.execute(SNAPSHOT)
                    done.wait(0.002)
                    one.execute("ROLLBACK")
                    one, other = other, one
                one.execute("ROLLBACK")
        except BaseException as problem:
            problems.append(problem)
            begun.abort()

    running = [threading.Thread(target=read) for _ in range(threads)]
    for thread in running:
        thread.start()
    try:
        begun.wait(30)
        yield
    finally:
        done.set()
        for thread in running:
            thread.join()
    assert problems == []


def write_much(desk: Desk, store: SqliteStore, enough: int, cuts: int) -> list[int]:
    """Commit often, or until the log was truncated often; return its sizes just after that, in pages."""
    sizes: list[int] = []
    before = 0
    for number in range(enough):
        desk.insert(change(f"1/{number:04d}", record=b"x" * 20_000))
        now = store.log_bytes() // PAGE
        if now < before:
            sizes.append(now)
        if len(sizes) == cuts:
            break
        before = now
    return sizes


def test_the_log_is_truncated_despite_constant_readers(file: Path, runner: asyncio.Runner) -> None:
    """Repeatedly: a single wait for the readers may be in vain on a busy machine, but not all of them."""
    store = SqliteStore(file, create=True, largest_log=BOUND)
    desk = Desk(runner, store)
    with read_without_end(file):
        sizes = write_much(desk, store, enough=5000, cuts=5)
    assert len(sizes) == 5
    assert max(sizes) < BOUND
    assert desk.contradictions() == []
    store.close()


def test_the_log_grows_up_to_its_limit(file: Path, runner: asyncio.Runner) -> None:
    """It is truncated because of the limit alone: the usual interval is far away here."""
    store = SqliteStore(file, create=True)
    with read_without_end(file):
        assert write_much(Desk(runner, store), store, enough=150, cuts=1) == []
    assert store.log_bytes() > 3 * BOUND * PAGE
    store.close()


def test_a_long_reader_blocks_no_writer_and_the_log_is_truncated_when_it_ends(
    file: Path, runner: asyncio.Runner
) -> None:
    store = SqliteStore(file, create=True, largest_log=BOUND)
    desk = Desk(runner, store)
    with closing(connect(file)) as staying:
        staying.execute(SNAPSHOT)
        assert write_much(desk, store, enough=150, cuts=1) == []
        assert store.log_bytes() > BOUND * PAGE
        assert staying.execute("SELECT count(*) FROM identifiers").get == 0
        staying.execute("ROLLBACK")
    pages = store.log_bytes() // PAGE
    number = 150
    while store.log_bytes() // PAGE >= pages and number < 100_000:
        desk.insert(change(f"1/{number}"))
        number += 1
    assert store.log_bytes() // PAGE < BOUND
    store.close()


class CountedPatience(BusyTimeout):
    """A busy timeout that counts how often a wait began."""

    begun = 0

    def __call__(self, tries: int) -> bool:
        self.begun += tries == 0
        return super().__call__(tries)


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_failed_checkpoints_are_repeated_less_and_less_often(file: Path) -> None:
    SqliteStore(file, create=True).close()
    patience, time = CountedPatience(0.01), Time()
    with closing(connect(file, busy_timeout=patience)) as writer, closing(connect(file)) as reader:
        checkpoints = Checkpointer(writer, patience, 1, time)
        reader.execute(SNAPSHOT)

        tries: list[float] = []
        while time.now < 1200:
            writer.execute("INSERT OR REPLACE INTO facts (name, value) VALUES ('x', 'y')")
            waited = patience.begun
            checkpoints()
            if patience.begun != waited:
                tries.append(time.now)
            time.now += 0.5
        pauses = [later - sooner for sooner, later in pairwise(tries)]
        assert pauses[:7] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
        assert max(pauses) <= 60
        reader.execute("ROLLBACK")
        time.now += 60
        checkpoints()
        assert writer.execute("SELECT value FROM facts WHERE name = 'x'").get == "y"
        log = file.with_name("perdure.db-wal")
        assert log.stat().st_size == 0
        assert patience.seconds == 0.01


def test_a_failed_checkpoint_fails_no_write(file: Path) -> None:
    SqliteStore(file, create=True).close()
    patience = BusyTimeout(0.0)
    with closing(connect(file, busy_timeout=patience)) as writer, closing(connect(file)) as other:
        checkpoints = Checkpointer(writer, patience, 1)
        writer.execute("INSERT INTO facts (name, value) VALUES ('x', 'y')")
        other.execute("BEGIN IMMEDIATE")
        checkpoints()
        with pytest.raises(apsw.BusyError):
            writer.execute("DELETE FROM facts")
        other.execute("ROLLBACK")


def test_every_store_returns_the_size_of_its_log(desk: Desk, store_factory: StoreFactory) -> None:
    desk.insert(change("1/a"))
    size = desk.store.log_bytes()
    assert size > 0 if isinstance(desk.store, SqliteStore) else size == 0
    desk.store.close()
    assert desk.store.log_bytes() == 0
