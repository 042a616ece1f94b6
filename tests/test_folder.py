"""A registry's folder: made once, opened by whom it belongs to, restored without ever saying a name twice."""

import asyncio
import json
import os
import secrets
import shutil
import stat
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import apsw
import pytest

from perdure.errors import ClockBehind, InvalidInput, PerdureError, StoreSealed, StoreUnavailable
from perdure.folder import (
    ADMIN_KEY,
    DATABASE,
    SETTINGS,
    Restored,
    give_up_move,
    make_registry,
    move_registry,
    open_registry,
    restore_registry,
)
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
from perdure.registry.moving import Watch
from perdure.registry.protocol import Store
from perdure.settings_file import DEFAULT_STORE, change_store, read_settings
from perdure.store.places import place_of
from perdure.store.postgres.address import parse
from perdure.store.postgres.options import PostgresOptions
from perdure.store.postgres.place import PostgresPlace
from perdure.store.postgres.store import PostgresStore
from perdure.store.sqlite import SqliteStore
from tests.postgres.shared import database
from tests.registry_fixture import ENGINES, FEW_PARTITIONS, ManualClock, need_engine

T = TypeVar("T")
PAIRS = "sid.inpe.br/mtc-m18"
MARKS = "high-water.json"


class Place:
    """A folder with a registry, opened for one sentence at a time, as the command does."""

    def __init__(self, folder: Path, clock: ManualClock | None = None, store: str = DEFAULT_STORE) -> None:
        self.folder = folder
        self.clock = clock or ManualClock()
        self.store = store

    def make(self, **options: Any) -> Founded:
        options = {"store": self.store, "postgresql": FEW_PARTITIONS} | options
        founded = asyncio.run(make_registry(self.folder, name="The Library", clock=self.clock, **options))
        if self.store != DEFAULT_STORE:  # so that a restore is quick, too
            settings = self.folder / SETTINGS
            settings.write_text(settings.read_text().replace("[postgresql]\n", "[postgresql]\npartitions = 2\n"))
        return founded

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

    def lose(self) -> None:
        """The database is gone, and nothing else."""
        place_of(self.store, self.folder, PostgresOptions()).remove()

    def aside(self, name: str) -> Store:
        """What was there before a restore."""
        if self.store == DEFAULT_STORE:
            return SqliteStore(self.folder / name)
        return PostgresStore(parse(self.store)._replace(schema=name), self.folder / MARKS)

    def files(self) -> dict[str, bytes]:
        """What lies in the folder, but for locks and the engine's own files."""
        passing = ("lock", "-wal", "-shm")
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if not path.name.endswith(passing)}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    here = Place(tmp_path / "registry")
    here.make()
    return here


class Grounds:
    """Where registries are made, each in a folder of its own, on the engine of this case."""

    def __init__(self, engine: str, folder: Path) -> None:
        self.engine, self._folder = engine, folder
        self._schemas: list[str] = []

    def plot(self, name: str = "registry") -> Place:
        """Nothing is there yet."""
        if self.engine == "sqlite":
            return Place(self._folder / name)
        self._schemas.append(f"t_{secrets.token_hex(6)}")
        return Place(self._folder / name, store=database().address(self._schemas[-1]))

    def clear(self) -> None:
        for schema in self._schemas:
            for (name,) in database().execute("SELECT nspname FROM pg_namespace"):
                if str(name).startswith(schema):
                    database().drop(str(name))


@pytest.fixture(params=ENGINES)
def grounds(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Grounds]:
    need_engine(request.param)
    grounds = Grounds(request.param, tmp_path)
    yield grounds
    grounds.clear()


def furnished(place: Place) -> Place:
    """With a prefix of each kind that remembers how far it has come."""

    async def furnish(registry: Registry, by: Agent) -> None:
        await add_prefix(registry, by, "12345")
        await add_prefix(registry, by, "777", minter="sequential")
        await add_subsystem(registry, by, "mtc-m18.sid.inpe.br", "150.163.34.243")

    place.inside(furnish)
    return place


on_a_server = pytest.mark.parametrize("grounds", ["postgres"], indirect=True)
on_a_file = pytest.mark.parametrize("grounds", ["sqlite"], indirect=True)


