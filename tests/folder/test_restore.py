"""A restored backup never issues a name twice."""

import asyncio
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from tests.folder.registry_folders import (
    MARKS,
    PAIRS,
    RegistryFolder,
    RegistryMaker,
    another_store,
    move_to,
    on_a_file,
    on_a_server,
    on_another_machine,
    with_prefixes,
)
from tests.postgres.shared_server import database

from perdure.errors import ClockBehind, InvalidInput, PerdureError, StoreUnavailable
from perdure.folder.registry_folder import ADMIN_KEY, DATABASE, open_registry
from perdure.folder.restore import restore_registry
from perdure.registry import (
    Registry,
    add_prefix,
    authenticate,
    find_by_value,
    mint,
    show,
    verify,
)
from perdure.registry.entities import Agent
from perdure.store.open_location import parse_location
from perdure.store.postgres.postgres_options import PostgresOptions


def test_a_restored_registry_equals_the_backup_and_the_old_database_remains(minting_registry: RegistryFolder) -> None:
    [name_before] = minting_registry.mint("12345")
    backup = minting_registry.backup()
    [lost] = minting_registry.mint("12345")
    restored = minting_registry.restore(backup)
    names = {one.name for one in minting_registry.ask(find_by_value, "https://example.org/")}
    assert name_before in names
    assert lost not in names
    assert minting_registry.ask(verify) == []
    assert restored.displaced_name is not None
    open_displaced = minting_registry.open_displaced(restored.displaced_name)
    try:
        assert asyncio.run(open_displaced.lookup(lost)) is not None
    finally:
        open_displaced.close()


@on_a_server
def test_a_database_that_a_restore_has_set_aside_can_be_opened_as_a_store(minting_registry: RegistryFolder) -> None:
    open_displaced = minting_registry.restore(minting_registry.backup()).displaced_name
    parse_location(database().address(open_displaced), minting_registry.folder, PostgresOptions()).open().close()


def test_every_restore_keeps_its_own_database(minting_registry: RegistryFolder) -> None:
    """Also two within one second."""
    backup = minting_registry.backup()
    first = minting_registry.restore(backup).displaced_name
    minting_registry.mint("777")
    second = minting_registry.restore(backup).displaced_name
    assert first is not None
    assert second is not None
    assert first != second
    for name in (first, second):
        minting_registry.open_displaced(name).close()


def test_a_restore_is_recorded(minting_registry: RegistryFolder) -> None:
    minting_registry.restore(minting_registry.backup())

    async def newest(registry: Registry, by: Agent) -> str:
        events = await registry.store.read(lambda reader: reader.events(1))
        return events[0].action

    assert minting_registry.inside(newest) == "restore"


_EVERY_WAY = [("sqlite", before, since) for before in (0, 3) for since in (1, 700)]


@pytest.mark.parametrize("prefix", ["12345", "777", PAIRS])
@pytest.mark.parametrize(("maker", "before", "since"), [*_EVERY_WAY, ("postgres", 0, 700)], indirect=["maker"])
def test_a_name_minted_after_the_backup_is_never_issued_again(
    minting_registry: RegistryFolder, prefix: str, before: int, since: int
) -> None:
    """Names are minted up to the last moment, on a clock that has not moved since; the first name ever may be among them."""
    if prefix == PAIRS:
        since = min(since, 30)  # one a second
    old = minting_registry.mint(prefix, before) if before else []
    backup = minting_registry.backup()
    gone = minting_registry.mint(prefix, since)
    minting_registry.restore(backup)
    again: list[str] = []
    while not again:
        try:
            again = minting_registry.mint(prefix, 20)
        except ClockBehind as behind:  # the mark is a little ahead: wait, on the test's clock
            minting_registry.clock.step(behind.wait)
    assert not set(again) & {*old, *gone}
    assert minting_registry.ask(verify) == []


@pytest.mark.parametrize("minter", ["pilin", "sequential"])
def test_a_prefix_added_after_the_backup_does_not_start_again(any_registry: RegistryFolder, minter: str) -> None:
    registry_folder = any_registry
    backup = registry_folder.backup()
    registry_folder.do(add_prefix, "888", minter=minter)
    gone = registry_folder.mint("888", 5)
    registry_folder.restore(backup)
    registry_folder.do(add_prefix, "888", minter=minter)
    registry_folder.clock.step(Fraction(1, 1000) if minter == "sequential" else 0)
    try:
        again = registry_folder.mint("888", 5)
    except ClockBehind:
        return
    assert not set(again) & set(gone)


