"""The settings follow a registry that moves, and only then."""

import asyncio
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest
from tests.folder.grounds import (
    Cut,
    Grounds,
    Place,
    another_store,
    move_to,
    on_a_file,
    on_a_server,
    on_another_machine,
    stop,
)
from tests.postgres.shared import database

from perdure.errors import InvalidInput, PerdureError, StoreSealed
from perdure.folder import (
    SETTINGS,
    give_up_move,
)
from perdure.registry import (
    show,
    verify,
)
from perdure.settings_file import change_store, read_settings
from perdure.store.places import place_of
from perdure.store.postgres.options import PostgresOptions


@on_a_server
def test_settings_with_a_password_are_for_their_owner_alone(grounds: Grounds) -> None:
    here = grounds.plot()
    here.make()
    settings = here.folder / SETTINGS
    assert stat.S_IMODE(settings.stat().st_mode) & 0o077
    user, _, rest = here.store.partition("@")
    change_store(here.folder, f"{user}:secret@{rest}")
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    change_store(here.folder, f"{here.store}&password=secret")
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    here = grounds.plot("with a password")
    user, _, rest = here.store.partition("@")
    here.store = f"{user}:secret@{rest}"
    here.make()
    assert stat.S_IMODE((here.folder / SETTINGS).stat().st_mode) == 0o600
    assert here.ask(verify) == []


@pytest.mark.parametrize(
    "line",
    [
        'store = "sqlite:perdure.db"',
        'store="sqlite:perdure.db" # where it is',
        "# left to its default",
        "store = 'sqlite:perdure.db'",
    ],
)
def test_a_new_store_is_written_into_the_settings_and_nothing_else_changes(place: Place, line: str) -> None:
    settings = place.folder / SETTINGS
    text = (
        settings.read_text().replace('store = "sqlite:perdure.db"', line) + "# A remark – of ours\nlock_seconds = 3.0\n"
    )
    settings.write_text(text)
    change_store(place.folder, "sqlite:other.db")
    after = read_settings(place.folder)
    assert (after.registry.store, after.postgresql.lock_seconds) == ("sqlite:other.db", 3.0)
    before_lines, lines = text.splitlines(), settings.read_text().splitlines()
    assert [one for one in lines if "store" not in one] == [one for one in before_lines if "store" not in one]
    assert ("# where it is" in text) == ("# where it is" in settings.read_text())
    change_store(place.folder, "sqlite:perdure.db")
    assert place.ask(verify) == []


def test_a_new_store_does_not_open_settings_that_somebody_has_closed(place: Place) -> None:
    (place.folder / SETTINGS).chmod(0o600)
    change_store(place.folder, "sqlite:other.db")
    assert stat.S_IMODE((place.folder / SETTINGS).stat().st_mode) == 0o600


# Moving


def test_a_move_takes_everything_along_and_the_settings_say_so(grounds: Grounds, minting: Place) -> None:
    names = minting.mint("777", 3)
    (minting.folder / SETTINGS).write_text("# A remark of ours\n" + (minting.folder / SETTINGS).read_text())
    to = another_store(grounds)
    move_to(minting, to)
    assert read_settings(minting.folder).registry.store == to
    assert (minting.folder / SETTINGS).read_text().startswith("# A remark of ours\n")
    assert minting.ask(show, names[-1]).name == names[-1]
    assert not set(minting.mint("777", 3)) & set(names)
    assert minting.ask(verify) == []


def test_an_interrupted_move_is_finished_by_the_same_move(grounds: Grounds, minting: Place) -> None:
    [name] = minting.mint("777")
    to, before = another_store(grounds), read_settings(minting.folder)
    with pytest.raises(Cut):
        move_to(minting, to, stop)
    assert read_settings(minting.folder) == before
    assert minting.ask(show, name).name == name
    with pytest.raises(StoreSealed, match="perdure move"):
        minting.mint("777")
    move_to(minting, to)
    assert minting.mint("777")


