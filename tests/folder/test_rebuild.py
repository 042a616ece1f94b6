"""A registry is rebuilt in an empty folder, from a backup alone, and never issues a name twice."""

import asyncio
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.folder.registry_folders import PAIRS, RegistryFolder, RegistryMaker, on_a_file, on_a_server

from perdure.errors import ClockBehind, CountUnknown, InvalidInput, PerdureError, StoreUnavailable
from perdure.folder.backup_settings import enclose_settings
from perdure.folder.rebuild import rebuild_registry
from perdure.folder.registry_folder import ADMIN_KEY, SETTINGS
from perdure.folder.restore import RestoreResult
from perdure.registry import add_prefix, change_prefix, reset_timeline, show, verify
from perdure.registry.entities import Agent
from perdure.registry.registry import Registry
from perdure.settings_file import DEFAULT_STORE, read_settings
from perdure.store.backup_digest import digest_file
from perdure.store.sqlite.backup import ENCLOSED_SETTINGS


def backup_with_settings(registry_folder: RegistryFolder) -> Path:
    """Back up as the command does."""
    file = registry_folder.folder.parent / "backup.db"
    settings = enclose_settings(registry_folder.folder)
    registry_folder.inside(lambda registry, by: registry.store.backup(file, lambda done, of: None, settings))
    return file


def rebuild(backup: Path, new: RegistryFolder, **options: Any) -> RestoreResult:
    return asyncio.run(rebuild_registry(new.folder, backup, store=new.store, clock=new.clock, **options))


def destroy(registry_folder: RegistryFolder) -> str:
    """Delete the database and the folder; return the key of the administrator, who knows it."""
    key = (registry_folder.folder / ADMIN_KEY).read_text()
    registry_folder.lose()
    shutil.rmtree(registry_folder.folder)
    return key


def rebuild_elsewhere(backup: Path, maker: RegistryMaker, old: RegistryFolder) -> tuple[RegistryFolder, RestoreResult]:
    new = maker.new_folder("new")
    new.clock = old.clock
    key = destroy(old)
    result = rebuild(backup, new)
    (new.folder / ADMIN_KEY).write_text(key)
    return new, result


def mint_after_waiting(registry_folder: RegistryFolder, prefix: str, count: int) -> list[str]:
    while True:
        try:
            return registry_folder.mint(prefix, count)
        except ClockBehind as behind:
            registry_folder.clock.step(behind.wait)


def test_the_backup_alone_is_enough(maker: RegistryMaker, minting_registry: RegistryFolder) -> None:
    file = minting_registry.folder / SETTINGS
    file.write_text(file.read_text().replace("[http]\n", '[http]\npublic_url = "https://id.example.org"\n'))
    identity = read_settings(minting_registry.folder).registry.id
    names = [*minting_registry.mint("12345", 3), *minting_registry.mint("777", 3), *minting_registry.mint(PAIRS)]
    new, result = rebuild_elsewhere(backup_with_settings(minting_registry), maker, minting_registry)
    assert result.displaced_name is None
    settings = read_settings(new.folder)
    assert (settings.registry.id, settings.registry.store) == (identity, new.store)
    assert settings.http.public_url == "https://id.example.org"
    assert [new.ask(show, name).state for name in names] == ["active"] * len(names)
    assert new.ask(verify) == []


@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("prefix", ["12345", PAIRS])
def test_dates_continue_after_everything_that_may_have_been_issued(
    maker: RegistryMaker, minting_registry: RegistryFolder, prefix: str, before: int
) -> None:
    """The clock of the new machine may be a little behind that of the old one."""
    if before:
        minting_registry.mint(prefix, before)
    backup = backup_with_settings(minting_registry)
    gone = minting_registry.mint(prefix, 20)
    minting_registry.clock.step(-4)
    new, _ = rebuild_elsewhere(backup, maker, minting_registry)
    assert not set(mint_after_waiting(new, prefix, 20)) & set(gone)


@pytest.mark.parametrize("before", [0, 3])
def test_no_number_is_issued_until_the_last_one_is_set(
    maker: RegistryMaker, minting_registry: RegistryFolder, before: int
) -> None:
    """Also under a prefix whose first number was issued after the backup."""
    if before:
        minting_registry.mint("777", before)
    backup = backup_with_settings(minting_registry)
    gone = minting_registry.mint("777", 5)
    new, result = rebuild_elsewhere(backup, maker, minting_registry)
    assert result.unsure == ["777"]
    with pytest.raises(CountUnknown):
        new.mint("777")
    new.do(reset_timeline, "777", "as in the catalogue", number=before + 5)
    assert not set(new.mint("777", 5)) & set(gone)