def test_a_restore_after_a_restore_repeats_no_name(minting_registry: RegistryFolder) -> None:
    backup = minting_registry.backup()
    seen: set[str] = set()
    for _ in range(3):
        minted = minting_registry.mint("777", 10)
        assert not set(minted) & seen
        seen |= set(minted)
        minting_registry.restore(backup)


def test_a_restore_without_marks_names_the_prefixes_that_may_repeat_names(minting_registry: RegistryFolder) -> None:
    minting_registry.mint("777", 3)
    backup = minting_registry.backup()
    minting_registry.mint("777", 3)
    (minting_registry.folder / MARKS).unlink()
    minting_registry.lose()  # as on another machine: the last number is not known
    assert minting_registry.restore(backup).unsure == ["777"]


def test_dates_continue_after_now_in_a_restore_without_marks(minting_registry: RegistryFolder) -> None:
    minting_registry.mint("12345")
    backup = minting_registry.backup()
    gone = minting_registry.mint("12345", 5)
    (minting_registry.folder / MARKS).unlink()
    assert "12345" in minting_registry.restore(backup).moved
    minting_registry.clock.step(60)
    assert not set(minting_registry.mint("12345", 5)) & set(gone)


def test_a_restore_refuses_while_a_program_has_the_registry_open(minting_registry: RegistryFolder) -> None:
    backup = minting_registry.backup()
    [name] = minting_registry.mint("777")
    before = minting_registry.files()

    async def work(registry: Registry, by: Agent) -> None:
        with pytest.raises(StoreUnavailable, match="open"):
            await restore_registry(minting_registry.folder, backup, clock=minting_registry.clock)

    minting_registry.inside(work)
    assert minting_registry.files().keys() == before.keys()
    assert minting_registry.ask(show, name).name == name


@on_a_server
def test_a_restore_refuses_while_another_machine_has_the_registry_open(minting_registry: RegistryFolder) -> None:
    """Its lock is a file in another folder: only the server knows of it."""
    backup = minting_registry.backup()
    elsewhere = on_another_machine(minting_registry)
    before = database().execute("SELECT nspname FROM pg_namespace ORDER BY 1")

    async def work(registry: Registry, by: Agent) -> None:
        await mint(registry, by, "777")
        with pytest.raises(StoreUnavailable, match="open in another program"):
            await restore_registry(minting_registry.folder, backup, clock=minting_registry.clock)

    elsewhere.inside(work)
    assert database().execute("SELECT nspname FROM pg_namespace ORDER BY 1") == before
    assert minting_registry.restore(backup).displaced_name is not None


@on_a_server
def test_two_machines_with_the_same_settings_mint_in_one_registry(minting_registry: RegistryFolder) -> None:
    machines = [minting_registry, on_another_machine(minting_registry)]
    names: list[str] = []
    for _ in range(3):
        for machine in machines:
            for prefix in ("12345", "777", PAIRS):
                names += machine.mint(prefix, 2)
    assert len(set(names)) == len(names)

    async def both() -> list[str]:
        async with open_registry(machines[0].folder) as one, open_registry(machines[1].folder) as other:
            by = await authenticate(one, (minting_registry.folder / ADMIN_KEY).read_text())
            minted = await asyncio.gather(*(mint(one if n % 2 else other, by, "777", 3) for n in range(20)))
            return [each.name for group in minted for each in group]

    at_once = asyncio.run(both())
    assert len({*names, *at_once}) == len(names) + 60
    assert all(machine.ask(verify) == [] for machine in machines)


@on_a_server
def test_a_restore_on_one_machine_is_safe_for_names_minted_on_another(minting_registry: RegistryFolder) -> None:
    """The marks of this machine do not include them; the database that is replaced does."""
    backup = minting_registry.backup()
    gone = [*on_another_machine(minting_registry).mint("777", 5), *minting_registry.mint("12345", 5)]
    restored = minting_registry.restore(backup)
    assert "777/#" in restored.moved
    assert restored.unsure == []
    minting_registry.clock.step(60)
    assert not {*minting_registry.mint("777", 5), *minting_registry.mint("12345", 5)} & set(gone)


