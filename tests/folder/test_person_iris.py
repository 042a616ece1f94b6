"""The base of the IRIs of persons travels with backup, restore, move and export, and the settings cannot change it."""

import json

import pytest
from tests.folder.registry_folders import RegistryFolder, RegistryMaker, another_store, move_to, on_another_machine

from perdure.errors import InvalidInput
from perdure.folder.registry_folder import SETTINGS
from perdure.registry import Registry, export
from perdure.registry.entities import Agent

PUBLIC = "https://id.example.org"
BASE = f"{PUBLIC}/"


@pytest.fixture
def folder(maker: RegistryMaker) -> RegistryFolder:
    folder = maker.new_folder()
    folder.make(public_url=PUBLIC)
    return folder


def base_of(folder: RegistryFolder) -> str:
    async def work(registry: Registry, by: Agent) -> str:
        return registry.namespaces.ppid

    return folder.inside(work)


def edit_settings(folder: RegistryFolder, old: str, new: str) -> None:
    file = folder.folder / SETTINGS
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_it_is_restored_from_a_backup_whatever_the_public_url_is(folder: RegistryFolder) -> None:
    backup = folder.backup()
    edit_settings(folder, f'public_url = "{PUBLIC}"', 'public_url = "https://new.example.org"')
    there = on_another_machine(folder)
    folder.lose()
    there.restore(backup)
    assert base_of(there) == BASE


def test_it_is_moved_to_another_engine(maker: RegistryMaker, folder: RegistryFolder) -> None:
    move_to(folder, another_store(maker))
    assert base_of(folder) == BASE


def test_it_is_exported(folder: RegistryFolder) -> None:
    async def work(registry: Registry, by: Agent) -> bytes:
        return b"".join([data async for _, data in export(registry, by)])

    first = json.loads(folder.inside(work).partition(b"\n")[0])
    assert first["person_iris"] == BASE


def test_another_one_in_the_settings_is_refused(folder: RegistryFolder) -> None:
    edit_settings(folder, "[persons]\n", '[persons]\nppid = "https://ppid.org/"\n')
    with pytest.raises(InvalidInput, match="for life"):
        base_of(folder)
    edit_settings(folder, 'ppid = "https://ppid.org/"', f'ppid = "{BASE}"')
    assert base_of(folder) == BASE
