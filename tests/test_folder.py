"""A registry's folder: made once, opened by whom it belongs to, restored without ever saying a name twice."""

import asyncio
import json
import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Coroutine
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import pytest

from perdure.errors import ClockBehind, InvalidInput, PerdureError, StoreUnavailable
from perdure.folder import ADMIN_KEY, DATABASE, SETTINGS, Restored, make_registry, open_registry, restore_registry
from perdure.registry import (
    Founded,
    Registry,
    Settings,
    Statement,
    add_prefix,
    add_subsystem,
    authenticate,
    find_by_value,
    mint,
    show,
    verify,
)
from perdure.registry.entities import Agent
from perdure.store.sqlite import SqliteStore
from tests.registry_fixture import ManualClock

T = TypeVar("T")
PAIRS = "sid.inpe.br/mtc-m18"
MARKS = "high-water.json"


class Place:
    """A folder with a registry, opened for one sentence at a time, as the command does."""

    def __init__(self, folder: Path, clock: ManualClock | None = None) -> None:
        self.folder = folder
        self.clock = clock or ManualClock()

    def make(self, **options: Any) -> Founded:
        return asyncio.run(make_registry(self.folder, name="The Library", clock=self.clock, **options))

    def do(self, use_case: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **options: Any) -> T:
        async def acting(registry: Registry, by: Agent) -> T:
            return await use_case(registry, by, *arguments, **options)

        return self.inside(acting)

    def ask(self, use_case: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **options: Any) -> T:
        async def asking(registry: Registry, by: Agent) -> T:
            return await use_case(registry, *arguments, **options)

        return self.inside(asking)

    def inside(self, work: Callable[[Registry, Agent], Awaitable[T]]) -> T:
        async def session() -> T:
            async with open_registry(self.folder, self.clock) as registry:
                key = (self.folder / ADMIN_KEY).read_text()
                return await work(registry, await authenticate(registry, key))

        return asyncio.run(session())

    def backup(self, name: str = "backup.db") -> Path:
        file = self.folder.parent / name
        self.inside(lambda registry, by: registry.store.backup(file, lambda done, total: None))
        return file

    def restore(self, backup: Path) -> Restored:
        return asyncio.run(restore_registry(self.folder, backup, clock=self.clock))

    def mint(self, prefix: str, count: int = 1) -> list[str]:
        minted = self.do(mint, prefix, count, said=Statement("https://example.org/"))
        return [name for one in minted for name in (one.name, one.alias) if name is not None]

    def files(self) -> dict[str, bytes]:
        """What lies in the folder, but for locks and the engine's own files."""
        passing = ("lock", "-wal", "-shm")
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if not path.name.endswith(passing)}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    here = Place(tmp_path / "registry")
    here.make()
    return here


@pytest.fixture
def minting(place: Place) -> Place:
    """A registry with a prefix of each kind that remembers how far it has come."""
    place.do(add_prefix, "12345")
    place.do(add_prefix, "777", minter="sequential")
    place.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    return place


# Make, and open


def test_a_new_folder_holds_settings_a_database_and_a_key(place: Place) -> None:
    assert {SETTINGS, DATABASE, ADMIN_KEY} <= place.files().keys()
    assert place.ask(verify) == []


def test_the_key_is_for_its_owner_alone(place: Place) -> None:
    assert stat.S_IMODE((place.folder / ADMIN_KEY).stat().st_mode) == 0o600


def test_the_settings_explain_themselves_and_are_read_as_they_are(place: Place) -> None:
    text = (place.folder / SETTINGS).read_text()
    for setting in ("longest_wait", "largest_gap_days", "schemes", "value_bytes", "record_bytes", "type_prefix"):
        assert setting in text

    async def settings(registry: Registry, by: Agent) -> Settings:
        return registry.settings

    assert place.inside(settings) == Settings()
    # The defaults that are shown are the defaults.
    (place.folder / SETTINGS).write_text(
        "\n".join(line.removeprefix("# ") if " = " in line else line for line in text.splitlines())
    )
    assert place.inside(settings) == Settings()


def test_a_setting_that_is_changed_counts(place: Place) -> None:
    path = place.folder / SETTINGS
    path.write_text(path.read_text().replace('# schemes = ["http", ', 'schemes = ["gopher", '))
    place.do(add_prefix, "12345")
    [made] = place.do(mint, "12345", said=Statement("gopher://example.org/"))
    assert place.ask(show, made.name).target == "gopher://example.org/"


@pytest.mark.parametrize("section", ["minting", "limits", "registry", "metadata", "colours"])
def test_a_setting_that_is_not_known_is_named(place: Place, section: str) -> None:
    path = place.folder / SETTINGS
    text = path.read_text()
    heading = f"[{section}]\n"
    path.write_text(
        text.replace(heading, f"{heading}longest_wiat = 5\n") if heading in text else f"{text}\n{heading}x = 1\n"
    )
    with pytest.raises(InvalidInput, match=r"longest_wiat|colours"):
        place.ask(verify)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("# longest_wait = 10.0", 'longest_wait = "long"', "longest_wait"),
        ("# longest_wait = 10.0", "longest_wait = -1.0", "longest_wait"),
        ("# longest_wait = 10.0", "longest_wait = nan", "longest_wait"),
        ("# value_bytes = 65536", "value_bytes = -5", "value_bytes"),
        ('store = "sqlite:perdure.db"', 'store = "oracle:x"', "oracle"),
        ("[registry]", "[registry", SETTINGS),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(place: Place, old: str, new: str, told: str) -> None:
    path = place.folder / SETTINGS
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InvalidInput, match=told):
        place.ask(verify)


