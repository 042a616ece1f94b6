"""Folders of registries, on either engine, for tests that treat them as people do."""

import asyncio
import secrets
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.postgres.shared import database
from tests.registry_fixture import ENGINES, FEW_PARTITIONS, ManualClock, need_engine

from perdure.folder import (
    ADMIN_KEY,
    SETTINGS,
    Restored,
    make_registry,
    move_registry,
    open_registry,
    restore_registry,
)
from perdure.registry import (
    Founded,
    Registry,
    Statement,
    add_prefix,
    add_subsystem,
    authenticate,
    mint,
)
from perdure.registry.entities import Agent
from perdure.registry.moving import Watch
from perdure.registry.protocol import Store
from perdure.settings_file import DEFAULT_STORE
from perdure.store.places import place_of
from perdure.store.postgres.address import parse
from perdure.store.postgres.options import PostgresOptions
from perdure.store.postgres.store import PostgresStore
from perdure.store.sqlite import SqliteStore

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
        passing = ("lock", "-wal", "-shm", "schema.digest")
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


class Cut(BaseException):
    """As from the keyboard: no error that anybody could take for his own."""


def stop(*_: object, **__: object) -> None:
    raise Cut


def on_another_machine(place: Place) -> Place:
    """The documented way: the same settings, a key, and nothing else."""
    folder = place.folder.parent / "another machine"
    folder.mkdir()
    for name in (SETTINGS, ADMIN_KEY):
        shutil.copy(place.folder / name, folder / name)
    return Place(folder, place.clock, place.store)


def another_store(grounds: Grounds) -> str:
    """A store on the other engine."""
    need_engine("postgres")
    if grounds.engine == "postgres":
        return "sqlite:moved.db"
    grounds.engine = "postgres"
    return grounds.plot("elsewhere").store


def move_to(place: Place, to: str, watch: Watch = lambda *_: None) -> None:
    asyncio.run(move_registry(place.folder, to, watch, clock=place.clock))
