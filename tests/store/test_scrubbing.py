"""What was redacted is not left in unused parts of the file."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from perdure.store.sqlite.connection import Patience, connect
from perdure.store.sqlite.migrations import migrate
from perdure.store.sqlite.scrubbing import LARGEST_SCRUBBED, Scrubbing, is_unscrubbed, scrub

WORD = b"quetzal"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    """With a word that was written, and let go of."""
    with_word = connect(tmp_path / "perdure.db", create=True, patience=Patience(0.1))
    migrate(with_word)
    with_word.execute("INSERT INTO facts (name, value) VALUES ('a', ?)", (WORD.decode() * 2000,))
    with_word.execute("DELETE FROM facts WHERE name = 'a'")
    yield with_word
    with_word.close()


def left(folder: Path) -> bool:
    return any(WORD in file.read_bytes() for file in folder.iterdir())


def test_nothing_is_left_once_the_file_was_written_anew(connection: apsw.Connection, tmp_path: Path) -> None:
    scrubbing = Scrubbing(connection, Patience(0.1))
    scrubbing()
    assert left(tmp_path)  # nobody wanted it
    scrubbing.want()
    assert is_unscrubbed(connection)
    scrubbing()
    assert not left(tmp_path)
    assert not is_unscrubbed(connection)


def test_it_is_not_forgotten_with_the_process(connection: apsw.Connection, tmp_path: Path) -> None:
    Scrubbing(connection, Patience(0.1)).want()
    Scrubbing(connection, Patience(0.1))()
    assert not left(tmp_path)


def test_a_large_database_is_written_anew_when_somebody_says_so(connection: apsw.Connection, tmp_path: Path) -> None:
    scrubbing = Scrubbing(connection, Patience(0.1), largest=4096)
    scrubbing.want()
    scrubbing()
    assert left(tmp_path)
    assert is_unscrubbed(connection)
    scrub(connection)
    assert not left(tmp_path)
    assert not is_unscrubbed(connection)


def test_a_reader_in_the_way_is_waited_for_the_next_time(connection: apsw.Connection, tmp_path: Path) -> None:
    clock = [0.0]
    waiting = Patience(0.1)
    connection.set_busy_handler(waiting)
    scrubbing = Scrubbing(connection, waiting, LARGEST_SCRUBBED, lambda: clock[0])
    scrubbing.want()
    reader = connect(tmp_path / "perdure.db", patience=0.1)
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
    assert not left(tmp_path)
