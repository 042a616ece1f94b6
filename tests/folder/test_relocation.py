"""The settings change when a registry was moved, and only then."""

import asyncio
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest
from tests.folder.registry_folders import (
    Interruption,
    RegistryFolder,
    RegistryMaker,
    another_store,
    move_to,
    on_a_file,
    on_a_server,
    on_another_machine,
    stop,
)
from tests.postgres.shared_server import database

from perdure.errors import InvalidInput, PerdureError, StoreSealed
from perdure.folder.move import abandon_move
from perdure.folder.registry_folder import SETTINGS
from perdure.registry import (
    show,
    verify,
)
from perdure.settings_file import read_settings, write_store
from perdure.store.open_location import parse_location
from perdure.store.postgres.postgres_options import PostgresOptions


@on_a_server
def test_only_the_owner_can_read_settings_with_a_password(maker: RegistryMaker) -> None:
    here = maker.new_folder()
    here.make()
    settings = here.folder / SETTINGS
    assert stat.S_IMODE(settings.stat().st_mode) & 0o077
    user, _, rest = here.store.partition("@")
    write_store(here.folder, f"{user}:secret@{rest}")
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    write_store(here.folder, f"{here.store}&password=secret")
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    here = maker.new_folder("with a password")
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
def test_a_new_store_is_written_into_the_settings_and_nothing_else_changes(
    registry_folder: RegistryFolder, line: str
) -> None:
    settings = registry_folder.folder / SETTINGS
    text = (
        settings.read_text().replace('store = "sqlite:perdure.db"', line) + "# A remark – of ours\nlock_seconds = 3.0\n"
    )
    settings.write_text(text)
    write_store(registry_folder.folder, "sqlite:other.db")
    after = read_settings(registry_folder.folder)
    assert (after.registry.store, after.postgresql.lock_seconds) == ("sqlite:other.db", 3.0)
    before_lines, lines = text.splitlines(), settings.read_text().splitlines()
    assert [one for one in lines if "store" not in one] == [one for one in before_lines if "store" not in one]
    assert ("# where it is" in text) == ("# where it is" in settings.read_text())
    write_store(registry_folder.folder, "sqlite:perdure.db")
    assert registry_folder.ask(verify) == []


def test_a_new_store_does_not_widen_the_permissions_of_the_settings(registry_folder: RegistryFolder) -> None:
    (registry_folder.folder / SETTINGS).chmod(0o600)
    write_store(registry_folder.folder, "sqlite:other.db")
    assert stat.S_IMODE((registry_folder.folder / SETTINGS).stat().st_mode) == 0o600


# Moving