def test_settings_of_another_registry_are_refused(tmp_path: Path, place: Place) -> None:
    other = Place(tmp_path / "other")
    other.make()
    shutil.copy(other.folder / SETTINGS, place.folder / SETTINGS)
    before = place.files()
    with pytest.raises(InvalidInput, match="registry"):
        place.ask(verify)
    assert place.files() == before


def test_where_there_is_a_registry_none_is_made(place: Place) -> None:
    before = place.files()
    with pytest.raises(InvalidInput, match="already"):
        place.make()
    assert place.files() == before


def test_a_database_whose_settings_are_gone_is_not_overwritten(place: Place) -> None:
    place.do(add_prefix, "12345")
    (place.folder / SETTINGS).unlink()
    before = place.files()
    with pytest.raises(InvalidInput, match=SETTINGS):
        place.make()
    assert place.files() == before


def test_a_folder_without_a_registry_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="perdure init"):
        Place(tmp_path).ask(verify)


def test_wrong_input_makes_no_folder_that_looks_like_a_registry(tmp_path: Path) -> None:
    here = Place(tmp_path / "registry")
    for wrong in ({"home": "no/prefix"}, {"admin": "Not A Short Name"}, {"type_prefix": "a/b"}):
        with pytest.raises(PerdureError):
            here.make(**wrong)
        assert not (here.folder / SETTINGS).exists()
    here.make(home="12345", ppid_namespace=UUID(int=7))
    assert here.ask(verify) == []


def _stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", [1, 2, 3])
def test_an_interrupted_making_can_be_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """A making ends with three files put in place, one after the other; it may be cut before each of them."""
    here = Place(tmp_path / "registry")
    done = 0
    replace = Path.replace

    def counted(self: Path, target: Path) -> Path:
        nonlocal done
        if Path(target).name in (ADMIN_KEY, DATABASE, SETTINGS):
            done += 1
            if done == step:
                _stop()
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", counted)
    monkeypatch.setattr(os, "link", lambda source, target: counted(Path(source), Path(target)))
    with pytest.raises(KeyboardInterrupt):
        here.make()
    monkeypatch.undo()
    here.make()
    assert here.ask(verify) == []
    assert len(here.mint(here.inside(_home))) == 1


async def _home(registry: Registry, by: Agent) -> str:
    return registry.home


# Restore


def test_a_restored_registry_is_as_it_was_and_what_was_there_is_kept(minting: Place) -> None:
    [kept] = minting.mint("12345")
    backup = minting.backup()
    [lost] = minting.mint("12345")
    restored = minting.restore(backup)
    names = {one.name for one in minting.ask(find_by_value, "https://example.org/")}
    assert kept in names
    assert lost not in names
    assert minting.ask(verify) == []
    assert restored.set_aside is not None
    aside = SqliteStore(minting.folder / restored.set_aside)
    try:
        assert asyncio.run(aside.lookup(lost)) is not None
    finally:
        aside.close()


def test_every_restore_keeps_its_own_database(minting: Place) -> None:
    """Also two within one second."""
    backup = minting.backup()
    first = minting.restore(backup).set_aside
    minting.mint("777")
    second = minting.restore(backup).set_aside
    assert first is not None
    assert second is not None
    assert first != second
    assert (minting.folder / first).exists()
    assert (minting.folder / second).exists()


def test_a_restore_is_recorded(minting: Place) -> None:
    minting.restore(minting.backup())

    async def newest(registry: Registry, by: Agent) -> str:
        events = await registry.store.read(lambda reader: reader.events(1))
        return events[0].action

    assert minting.inside(newest) == "restore"


@pytest.mark.parametrize("prefix", ["12345", "777", PAIRS])
@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("since", [1, 700])
def test_a_name_minted_after_the_backup_is_never_issued_again(
    minting: Place, prefix: str, before: int, since: int
) -> None:
    """Minted up to the last moment, on a clock that has not moved since; and the first name ever may be among them."""
    if prefix == PAIRS:
        since = min(since, 30)  # one a second
    old = minting.mint(prefix, before) if before else []
    backup = minting.backup()
    gone = minting.mint(prefix, since)
    minting.restore(backup)
    again: list[str] = []
    while not again:
        try:
            again = minting.mint(prefix, 20)
        except ClockBehind as behind:  # the mark runs a little ahead: a person waits, or the clock is asked to
            minting.clock.step(behind.wait)
    assert not set(again) & {*old, *gone}
    assert minting.ask(verify) == []


