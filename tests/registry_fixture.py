"""What the tests of the registry and of the stores stand on: a clock that they own, and registries on fresh stores.

Another engine joins by its name in `ENGINES` and its own `Places`: every test here then runs on it as well.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
import pytest

from perdure.minting.clock import NANOSECONDS, Clock
from perdure.records.record import About
from perdure.records.value import Value
from perdure.registry import (
    Founded,
    Registry,
    Settings,
    Statement,
    add_agent,
    add_prefix,
    change,
    found,
    grant,
    reopen,
    update,
)
from perdure.registry.entities import Agent, Event
from perdure.registry.existing import existing
from perdure.registry.protocol import Reader, Store, Transaction
from perdure.registry.sealing import Sealer
from perdure.store.postgres.store import PostgresStore
from perdure.store.sqlite import SqliteStore
from tests.postgres.shared import database, need_postgres
from tests.postgres.spare_schemas import FEW_PARTITIONS, give_back, new_schema, take_schema

T = TypeVar("T")

ENGINES = ["sqlite", "postgres"]
SEALER = Sealer(bytes(range(32)))
NOON = Fraction(1_800_000_000)  # 2027-01-15T08:00:00Z, if not noon


class ManualClock:
    """A clock that stands still until somebody sets it; whoever waits for an instant brings it there."""

    def __init__(self, now: Fraction | int | str = NOON) -> None:
        self.now = Fraction(now)
        self.waits: list[Fraction] = []

    def now_ns(self) -> int:
        return int(self.now * NANOSECONDS)

    async def wait_until(self, instant: Fraction) -> None:
        self.waits.append(max(instant - self.now, Fraction(0)))
        self.now = max(self.now, instant)

    def step(self, seconds: Fraction | float | str) -> None:
        """Forward, or back."""
        self.now += Fraction(seconds)


class StoreFactory(Protocol):
    """Opens a store at a place of that name, making it the first time: twice the same name is the same data."""

    def __call__(self, place: str = "registry") -> Store: ...


class Places(Protocol):
    """Where the stores of one test are kept, on one engine, for as long as it takes."""

    def open(self, place: str = "registry", *, create: bool = True) -> Store: ...
    def close(self) -> None: ...


class SqlitePlaces:
    """A folder for every place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stores: list[Store] = []

    def open(self, place: str = "registry", *, create: bool = True) -> Store:
        (self._folder / place).mkdir(exist_ok=True)
        self._stores.append(SqliteStore(self._folder / place / "perdure.db", create=create))
        return self._stores[-1]

    def close(self) -> None:
        for store in self._stores:
            store.close()


