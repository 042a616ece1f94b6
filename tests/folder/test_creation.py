"""A registry's folder is created once, even after interruptions, and opened only with its own settings."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.folder.registry_folders import Interruption, RegistryFolder, RegistryMaker, on_a_server, stop
from tests.postgres.shared_server import database

from perdure.errors import InvalidInput, NoSuchName, PerdureError, StoreUnavailable
from perdure.folder.registry_folder import (
    ADMIN_KEY,
    DATABASE,
    SETTINGS,
)
from perdure.records.authority_metadata import DESCRIPTIONS, OWNER
from perdure.registry import (
    Registry,
    Settings,
    Statement,
    add_prefix,
    mint,
    show,
    verify,
)
from perdure.registry.entities import Agent
from perdure.settings_file import read_settings
from perdure.store.postgres.location import PostgresLocation


def test_a_new_folder_holds_settings_a_database_and_a_key(registry_folder: RegistryFolder) -> None:
    assert {SETTINGS, DATABASE, ADMIN_KEY} <= registry_folder.files().keys()
    assert registry_folder.ask(verify) == []


def test_the_settings_name_the_store(maker: RegistryMaker) -> None:
    here = maker.new_folder()
    here.make()
    assert read_settings(here.folder).registry.store == here.store
    assert (here.folder / DATABASE).exists() == (maker.engine == "sqlite")
    assert here.ask(verify) == []


def test_only_the_owner_can_read_the_key(registry_folder: RegistryFolder) -> None:
    assert stat.S_IMODE((registry_folder.folder / ADMIN_KEY).stat().st_mode) == 0o600


def test_the_settings_have_explanations_and_can_be_read_unchanged(registry_folder: RegistryFolder) -> None:
    text = (registry_folder.folder / SETTINGS).read_text()
    for setting in ("longest_wait", "largest_gap_days", "schemes", "value_bytes", "record_bytes", "type_prefix"):
        assert setting in text

    async def settings(registry: Registry, by: Agent) -> Settings:
        return registry.settings

    assert registry_folder.inside(settings) == Settings()
    # The defaults that are shown are the defaults.
    (registry_folder.folder / SETTINGS).write_text(
        "\n".join(line.removeprefix("# ") if " = " in line else line for line in text.splitlines())
    )
    assert registry_folder.inside(settings) == Settings()


def test_a_changed_setting_takes_effect(registry_folder: RegistryFolder) -> None:
    path = registry_folder.folder / SETTINGS
    path.write_text(path.read_text().replace('# schemes = ["http", ', 'schemes = ["gopher", '))
    registry_folder.do(add_prefix, "12345")
    [made] = registry_folder.do(mint, "12345", statement=Statement("gopher://example.org/"))
    assert registry_folder.ask(show, made.name).target == "gopher://example.org/"


@pytest.mark.parametrize("section", ["minting", "limits", "registry", "metadata", "colours"])
def test_an_unknown_setting_is_named(registry_folder: RegistryFolder, section: str) -> None:
    path = registry_folder.folder / SETTINGS
    text = path.read_text()
    heading = f"[{section}]\n"
    path.write_text(
        text.replace(heading, f"{heading}longest_wiat = 5\n") if heading in text else f"{text}\n{heading}x = 1\n"
    )
    with pytest.raises(InvalidInput, match=r"longest_wiat|colours"):
        registry_folder.ask(verify)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# longest_wait = 10.0", 'longest_wait = "long"', "longest_wait"),
        ("# longest_wait = 10.0", "longest_wait = -1.0", "longest_wait"),
        ("# longest_wait = 10.0", "longest_wait = nan", "longest_wait"),
        ("# value_bytes = 65536", "value_bytes = -5", "value_bytes"),
        ('store = "sqlite:perdure.db"', 'store = "oracle:x"', "oracle"),
        ("[registry]", "[registry", SETTINGS),
    ],
)
def test_an_invalid_setting_is_refused_by_name(
    registry_folder: RegistryFolder, old: str, new: str, message: str
) -> None:
    path = registry_folder.folder / SETTINGS
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InvalidInput, match=message):
        registry_folder.ask(verify)


def test_settings_of_another_registry_are_refused(maker: RegistryMaker, any_registry: RegistryFolder) -> None:
    other = maker.new_folder("other")
    other.make()
    ours, theirs = any_registry.folder / SETTINGS, other.folder / SETTINGS
    ours.write_text(
        ours.read_text().replace(
            read_settings(any_registry.folder).registry.id, read_settings(other.folder).registry.id
        )
    )
    before = any_registry.files()
    with pytest.raises(InvalidInput, match="one of them was copied here"):
        any_registry.ask(verify)
    assert any_registry.files() == before
    assert theirs.exists()


def test_an_existing_registry_is_not_overwritten(any_registry: RegistryFolder) -> None:
    before = any_registry.files()
    with pytest.raises(InvalidInput, match="already"):
        any_registry.make()
    assert any_registry.files() == before
    assert any_registry.ask(verify) == []


def test_a_database_with_missing_settings_is_not_overwritten(any_registry: RegistryFolder) -> None:
    any_registry.do(add_prefix, "12345")
    settings = (any_registry.folder / SETTINGS).read_text()
    (any_registry.folder / SETTINGS).unlink()
    before = any_registry.files()
    with pytest.raises(InvalidInput, match=SETTINGS):
        any_registry.make()
    assert any_registry.files() == before
    (any_registry.folder / SETTINGS).write_text(settings)
    assert any_registry.mint("12345")


@on_a_server
def test_a_registry_that_another_folder_created_is_not_overwritten(
    maker: RegistryMaker, any_registry: RegistryFolder
) -> None:
    elsewhere = maker.new_folder("elsewhere")
    elsewhere.store = any_registry.store
    with pytest.raises(InvalidInput, match="already"):
        elsewhere.make()
    assert not (elsewhere.folder / SETTINGS).exists()
    assert any_registry.ask(verify) == []


@pytest.mark.parametrize("exists", [False, True])
def test_a_registry_that_cannot_be_created_leaves_nothing(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "registry"
    if exists:
        folder.mkdir()
        (folder / "notes.txt").touch()
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        RegistryFolder(folder, store="postgresql://nobody@127.0.0.1:1/perdure").make()
    assert folder.exists() == exists
    assert not exists or [file.name for file in folder.iterdir()] == ["notes.txt"]


@on_a_server
@pytest.mark.parametrize("ending", ["_new", "_incoming"])
def test_creating_or_restoring_a_registry_does_not_change_other_schemas(maker: RegistryMaker, ending: str) -> None:
    here, neighbour = maker.new_folder(), maker.new_folder("neighbour")
    neighbour.store = f"{here.store}{ending}"
    neighbour.make()
    here.make()
    here.restore(here.backup())
    assert neighbour.ask(verify) == []


@on_a_server
def test_an_existing_schema_is_used_or_refused_at_once(maker: RegistryMaker) -> None:
    """An administrator may have created it, with just the privileges that the registry needs."""
    here = maker.new_folder()
    schema = here.store.rpartition("=")[2]
    database().execute(f"CREATE SCHEMA {schema}")
    try:
        here.make()
    except InvalidInput:
        assert not (here.folder / SETTINGS).exists()
    else:
        assert here.ask(verify) == []


def test_the_error_for_a_folder_without_a_registry_says_how_to_create_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="perdure init"):
        RegistryFolder(tmp_path).ask(verify)


def test_invalid_input_leaves_no_incomplete_registry_folder(maker: RegistryMaker) -> None:
    here = maker.new_folder()
    for wrong in ({"home": "no/prefix"}, {"admin": "Not A Short Name"}, {"type_prefix": "a/b"}):
        with pytest.raises(PerdureError):
            here.make(**wrong)
        assert not (here.folder / SETTINGS).exists()
    here.make(home="12345", ppid_namespace=UUID(int=7))
    assert here.ask(verify) == []


@pytest.mark.parametrize("step", [1, 2, 3])
def test_an_interrupted_creation_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Creation ends with three files that are written one after the other; it may be interrupted before each."""
    here = RegistryFolder(tmp_path / "registry")
    done = 0
    replace = Path.replace

    def count_and_replace(self: Path, target: Path) -> Path:
        nonlocal done
        if Path(target).name in (ADMIN_KEY, DATABASE, SETTINGS):
            done += 1
            if done == step:
                stop()
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", count_and_replace)
    monkeypatch.setattr(os, "link", lambda source, target: count_and_replace(Path(source), Path(target)))
    with pytest.raises(Interruption):
        here.make()
    monkeypatch.undo()
    here.make()
    assert here.ask(verify) == []
    assert len(here.mint(here.inside(_home))) == 1