def test_a_move_that_was_cut_before_the_settings_is_finished_by_the_same_move(
    grounds: Grounds, minting: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = another_store(grounds)
    with monkeypatch.context() as cut:
        cut.setattr("perdure.folder.change_store", stop)
        with pytest.raises(Cut):
            move_to(minting, to)
    with pytest.raises(StoreSealed, match="has moved"):
        minting.mint("777")
    with pytest.raises(InvalidInput, match="is finished"):
        asyncio.run(give_up_move(minting.folder, to))
    move_to(minting, to)
    assert read_settings(minting.folder).registry.store == to
    assert minting.mint("777")


def test_a_move_that_is_given_up_leaves_nothing_behind(grounds: Grounds, minting: Place) -> None:
    to, before = another_store(grounds), minting.files().keys()
    with pytest.raises(Cut):
        move_to(minting, to, stop)
    asyncio.run(give_up_move(minting.folder, to))
    assert minting.mint("777")
    assert minting.files().keys() == before
    assert not place_of(to, minting.folder, PostgresOptions()).exists()
    move_to(minting, to)
    assert minting.mint("777")


@on_a_file
def test_a_move_that_was_cut_at_its_very_beginning_is_begun_again(minting: Place) -> None:
    """When the file had its name, and no more."""
    (minting.folder / "moved.db").touch()
    assert minting.mint("777")
    move_to(minting, "sqlite:moved.db")
    assert minting.mint("777")


def test_a_registry_that_is_being_moved_is_not_restored(grounds: Grounds, minting: Place) -> None:
    backup, to = minting.backup(), another_store(grounds)
    with pytest.raises(Cut):
        move_to(minting, to, stop)
    with pytest.raises(StoreSealed, match="give-up"):
        minting.restore(backup)
    asyncio.run(give_up_move(minting.folder, to))
    minting.restore(backup)
    move_to(minting, to)
    assert minting.mint("777")


@on_a_server
def test_a_machine_that_has_missed_a_move_does_not_restore_the_old_registry(grounds: Grounds, minting: Place) -> None:
    backup, elsewhere = minting.backup(), on_another_machine(minting)
    move_to(minting, another_store(grounds))
    with pytest.raises(StoreSealed, match="has moved to"):
        elsewhere.restore(backup)


def _a_database_of_somebody_else(grounds: Grounds, folder: Path) -> str:
    if grounds.engine == "sqlite":
        with closing(apsw.Connection(str(folder / "notes.db"))) as connection:
            connection.execute("CREATE TABLE notes (text); INSERT INTO notes VALUES ('precious')")
        return "sqlite:notes.db"
    store = grounds.plot("notes").store
    schema = store.rpartition("=")[2]
    database().execute(f"CREATE SCHEMA {schema}")
    database().execute(f"CREATE TABLE {schema}.notes (text text)")
    return store


def _is_there(grounds: Grounds, store: str, folder: Path) -> bool:
    if grounds.engine == "sqlite":
        return (folder / "notes.db").exists()
    schema = store.rpartition("=")[2]
    return database().execute(f"SELECT to_regclass('{schema}.notes')") != [(None,)]


def test_a_move_leaves_what_somebody_else_keeps_alone(grounds: Grounds, minting: Place) -> None:
    """For one, the schema `public` of a database that others use."""
    to = _a_database_of_somebody_else(grounds, minting.folder)
    with suppress(Cut, PerdureError):
        move_to(minting, to, stop)
    with suppress(PerdureError):
        asyncio.run(give_up_move(minting.folder, to))
    assert _is_there(grounds, to, minting.folder)


@on_a_server
def test_a_machine_that_has_missed_a_move_cannot_give_it_up(grounds: Grounds, minting: Place) -> None:
    elsewhere = on_another_machine(minting)
    move_to(minting, another_store(grounds))
    with pytest.raises(InvalidInput):
        asyncio.run(give_up_move(elsewhere.folder, "sqlite:anything.db"))
    with pytest.raises(StoreSealed):
        elsewhere.mint("777")


@on_a_server
def test_a_move_of_somebody_else_is_not_given_up(grounds: Grounds, minting: Place) -> None:
    other = grounds.plot("other")
    other.make()
    to = grounds.plot("elsewhere").store
    with pytest.raises(Cut):
        move_to(other, to, stop)
    with suppress(PerdureError):
        asyncio.run(give_up_move(minting.folder, to))
    assert place_of(to, minting.folder, PostgresOptions()).exists()


@on_a_server
def test_a_registry_is_not_moved_to_where_it_is_under_another_address(grounds: Grounds, minting: Place) -> None:
    to = grounds.plot("elsewhere").store
    move_to(minting, to)
    with pytest.raises(InvalidInput):
        move_to(minting, f"{to}&sslmode=prefer")
    assert minting.mint("777")


def test_two_programs_do_not_move_one_registry_at_once(grounds: Grounds, minting: Place) -> None:
    refusals: list[str] = []
    to = another_store(grounds)

    def second(stage: str, done: int, of: int) -> None:
        with ThreadPoolExecutor(1) as pool:
            problem = pool.submit(move_to, minting, to).exception()
        refusals.append(str(problem))

    move_to(minting, to, second)
    assert refusals
    assert all("being moved by another program" in one for one in refusals)
    assert minting.mint("777")