def test_a_prefix_that_was_made_sequential_after_the_backup_does_not_start_again(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    backup = backup_with_settings(minting_registry)
    minting_registry.do(change_prefix, "12345", minter="sequential")
    minting_registry.mint("12345", 5)
    new, result = rebuild_elsewhere(backup, maker, minting_registry)
    assert "12345" not in result.unsure
    new.do(change_prefix, "12345", minter="sequential")
    with pytest.raises(CountUnknown):
        new.mint("12345")


def test_a_prefix_added_after_the_rebuild_begins_with_its_first_number(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    new, _ = rebuild_elsewhere(backup_with_settings(minting_registry), maker, minting_registry)
    new.do(add_prefix, "888", minter="sequential")
    assert new.mint("888") == ["888/1"]


@on_a_server
def test_a_backup_of_a_server_is_rebuilt_in_a_file(minting_registry: RegistryFolder) -> None:
    [name] = minting_registry.mint("12345")
    backup = backup_with_settings(minting_registry)
    assert b"127.0.0.1" not in backup.read_bytes().replace(b'"127.0.0.0/8"', b"")
    new = RegistryFolder(minting_registry.folder.parent / "new", minting_registry.clock)
    key = destroy(minting_registry)
    rebuild(backup, new)
    (new.folder / ADMIN_KEY).write_text(key)
    assert read_settings(new.folder).registry.store == DEFAULT_STORE
    assert new.ask(show, name).state == "active"
    assert new.ask(verify) == []


@on_a_file
def test_a_file_is_rebuilt_on_a_server(maker: RegistryMaker, minting_registry: RegistryFolder) -> None:
    [name] = minting_registry.mint("12345")
    backup = backup_with_settings(minting_registry)
    maker.engine = "postgres"
    try:
        new, _ = rebuild_elsewhere(backup, maker, minting_registry)
    finally:
        maker.engine = "sqlite"
    assert new.ask(show, name).state == "active"
    assert new.ask(verify) == []


def test_a_restored_database_does_not_contain_the_settings_of_its_backup(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    backup = backup_with_settings(minting_registry)

    async def read_fact(registry: Registry, by: Agent) -> str | None:
        return await registry.store.read(lambda reader: reader.fact(ENCLOSED_SETTINGS))

    minting_registry.restore(backup)
    assert minting_registry.inside(read_fact) is None
    new, _ = rebuild_elsewhere(backup, maker, minting_registry)
    assert new.inside(read_fact) is None
    assert backup_with_settings(new).exists()


def test_a_folder_that_is_not_empty_is_refused(maker: RegistryMaker, minting_registry: RegistryFolder) -> None:
    backup = backup_with_settings(minting_registry)
    before = minting_registry.files()
    with pytest.raises(InvalidInput, match="not empty"):
        rebuild(backup, minting_registry)
    assert minting_registry.files() == before


@on_a_server
def test_a_database_with_a_registry_is_refused(minting_registry: RegistryFolder, tmp_path: Path) -> None:
    backup = backup_with_settings(minting_registry)
    new = RegistryFolder(tmp_path / "new", store=minting_registry.store)
    with pytest.raises(InvalidInput, match="already contains a registry"):
        rebuild(backup, new)
    assert not new.folder.exists()
    assert minting_registry.ask(verify) == []


def test_a_backup_of_an_older_version_is_refused_with_the_settings_that_are_needed(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    [name] = minting_registry.mint("12345")
    backup = minting_registry.backup()  # without settings, as it was made before
    identity = read_settings(minting_registry.folder).registry.id
    new = maker.new_folder("new")
    with pytest.raises(InvalidInput, match=rf"no settings inside.*--registry DIR.*id = \"{identity}\""):
        rebuild(backup, new)
    assert not new.folder.exists()
    key = destroy(minting_registry)
    new.folder.mkdir()
    (new.folder / SETTINGS).write_text(f'[registry]\nid = "{identity}"\nstore = "{new.store}"\n')
    (new.folder / ADMIN_KEY).write_text(key)
    new.restore(backup)
    assert new.ask(show, name).state == "active"


def change_settings(backup: Path, value: str) -> None:
    with closing(apsw.Connection(str(backup))) as connection:
        connection.execute("UPDATE facts SET value = ? WHERE name = ?", (value, ENCLOSED_SETTINGS))


def test_a_backup_with_the_settings_of_another_registry_is_refused(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    backup, new = backup_with_settings(minting_registry), maker.new_folder("new")
    change_settings(backup, '{"registry": {"id": "other"}}')
    with pytest.raises(StoreUnavailable, match="another registry"):
        rebuild(backup, new)
    assert not new.folder.exists()


@on_a_file
def test_a_store_in_the_settings_of_a_backup_is_not_used(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    backup, new = backup_with_settings(minting_registry), maker.new_folder("new")
    identity = read_settings(minting_registry.folder).registry.id
    change_settings(backup, f'{{"registry": {{"id": "{identity}", "store": "sqlite:../elsewhere.db"}}}}')
    rebuild(backup, new)
    assert read_settings(new.folder).registry.store == DEFAULT_STORE
    assert not (new.folder.parent / "elsewhere.db").exists()


def test_another_digest_is_refused_and_the_right_one_accepted(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    backup, new = backup_with_settings(minting_registry), maker.new_folder("new")
    new.clock = minting_registry.clock
    with pytest.raises(StoreUnavailable, match="digest mismatch"):
        rebuild(backup, new, digest="0" * 64)
    assert not new.folder.exists()
    rebuild(backup, new, digest=digest_file(backup))
    assert read_settings(new.folder).registry.store == new.store


@pytest.mark.parametrize("problem", ["missing", "no database", "cut short", "empty"])
def test_a_damaged_backup_leaves_no_folder(
    maker: RegistryMaker, minting_registry: RegistryFolder, problem: str
) -> None:
    minting_registry.mint("12345", 50)
    backup, new = backup_with_settings(minting_registry), maker.new_folder("new")
    content = backup.read_bytes()
    match problem:
        case "missing":
            backup.unlink()
        case "no database":
            backup.write_bytes(b"these are my holiday notes\n" * 500)
        case "cut short":
            backup.write_bytes(content[: len(content) // 2])
        case _:
            backup.write_bytes(b"")
    with pytest.raises(PerdureError):
        rebuild(backup, new)
    assert not new.folder.exists()


def test_an_empty_folder_stays_empty_after_an_interruption(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    backup, new = backup_with_settings(minting_registry), maker.new_folder("new")
    new.folder.mkdir()

    def interrupt(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild(backup, new, progress=interrupt)
    assert list(new.folder.iterdir()) == []
    new.clock = minting_registry.clock
    rebuild(backup, new)