@pytest.fixture
def anywhere(grounds: Grounds) -> Place:
    """A registry on either engine."""
    here = grounds.plot()
    here.make()
    return here


@pytest.fixture
def minting(anywhere: Place) -> Place:
    return furnished(anywhere)


# Make, and open


def test_a_new_folder_holds_settings_a_database_and_a_key(place: Place) -> None:
    assert {SETTINGS, DATABASE, ADMIN_KEY} <= place.files().keys()
    assert place.ask(verify) == []


def test_the_settings_name_the_store(grounds: Grounds) -> None:
    here = grounds.plot()
    here.make()
    assert read_settings(here.folder).registry.store == here.store
    assert (here.folder / DATABASE).exists() == (grounds.engine == "sqlite")
    assert here.ask(verify) == []


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


def test_settings_of_another_registry_are_refused(grounds: Grounds, anywhere: Place) -> None:
    other = grounds.plot("other")
    other.make()
    ours, theirs = anywhere.folder / SETTINGS, other.folder / SETTINGS
    ours.write_text(
        ours.read_text().replace(read_settings(anywhere.folder).registry.id, read_settings(other.folder).registry.id)
    )
    before = anywhere.files()
    with pytest.raises(InvalidInput, match="one of them was copied here"):
        anywhere.ask(verify)
    assert anywhere.files() == before
    assert theirs.exists()


def test_where_there_is_a_registry_none_is_made(anywhere: Place) -> None:
    before = anywhere.files()
    with pytest.raises(InvalidInput, match="already"):
        anywhere.make()
    assert anywhere.files() == before
    assert anywhere.ask(verify) == []


def test_a_database_whose_settings_are_gone_is_not_overwritten(anywhere: Place) -> None:
    anywhere.do(add_prefix, "12345")
    settings = (anywhere.folder / SETTINGS).read_text()
    (anywhere.folder / SETTINGS).unlink()
    before = anywhere.files()
    with pytest.raises(InvalidInput, match=SETTINGS):
        anywhere.make()
    assert anywhere.files() == before
    (anywhere.folder / SETTINGS).write_text(settings)
    assert anywhere.mint("12345")


@on_a_server
def test_a_registry_that_another_folder_has_made_is_not_overwritten(grounds: Grounds, anywhere: Place) -> None:
    elsewhere = grounds.plot("elsewhere")
    elsewhere.store = anywhere.store
    with pytest.raises(InvalidInput, match="already"):
        elsewhere.make()
    assert not (elsewhere.folder / SETTINGS).exists()
    assert anywhere.ask(verify) == []


@on_a_server
@pytest.mark.parametrize("ending", ["_new", "_incoming"])
def test_making_or_restoring_a_registry_leaves_other_schemas_alone(grounds: Grounds, ending: str) -> None:
    here, neighbour = grounds.plot(), grounds.plot("neighbour")
    neighbour.store = f"{here.store}{ending}"
    neighbour.make()
    here.make()
    here.restore(here.backup())
    assert neighbour.ask(verify) == []


@on_a_server
def test_a_schema_that_is_there_already_is_used_or_refused_at_once(grounds: Grounds) -> None:
    """An administrator may have made it, with just the rights that the registry needs."""
    here = grounds.plot()
    schema = here.store.rpartition("=")[2]
    database().execute(f"CREATE SCHEMA {schema}")
    try:
        here.make()
    except InvalidInput:
        assert not (here.folder / SETTINGS).exists()
    else:
        assert here.ask(verify) == []


def test_a_folder_without_a_registry_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="perdure init"):
        Place(tmp_path).ask(verify)


def test_wrong_input_makes_no_folder_that_looks_like_a_registry(grounds: Grounds) -> None:
    here = grounds.plot()
    for wrong in ({"home": "no/prefix"}, {"admin": "Not A Short Name"}, {"type_prefix": "a/b"}):
        with pytest.raises(PerdureError):
            here.make(**wrong)
        assert not (here.folder / SETTINGS).exists()
    here.make(home="12345", ppid_namespace=UUID(int=7))
    assert here.ask(verify) == []


