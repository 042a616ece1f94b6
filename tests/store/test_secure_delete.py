"""Redacted content does not remain in unused parts of the file."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from perdure.store.sqlite.connection import BusyTimeout, connect
from perdure.store.sqlite.migrations import migrate
from perdure.store.sqlite.secure_delete import LARGEST_SCRUBBED, Scrubber, is_unscrubbed, scrub

WORD = b"quetzal"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    """Return a connection to a database in which a word was written and deleted."""
    with_word = connect(tmp_path / "perdure.db", create=True, busy_timeout=BusyTimeout(0.1))
    migrate(with_word)
    with_word.execute("INSERT INTO facts (name, value) VALUES ('a', ?)", (WORD.decode() * 2000,))
    with_word.execute("DELETE FROM facts WHERE name = 'a'")
    yield with_word
    with_word.close()


def has_word(folder: Path) -> bool:
    return any(WORD in file.read_bytes() for file in folder.iterdir())


def test_nothing_is_left_after_the_file_was_rewritten(connection: apsw.Connection, tmp_path: Path) -> None:
    scrubbing = Scrubber(connection, BusyTimeout(0.1))
    scrubbing()
    assert has_word(tmp_path)  # it was not requested
    scrubbing.request()
    assert is_unscrubbed(connection)
    scrubbing()
    assert not has_word(tmp_path)
    assert not is_unscrubbed(connection)


def test_a_requested_rewrite_survives_the_end_of_the_process(connection: apsw.Connection, tmp_path: Path) -> None:
    Scrubber(connection, BusyTimeout(0.1)).request()
    Scrubber(connection, BusyTimeout(0.1))()
    assert not has_word(tmp_path)


def test_a_large_database_is_rewritten_on_request(connection: apsw.Connection, tmp_path: Path) -> None:
    scrubbing = Scrubber(connection, BusyTimeout(0.1), largest=4096)
    scrubbing.request()
    scrubbing()
    assert has_word(tmp_path)
    assert is_unscrubbed(connection)
    scrub(connection)
    assert not has_word(tmp_path)
    assert not is_unscrubbed(connection)


def test_a_rewrite_blocked_by_a_reader_is_done_the_next_time(connection: apsw.Connection, tmp_path: Path) -> None:
    clock = [0.0]
    waiting = BusyTimeout(0.1)
    connection.set_busy_handler(waiting)
    scrubbing = Scrubber(connection, waiting, LARGEST_SCRUBBED, lambda: clock[0])
    scrubbing.request()
    reader = connect(tmp_path / "perdure.db", busy_timeout=0.1)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM facts").fetchall()
    scrubbing()
    assert is_unscrubbed(connection)
    reader.execute("COMMIT")
    reader.close()
    scrubbing()
    assert is_unscrubbed(connection)  # not so soon
    clock[0] = 60.0
    scrubbing()
    assert not has_word(tmp_path)
