"""Fixtures for the tests of the registry and of the stores: a manual clock, and registries on new stores.

To add an engine, add its name to `ENGINES` and a class of `StoreLocations`: every test here then runs on it as well.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
import pytest

from perdure.records.record import About
from perdure.records.value import Value
from perdure.registry import (
    NewRegistry,
    Registry,
    Settings,
    Statement,
    add_agent,
    add_prefix,
    create_registry,
    grant,
    reopen,
    revisions,
    update,
)
from perdure.registry.entities import Agent, Event
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.secret_box import Sealer
from perdure.registry.store_interface import Reader, Store, Transaction
from perdure.store.postgres.store import PostgresStore
from perdure.store.sqlite import SqliteStore
from perdure.timelines.clock import NANOSECONDS, Clock
from tests.postgres.shared_server import database, need_postgres
from tests.postgres.spare_schemas import FEW_PARTITIONS, give_back, new_schema, take_schema

T = TypeVar("T")

ENGINES = ["sqlite", "postgres"]
SEALER = Sealer(bytes(range(32)))
NOON = Fraction(1_800_000_000)  # 2027-01-15T08:00:00Z, if not noon


class ManualClock:
    """A clock that advances only when it is set; waiting for an instant sets it to that instant."""

    def __init__(self, now: Fraction | int | str = NOON) -> None:
        self.now = Fraction(now)
        self.waits: list[Fraction] = []

    def now_ns(self) -> int:
        return int(self.now * NANOSECONDS)

    async def wait_until(self, instant: Fraction) -> None:
        self.waits.append(max(instant - self.now, Fraction(0)))
        self.now = max(self.now, instant)

    def step(self, seconds: Fraction | float | str) -> None:
        """Move the clock forward, or back."""
        self.now += Fraction(seconds)


class StoreFactory(Protocol):
    """Opens a store at a location, and creates it the first time. The same location holds the same data."""

    def __call__(self, location: str = "registry") -> Store: ...


class StoreLocations(Protocol):
    """The locations of the stores of one test, on one engine."""

    def open(self, location: str = "registry", *, create: bool = True) -> Store: ...
    def close(self) -> None: ...


class SqliteLocations:
    """A folder for every location."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stores: list[Store] = []

    def open(self, location: str = "registry", *, create: bool = True) -> Store:
        (self._folder / location).mkdir(exist_ok=True)
        self._stores.append(SqliteStore(self._folder / location / "perdure.db", create=create))
        return self._stores[-1]

    def close(self) -> None:
        for store in self._stores:
            store.close()


class PostgresLocations:
    """A schema for every location, and a folder for its high-water marks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._schemas: dict[str, str] = {}
        self._given_out: set[str] = set()
        self._stores: list[Store] = []

    def address(self, location: str = "registry") -> str:
        """Return the address for other programs. What they leave behind is unknown, so the schema is not used again."""
        self._given_out.add(location)
        return self._address(location)

    def _address(self, location: str) -> str:
        return database().address(self._schemas.setdefault(location, new_schema()))

    def open(self, location: str = "registry", *, create: bool = True) -> Store:
        (self._folder / location).mkdir(exist_ok=True)
        if create and location not in self._schemas:
            self._schemas[location] = take_schema()
        marks = self._folder / location / "high-water.json"
        self._stores.append(PostgresStore(self._address(location), marks, FEW_PARTITIONS, create=create))
        return self._stores[-1]

    def close(self) -> None:
        for store in self._stores:
            store.close()
        for location, schema in self._schemas.items():
            if location in self._given_out:
                database().drop(schema)
            else:
                give_back(schema)
        self._schemas.clear()


def need_engine(engine: str) -> None:
    """Skip the test, with a message, if the engine is not installed."""
    if engine == "postgres":
        need_postgres()


def locations_on(engine: str, folder: Path) -> StoreLocations:
    need_engine(engine)
    return PostgresLocations(folder) if engine == "postgres" else SqliteLocations(folder)


@pytest.fixture(params=ENGINES)
def locations(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreLocations]:
    locations = locations_on(request.param, tmp_path)
    yield locations
    locations.close()


@pytest.fixture
def store_factory(locations: StoreLocations) -> StoreFactory:
    return locations.open


class Office:
    """A registry with agents, whose use cases are run one at a time on one event loop."""

    def __init__(self, runner: asyncio.Runner, founded: NewRegistry, clock: ManualClock) -> None:
        self.runner = runner
        self.registry, self.admin, self.key = founded
        self.clock = clock

    def run(self, awaitable: Awaitable[T]) -> T:
        async def wait() -> T:
            return await awaitable

        return self.runner.run(wait())

    def ask(self, use_case: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **options: Any) -> T:
        """Run a use case that needs no agent: query, authenticate, recover."""
        return self.run(use_case(self.registry, *arguments, **options))

    def by(self, agent: Agent, use_case: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **options: Any) -> T:
        return self.run(use_case(self.registry, agent, *arguments, **options))

    def do(self, use_case: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **options: Any) -> T:
        """Run a use case as the administrator."""
        return self.by(self.admin, use_case, *arguments, **options)

    def read(self, work: Callable[[Reader], T]) -> T:
        return self.run(self.registry.store.read(work))

    def hire(self, id: str, scope: str | None = None, *actions: str, **options: Any) -> Agent:
        """Add an agent, with these grants."""
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
        """Return the events, the newest first."""
        return self.read(lambda reader: reader.events(1000))

    def contradictions(self) -> list[str]:
        return self.read(lambda reader: list(reader.contradictions()))

    def snapshot(self) -> object:
        """Return everything that a store holds: compare two of them to see that nothing was written."""

        def work(reader: Reader) -> object:
            rows = reader.identifiers_after("", 10_000)
            return (
                rows,
                [reader.revisions(row.subject) for row in rows],
                reader.prefixes(),
                reader.timelines(),
                [(agent, reader.keys(agent.id), reader.grants(agent.id)) for agent in reader.agents()],
                reader.events(10_000),
            )

        return self.read(work)

    def reopen(self, store: Store) -> "Office":
        """Return the registry after a restart, on a store that was opened again."""
        registry = self.run(reopen(store, self.clock, self.registry.settings, sealer=self.registry.sealer))
        return Office(self.runner, NewRegistry(registry, self.admin, self.key), self.clock)


def open_office(runner: asyncio.Runner, store: Store, clock: ManualClock | None = None, **options: Any) -> Office:
    """Create a registry; its clock does not advance."""
    clock = clock or ManualClock()
    settings = options.pop("settings", Settings())
    options = {"name": "The Library of Tests", "sealer": SEALER} | options
    founded = runner.run(create_registry(store, clock, settings, **options))
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
    """Return a registry with an administrator, and nothing else."""
    return open_office(runner, store_factory())


_: type[Clock] = ManualClock


async def write_unchecked(registry: Registry, by: Agent, name: str, *values: Value) -> None:
    """Write other values without any check, as a store may hold them since a check was less strict."""

    def work(tx: Transaction) -> None:
        found, record, _ = require_identifier(tx, name)
        revisions.append_revision(
            tx, found, msgspec.structs.replace(record, values=values), by, "set", registry.current_time()
        )

    await registry.store.write(work)