class Cut(BaseException):
    """As from the keyboard: no error that anybody could take for his own."""


def _stop(*_: object, **__: object) -> None:
    raise Cut


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
    with pytest.raises(Cut):
        here.make()
    monkeypatch.undo()
    here.make()
    assert here.ask(verify) == []
    assert len(here.mint(here.inside(_home))) == 1


@on_a_server
def test_two_machines_that_make_one_registry_at_once_make_one(
    grounds: Grounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second comes when the first is about to take its last step. Whoever is told that it is ready has a key to it."""
    first, second = grounds.plot(), grounds.plot("another machine")
    second.store = first.store
    take = PostgresPlace.take

    def too_late(self: PostgresPlace, *rest: Any) -> None:
        monkeypatch.setattr(PostgresPlace, "take", _stop)  # the second gets no further than this, for now
        with ThreadPoolExecutor(1) as pool:
            pool.submit(second.make).exception()
        monkeypatch.setattr(PostgresPlace, "take", take)
        take(self, *rest)

    monkeypatch.setattr(PostgresPlace, "take", too_late)
    try:
        first.make()
    except PerdureError:
        return
    assert first.ask(verify) == []


@on_a_server
@pytest.mark.parametrize("step", ["write_whole", "write_settings", "take"])
def test_an_interrupted_making_on_a_server_can_be_run_again(
    grounds: Grounds, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """It may be cut before the key is written, before the settings are, and before the schema has its name."""
    here = grounds.plot()
    with monkeypatch.context() as cut:
        if step == "take":
            cut.setattr(PostgresPlace, "take", _stop)
        else:
            cut.setattr(f"perdure.folder.{step}", _stop)
        with pytest.raises(Cut):
            here.make()
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
    elsewhere = _on_another_machine(minting)
    before = database().execute("SELECT nspname FROM pg_namespace ORDER BY 1")

    async def work(registry: Registry, by: Agent) -> None:
        await mint(registry, by, "777")
        with pytest.raises(StoreUnavailable, match="open in another program"):
            await restore_registry(minting.folder, backup, clock=minting.clock)

    elsewhere.inside(work)
    assert database().execute("SELECT nspname FROM pg_namespace ORDER BY 1") == before
    assert minting.restore(backup).set_aside is not None


def _on_another_machine(place: Place) -> Place:
    """The documented way: the same settings, a key, and nothing else."""
    folder = place.folder.parent / "another machine"
    folder.mkdir()
    for name in (SETTINGS, ADMIN_KEY):
        shutil.copy(place.folder / name, folder / name)
    return Place(folder, place.clock, place.store)


@on_a_server
def test_two_machines_with_the_same_settings_mint_in_one_registry(minting: Place) -> None:
    machines = [minting, _on_another_machine(minting)]
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
    gone = [*_on_another_machine(minting).mint("777", 5), *minting.mint("12345", 5)]
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
    _move(minting, _other(grounds))
    gone = minting.mint("777", 3)
    assert minting.restore(backup).set_aside is not None
    assert minting.ask(show, name).name == name
    assert not set(minting.mint("777", 3)) & set(gone)
    assert minting.ask(verify) == []


# The settings of a store that is a server's


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


def _other(grounds: Grounds) -> str:
    """A store on the other engine."""
    need_engine("postgres")
    if grounds.engine == "postgres":
        return "sqlite:moved.db"
    grounds.engine = "postgres"
    return grounds.plot("elsewhere").store


def _move(place: Place, to: str, watch: Watch = lambda *_: None) -> None:
    asyncio.run(move_registry(place.folder, to, watch, clock=place.clock))


def test_a_move_takes_everything_along_and_the_settings_say_so(grounds: Grounds, minting: Place) -> None:
    names = minting.mint("777", 3)
    (minting.folder / SETTINGS).write_text("# A remark of ours\n" + (minting.folder / SETTINGS).read_text())
    to = _other(grounds)
    _move(minting, to)
    assert read_settings(minting.folder).registry.store == to
    assert (minting.folder / SETTINGS).read_text().startswith("# A remark of ours\n")
    assert minting.ask(show, names[-1]).name == names[-1]
    assert not set(minting.mint("777", 3)) & set(names)
    assert minting.ask(verify) == []


def test_an_interrupted_move_is_finished_by_the_same_move(grounds: Grounds, minting: Place) -> None:
    [name] = minting.mint("777")
    to, before = _other(grounds), read_settings(minting.folder)
    with pytest.raises(Cut):
        _move(minting, to, _stop)
    assert read_settings(minting.folder) == before
    assert minting.ask(show, name).name == name
    with pytest.raises(StoreSealed, match="perdure move"):
        minting.mint("777")
    _move(minting, to)
    assert minting.mint("777")


def test_a_move_that_was_cut_before_the_settings_is_finished_by_the_same_move(
    grounds: Grounds, minting: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = _other(grounds)
    with monkeypatch.context() as cut:
        cut.setattr("perdure.folder.change_store", _stop)
        with pytest.raises(Cut):
            _move(minting, to)
    with pytest.raises(StoreSealed, match="has moved"):
        minting.mint("777")
    with pytest.raises(InvalidInput, match="is finished"):
        asyncio.run(give_up_move(minting.folder, to))
    _move(minting, to)
    assert read_settings(minting.folder).registry.store == to
    assert minting.mint("777")


def test_a_move_that_is_given_up_leaves_nothing_behind(grounds: Grounds, minting: Place) -> None:
    to, before = _other(grounds), minting.files().keys()
    with pytest.raises(Cut):
        _move(minting, to, _stop)
    asyncio.run(give_up_move(minting.folder, to))
    assert minting.mint("777")
    assert minting.files().keys() == before
    assert not place_of(to, minting.folder, PostgresOptions()).exists()
    _move(minting, to)
    assert minting.mint("777")


@on_a_file
def test_a_move_that_was_cut_at_its_very_beginning_is_begun_again(minting: Place) -> None:
    """When the file had its name, and no more."""
    (minting.folder / "moved.db").touch()
    assert minting.mint("777")
    _move(minting, "sqlite:moved.db")
    assert minting.mint("777")


def test_a_registry_that_is_being_moved_is_not_restored(grounds: Grounds, minting: Place) -> None:
    backup, to = minting.backup(), _other(grounds)
    with pytest.raises(Cut):
        _move(minting, to, _stop)
    with pytest.raises(StoreSealed, match="give-up"):
        minting.restore(backup)
    asyncio.run(give_up_move(minting.folder, to))
    minting.restore(backup)
    _move(minting, to)
    assert minting.mint("777")


@on_a_server
def test_a_machine_that_has_missed_a_move_does_not_restore_the_old_registry(grounds: Grounds, minting: Place) -> None:
    backup, elsewhere = minting.backup(), _on_another_machine(minting)
    _move(minting, _other(grounds))
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
        _move(minting, to, _stop)
    with suppress(PerdureError):
        asyncio.run(give_up_move(minting.folder, to))
    assert _is_there(grounds, to, minting.folder)


@on_a_server
def test_a_machine_that_has_missed_a_move_cannot_give_it_up(grounds: Grounds, minting: Place) -> None:
    elsewhere = _on_another_machine(minting)
    _move(minting, _other(grounds))
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
        _move(other, to, _stop)
    with suppress(PerdureError):
        asyncio.run(give_up_move(minting.folder, to))
    assert place_of(to, minting.folder, PostgresOptions()).exists()


@on_a_server
def test_a_registry_is_not_moved_to_where_it_is_under_another_address(grounds: Grounds, minting: Place) -> None:
    to = grounds.plot("elsewhere").store
    _move(minting, to)
    with pytest.raises(InvalidInput):
        _move(minting, f"{to}&sslmode=prefer")
    assert minting.mint("777")


def test_two_programs_do_not_move_one_registry_at_once(grounds: Grounds, minting: Place) -> None:
    refusals: list[str] = []
    to = _other(grounds)

    def second(stage: str, done: int, of: int) -> None:
        with ThreadPoolExecutor(1) as pool:
            problem = pool.submit(_move, minting, to).exception()
        refusals.append(str(problem))

    _move(minting, to, second)
    assert refusals
    assert all("being moved by another program" in one for one in refusals)
    assert minting.mint("777")
