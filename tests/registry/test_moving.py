"""Moving house: whatever the engines, everything arrives, nothing is issued twice, and one store at a time is the registry."""

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
from tests.postgres.shared import database
from tests.registry.mover import FINISHED, OPENED
from tests.registry.whole_registry import (
    CHECKPOINT,
    CHOSEN,
    MINTERS,
    PAIRED,
    RANDOM,
    URL,
    found,
    furnish,
    identity,
    kept,
)
from tests.registry_fixture import ENGINES, Office, Places, PostgresPlaces, open_office, places_on
from tests.store.material import change

from perdure.errors import InvalidInput, StoreDamaged, StoreSealed
from perdure.registry import Statement, authenticate, copying, export, imported_so_far, mint, reopen, verify
from perdure.registry.moving import Moved, Stage, Watch, check_unfinished, move
from perdure.registry.protocol import Reader, Store

ROOT = Path(__file__).parents[2]
HERE, THERE = "the old house", "the new house"
EVERY_DIRECTION = [(origin, to) for origin in ENGINES for to in ENGINES]


def _ways(*ways: tuple[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bare", ways, indirect=True, ids=lambda way: f"{way[0]}-to-{way[1]}")


# What depends on the engines is shown in every direction, the rest in one there and one back.
there_and_back = _ways(("sqlite", "postgres"), ("postgres", "sqlite"))


def unwatched(stage: Stage, done: int, of: int) -> None:
    pass


class Interrupted(Exception):
    pass


def interrupt_at(call: int) -> Watch:
    """Stops a move at its so-manieth step."""
    calls = 0

    def watch(stage: Stage, done: int, of: int) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise Interrupted

    return watch


class House(NamedTuple):
    """A place for a registry, on one engine."""

    engine: str
    places: Places
    folder: Path
    name: str = "registry"

    def open(self, *, create: bool = True) -> Store:
        return self.places.open(self.name, create=create)

    @property
    def address(self) -> str:
        """For a process of its own."""
        if isinstance(self.places, PostgresPlaces):
            return f"{self.folder / self.name}={self.places.address(self.name)}"
        return str(self.folder / self.name / "perdure.db")

    def tamper(self, *statements: str) -> None:
        """As somebody who goes past the registry. Triggers that would stop him are gone first."""
        if isinstance(self.places, PostgresPlaces):
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


class Removal:
    """A registry on its way from one house to another."""

    def __init__(self, runner: asyncio.Runner, origin: House, to: House) -> None:
        self.runner, self.origin, self.to = runner, origin, to
        self.office = open_office(runner, origin.open())
        self.target = to.open()

    @property
    def source(self) -> Store:
        return self.office.registry.store

    def move(self, watch: Watch = unwatched, *, target: Store | None = None, to: str = THERE) -> Moved:
        going = move(self.source, target or self.target, self.office.clock, origin=HERE, to=to, watch=watch)
        return self.runner.run(going)

    def there(self) -> Office:
        """The registry where it has moved to."""
        return self.office.reopened(self.target)

    def give_up(self, target: Store | None = None, to: str = THERE) -> None:
        self.runner.run(check_unfinished(self.source, target or self.target, to))
        self.runner.run(self.source.seal(None))

    def of_target(self, question: Callable[[Reader], object]) -> object:
        return self.runner.run(self.target.read(question))

    def is_sealed(self) -> bool:
        return self.runner.run(self.source.sealed()) is not None

    def writes(self) -> bool:
        """Whether the old house still takes names."""
        return len(self.office.do(mint, RANDOM, said=Statement(URL))) == 1


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that whatever hangs together falls into different steps as well."""
    monkeypatch.setattr(copying, "CHUNK", 4)


@pytest.fixture(params=EVERY_DIRECTION, ids=lambda way: f"{way[0]}-to-{way[1]}")
def bare(request: pytest.FixtureRequest, tmp_path: Path, runner: asyncio.Runner) -> Iterator[Removal]:
    """A registry in which nothing has happened yet."""
    houses = []
    for engine, name in zip(request.param, ("old", "new"), strict=True):
        (tmp_path / name).mkdir()
        houses.append(House(engine, places_on(engine, tmp_path / name), tmp_path / name))
    yield Removal(runner, *houses)
    for house in houses:
        house.places.close()


@pytest.fixture
def removal(bare: Removal) -> Removal:
    """A registry with one of everything."""
    furnish(bare.office)
    return bare


# What arrives


def test_everything_arrives(removal: Removal) -> None:
    before = removal.office.read(kept)
    moved = removal.move()
    after = removal.there().read(kept)
    for part, content in before.items():
        assert after[part] == content, part
    assert moved.names == len(before["rows"])
    assert removal.there().ask(verify) == []


def test_search_and_reverse_look_up_answer_the_same_in_the_same_order(removal: Removal) -> None:
    before = removal.office.read(found)
    assert all(before.values())
    removal.move()
    assert removal.there().read(found) == before


def _same_place_in_the_order(table: str) -> str:
    """For several names each, and the first in the alphabet came last."""
    return f"UPDATE {table} SET added = 1000 - ascii(right(key, 1)) / 4 WHERE key LIKE '12345/_'"  # noqa: S608


@pytest.mark.parametrize("bare", [("postgres", "postgres")], indirect=True, ids=["to-postgres"])
def test_names_that_came_at_the_same_time_stay_in_their_order(bare: Removal) -> None:
    """Processes that write at once may have given two names the same place in the order."""
    bare.office.prefix(CHOSEN, "chosen")
    bare.office.do(mint, CHOSEN, suffixes=list("abcdefgh"), said=Statement(URL))
    bare.origin.tamper(*(_same_place_in_the_order(table) for table in ("identifiers", "words", "reverse")))
    before = bare.office.read(found)
    bare.move()
    assert bare.there().ask(verify) == []
    assert bare.there().read(found) == before


def test_no_minter_repeats_a_name(removal: Removal) -> None:
    """On a clock that has stood still since, and on one that was set back a little."""
    before = {row.name for row in removal.office.read(kept)["rows"]}
    removal.move()
    there = removal.there()
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
def test_keys_and_import_checkpoints_go_on_working(removal: Removal) -> None:
    removal.move()
    there = removal.there()
    assert there.ask(authenticate, there.key) == removal.office.admin
    assert there.do(imported_so_far, CHECKPOINT).entries == 1


@there_and_back
def test_a_move_is_recorded_where_it_ended(removal: Removal) -> None:
    moved = removal.move()
    newest, *others = removal.there().events()
    assert (newest.action, newest.subject) == ("move", removal.office.registry.id)
    assert f"{moved.names} names" in newest.detail
    assert HERE in newest.detail
    assert "move" not in {event.action for event in others}


def test_a_registry_that_has_moved_moves_on(removal: Removal, tmp_path: Path) -> None:
    """The names are the same, and so is their digest; only the second move was never interrupted."""
    before = removal.office.read(kept)
    with pytest.raises(Interrupted):
        removal.move(interrupt_at(2))
    first = removal.move()
    further = House(removal.origin.engine, removal.origin.places, tmp_path / "old", "further")
    target = further.open()
    second = removal.runner.run(
        move(removal.target, target, removal.office.clock, origin=THERE, to="the third house", watch=unwatched)
    )
    assert second == first
    third = removal.office.reopened(target)
    assert third.read(kept) == before
    assert [event.action for event in third.events()[:2]] == ["move", "move"]
    with pytest.raises(StoreSealed, match="the third house"):
        removal.there().do(mint, RANDOM)
    assert third.do(mint, RANDOM)


@there_and_back
def test_progress_is_told_to_the_last_name(removal: Removal) -> None:
    told: list[tuple[Stage, int, int]] = []
    moved = removal.move(lambda *step: told.append(step))
    for stage in ("copying", "comparing"):
        steps = [(done, of) for one, done, of in told if one == stage]
        assert steps[-1] == (moved.names, moved.names)
        assert [done for done, _ in steps] == sorted({done for done, _ in steps})


# The old house


def test_the_old_store_takes_no_writes_and_answers_as_before(removal: Removal) -> None:
    before, found_before = removal.office.read(kept), removal.office.read(found)
    removal.move()
    with pytest.raises(StoreSealed, match=THERE):
        removal.office.do(mint, RANDOM)
    assert removal.office.read(kept) == before
    assert removal.office.read(found) == found_before
    assert removal.office.ask(verify) == []
    assert removal.office.run(removal.source.lookup(f"{CHOSEN}/a")) is not None

    async def exported() -> list[bytes]:
        return [data async for _, data in export(removal.office.registry, removal.office.admin)]

    assert any(b"imported" in data for data in removal.office.run(exported()))
    reopened = removal.origin.open(create=False)
    with pytest.raises(StoreSealed, match=THERE):
        removal.office.reopened(reopened).do(mint, RANDOM)


def test_the_old_store_is_read_while_it_moves_and_what_is_written_meanwhile_is_refused(removal: Removal) -> None:
    office = removal.office
    answers, refusals = 0, 0

    async def reading() -> None:
        nonlocal answers, refusals
        while not moving.done():
            row = await removal.source.lookup(f"{CHOSEN}/a")
            assert row is not None
            answers += 1
            if await removal.source.sealed() is None:
                continue
            with pytest.raises(StoreSealed, match=THERE):
                await mint(office.registry, office.admin, RANDOM)
            refusals += 1

    async def both() -> None:
        nonlocal moving
        moving = asyncio.ensure_future(
            move(removal.source, removal.target, office.clock, origin=HERE, to=THERE, watch=unwatched)
        )
        await asyncio.gather(moving, reading())

    moving: asyncio.Future[Moved]
    office.run(both())
    assert answers >= refusals > 3


def test_a_name_minted_just_before_the_seal_arrives(bare: Removal) -> None:
    """Whoever was told that it is there finds it in the new house; everybody else was refused."""
    bare.office.prefix(RANDOM, "uuid")
    acknowledged: list[str] = []

    async def minting() -> None:
        while True:
            try:
                [minted] = await mint(bare.office.registry, bare.office.admin, RANDOM)
            except StoreSealed:
                return
            acknowledged.append(minted.name)

    async def moving() -> None:
        while len(acknowledged) < 10:
            await asyncio.sleep(0)
        await move(bare.source, bare.target, bare.office.clock, origin=HERE, to=THERE, watch=unwatched)

    async def both() -> None:
        await asyncio.gather(*(minting() for _ in range(4)), moving())

    bare.office.run(both())
    there = {row.name for row in bare.there().read(kept)["rows"]}
    assert set(acknowledged) <= there
    assert len(there) == len(bare.office.read(kept)["rows"])


# Refusals


@there_and_back
def test_a_store_without_a_registry_is_not_moved(bare: Removal) -> None:
    with pytest.raises(InvalidInput, match="no registry"):
        bare.runner.run(move(bare.target, bare.source, bare.office.clock, origin=THERE, to=HERE, watch=unwatched))
    assert not bare.is_sealed()


@there_and_back
def test_a_place_with_another_registry_is_left_alone(removal: Removal) -> None:
    other = open_office(removal.runner, removal.target)
    before = other.read(kept)
    with pytest.raises(InvalidInput, match=other.registry.id[:8]):
        removal.move()
    assert other.read(kept) == before
    assert removal.writes()


@there_and_back
def test_a_place_with_names_that_no_move_has_left_is_left_alone(removal: Removal) -> None:
    removal.runner.run(removal.target.write(lambda tx: tx.insert([change("1/a")])))
    with pytest.raises(InvalidInput, match="empty"):
        removal.move()
    assert removal.writes()


@there_and_back
def test_the_unfinished_copy_of_another_registry_is_left_alone(removal: Removal) -> None:
    other = open_office(removal.runner, removal.origin.places.open("other"))
    going = move(other.registry.store, removal.target, other.clock, origin="x", to=THERE, watch=interrupt_at(1))
    with pytest.raises(Interrupted):
        removal.runner.run(going)
    before = removal.of_target(lambda reader: reader.after("", 1000))
    with pytest.raises(InvalidInput, match="another move"):
        removal.move()
    assert removal.of_target(lambda reader: reader.after("", 1000)) == before


@there_and_back
def test_a_move_that_is_refused_for_a_foreign_copy_leaves_the_registry_writable(removal: Removal) -> None:
    other = open_office(removal.runner, removal.origin.places.open("other"))
    going = move(other.registry.store, removal.target, other.clock, origin="x", to=THERE, watch=interrupt_at(1))
    with pytest.raises(Interrupted):
        removal.runner.run(going)
    with pytest.raises(InvalidInput, match="another move"):
        removal.move()
    assert removal.writes()


@there_and_back
def test_an_old_copy_that_was_moved_away_from_takes_nothing_back(removal: Removal) -> None:
    removal.move()
    before = removal.office.read(kept)
    there = removal.there()
    there.do(mint, RANDOM)
    with pytest.raises(InvalidInput, match="old copy"):
        there.run(move(removal.target, removal.source, there.clock, origin=THERE, to=HERE, watch=unwatched))
    assert removal.office.read(kept) == before
    assert there.do(mint, RANDOM)


@there_and_back
def test_a_registry_on_its_way_to_one_place_does_not_go_to_another(removal: Removal) -> None:
    with pytest.raises(Interrupted):
        removal.move(interrupt_at(2))
    elsewhere = removal.to.places.open("elsewhere")
    with pytest.raises(StoreSealed, match=THERE):
        removal.move(target=elsewhere, to="elsewhere")
    assert removal.runner.run(elsewhere.read(identity)) is None
    removal.move()
    with pytest.raises(StoreSealed, match=THERE):
        removal.move(target=elsewhere, to="elsewhere")


@there_and_back
def test_an_unfinished_copy_is_no_registry(removal: Removal) -> None:
    for call in (1, 5, 1000):
        with pytest.raises(Interrupted):
            removal.move(_interrupt_in("comparing") if call == 1000 else interrupt_at(call))
        with pytest.raises(InvalidInput, match="holds no registry"):
            removal.runner.run(reopen(removal.target, removal.office.clock, removal.office.registry.settings))


def _interrupt_in(wanted: Stage) -> Watch:
    def watch(stage: Stage, done: int, of: int) -> None:
        if stage == wanted:
            raise Interrupted

    return watch


@there_and_back
def test_a_registry_is_not_moved_to_where_it_is(removal: Removal) -> None:
    """An address can be written in many ways: only the store itself tells that it is the same."""
    removal.move()
    there = removal.there()
    same = removal.to.open(create=False)
    with pytest.raises(InvalidInput):
        there.run(move(removal.target, same, there.clock, origin=THERE, to="the same house", watch=unwatched))
    assert there.do(mint, RANDOM)


@there_and_back
def test_what_came_after_an_earlier_move_is_not_left_behind(removal: Removal) -> None:
    """The old store was brought back to life by a restore, and has gone its own way since."""
    removal.move()
    removal.runner.run(removal.source.seal(None))  # as a restore does
    [minted] = removal.office.do(mint, RANDOM)
    try:
        removal.move()
    except InvalidInput:
        return
    assert removal.runner.run(removal.target.lookup(minted.name)) is not None


# Giving up


@there_and_back
def test_a_move_that_is_given_up_leaves_the_registry_where_it_was(removal: Removal) -> None:
    before = removal.office.read(kept)
    with pytest.raises(Interrupted):
        removal.move(interrupt_at(3))
    assert removal.is_sealed()
    removal.give_up()
    assert removal.office.read(kept) == before
    assert removal.writes()
    assert removal.office.ask(verify) == []


@there_and_back
def test_a_finished_move_cannot_be_given_up(removal: Removal) -> None:
    removal.move()
    with pytest.raises(InvalidInput, match="is finished"):
        removal.give_up()
    assert removal.is_sealed()


@there_and_back
def test_a_finished_move_cannot_be_given_up_by_naming_another_place(removal: Removal) -> None:
    """Two stores that both take writes would issue the same names."""
    removal.move()
    with pytest.raises(InvalidInput):
        removal.give_up(removal.to.places.open("elsewhere"), "elsewhere")
    assert removal.is_sealed()


@there_and_back
def test_the_leftovers_of_a_move_that_was_given_up_are_not_mixed_with_the_next(removal: Removal) -> None:
    with pytest.raises(Interrupted):
        removal.move(interrupt_at(3))
    removal.give_up()
    removal.office.clock.step(10)
    removal.writes()
    with pytest.raises(InvalidInput, match="another move"):
        removal.move()
    fresh = removal.to.places.open("fresh")
    removal.move(target=fresh, to="the fresh house")
    assert removal.office.reopened(fresh).read(kept) == removal.office.read(kept)


# A copy that differs


class Damage(NamedTuple):
    """What is done to the copy behind the move's back, and what it says then."""

    statement: str
    told: str


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


def _move_with_damage(removal: Removal, damage: Damage) -> None:
    """The copy is changed between the copying and the comparing."""
    before = removal.office.read(kept)
    persons = "person_names" if removal.to.engine == "postgres" else "person_inputs"

    def tamper(stage: Stage, copied: int, of: int) -> None:
        if stage == "copying" and copied == of:
            removal.to.tamper(damage.statement.format(persons=persons))

    with pytest.raises(StoreDamaged, match=damage.told):
        removal.move(tamper)
    assert removal.of_target(identity) is None
    assert removal.office.read(kept) == before
    with pytest.raises(StoreDamaged, match=damage.told):
        removal.move()  # it does not become right by being looked at again
    removal.give_up()
    assert removal.writes()


@there_and_back
@pytest.mark.parametrize("damage", NAMES.values(), ids=NAMES)
def test_a_name_that_differs_is_named_and_the_copy_does_not_take_over(removal: Removal, damage: Damage) -> None:
    _move_with_damage(removal, damage)


@_ways(("sqlite", "sqlite"))
@pytest.mark.parametrize("part", SURROUNDINGS)
def test_what_differs_beside_names_is_named_and_the_copy_does_not_take_over(removal: Removal, part: str) -> None:
    _move_with_damage(removal, Damage(SURROUNDINGS[part], part))


_ONE_MORE = (
    "INSERT INTO identifiers ({place}, key, name, scheme, state, target, version, record, subject, created) "
    "SELECT 7000, 'zzz/z', name, scheme, state, target, version, record, subject, created "
    "FROM identifiers WHERE key = '12345/imported'"
)


@there_and_back
def test_a_name_that_the_registry_has_not_is_noticed(removal: Removal) -> None:
    """At the very end, where the registry has nothing to compare it with."""

    def tamper(stage: Stage, copied: int, of: int) -> None:
        if stage == "copying" and copied == of:
            place = "added" if removal.to.engine == "postgres" else "rowid"
            removal.to.tamper(_ONE_MORE.format(place=place))

    with pytest.raises(StoreDamaged, match="not finished"):
        removal.move(tamper)
    assert removal.of_target(identity) is None


# Interruptions


def test_a_move_interrupted_at_every_step_ends_like_one_that_was_not(removal: Removal) -> None:
    before = removal.office.read(kept)
    moved = None
    for call in range(1, 200):
        try:
            moved = removal.move(interrupt_at(call))
            break
        except Interrupted:
            assert removal.of_target(identity) is None
    assert moved is not None
    assert call > 5, "it was hardly interrupted"
    assert moved == removal.move()  # once more: it is finished, and says the same
    assert removal.there().read(kept) == before
    assert removal.there().ask(verify) == []
    uninterrupted = removal.to.places.open("uninterrupted")
    again = move(removal.target, uninterrupted, removal.office.clock, origin=THERE, to="x", watch=unwatched)
    assert removal.runner.run(again) == moved


def _kill_movers(removal: Removal, kills: int) -> None:
    """The same move all along, so that damage would add up; a mover that finishes early is not started again."""
    removal.office.prefix("54321", "uuid")
    removal.office.do(mint, "54321", 150, said=Statement(URL))
    before = removal.office.read(kept)
    seen, killed = b"", 0
    for _ in range(kills):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.registry.mover", removal.origin.address, removal.to.address],
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
        [sys.executable, "-m", "tests.registry.mover", removal.origin.address, removal.to.address],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert killed > 0, "nobody was killed in time: nothing was tested"
    digest = done.stdout.rpartition(FINISHED)[2].strip().decode()
    assert removal.office.reopened(removal.target).read(kept) == before
    assert removal.there().ask(verify) == []
    uninterrupted = removal.to.places.open("uninterrupted")
    again = move(removal.target, uninterrupted, removal.office.clock, origin=THERE, to="x", watch=unwatched)
    assert removal.runner.run(again).digest == digest


@there_and_back
def test_a_killed_move_goes_on_where_it_was(removal: Removal) -> None:
    _kill_movers(removal, 2)


@pytest.mark.slow
def test_a_move_that_is_killed_again_and_again_goes_on_where_it_was(removal: Removal) -> None:
    _kill_movers(removal, 20)


# Memory


@there_and_back
def test_memory_does_not_grow_with_the_number_of_names(bare: Removal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "CHUNK", 100)
    bare.office.prefix(RANDOM, "uuid")
    for _ in range(2):
        bare.office.do(mint, RANDOM, 1000, said=Statement(URL))
    peaks: dict[Stage, list[int]] = {"copying": [], "comparing": []}

    def watch(stage: Stage, done: int, of: int) -> None:
        if done == 500 or done == of:
            peaks[stage].append(tracemalloc.get_traced_memory()[1])
            tracemalloc.reset_peak()

    tracemalloc.start()
    try:
        bare.move(watch)
    finally:
        tracemalloc.stop()
    for early, late in peaks.values():
        assert late < early + 500_000
