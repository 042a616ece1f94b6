"""Relocation between any two engines: everything is copied, no name is issued twice, and one store at a time is active."""

import asyncio
import random
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from tests.postgres.shared_server import database
from tests.registry.relocation_process import FINISHED, OPENED
from tests.registry.whole_registry import (
    CHECKPOINT,
    CHOSEN,
    MINTERS,
    PAIRED,
    RANDOM,
    URL,
    fill_registry,
    identity,
    search_results,
    stored_content,
)
from tests.registry_fixture import ENGINES, Office, PostgresLocations, StoreLocations, locations_on, open_office
from tests.store.record_strategies import change

from perdure.errors import InvalidInput, StoreDamaged, StoreSealed
from perdure.registry import (
    Statement,
    authenticate,
    export,
    mint,
    read_checkpoint,
    reopen,
    store_copy,
    verify,
)
from perdure.registry.relocation import MoveProgress, MoveResult, Stage, check_unfinished, move
from perdure.registry.store_interface import Reader, Store

ROOT = Path(__file__).parents[2]
HERE, THERE = "the old store", "the new store"
EVERY_DIRECTION = [(origin, to) for origin in ENGINES for to in ENGINES]


def _ways(*ways: tuple[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("empty_move", ways, indirect=True, ids=lambda way: f"{way[0]}-to-{way[1]}")


# What depends on the engines is shown in every direction, the rest in one there and one back.
there_and_back = _ways(("sqlite", "postgres"), ("postgres", "sqlite"))


def ignore_progress(stage: Stage, done: int, of: int) -> None:
    pass


class MoveInterrupted(Exception):
    pass


def interrupt_at(call: int) -> MoveProgress:
    """Stop a move at this step."""
    calls = 0

    def watch(stage: Stage, done: int, of: int) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise MoveInterrupted

    return watch


class EngineLocation(NamedTuple):
    """The location of a registry, on one engine."""

    engine: str
    locations: StoreLocations
    folder: Path
    name: str = "registry"

    def open(self, *, create: bool = True) -> Store:
        return self.locations.open(self.name, create=create)

    @property
    def address(self) -> str:
        """Return the address for another process."""
        if isinstance(self.locations, PostgresLocations):
            return f"{self.folder / self.name}={self.locations.address(self.name)}"
        return str(self.folder / self.name / "perdure.db")

    def tamper(self, *statements: str) -> None:
        """Change the data behind the registry's back. Triggers that would prevent it are dropped first."""
        if isinstance(self.locations, PostgresLocations):
            schema = self.address.rpartition("schema=")[2]
            for statement in ("SET session_replication_role = replica", f"SET search_path = {schema}", *statements):
                database().execute(statement)
            database().execute("RESET session_replication_role; RESET search_path")
            return
        connection = apsw.Connection(self.address)
        for (trigger,) in list(connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")):
            connection.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            connection.execute(statement)
        connection.close()


class Move:
    """A move of a registry from one location to another."""

    def __init__(self, runner: asyncio.Runner, origin: EngineLocation, to: EngineLocation) -> None:
        self.runner, self.origin, self.to = runner, origin, to
        self.office = open_office(runner, origin.open())
        self.target = to.open()

    @property
    def source(self) -> Store:
        return self.office.registry.store

    def move(
        self, watch: MoveProgress = ignore_progress, *, target: Store | None = None, to: str = THERE
    ) -> MoveResult:
        going = move(self.source, target or self.target, self.office.clock, origin=HERE, to=to, watch=watch)
        return self.runner.run(going)

    def target_office(self) -> Office:
        """Return the registry at its new location."""
        return self.office.reopen(self.target)

    def give_up(self, target: Store | None = None, to: str = THERE) -> None:
        self.runner.run(check_unfinished(self.source, target or self.target, to))
        self.runner.run(self.source.seal(None))

    def of_target(self, question: Callable[[Reader], object]) -> object:
        return self.runner.run(self.target.read(question))

    def is_sealed(self) -> bool:
        return self.runner.run(self.source.seal_reason()) is not None

    def writes(self) -> bool:
        """Return whether the old location still accepts names."""
        return len(self.office.do(mint, RANDOM, statement=Statement(URL))) == 1


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use small chunks, so that related data falls into different steps."""
    monkeypatch.setattr(store_copy, "CHUNK", 4)


@pytest.fixture(params=EVERY_DIRECTION, ids=lambda way: f"{way[0]}-to-{way[1]}")
def empty_move(request: pytest.FixtureRequest, tmp_path: Path, runner: asyncio.Runner) -> Iterator[Move]:
    """A registry without any identifier."""
    sides = []
    for engine, name in zip(request.param, ("old", "new"), strict=True):
        (tmp_path / name).mkdir()
        sides.append(EngineLocation(engine, locations_on(engine, tmp_path / name), tmp_path / name))
    yield Move(runner, *sides)
    for side in sides:
        side.locations.close()


@pytest.fixture
def full_move(empty_move: Move) -> Move:
    """A move of a registry with one of everything."""
    fill_registry(empty_move.office)
    return empty_move


# What arrives


def test_everything_is_copied(full_move: Move) -> None:
    before = full_move.office.read(stored_content)
    moved = full_move.move()
    after = full_move.target_office().read(stored_content)
    for part, content in before.items():
        assert after[part] == content, part
    assert moved.names == len(before["rows"])
    assert full_move.target_office().ask(verify) == []


def test_search_and_reverse_lookup_have_the_same_results_in_the_same_order(full_move: Move) -> None:
    before = full_move.office.read(search_results)
    assert all(before.values())
    full_move.move()
    assert full_move.target_office().read(search_results) == before


def _equal_positions(table: str) -> str:
    """Give several names the same position; the alphabetically first one came last."""
    return f"UPDATE {table} SET added = 1000 - ascii(right(key, 1)) / 4 WHERE key LIKE '12345/_'"  # noqa: S608


@pytest.mark.parametrize("empty_move", [("postgres", "postgres")], indirect=True, ids=["to-postgres"])
def test_names_with_the_same_timestamp_stay_in_their_order(empty_move: Move) -> None:
    """Concurrent writers may have given two names the same position."""
    empty_move.office.prefix(CHOSEN, "chosen")
    empty_move.office.do(mint, CHOSEN, suffixes=list("abcdefgh"), statement=Statement(URL))
    empty_move.origin.tamper(*(_equal_positions(table) for table in ("identifiers", "words", "reverse")))
    before = empty_move.office.read(search_results)
    empty_move.move()
    assert empty_move.target_office().ask(verify) == []
    assert empty_move.target_office().read(search_results) == before


def test_no_minter_repeats_a_name(full_move: Move) -> None:
    """On a clock that has not advanced since, and on one that was set back a little."""
    before = {row.name for row in full_move.office.read(stored_content)["rows"]}
    full_move.move()
    there = full_move.target_office()
    for step in (0, -5):
        there.clock.step(step)
        for prefix in MINTERS:
            minted = there.do(mint, prefix, 5)
            names = {name for one in minted for name in (one.name, one.alias) if name is not None}
            assert len(names) == (10 if prefix == PAIRED else 5)
            assert not names & before
            before |= names
    assert there.ask(verify) == []


@there_and_back
def test_keys_and_import_checkpoints_still_work(full_move: Move) -> None:
    full_move.move()
    there = full_move.target_office()
    assert there.ask(authenticate, there.key) == full_move.office.admin
    assert there.do(read_checkpoint, CHECKPOINT).entries == 1


@there_and_back
def test_a_move_is_recorded_in_the_new_store(full_move: Move) -> None:
    moved = full_move.move()
    newest, *others = full_move.target_office().events()
    assert (newest.action, newest.subject) == ("move", full_move.office.registry.id)
    assert f"{moved.names} names" in newest.detail
    assert HERE in newest.detail
    assert "move" not in {event.action for event in others}


def test_a_moved_registry_can_be_moved_again(full_move: Move, tmp_path: Path) -> None:
    """The names are the same, and so is their digest; only the second move was never interrupted."""
    before = full_move.office.read(stored_content)
    with pytest.raises(MoveInterrupted):
        full_move.move(interrupt_at(2))
    first = full_move.move()
    further = EngineLocation(full_move.origin.engine, full_move.origin.locations, tmp_path / "old", "further")
    target = further.open()
    second = full_move.runner.run(
        move(
            full_move.target, target, full_move.office.clock, origin=THERE, to="the third store", watch=ignore_progress
        )
    )
    assert second == first
    third = full_move.office.reopen(target)
    assert third.read(stored_content) == before
    assert [event.action for event in third.events()[:2]] == ["move", "move"]
    with pytest.raises(StoreSealed, match="the third store"):
        full_move.target_office().do(mint, RANDOM)
    assert third.do(mint, RANDOM)


@there_and_back
def test_progress_is_reported_to_the_last_name(full_move: Move) -> None:
    reported: list[tuple[Stage, int, int]] = []
    moved = full_move.move(lambda *step: reported.append(step))
    for stage in ("copying", "comparing"):
        steps = [(done, of) for one, done, of in reported if one == stage]
        assert steps[-1] == (moved.names, moved.names)
        assert [done for done, _ in steps] == sorted({done for done, _ in steps})


# The old store


def test_the_old_store_refuses_writes_and_can_be_read(full_move: Move) -> None:
    before, found_before = full_move.office.read(stored_content), full_move.office.read(search_results)
    full_move.move()
    with pytest.raises(StoreSealed, match=THERE):
        full_move.office.do(mint, RANDOM)
    assert full_move.office.read(stored_content) == before
    assert full_move.office.read(search_results) == found_before
    assert full_move.office.ask(verify) == []
    assert full_move.office.run(full_move.source.lookup(f"{CHOSEN}/a")) is not None

    async def write_export() -> list[bytes]:
        return [data async for _, data in export(full_move.office.registry, full_move.office.admin)]

    assert any(b"imported" in data for data in full_move.office.run(write_export()))
    reopened = full_move.origin.open(create=False)
    with pytest.raises(StoreSealed, match=THERE):
        full_move.office.reopen(reopened).do(mint, RANDOM)


def test_during_a_move_the_old_store_can_be_read_and_refuses_writes(full_move: Move) -> None:
    office = full_move.office
    answers, refusals = 0, 0

    async def read_on() -> None:
        nonlocal answers, refusals
        while not moving.done():
            row = await full_move.source.lookup(f"{CHOSEN}/a")
            assert row is not None
            answers += 1
            if await full_move.source.seal_reason() is None:
                continue
            with pytest.raises(StoreSealed, match=THERE):
                await mint(office.registry, office.admin, RANDOM)
            refusals += 1

    async def both() -> None:
        nonlocal moving
        moving = asyncio.ensure_future(
            move(full_move.source, full_move.target, office.clock, origin=HERE, to=THERE, watch=ignore_progress)
        )
        await asyncio.gather(moving, read_on())

    moving: asyncio.Future[MoveResult]
    office.run(both())
    assert answers >= refusals > 3


def test_a_name_minted_just_before_the_seal_is_copied(empty_move: Move) -> None:
    """An acknowledged name is in the new store; all other requests were refused."""
    empty_move.office.prefix(RANDOM, "uuid")
    acknowledged: list[str] = []

    async def mint_on() -> None:
        while True:
            try:
                [minted] = await mint(empty_move.office.registry, empty_move.office.admin, RANDOM)
            except StoreSealed:
                return
            acknowledged.append(minted.name)

    async def move_late() -> None:
        while len(acknowledged) < 10:
            await asyncio.sleep(0)
        await move(
            empty_move.source, empty_move.target, empty_move.office.clock, origin=HERE, to=THERE, watch=ignore_progress
        )

    async def both() -> None:
        await asyncio.gather(*(mint_on() for _ in range(4)), move_late())

    empty_move.office.run(both())
    there = {row.name for row in empty_move.target_office().read(stored_content)["rows"]}
    assert set(acknowledged) <= there
    assert len(there) == len(empty_move.office.read(stored_content)["rows"])


# Refusals


@there_and_back
def test_a_store_without_a_registry_is_not_moved(empty_move: Move) -> None:
    with pytest.raises(InvalidInput, match="no registry"):
        empty_move.runner.run(
            move(
                empty_move.target,
                empty_move.source,
                empty_move.office.clock,
                origin=THERE,
                to=HERE,
                watch=ignore_progress,
            )
        )
    assert not empty_move.is_sealed()


@there_and_back
def test_a_location_with_another_registry_is_not_changed(full_move: Move) -> None:
    other = open_office(full_move.runner, full_move.target)
    before = other.read(stored_content)
    with pytest.raises(InvalidInput, match=other.registry.id[:8]):
        full_move.move()
    assert other.read(stored_content) == before
    assert full_move.writes()


@there_and_back
def test_a_location_with_other_names_is_not_changed(full_move: Move) -> None:
    full_move.runner.run(full_move.target.write(lambda tx: tx.insert([change("1/a")])))
    with pytest.raises(InvalidInput, match="empty"):
        full_move.move()
    assert full_move.writes()


@there_and_back
def test_the_unfinished_copy_of_another_registry_is_not_changed(full_move: Move) -> None:
    other = open_office(full_move.runner, full_move.origin.locations.open("other"))
    going = move(other.registry.store, full_move.target, other.clock, origin="x", to=THERE, watch=interrupt_at(1))
    with pytest.raises(MoveInterrupted):
        full_move.runner.run(going)
    before = full_move.of_target(lambda reader: reader.identifiers_after("", 1000))
    with pytest.raises(InvalidInput, match="another move"):
        full_move.move()
    assert full_move.of_target(lambda reader: reader.identifiers_after("", 1000)) == before


@there_and_back
def test_a_move_that_is_refused_for_a_foreign_copy_leaves_the_registry_writable(full_move: Move) -> None:
    other = open_office(full_move.runner, full_move.origin.locations.open("other"))
    going = move(other.registry.store, full_move.target, other.clock, origin="x", to=THERE, watch=interrupt_at(1))
    with pytest.raises(MoveInterrupted):
        full_move.runner.run(going)
    with pytest.raises(InvalidInput, match="another move"):
        full_move.move()
    assert full_move.writes()


@there_and_back
def test_a_store_that_was_moved_away_from_accepts_no_move_back(full_move: Move) -> None:
    full_move.move()
    before = full_move.office.read(stored_content)
    there = full_move.target_office()
    there.do(mint, RANDOM)
    with pytest.raises(InvalidInput, match="old copy"):
        there.run(move(full_move.target, full_move.source, there.clock, origin=THERE, to=HERE, watch=ignore_progress))
    assert full_move.office.read(stored_content) == before
    assert there.do(mint, RANDOM)


@there_and_back
def test_a_registry_being_moved_to_one_location_is_not_moved_to_another(full_move: Move) -> None:
    with pytest.raises(MoveInterrupted):
        full_move.move(interrupt_at(2))
    elsewhere = full_move.to.locations.open("elsewhere")
    with pytest.raises(StoreSealed, match=THERE):
        full_move.move(target=elsewhere, to="elsewhere")
    assert full_move.runner.run(elsewhere.read(identity)) is None
    full_move.move()
    with pytest.raises(StoreSealed, match=THERE):
        full_move.move(target=elsewhere, to="elsewhere")


@there_and_back
def test_an_unfinished_copy_is_not_a_registry(full_move: Move) -> None:
    for call in (1, 5, 1000):
        with pytest.raises(MoveInterrupted):
            full_move.move(_interrupt_in("comparing") if call == 1000 else interrupt_at(call))
        with pytest.raises(InvalidInput, match="holds no registry"):
            full_move.runner.run(reopen(full_move.target, full_move.office.clock, full_move.office.registry.settings))


def _interrupt_in(interrupted: Stage) -> MoveProgress:
    def watch(stage: Stage, done: int, of: int) -> None:
        if stage == interrupted:
            raise MoveInterrupted

    return watch


@there_and_back
def test_a_registry_is_not_moved_to_its_own_store(full_move: Move) -> None:
    """An address can be written in many ways: only the store itself shows that it is the same."""
    full_move.move()
    there = full_move.target_office()
    same = full_move.to.open(create=False)
    with pytest.raises(InvalidInput):
        there.run(move(full_move.target, same, there.clock, origin=THERE, to="the same store", watch=ignore_progress))
    assert there.do(mint, RANDOM)


@there_and_back
def test_names_minted_after_an_earlier_move_are_not_lost(full_move: Move) -> None:
    """The old store was restored from a backup, and has changed since."""
    full_move.move()
    full_move.runner.run(full_move.source.seal(None))  # as a restore does
    [minted] = full_move.office.do(mint, RANDOM)
    try:
        full_move.move()
    except InvalidInput:
        return
    assert full_move.runner.run(full_move.target.lookup(minted.name)) is not None


# Giving up


@there_and_back
def test_an_abandoned_move_leaves_the_registry_in_its_store(full_move: Move) -> None:
    before = full_move.office.read(stored_content)
    with pytest.raises(MoveInterrupted):
        full_move.move(interrupt_at(3))
    assert full_move.is_sealed()
    full_move.give_up()
    assert full_move.office.read(stored_content) == before
    assert full_move.writes()
    assert full_move.office.ask(verify) == []


@there_and_back
def test_a_finished_move_cannot_be_abandoned(full_move: Move) -> None:
    full_move.move()
    with pytest.raises(InvalidInput, match="is finished"):
        full_move.give_up()
    assert full_move.is_sealed()


@there_and_back
def test_a_finished_move_cannot_be_abandoned_by_naming_another_location(full_move: Move) -> None:
    """Two stores that both accept writes would issue the same names."""
    full_move.move()
    with pytest.raises(InvalidInput):
        full_move.give_up(full_move.to.locations.open("elsewhere"), "elsewhere")
    assert full_move.is_sealed()


@there_and_back
def test_the_remains_of_an_abandoned_move_are_not_mixed_with_the_next(full_move: Move) -> None:
    with pytest.raises(MoveInterrupted):
        full_move.move(interrupt_at(3))
    full_move.give_up()
    full_move.office.clock.step(10)
    full_move.writes()
    with pytest.raises(InvalidInput, match="another move"):
        full_move.move()
    fresh = full_move.to.locations.open("fresh")
    full_move.move(target=fresh, to="the fresh store")
    assert full_move.office.reopen(fresh).read(stored_content) == full_move.office.read(stored_content)


# A copy that differs


class Damage(NamedTuple):
    """A change to the copy behind the move's back, and the resulting error."""

    statement: str
    problem: str


NAMES = {
    "target": Damage("UPDATE identifiers SET target = 'https://example.org/evil' WHERE key = '12345/a'", "12345/a"),
    "state": Damage("UPDATE identifiers SET state = 'withdrawn' WHERE key = '12345/imported'", "12345/imported"),
    "past": Damage("UPDATE revisions SET agent = 'nobody' WHERE version = 3", "12345/a"),
    "missing": Damage("DELETE FROM identifiers WHERE key = '12345/imported'", "differs"),
    "inputs": Damage("UPDATE {persons} SET uuid_raw = 'f' WHERE name = (SELECT min(name) FROM {persons})", "POID-"),
}
SURROUNDINGS = {
    "timelines": "UPDATE timelines SET last = '5' WHERE key = '777/#'",
    "grants": "UPDATE grants SET action = 'admin' WHERE agent = 'maria' AND action = 'edit'",
    "keys": "UPDATE keys SET revoked = NULL",
    "agents": "UPDATE agents SET name = 'Mallory' WHERE id = 'maria'",
    "prefixes": "UPDATE prefixes SET policy = 'Anything goes.' WHERE key = '777'",
    "events": "UPDATE events SET detail = '' WHERE action = 'found'",
    "facts": "UPDATE facts SET value = 'x' WHERE name = 'home'",
}


def _move_with_damage(full_move: Move, damage: Damage) -> None:
    """Move, and change the copy between copying and comparing."""
    before = full_move.office.read(stored_content)
    persons = "person_names" if full_move.to.engine == "postgres" else "person_inputs"

    def tamper(stage: Stage, copied: int, of: int) -> None:
        if stage == "copying" and copied == of:
            full_move.to.tamper(damage.statement.format(persons=persons))

    with pytest.raises(StoreDamaged, match=damage.problem):
        full_move.move(tamper)
    assert full_move.of_target(identity) is None
    assert full_move.office.read(stored_content) == before
    with pytest.raises(StoreDamaged, match=damage.problem):
        full_move.move()  # it does not become right by being looked at again
    full_move.give_up()
    assert full_move.writes()


@there_and_back
@pytest.mark.parametrize("damage", NAMES.values(), ids=NAMES)
def test_a_name_that_differs_is_named_and_the_copy_does_not_take_over(full_move: Move, damage: Damage) -> None:
    _move_with_damage(full_move, damage)


@_ways(("sqlite", "sqlite"))
@pytest.mark.parametrize("part", SURROUNDINGS)
def test_another_table_that_differs_is_named_and_the_copy_does_not_take_over(full_move: Move, part: str) -> None:
    _move_with_damage(full_move, Damage(SURROUNDINGS[part], part))


_ONE_MORE = (
    "INSERT INTO identifiers ({position}, key, name, scheme, state, target, version, record, subject, created) "
    "SELECT 7000, 'zzz/z', name, scheme, state, target, version, record, subject, created "
    "FROM identifiers WHERE key = '12345/imported'"
)


@there_and_back
def test_an_additional_name_in_the_copy_is_noticed(full_move: Move) -> None:
    """It is at the very end, after the last name of the registry."""

    def tamper(stage: Stage, copied: int, of: int) -> None:
        if stage == "copying" and copied == of:
            position = "added" if full_move.to.engine == "postgres" else "rowid"
            full_move.to.tamper(_ONE_MORE.format(position=position))

    with pytest.raises(StoreDamaged, match="not finished"):
        full_move.move(tamper)
    assert full_move.of_target(identity) is None


# Interruptions


def test_a_move_interrupted_at_every_step_has_the_same_result(full_move: Move) -> None:
    before = full_move.office.read(stored_content)
    moved = None
    for call in range(1, 200):
        try:
            moved = full_move.move(interrupt_at(call))
            break
        except MoveInterrupted:
            assert full_move.of_target(identity) is None
    assert moved is not None
    assert call > 5, "it was hardly interrupted"
    assert moved == full_move.move()  # once more: it is finished, and the result is the same
    assert full_move.target_office().read(stored_content) == before
    assert full_move.target_office().ask(verify) == []
    uninterrupted = full_move.to.locations.open("uninterrupted")
    again = move(full_move.target, uninterrupted, full_move.office.clock, origin=THERE, to="x", watch=ignore_progress)
    assert full_move.runner.run(again) == moved


def _kill_movers(full_move: Move, kills: int) -> None:
    """Kill the same move repeatedly, so that damage would add up; a process that finishes early is not started again."""
    full_move.office.prefix("54321", "uuid")
    full_move.office.do(mint, "54321", 150, statement=Statement(URL))
    before = full_move.office.read(stored_content)
    seen, killed = b"", 0
    for _ in range(kills):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.registry.relocation_process", full_move.origin.address, full_move.to.address],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        seen = process.stdout.readline()
        assert seen == OPENED
        for _ in range(random.randrange(12)):
            seen = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        rest = seen + process.communicate()[0]
        killed += process.returncode == -signal.SIGKILL and FINISHED not in rest
    done = subprocess.run(
        [sys.executable, "-m", "tests.registry.relocation_process", full_move.origin.address, full_move.to.address],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert killed > 0, "no process was killed in time: nothing was tested"
    digest = done.stdout.rpartition(FINISHED)[2].strip().decode()
    assert full_move.office.reopen(full_move.target).read(stored_content) == before
    assert full_move.target_office().ask(verify) == []
    uninterrupted = full_move.to.locations.open("uninterrupted")
    again = move(full_move.target, uninterrupted, full_move.office.clock, origin=THERE, to="x", watch=ignore_progress)
    assert full_move.runner.run(again).digest == digest


@there_and_back
def test_a_killed_move_is_continued(full_move: Move) -> None:
    _kill_movers(full_move, 2)


@pytest.mark.slow
def test_a_move_that_is_killed_many_times_is_continued(full_move: Move) -> None:
    _kill_movers(full_move, 20)


# Memory


@there_and_back
def test_memory_does_not_grow_with_the_number_of_names(empty_move: Move, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_copy, "CHUNK", 100)
    empty_move.office.prefix(RANDOM, "uuid")
    for _ in range(2):
        empty_move.office.do(mint, RANDOM, 1000, statement=Statement(URL))
    peaks: dict[Stage, list[int]] = {"copying": [], "comparing": []}

    def watch(stage: Stage, done: int, of: int) -> None:
        if done == 500 or done == of:
            peaks[stage].append(tracemalloc.get_traced_memory()[1])
            tracemalloc.reset_peak()

    tracemalloc.start()
    try:
        empty_move.move(watch)
    finally:
        tracemalloc.stop()
    for early, late in peaks.values():
        assert late < early + 500_000