@on_a_server
def test_two_machines_that_create_a_registry_at_once_create_one(
    maker: RegistryMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second starts when the first is about to take its last step. The one that succeeds has a valid key."""
    first, second = maker.new_folder(), maker.new_folder("another machine")
    second.store = first.store
    take = PostgresLocation.install

    def too_late(self: PostgresLocation, *rest: Any) -> None:
        monkeypatch.setattr(PostgresLocation, "install", stop)  # the second gets no further than this, for now
        with ThreadPoolExecutor(1) as pool:
            pool.submit(second.make).exception()
        monkeypatch.setattr(PostgresLocation, "install", take)
        take(self, *rest)

    monkeypatch.setattr(PostgresLocation, "install", too_late)
    try:
        first.make()
    except PerdureError:
        return
    assert first.ask(verify) == []


@on_a_server
@pytest.mark.parametrize("step", ["write_atomically", "write_settings", "install"])
def test_an_interrupted_creation_on_a_server_can_be_repeated(
    maker: RegistryMaker, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """It may be interrupted before the key, the settings, or the final name of the schema is written."""
    here = maker.new_folder()
    with monkeypatch.context() as cut:
        if step == "install":
            cut.setattr(PostgresLocation, "install", stop)
        else:
            cut.setattr(f"perdure.folder.registry_folder.{step}", stop)
        with pytest.raises(Interruption):
            here.make()
    here.make()
    assert here.ask(verify) == []
    assert len(here.mint(here.inside(_home))) == 1


async def _home(registry: Registry, by: Agent) -> str:
    return registry.home


# Restore


def test_a_type_that_an_earlier_release_did_not_know_is_registered_at_opening(
    maker: RegistryMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = maker.new_folder()
    with monkeypatch.context() as earlier:
        earlier.delitem(DESCRIPTIONS, OWNER)
        here.make()
        here.ask(verify)
        with pytest.raises(NoSuchName):
            here.ask(show, f"102.100.TYPE/{OWNER}")
    view = here.ask(show, f"102.100.TYPE/{OWNER}")
    assert (view.version, view.values[0].text) == (1, DESCRIPTIONS[OWNER])
    assert here.ask(verify) == []
    assert here.ask(show, f"102.100.TYPE/{OWNER}") == view