@pytest.mark.parametrize("minter", ["pilin", "sequential"])
def test_a_prefix_added_after_the_backup_does_not_begin_again(place: Place, minter: str) -> None:
    backup = place.backup()
    place.do(add_prefix, "888", minter=minter)
    gone = place.mint("888", 5)
    place.restore(backup)
    place.do(add_prefix, "888", minter=minter)
    place.clock.step(Fraction(1, 1000) if minter == "sequential" else 0)
    try:
        again = place.mint("888", 5)
    except ClockBehind:
        return
    assert not set(again) & set(gone)


def test_a_restore_after_a_restore_is_as_safe(minting: Place) -> None:
    backup = minting.backup()
    seen: set[str] = set()
    for _ in range(3):
        minted = minting.mint("777", 10)
        assert not set(minted) & seen
        seen |= set(minted)
        minting.restore(backup)


def test_without_a_mark_a_restore_says_where_it_is_not_sure(minting: Place) -> None:
    minting.mint("777", 3)
    backup = minting.backup()
    minting.mint("777", 3)
    (minting.folder / MARKS).unlink()
    minting.folder.joinpath(DATABASE).unlink()  # as on another machine: nothing tells how far it had counted
    assert minting.restore(backup).unsure == ["777"]


def test_without_a_mark_dates_still_go_on_after_now(minting: Place) -> None:
    minting.mint("12345")
    backup = minting.backup()
    gone = minting.mint("12345", 5)
    (minting.folder / MARKS).unlink()
    assert "12345" in minting.restore(backup).moved
    minting.clock.step(60)
    assert not set(minting.mint("12345", 5)) & set(gone)


def test_a_restore_refuses_while_somebody_has_the_registry_open(minting: Place) -> None:
    backup = minting.backup()
    [name] = minting.mint("777")
    before = minting.files()

    async def work(registry: Registry, by: Agent) -> None:
        with pytest.raises(StoreUnavailable, match="open"):
            await restore_registry(minting.folder, backup, clock=minting.clock)

    minting.inside(work)
    assert minting.files().keys() == before.keys()
    assert minting.ask(show, name).name == name


def test_nobody_opens_a_registry_while_it_is_restored(minting: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    backup = minting.backup()
    refusals: list[str] = []
    replace = Path.replace

    async def attempt() -> None:
        async with open_registry(minting.folder, minting.clock):
            pass

    def tried(self: Path, target: Path) -> Path:
        if Path(target).name == DATABASE:
            monkeypatch.undo()
            loop = asyncio.new_event_loop()
            _, running = asyncio._get_running_loop(), asyncio._set_running_loop
            before = asyncio._get_running_loop()
            running(None)
            try:
                loop.run_until_complete(attempt())
            except StoreUnavailable as problem:
                refusals.append(str(problem))
            finally:
                running(before)
                loop.close()
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", tried)
    minting.restore(backup)
    assert len(refusals) == 1
    assert "restored" in refusals[0]


def _cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _overwritten(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4096 * 3 : 4096 * 6] = b"\xaa" * (4096 * 3)
    file.write_bytes(bytes(data))


def _no_database(file: Path) -> None:
    file.write_bytes(b"these are my holiday notes\n" * 500)


def _empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize("damage", [_cut_short, _overwritten, _no_database, _empty, Path.unlink])
def test_a_damaged_backup_is_refused_and_nothing_changes(minting: Place, damage: Callable[[Path], object]) -> None:
    names = minting.mint("12345", 50)
    backup = minting.backup()
    damage(backup)
    before = minting.files()
    with pytest.raises(PerdureError):
        minting.restore(backup)
    assert minting.files() == before
    assert minting.ask(show, names[-1]).state == "active"
    assert minting.ask(verify) == []


def test_a_backup_of_another_registry_is_refused(tmp_path: Path, minting: Place) -> None:
    other = Place(tmp_path / "other")
    other.make()
    backup = other.backup("other.db")
    before = minting.files()
    with pytest.raises(InvalidInput, match="registry"):
        minting.restore(backup)
    assert minting.files() == before


def test_a_backup_brings_a_lost_database_back(minting: Place) -> None:
    [name] = minting.mint("12345")
    backup = minting.backup()
    for path in minting.folder.glob(f"{DATABASE}*"):
        path.unlink()
    assert minting.restore(backup).set_aside is None
    assert minting.ask(show, name).name == name


def test_a_backup_is_one_file_and_is_not_used_up(minting: Place) -> None:
    backup = minting.backup()
    before = backup.read_bytes()
    minting.restore(backup)
    assert backup.read_bytes() == before
    assert not list(backup.parent.glob(f"{backup.name}-*"))


def test_the_marks_never_move_back(minting: Place) -> None:
    minting.mint("777", 5)
    backup = minting.backup()
    minting.mint("777", 5)
    marks = json.loads((minting.folder / MARKS).read_text())
    minting.restore(backup)
    after = json.loads((minting.folder / MARKS).read_text())
    assert all(Fraction(after[key]) >= Fraction(mark) for key, mark in marks.items())
