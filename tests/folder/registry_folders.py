"""Folders of registries on either engine, used as an operator uses them."""

import asyncio
import secrets
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.postgres.shared_server import database
from tests.registry_fixture import ENGINES, FEW_PARTITIONS, ManualClock, need_engine

from perdure.folder.move import move_registry
from perdure.folder.registry_folder import ADMIN_KEY, SETTINGS, make_registry, open_registry
from perdure.folder.restore import RestoreResult, restore_registry
from perdure.registry import (
    NewRegistry,
    Registry,
    Statement,
    add_prefix,
    add_subsystem,
    authenticate,
    mint,
)
from perdure.registry.entities import Agent
from perdure.registry.relocation import MoveProgress
from perdure.registry.store_interface import Store
from perdure.settings_file import DEFAULT_STORE
from perdure.store.open_location import parse_location
from perdure.store.postgres.address import parse
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.store.postgres.store import PostgresStore
from perdure.store.sqlite import SqliteStore

T = TypeVar("T")
PAIRS = "sid.inpe.br/mtc-m18"
MARKS = "high-water.json"


class RegistryFolder:
    """A folder with a registry, which is opened for each call, as the command does."""

    def __init__(self, folder: Path, clock: ManualClock | None = None, store: str = DEFAULT_STORE) -> None:
        self.folder = folder
        self.clock = clock or ManualClock()
        self.store = store

    def make(self, **options: Any) -> NewRegistry:
        options = {"store": self.store, "postgresql": FEW_PARTITIONS} | options
        founded = asyncio.run(make_registry(self.folder, name="The Library", clock=self.clock, **options))
        if self.store != DEFAULT_STORE:  # so that a restore is quick, too
            settings = self.folder / SETTINGS
            settings.write_text(settings.read_text().replace("[postgresql]\n", "[postgresql]\npartitions = 2\n"))
        return founded

    def do(self, use_case: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **options: Any) -> T:
        async def act(registry: Registry, by: Agent) -> T:
            return await use_case(registry, by, *arguments, **options)

        return self.inside(act)

    def ask(self, use_case: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **options: Any) -> T:
        async def ask_registry(registry: Registry, by: Agent) -> T:
            return await use_case(registry, *arguments, **options)

        return self.inside(ask_registry)

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

    def restore(self, backup: Path) -> RestoreResult:
        return asyncio.run(restore_registry(self.folder, backup, clock=self.clock))

    def mint(self, prefix: str, count: int = 1) -> list[str]:
        minted = self.do(mint, prefix, count, statement=Statement("https://example.org/"))
        return [name for one in minted for name in (one.name, one.alias) if name is not None]

    def lose(self) -> None:
        """Delete the database, and nothing else."""
        parse_location(self.store, self.folder, PostgresOptions()).remove()

    def open_displaced(self, name: str) -> Store:
        """Open the database that a restore has replaced."""
        if self.store == DEFAULT_STORE:
            return SqliteStore(self.folder / name)
        return PostgresStore(parse(self.store)._replace(schema=name), self.folder / MARKS)

    def files(self) -> dict[str, bytes]:
        """Return the files in the folder, without locks and the engine's own files."""
        passing = ("lock", "-wal", "-shm", "schema.digest")
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if not path.name.endswith(passing)}


@pytest.fixture
def registry_folder(tmp_path: Path) -> RegistryFolder:
    here = RegistryFolder(tmp_path / "registry")
    here.make()
    return here


class RegistryMaker:
    """Creates registries, each in a folder of its own, on the engine of this case."""

    def __init__(self, engine: str, folder: Path) -> None:
        self.engine, self._folder = engine, folder
        self._schemas: list[str] = []

    def new_folder(self, name: str = "registry") -> RegistryFolder:
        """Return a folder without a registry."""
        if self.engine == "sqlite":
            return RegistryFolder(self._folder / name)
        self._schemas.append(f"t_{secrets.token_hex(6)}")
        return RegistryFolder(self._folder / name, store=database().address(self._schemas[-1]))

    def clear(self) -> None:
        for schema in self._schemas:
            for (name,) in database().execute("SELECT nspname FROM pg_namespace"):
                if str(name).startswith(schema):
                    database().drop(str(name))


@pytest.fixture(params=ENGINES)
def maker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RegistryMaker]:
    need_engine(request.param)
    maker = RegistryMaker(request.param, tmp_path)
    yield maker
    maker.clear()


def with_prefixes(registry_folder: RegistryFolder) -> RegistryFolder:
    """Add a prefix of each kind that has a timeline."""

    async def add_prefixes(registry: Registry, by: Agent) -> None:
        await add_prefix(registry, by, "12345")
        await add_prefix(registry, by, "777", minter="sequential")
        await add_subsystem(registry, by, "mtc-m18.sid.inpe.br", "150.163.34.243")

    registry_folder.inside(add_prefixes)
    return registry_folder


on_a_server = pytest.mark.parametrize("maker", ["postgres"], indirect=True)
on_a_file = pytest.mark.parametrize("maker", ["sqlite"], indirect=True)


@pytest.fixture
def any_registry(maker: RegistryMaker) -> RegistryFolder:
    """Return a registry on either engine."""
    here = maker.new_folder()
    here.make()
    return here


@pytest.fixture
def minting_registry(any_registry: RegistryFolder) -> RegistryFolder:
    return with_prefixes(any_registry)


# Make, and open


class Interruption(BaseException):
    """An interruption as from the keyboard, which no code may catch as an error."""


def stop(*_: object, **__: object) -> None:
    raise Interruption


def on_another_machine(registry_folder: RegistryFolder) -> RegistryFolder:
    """Return the registry as on another machine, in the documented way: with the same settings and a key."""
    folder = registry_folder.folder.parent / "another machine"
    folder.mkdir()
    for name in (SETTINGS, ADMIN_KEY):
        shutil.copy(registry_folder.folder / name, folder / name)
    return RegistryFolder(folder, registry_folder.clock, registry_folder.store)


def another_store(maker: RegistryMaker) -> str:
    """Return the address of a store on the other engine."""
    need_engine("postgres")
    if maker.engine == "postgres":
        return "sqlite:moved.db"
    maker.engine = "postgres"
    return maker.new_folder("elsewhere").store


def move_to(registry_folder: RegistryFolder, to: str, watch: MoveProgress = lambda *_: None) -> None:
    asyncio.run(move_registry(registry_folder.folder, to, watch, clock=registry_folder.clock))
