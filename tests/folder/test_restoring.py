"""A backup that is restored never says a name twice."""

import asyncio
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from tests.folder.grounds import (
    MARKS,
    PAIRS,
    Grounds,
    Place,
    another_store,
    furnished,
    move_to,
    on_a_file,
    on_a_server,
    on_another_machine,
)
from tests.postgres.shared import database

from perdure.errors import ClockBehind, InvalidInput, PerdureError, StoreUnavailable
from perdure.folder import (
    ADMIN_KEY,
    DATABASE,
    open_registry,
    restore_registry,
)
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
from perdure.store.places import place_of
from perdure.store.postgres.options import PostgresOptions


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
    aside = minting.aside(restored.set_aside)
    try:
        assert asyncio.run(aside.lookup(lost)) is not None
    finally:
        aside.close()


@on_a_server
def test_what_a_restore_has_set_aside_can_be_named_as_a_store(minting: Place) -> None:
    aside = minting.restore(minting.backup()).set_aside
    place_of(database().address(aside), minting.folder, PostgresOptions()).open().close()


def test_every_restore_keeps_its_own_database(minting: Place) -> None:
    """Also two within one second."""
    backup = minting.backup()
    first = minting.restore(backup).set_aside
    minting.mint("777")
    second = minting.restore(backup).set_aside
    assert first is not None
    assert second is not None
    assert first != second
    for name in (first, second):
        minting.aside(name).close()


def test_a_restore_is_recorded(minting: Place) -> None:
    minting.restore(minting.backup())

    async def newest(registry: Registry, by: Agent) -> str:
        events = await registry.store.read(lambda reader: reader.events(1))
        return events[0].action

    assert minting.inside(newest) == "restore"


_EVERY_WAY = [("sqlite", before, since) for before in (0, 3) for since in (1, 700)]


@pytest.mark.parametrize("prefix", ["12345", "777", PAIRS])
@pytest.mark.parametrize(("grounds", "before", "since"), [*_EVERY_WAY, ("postgres", 0, 700)], indirect=["grounds"])
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
def test_a_prefix_added_after_the_backup_does_not_begin_again(anywhere: Place, minter: str) -> None:
    place = anywhere
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
    minting.lose()  # as on another machine: nothing tells how far it had counted
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


@on_a_server
def test_a_restore_refuses_while_another_machine_has_the_registry_open(minting: Place) -> None:
    """Whose lock is a file in another folder: only the server knows of it."""
    backup = minting.backup()
    elsewhere = on_another_machine(minting)
    before = database().execute("SELECT nspname FROM pg_namespace ORDER BY 1")

    async def work(registry: Registry, by: Agent) -> None:
        await mint(registry, by, "777")
        with pytest.raises(StoreUnavailable, match="open in another program"):
            await restore_registry(minting.folder, backup, clock=minting.clock)

    elsewhere.inside(work)
    assert database().execute("SELECT nspname FROM pg_namespace ORDER BY 1") == before
    assert minting.restore(backup).set_aside is not None


@on_a_server
def test_two_machines_with_the_same_settings_mint_in_one_registry(minting: Place) -> None:
    machines = [minting, on_another_machine(minting)]
    names: list[str] = []
    for _ in range(3):
        for machine in machines:
            for prefix in ("12345", "777", PAIRS):
                names += machine.mint(prefix, 2)
    assert len(set(names)) == len(names)

    async def both() -> list[str]:
        async with open_registry(machines[0].folder) as one, open_registry(machines[1].folder) as other:
            by = await authenticate(one, (minting.folder / ADMIN_KEY).read_text())
            minted = await asyncio.gather(*(mint(one if n % 2 else other, by, "777", 3) for n in range(20)))
            return [each.name for group in minted for each in group]

    at_once = asyncio.run(both())
    assert len({*names, *at_once}) == len(names) + 60
    assert all(machine.ask(verify) == [] for machine in machines)


@on_a_server
def test_a_restore_on_one_machine_is_safe_for_names_minted_on_another(minting: Place) -> None:
    """The marks of this machine know nothing of them; the database that is replaced does."""
    backup = minting.backup()
    gone = [*on_another_machine(minting).mint("777", 5), *minting.mint("12345", 5)]
    restored = minting.restore(backup)
    assert "777/#" in restored.moved
    assert restored.unsure == []
    minting.clock.step(60)
    assert not {*minting.mint("777", 5), *minting.mint("12345", 5)} & set(gone)


@on_a_file
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


_DAMAGES = [_cut_short, _overwritten, _no_database, _empty, Path.unlink]


@pytest.mark.parametrize(
    ("grounds", "damage"),
    [*(("sqlite", damage) for damage in _DAMAGES), ("postgres", _overwritten), ("postgres", _no_database)],
    indirect=["grounds"],
)
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


def test_a_backup_of_another_registry_is_refused(grounds: Grounds, minting: Place) -> None:
    other = grounds.plot("other")
    other.make()
    backup = other.backup("other.db")
    before = minting.files()
    with pytest.raises(InvalidInput, match="registry"):
        minting.restore(backup)
    before.pop(MARKS)
    assert minting.files().items() >= before.items()
    assert minting.files().keys() - before.keys() == {MARKS}
    assert minting.ask(verify) == []


def test_a_backup_of_another_registry_leaves_no_marks(grounds: Grounds, minting: Place) -> None:
    other = grounds.plot("other")
    other.make()
    furnished(other).mint("777", 9)
    backup = other.backup("other.db")
    before = (minting.folder / MARKS).read_text()
    with pytest.raises(InvalidInput, match="registry"):
        minting.restore(backup)
    assert (minting.folder / MARKS).read_text() == before


def test_a_backup_brings_a_lost_database_back(minting: Place) -> None:
    [name] = minting.mint("12345")
    backup = minting.backup()
    minting.lose()
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


def test_a_backup_is_restored_on_the_other_engine_after_a_move(grounds: Grounds, minting: Place) -> None:
    """A backup is a file of the embedded store, wherever it was taken, and belongs to the registry, wherever it is."""
    [name] = minting.mint("777")
    backup = minting.backup()
    move_to(minting, another_store(grounds))
    gone = minting.mint("777", 3)
    assert minting.restore(backup).set_aside is not None
    assert minting.ask(show, name).name == name
    assert not set(minting.mint("777", 3)) & set(gone)
    assert minting.ask(verify) == []


# The settings of a store that is a server's
