"""The store on SQLite alone: the file, its settings, its schema, and the mapping of its errors."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.store.record_strategies import AT, RECORD, Desk, change, revise

from perdure.errors import StoreDamaged, StoreFull, StoreUnavailable
from perdure.registry.entities import Event, Prefix
from perdure.store.sqlite import SqliteStore
from perdure.store.sqlite.connection import connect, to_store_error
from perdure.store.sqlite.migrations import MIGRATIONS


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "perdure.db"


@pytest.fixture
def own(file: Path, runner: asyncio.Runner) -> Iterator[Desk]:
    store = SqliteStore(file, create=True)
    yield Desk(runner, store)
    store.close()


def test_a_database_is_created_only_on_request(file: Path) -> None:
    with pytest.raises(StoreUnavailable, match="perdure restore"):
        SqliteStore(file)
    assert not file.exists()


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        SqliteStore(tmp_path / "missing" / "perdure.db", create=True)


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be looked at" * 20, b"x" * 5000])
def test_a_file_that_is_not_a_database_is_reported_as_damaged(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(StoreDamaged):
        SqliteStore(file)


def test_acknowledged_writes_are_fsynced(own: Desk, file: Path) -> None:
    connection = connect(file)
    pragmas = {
        name: connection.execute(f"PRAGMA {name}").get for name in ("journal_mode", "synchronous", "foreign_keys")
    }
    connection.close()
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE revisions SET agent = 'another'",
        "UPDATE revisions SET record = x''",
        "DELETE FROM revisions",
        "DELETE FROM identifiers",
        "UPDATE events SET detail = 'nothing happened'",
        "DELETE FROM events",
        "UPDATE prefixes SET case_sensitive = 1 - case_sensitive",
    ],
)
def test_history_cannot_be_changed_behind_the_registrys_back(own: Desk, file: Path, statement: str) -> None:
    own.insert(change("1/a"))
    prefix = Prefix(key="1", name="1", scheme="handle", minter="pilin")
    own.write(lambda tx: (tx.put_event(Event(AT, "jan", "x", "y")), tx.put_prefix(prefix)))
    connection = apsw.Connection(str(file))
    with pytest.raises(apsw.ConstraintError):
        connection.execute(statement)
    connection.close()


def test_a_newer_schema_is_not_changed(own: Desk, file: Path) -> None:
    own.store.close()
    connection = apsw.Connection(str(file))
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(StoreUnavailable, match="newer Perdure"):
        SqliteStore(file)


def test_concurrent_creations_create_one_database(file: Path) -> None:
    problems: list[BaseException] = []

    def create() -> None:
        try:
            SqliteStore(file, create=True).close()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_a_lock_of_another_process_is_waited_for_and_then_reported(file: Path, runner: asyncio.Runner) -> None:
    store = SqliteStore(file, create=True, busy_timeout=0.05)
    desk = Desk(runner, store)
    other = apsw.Connection(str(file))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked") as refusal:
        desk.insert(change("1/a"))
    assert refusal.value.safe_to_retry
    other.execute("ROLLBACK")
    desk.insert(change("1/a"))
    other.close()
    store.close()


def test_a_full_database_fails_the_whole_group_and_loses_no_stored_data(own: Desk) -> None:
    """The group's transaction is rolled back: all its works fail, and the next write succeeds."""
    own.insert(change("1/before"))

    def limit(tx) -> None:
        pages = tx.connection.execute("PRAGMA page_count").get
        tx.connection.execute(f"PRAGMA max_page_count = {pages + 2}")

    def remove_limit(tx) -> None:
        tx.connection.execute("PRAGMA max_page_count = 1000000")

    own.write(limit)

    async def group() -> list[object]:
        works = [own.store.write(lambda tx, n=n: tx.insert([change(f"1/{n}", record=b"x" * 3000)])) for n in range(20)]
        return await asyncio.gather(*works, return_exceptions=True)

    answers = own.runner.run(group())
    own.write(remove_limit)
    committed = [f"1/{number}" for number, answer in enumerate(answers) if answer is None]
    assert any(isinstance(answer, StoreUnavailable) and answer.safe_to_retry for answer in answers)
    assert all(answer is None or isinstance(answer, StoreUnavailable) for answer in answers)
    assert own.names() == sorted(["1/before", *committed])
    own.insert(change("1/after"))
    assert own.contradictions() == []


