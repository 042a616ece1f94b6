"""`secrets.key`: created with the first secret, never replaced, and needed on every machine that decrypts one."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.folder.registry_folders import (
    RegistryFolder,
    RegistryMaker,
    another_store,
    move_to,
    on_a_server,
    on_another_machine,
)

from perdure.errors import StoreDamaged, StoreUnavailable
from perdure.registry import Registry, verify
from perdure.registry.entities import Agent
from perdure.registry.secret_box import SECRETS_KEY, open_secret, store_secret
from perdure.store.key_file import FileSealer

SECRET = b"correct horse battery staple"


def key_of(registry_folder: RegistryFolder) -> Path:
    return registry_folder.folder / SECRETS_KEY


def keep(registry_folder: RegistryFolder, plain: bytes = SECRET, index: int = 300) -> str:
    """Store a secret for a new name."""
    [name] = registry_folder.mint("12345")

    async def work(registry: Registry, by: Agent) -> None:
        await registry.store.write(lambda tx: store_secret(tx, registry.sealer, name, index, plain))

    registry_folder.inside(work)
    return name


def read_secret(registry_folder: RegistryFolder, name: str, index: int = 300) -> bytes | None:
    async def work(registry: Registry, by: Agent) -> bytes | None:
        return await registry.store.read(lambda reader: open_secret(reader, registry.sealer, name, index))

    return registry_folder.inside(work)


def test_the_key_is_created_with_the_first_secret_and_only_its_owner_can_read_it(
    minting_registry: RegistryFolder,
) -> None:
    minting_registry.mint("12345")
    assert minting_registry.ask(verify) == []
    assert not key_of(minting_registry).exists()
    name = keep(minting_registry)
    assert key_of(minting_registry).stat().st_mode & 0o777 == 0o600
    assert len(bytes.fromhex(key_of(minting_registry).read_text())) == 32
    assert read_secret(minting_registry, name) == SECRET
    assert minting_registry.ask(verify) == []
    assert not [one for one in minting_registry.folder.iterdir() if one.name.startswith(f".{SECRETS_KEY}")]


def test_the_key_stays_the_same(minting_registry: RegistryFolder) -> None:
    first = keep(minting_registry)
    key = key_of(minting_registry).read_bytes()
    second = keep(minting_registry, b"another")
    assert key_of(minting_registry).read_bytes() == key
    assert [read_secret(minting_registry, name) for name in (first, second)] == [SECRET, b"another"]


def test_a_lost_key_is_reported_and_not_replaced(minting_registry: RegistryFolder) -> None:
    name = keep(minting_registry)
    moved_key = key_of(minting_registry).rename(minting_registry.folder.parent / "kept apart")
    for attempt in (lambda: read_secret(minting_registry, name), lambda: keep(minting_registry)):
        with pytest.raises(StoreDamaged, match=r"restore the file secrets\.key"):
            attempt()
    assert not key_of(minting_registry).exists()
    [problem] = minting_registry.ask(verify)
    assert SECRETS_KEY in problem
    moved_key.rename(key_of(minting_registry))
    assert read_secret(minting_registry, name) == SECRET
    assert minting_registry.ask(verify) == []


def test_another_key_is_refused(minting_registry: RegistryFolder) -> None:
    name = keep(minting_registry)
    key_of(minting_registry).write_text("00" * 32)
    for attempt in (lambda: read_secret(minting_registry, name), lambda: keep(minting_registry)):
        with pytest.raises(StoreDamaged, match=r"restore the file secrets\.key"):
            attempt()
    assert key_of(minting_registry).read_text() == "00" * 32


@pytest.mark.parametrize("text", ["", "nonsense", "00" * 31, "00" * 33, "zz" * 32, "ä" * 64])
def test_an_invalid_key_file_is_reported(minting_registry: RegistryFolder, text: str) -> None:
    key_of(minting_registry).write_text(text)
    with pytest.raises(StoreDamaged, match="is not a valid key") as refusal:
        keep(minting_registry)
    assert text not in str(refusal.value) or not text
    assert key_of(minting_registry).read_text() == text


def test_an_unreadable_key_file_is_reported(minting_registry: RegistryFolder) -> None:
    name = keep(minting_registry)
    if os.geteuid() != 0:  # root may read everything
        key_of(minting_registry).chmod(0)
        with pytest.raises(StoreUnavailable, match="cannot be read"):
            read_secret(minting_registry, name)
    key_of(minting_registry).unlink()
    key_of(minting_registry).mkdir()
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        read_secret(minting_registry, name)


def test_a_key_that_cannot_be_created_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be created"):
        FileSealer(tmp_path / "missing" / SECRETS_KEY).check(None)
    assert list(tmp_path.iterdir()) == []


def test_concurrent_creations_of_the_key_create_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for turn in range(10):
            file = tmp_path / str(turn)
            keys = list(pool.map(lambda sealer: sealer.check(None), [FileSealer(file) for _ in range(8)]))
            assert len(set(keys)) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(map(str, range(10)))


def test_a_backup_does_not_contain_the_key_and_a_restored_registry_needs_it(minting_registry: RegistryFolder) -> None:
    name = keep(minting_registry)
    backup = minting_registry.backup()
    key = key_of(minting_registry).read_text().strip()
    for form in (key.encode(), bytes.fromhex(key), SECRET):
        assert form not in backup.read_bytes()
    keep(minting_registry, b"later")
    minting_registry.restore(backup)
    assert read_secret(minting_registry, name) == SECRET
    assert minting_registry.ask(verify) == []


@on_a_server
def test_another_machine_needs_the_same_key(maker: RegistryMaker, minting_registry: RegistryFolder) -> None:
    name = keep(minting_registry)
    other = on_another_machine(minting_registry)
    with pytest.raises(StoreDamaged, match="from a machine that has it"):
        keep(other)
    assert not key_of(other).exists()
    shutil.copy(key_of(minting_registry), key_of(other))
    assert read_secret(other, name) == SECRET
    assert read_secret(minting_registry, keep(other, b"from there")) == b"from there"


def test_secrets_move_with_the_registry(maker: RegistryMaker, minting_registry: RegistryFolder) -> None:
    name = keep(minting_registry)
    move_to(minting_registry, another_store(maker))
    assert read_secret(minting_registry, name) == SECRET
    assert read_secret(minting_registry, keep(minting_registry, b"new")) == b"new"
    assert minting_registry.ask(verify) == []


def test_the_key_is_not_read_before_it_is_needed(registry_folder: RegistryFolder) -> None:
    """A damaged one does not matter to a registry without secrets."""
    key_of(registry_folder).write_text("nonsense")

    async def work(registry: Registry, by: Agent) -> object:
        return await registry.store.lookup("nothing")

    assert registry_folder.inside(work) is None
