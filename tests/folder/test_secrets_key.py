"""`secrets.key`: made with the first secret, never replaced, and needed on every machine that opens one."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.folder.grounds import Grounds, Place, another_store, move_to, on_a_server, on_another_machine

from perdure.errors import StoreDamaged, StoreUnavailable
from perdure.registry import Registry, verify
from perdure.registry.entities import Agent
from perdure.registry.sealing import SECRETS_KEY, keep_secret, secret_of
from perdure.store.key_file import FileSealer

SECRET = b"correct horse battery staple"


def key_of(place: Place) -> Path:
    return place.folder / SECRETS_KEY


def keep(place: Place, plain: bytes = SECRET, index: int = 300) -> str:
    """For a name that is made for it."""
    [name] = place.mint("12345")

    async def work(registry: Registry, by: Agent) -> None:
        await registry.store.write(lambda tx: keep_secret(tx, registry.sealer, name, index, plain))

    place.inside(work)
    return name


def opened(place: Place, name: str, index: int = 300) -> bytes | None:
    async def work(registry: Registry, by: Agent) -> bytes | None:
        return await registry.store.read(lambda reader: secret_of(reader, registry.sealer, name, index))

    return place.inside(work)


def test_the_key_is_made_with_the_first_secret_and_readable_by_its_owner_alone(minting: Place) -> None:
    minting.mint("12345")
    assert minting.ask(verify) == []
    assert not key_of(minting).exists()
    name = keep(minting)
    assert key_of(minting).stat().st_mode & 0o777 == 0o600
    assert len(bytes.fromhex(key_of(minting).read_text())) == 32
    assert opened(minting, name) == SECRET
    assert minting.ask(verify) == []
    assert not [one for one in minting.folder.iterdir() if one.name.startswith(f".{SECRETS_KEY}")]


def test_the_key_stays_the_same(minting: Place) -> None:
    first = keep(minting)
    key = key_of(minting).read_bytes()
    second = keep(minting, b"another")
    assert key_of(minting).read_bytes() == key
    assert [opened(minting, name) for name in (first, second)] == [SECRET, b"another"]


def test_a_lost_key_is_missed_and_not_replaced(minting: Place) -> None:
    name = keep(minting)
    kept = key_of(minting).rename(minting.folder.parent / "kept apart")
    for attempt in (lambda: opened(minting, name), lambda: keep(minting)):
        with pytest.raises(StoreDamaged, match=r"bring back the file secrets\.key"):
            attempt()
    assert not key_of(minting).exists()
    [problem] = minting.ask(verify)
    assert SECRETS_KEY in problem
    kept.rename(key_of(minting))
    assert opened(minting, name) == SECRET
    assert minting.ask(verify) == []


def test_another_key_is_refused(minting: Place) -> None:
    name = keep(minting)
    key_of(minting).write_text("00" * 32)
    for attempt in (lambda: opened(minting, name), lambda: keep(minting)):
        with pytest.raises(StoreDamaged, match=r"bring back the file secrets\.key"):
            attempt()
    assert key_of(minting).read_text() == "00" * 32


@pytest.mark.parametrize("text", ["", "nonsense", "00" * 31, "00" * 33, "zz" * 32, "ä" * 64])
def test_a_file_that_holds_no_key_is_said_to_be_that(minting: Place, text: str) -> None:
    key_of(minting).write_text(text)
    with pytest.raises(StoreDamaged, match="holds no key") as refusal:
        keep(minting)
    assert text not in str(refusal.value) or not text
    assert key_of(minting).read_text() == text


def test_a_key_that_cannot_be_read_is_said_to_be_that(minting: Place) -> None:
    name = keep(minting)
    if os.geteuid() != 0:  # root may read everything
        key_of(minting).chmod(0)
        with pytest.raises(StoreUnavailable, match="cannot be read"):
            opened(minting, name)
    key_of(minting).unlink()
    key_of(minting).mkdir()
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        opened(minting, name)


def test_a_key_that_cannot_be_made_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be made"):
        FileSealer(tmp_path / "missing" / SECRETS_KEY).check(None)
    assert list(tmp_path.iterdir()) == []


def test_many_who_make_the_key_at_once_make_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for turn in range(10):
            file = tmp_path / str(turn)
            told = list(pool.map(lambda sealer: sealer.check(None), [FileSealer(file) for _ in range(8)]))
            assert len(set(told)) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(map(str, range(10)))


def test_no_backup_holds_the_key_and_a_restored_one_needs_it(minting: Place) -> None:
    name = keep(minting)
    backup = minting.backup()
    key = key_of(minting).read_text().strip()
    for form in (key.encode(), bytes.fromhex(key), SECRET):
        assert form not in backup.read_bytes()
    keep(minting, b"later")
    minting.restore(backup)
    assert opened(minting, name) == SECRET
    assert minting.ask(verify) == []


@on_a_server
def test_on_another_machine_the_same_key_is_needed(grounds: Grounds, minting: Place) -> None:
    name = keep(minting)
    other = on_another_machine(minting)
    with pytest.raises(StoreDamaged, match="from a machine that has it"):
        keep(other)
    assert not key_of(other).exists()
    shutil.copy(key_of(minting), key_of(other))
    assert opened(other, name) == SECRET
    assert opened(minting, keep(other, b"from there")) == b"from there"


def test_secrets_move_house_with_the_registry(grounds: Grounds, minting: Place) -> None:
    name = keep(minting)
    move_to(minting, another_store(grounds))
    assert opened(minting, name) == SECRET
    assert opened(minting, keep(minting, b"new")) == b"new"
    assert minting.ask(verify) == []


def test_the_key_is_not_read_before_it_is_needed(place: Place) -> None:
    """A damaged one stops nobody who keeps no secrets."""
    key_of(place).write_text("nonsense")

    async def work(registry: Registry, by: Agent) -> object:
        return await registry.store.lookup("nothing")

    assert place.inside(work) is None