def test_a_word_missing_from_the_search_index_is_a_contradiction(own: Desk, file: Path) -> None:
    own.insert(change("1/a"), change("1/b"))
    connection = apsw.Connection(str(file))
    connection.execute("DELETE FROM words WHERE rowid = 1")
    connection.close()
    assert own.contradictions() == ["1/a: it is missing in the full-text index"]


def test_a_reverse_lookup_entry_of_an_inactive_name_is_a_contradiction(own: Desk) -> None:
    still = (("URL", "https://example.org/"),)
    own.insert(change("1/a", reverse=still))
    own.update(revise("1/a", 2, b"x", state="withdrawn", reverse=still, reverse_before=still))
    assert any("https://example.org/" in found for found in own.contradictions())


def test_a_damaged_page_is_an_error_of_the_registry(own: Desk, file: Path) -> None:
    own.insert(*(change(f"1/{number:04d}", record=b"x" * 500) for number in range(300)))
    own.store.close()
    content = bytearray(file.read_bytes())
    for page in range(4096 * 4, len(content) - 4096, 4096):
        content[page : page + 2000] = b"\xa5" * 2000
    file.write_bytes(content)

    def use() -> None:
        damaged = SqliteStore(file)
        try:
            Desk(own.runner, damaged).names()
        finally:
            damaged.close()

    with pytest.raises(StoreDamaged):
        use()


@pytest.mark.parametrize(
    ("problem", "kind", "safe"),
    [
        (apsw.BusyError, StoreUnavailable, True),
        (apsw.FullError, StoreFull, True),
        (apsw.ReadOnlyError, StoreUnavailable, False),
        (apsw.IOError, StoreUnavailable, False),
        (apsw.CantOpenError, StoreUnavailable, False),
        (apsw.CorruptError, StoreDamaged, False),
        (apsw.NotADBError, StoreDamaged, False),
        (apsw.SQLError, StoreUnavailable, False),
    ],
)
def test_every_error_says_whether_to_retry(problem: type[apsw.Error], kind: type[StoreUnavailable], safe: bool) -> None:
    error = to_store_error(problem("x"))
    assert type(error) is kind
    assert error.safe_to_retry is safe


def test_connections_do_not_accumulate_over_event_loops(own: Desk, file: Path) -> None:
    own.insert(change("1/a"))
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("this system does not show its open files")

    def open_files() -> int:
        return sum(1 for one in folder.iterdir() if one.exists() and one.resolve() == file.resolve())

    before = open_files()
    for _ in range(10):
        asyncio.run(own.store.read(lambda reader: reader.find("1/a")))
        # The pool starts another thread for work that comes before the last thread is idle, as on a busy machine.
        assert own.store._pool._idle_semaphore.acquire(timeout=60)
        own.store._pool._idle_semaphore.release()
    assert open_files() <= before + 2


def test_a_backup_never_replaces_the_database_itself(own: Desk, file: Path) -> None:
    """The open connections would continue to write to the file that was replaced."""
    own.insert(change("1/a"))
    with pytest.raises(StoreUnavailable):
        own.runner.run(own.store.backup(file, lambda done, of: None))


def test_a_search_index_changed_since_the_last_check_is_not_reported_as_damaged(own: Desk) -> None:
    """The engine's own check does not see what other connections have changed."""
    own.insert(*(change(f"1/{name}", words=f"{name} one") for name in "abcdefg"))
    for version in range(2, 60):
        for name in "abc":
            own.update(revise(f"1/{name}", version, RECORD, words=f"{name} {version}"))
        assert own.contradictions() == []