class PostgresPlaces:
    """A schema for every place, and a folder for its high-water marks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._schemas: dict[str, str] = {}
        self._told: set[str] = set()
        self._stores: list[Store] = []

    def address(self, place: str = "registry") -> str:
        """For those who go past the store: nobody can know what they leave behind, so that it is not used again."""
        self._told.add(place)
        return self._address(place)

    def _address(self, place: str) -> str:
        return database().address(self._schemas.setdefault(place, new_schema()))

    def open(self, place: str = "registry", *, create: bool = True) -> Store:
        (self._folder / place).mkdir(exist_ok=True)
        if create and place not in self._schemas:
            self._schemas[place] = take_schema()
        marks = self._folder / place / "high-water.json"
        self._stores.append(PostgresStore(self._address(place), marks, FEW_PARTITIONS, create=create))
        return self._stores[-1]

    def close(self) -> None:
        for store in self._stores:
            store.close()
        for place, schema in self._schemas.items():
            if place in self._told:
                database().drop(schema)
            else:
                give_back(schema)
        self._schemas.clear()


def need_engine(engine: str) -> None:
    """Skips the test, loudly, where the engine is not installed."""
    if engine == "postgres":
        need_postgres()


def places_on(engine: str, folder: Path) -> Places:
    need_engine(engine)
    return PostgresPlaces(folder) if engine == "postgres" else SqlitePlaces(folder)


@pytest.fixture(params=ENGINES)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    places = places_on(request.param, tmp_path)
    yield places
    places.close()


@pytest.fixture
def store_factory(places: Places) -> StoreFactory:
    return places.open


class Office:
    """A registry with people in it, spoken to one sentence at a time, on one event loop."""

    def __init__(self, runner: asyncio.Runner, founded: Founded, clock: ManualClock) -> None:
        self.runner = runner
        self.registry, self.admin, self.key = founded
        self.clock = clock

    def run(self, awaitable: Awaitable[T]) -> T:
        async def waiting() -> T:
            return await awaitable

        return self.runner.run(waiting())

    def ask(self, use_case: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **options: Any) -> T:
        """A use case that needs nobody: to look, to authenticate, to recover."""
        return self.run(use_case(self.registry, *arguments, **options))

    def by(self, agent: Agent, use_case: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **options: Any) -> T:
        return self.run(use_case(self.registry, agent, *arguments, **options))

    def do(self, use_case: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **options: Any) -> T:
        """A use case, by the administrator."""
        return self.by(self.admin, use_case, *arguments, **options)

    def read(self, work: Callable[[Reader], T]) -> T:
        return self.run(self.registry.store.read(work))

    def hire(self, id: str, scope: str | None = None, *actions: str, **options: Any) -> Agent:
        """One more agent, with these grants."""
        agent = self.do(add_agent, id, f"Agent {id}", identifier=f"https://example.org/people/{id}")
        if scope is not None:
            self.do(grant, id, scope, actions, **options)
        return agent

    def prefix(self, name: str, minter: str = "pilin", **options: Any) -> str:
        self.do(add_prefix, name, minter=minter, **options)
        return name

    def with_settings(self, **settings: Any) -> Registry:
        return self.registry._replace(settings=Settings(**settings))

    def events(self) -> list[Event]:
        """The newest first."""
        return self.read(lambda reader: reader.events(1000))

    def contradictions(self) -> list[str]:
        return self.read(lambda reader: list(reader.contradictions()))

    def everything(self) -> object:
        """All that a store keeps of identifiers and of itself: compare two of them to see that nothing was written."""

        def work(reader: Reader) -> object:
            rows = reader.after("", 10_000)
            return (
                rows,
                [reader.revisions(row.subject) for row in rows],
                reader.prefixes(),
                reader.timelines(),
                [(agent, reader.keys(agent.id), reader.grants(agent.id)) for agent in reader.agents()],
                reader.events(10_000),
            )

        return self.read(work)

    def reopened(self, store: Store) -> "Office":
        """The same registry after a restart, on a store that was opened anew."""
        registry = self.run(reopen(store, self.clock, self.registry.settings, sealer=self.registry.sealer))
        return Office(self.runner, Founded(registry, self.admin, self.key), self.clock)


def open_office(runner: asyncio.Runner, store: Store, clock: ManualClock | None = None, **options: Any) -> Office:
    """A registry founded a moment ago; its clock stands still."""
    clock = clock or ManualClock()
    settings = options.pop("settings", Settings())
    options = {"name": "The Library of Tests", "sealer": SEALER} | options
    founded = runner.run(found(store, clock, settings, **options))
    return Office(runner, founded, clock)


async def set_target(registry: Registry, by: Agent, name: str, target: str, **options: Any) -> int:
    return await update(registry, by, name, Statement(target), **options)


async def set_values(registry: Registry, by: Agent, name: str, values: Sequence[Value], **options: Any) -> int:
    return await update(registry, by, name, Statement(values=tuple(values)), **options)


async def describe(registry: Registry, by: Agent, name: str, about: About, **options: Any) -> int:
    return await update(registry, by, name, Statement(about=about), **options)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def office(runner: asyncio.Runner, store_factory: StoreFactory) -> Office:
    """A registry with an administrator, and nothing else."""
    return open_office(runner, store_factory())


_: type[Clock] = ManualClock


async def write_unchecked(registry: Registry, by: Agent, name: str, *values: Value) -> None:
    """Give an identifier other values, past all checks: as a store may hold them since a check was less strict."""

    def work(tx: Transaction) -> None:
        found, record, _ = existing(tx, name)
        change.revise(tx, found, msgspec.structs.replace(record, values=values), by, "set", registry.now())

    await registry.store.write(work)