@on_a_file
def test_a_registry_cannot_be_opened_while_it_is_restored(
    minting_registry: RegistryFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = minting_registry.backup()
    refusals: list[str] = []
    replace = Path.replace

    async def attempt() -> None:
        async with open_registry(minting_registry.folder, minting_registry.clock):
            pass

    def try_and_replace(self: Path, target: Path) -> Path:
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

    monkeypatch.setattr(Path, "replace", try_and_replace)
    minting_registry.restore(backup)
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


_DAMAGES = [_cut_short, _overwritten, _no_database, _empty, Path.unlink]


@pytest.mark.parametrize(
    ("maker", "damage"),
    [*(("sqlite", damage) for damage in _DAMAGES), ("postgres", _overwritten), ("postgres", _no_database)],
    indirect=["maker"],
)
def test_a_damaged_backup_is_refused_and_nothing_changes(
    minting_registry: RegistryFolder, damage: Callable[[Path], object]
) -> None:
    names = minting_registry.mint("12345", 50)
    backup = minting_registry.backup()
    damage(backup)
    before = minting_registry.files()
    with pytest.raises(PerdureError):
        minting_registry.restore(backup)
    assert minting_registry.files() == before
    assert minting_registry.ask(show, names[-1]).state == "active"
    assert minting_registry.ask(verify) == []


def test_a_backup_of_another_registry_is_refused(maker: RegistryMaker, minting_registry: RegistryFolder) -> None:
    other = maker.new_folder("other")
    other.make()
    backup = other.backup("other.db")
    before = minting_registry.files()
    with pytest.raises(InvalidInput, match="registry"):
        minting_registry.restore(backup)
    before.pop(MARKS)
    assert minting_registry.files().items() >= before.items()
    assert minting_registry.files().keys() - before.keys() == {MARKS}
    assert minting_registry.ask(verify) == []


def test_a_backup_of_another_registry_leaves_no_marks(maker: RegistryMaker, minting_registry: RegistryFolder) -> None:
    other = maker.new_folder("other")
    other.make()
    with_prefixes(other).mint("777", 9)
    backup = other.backup("other.db")
    before = (minting_registry.folder / MARKS).read_text()
    with pytest.raises(InvalidInput, match="registry"):
        minting_registry.restore(backup)
    assert (minting_registry.folder / MARKS).read_text() == before


def test_a_backup_brings_a_lost_database_back(minting_registry: RegistryFolder) -> None:
    [name] = minting_registry.mint("12345")
    backup = minting_registry.backup()
    minting_registry.lose()
    assert minting_registry.restore(backup).displaced_name is None
    assert minting_registry.ask(show, name).name == name


def test_a_backup_is_one_file_and_can_be_restored_again(minting_registry: RegistryFolder) -> None:
    backup = minting_registry.backup()
    before = backup.read_bytes()
    minting_registry.restore(backup)
    assert backup.read_bytes() == before
    assert not list(backup.parent.glob(f"{backup.name}-*"))


def test_the_marks_never_move_back(minting_registry: RegistryFolder) -> None:
    minting_registry.mint("777", 5)
    backup = minting_registry.backup()
    minting_registry.mint("777", 5)
    marks = json.loads((minting_registry.folder / MARKS).read_text())
    minting_registry.restore(backup)
    after = json.loads((minting_registry.folder / MARKS).read_text())
    assert all(Fraction(after[key]) >= Fraction(mark) for key, mark in marks.items())


def test_a_backup_is_restored_on_the_other_engine_after_a_move(
    maker: RegistryMaker, minting_registry: RegistryFolder
) -> None:
    """A backup is a file of the embedded store, and belongs to the registry on any engine."""
    [name] = minting_registry.mint("777")
    backup = minting_registry.backup()
    move_to(minting_registry, another_store(maker))
    gone = minting_registry.mint("777", 3)
    assert minting_registry.restore(backup).displaced_name is not None
    assert minting_registry.ask(show, name).name == name
    assert not set(minting_registry.mint("777", 3)) & set(gone)
    assert minting_registry.ask(verify) == []


# The settings of a store that is a server's