def test_a_move_copies_everything_and_updates_the_settings(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    names = minting_registry.mint("777", 3)
    (minting_registry.folder / SETTINGS).write_text(
        "# A remark of ours\n" + (minting_registry.folder / SETTINGS).read_text()
    )
    to = another_store(maker)
    move_to(minting_registry, to)
    assert read_settings(minting_registry.folder).registry.store == to
    assert (minting_registry.folder / SETTINGS).read_text().startswith("# A remark of ours\n")
    assert minting_registry.ask(show, names[-1]).name == names[-1]
    assert not set(minting_registry.mint("777", 3)) & set(names)
    assert minting_registry.ask(verify) == []


def test_an_interrupted_move_is_finished_by_the_same_move(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    [name] = minting_registry.mint("777")
    to, before = another_store(maker), read_settings(minting_registry.folder)
    with pytest.raises(Interruption):
        move_to(minting_registry, to, stop)
    assert read_settings(minting_registry.folder) == before
    assert minting_registry.ask(show, name).name == name
    with pytest.raises(StoreSealed, match="perdure move"):
        minting_registry.mint("777")
    move_to(minting_registry, to)
    assert minting_registry.mint("777")


def test_a_move_that_stopped_before_the_settings_is_finished_by_the_same_move(
    maker: RegistryMaker, minting_registry: RegistryFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = another_store(maker)
    with monkeypatch.context() as cut:
        cut.setattr("perdure.folder.move.write_store", stop)
        with pytest.raises(Interruption):
            move_to(minting_registry, to)
    with pytest.raises(StoreSealed, match="has moved"):
        minting_registry.mint("777")
    with pytest.raises(InvalidInput, match="is finished"):
        asyncio.run(abandon_move(minting_registry.folder, to))
    move_to(minting_registry, to)
    assert read_settings(minting_registry.folder).registry.store == to
    assert minting_registry.mint("777")


def test_an_abandoned_move_leaves_nothing_behind(maker: RegistryMaker, minting_registry: RegistryFolder) -> None:
    to, before = another_store(maker), minting_registry.files().keys()
    with pytest.raises(Interruption):
        move_to(minting_registry, to, stop)
    asyncio.run(abandon_move(minting_registry.folder, to))
    assert minting_registry.mint("777")
    assert minting_registry.files().keys() == before
    assert not parse_location(to, minting_registry.folder, PostgresOptions()).exists()
    move_to(minting_registry, to)
    assert minting_registry.mint("777")


@on_a_file
def test_a_move_that_stopped_at_its_start_is_started_again(minting_registry: RegistryFolder) -> None:
    """It was interrupted when the file had its name, and nothing else."""
    (minting_registry.folder / "moved.db").touch()
    assert minting_registry.mint("777")
    move_to(minting_registry, "sqlite:moved.db")
    assert minting_registry.mint("777")


def test_a_registry_that_is_being_moved_is_not_restored(maker: RegistryMaker, minting_registry: RegistryFolder) -> None:
    backup, to = minting_registry.backup(), another_store(maker)
    with pytest.raises(Interruption):
        move_to(minting_registry, to, stop)
    with pytest.raises(StoreSealed, match="give-up"):
        minting_registry.restore(backup)
    asyncio.run(abandon_move(minting_registry.folder, to))
    minting_registry.restore(backup)
    move_to(minting_registry, to)
    assert minting_registry.mint("777")


@on_a_server
def test_a_machine_with_settings_from_before_a_move_cannot_restore_the_old_registry(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    backup, elsewhere = minting_registry.backup(), on_another_machine(minting_registry)
    move_to(minting_registry, another_store(maker))
    with pytest.raises(StoreSealed, match="has moved to"):
        elsewhere.restore(backup)


def _foreign_database(maker: RegistryMaker, folder: Path) -> str:
    if maker.engine == "sqlite":
        with closing(apsw.Connection(str(folder / "notes.db"))) as connection:
            connection.execute("CREATE TABLE notes (text); INSERT INTO notes VALUES ('precious')")
        return "sqlite:notes.db"
    store = maker.new_folder("notes").store
    schema = store.rpartition("=")[2]
    database().execute(f"CREATE SCHEMA {schema}")
    database().execute(f"CREATE TABLE {schema}.notes (text text)")
    return store


def _is_there(maker: RegistryMaker, store: str, folder: Path) -> bool:
    if maker.engine == "sqlite":
        return (folder / "notes.db").exists()
    schema = store.rpartition("=")[2]
    return database().execute(f"SELECT to_regclass('{schema}.notes')") != [(None,)]


def test_a_move_does_not_touch_foreign_tables(maker: RegistryMaker, minting_registry: RegistryFolder) -> None:
    """For example, the schema `public` of a database that others use."""
    to = _foreign_database(maker, minting_registry.folder)
    with suppress(Interruption, PerdureError):
        move_to(minting_registry, to, stop)
    with suppress(PerdureError):
        asyncio.run(abandon_move(minting_registry.folder, to))
    assert _is_there(maker, to, minting_registry.folder)


@on_a_server
def test_a_machine_with_settings_from_before_a_move_cannot_abandon_it(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    elsewhere = on_another_machine(minting_registry)
    move_to(minting_registry, another_store(maker))
    with pytest.raises(InvalidInput):
        asyncio.run(abandon_move(elsewhere.folder, "sqlite:anything.db"))
    with pytest.raises(StoreSealed):
        elsewhere.mint("777")


@on_a_server
def test_a_move_by_another_registry_is_not_abandoned(maker: RegistryMaker, minting_registry: RegistryFolder) -> None:
    other = maker.new_folder("other")
    other.make()
    to = maker.new_folder("elsewhere").store
    with pytest.raises(Interruption):
        move_to(other, to, stop)
    with suppress(PerdureError):
        asyncio.run(abandon_move(minting_registry.folder, to))
    assert parse_location(to, minting_registry.folder, PostgresOptions()).exists()


@on_a_server
def test_a_registry_is_not_moved_to_its_own_store_under_another_address(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    to = maker.new_folder("elsewhere").store
    move_to(minting_registry, to)
    with pytest.raises(InvalidInput):
        move_to(minting_registry, f"{to}&sslmode=prefer")
    assert minting_registry.mint("777")


def test_two_programs_cannot_move_one_registry_at_the_same_time(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    refusals: list[str] = []
    to = another_store(maker)

    def second(stage: str, done: int, of: int) -> None:
        with ThreadPoolExecutor(1) as pool:
            problem = pool.submit(move_to, minting_registry, to).exception()
        refusals.append(str(problem))

    move_to(minting_registry, to, second)
    assert refusals
    assert all("being moved by another program" in one for one in refusals)
    assert minting_registry.mint("777")
