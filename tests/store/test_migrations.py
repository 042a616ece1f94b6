"""The schema is migrated in numbered steps, equal on both engines, and never implicitly."""

import asyncio
import io
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from tests.postgres.shared_server import database
from tests.registry_fixture import ENGINES, FEW_PARTITIONS, need_engine

from perdure.cli.app import app
from perdure.errors import PerdureError, StoreBehind, StoreUnavailable
from perdure.folder.registry_folder import Registry, make_registry, open_registry, registry_location
from perdure.folder.restore import recover_registry, restore_registry
from perdure.records.value import Text, Value
from perdure.registry import (
    AddressChange,
    Statement,
    add_subsystem,
    bind,
    change_prefix,
    mint,
    observe,
    redact,
    show,
    verify,
)
from perdure.registry.store_interface import Transaction
from perdure.settings_file import DEFAULT_STORE
from perdure.store.postgres import migrations as postgres
from perdure.store.sqlite import location as sqlite_location
from perdure.store.sqlite import migrations as sqlite

ROOT = Path(__file__).parents[2]
STEP = "CREATE TABLE tomorrow (text text)"
FAILING = "CREATE TABLE tomorrow (text text); CREATE TABLE facts (text text)"


class Tomorrow:
    """A program with one more migration than this one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def comes(self, step: str = STEP) -> None:
        for module in (postgres, sqlite):
            self._monkeypatch.setattr(module, "MIGRATIONS", (*module.MIGRATIONS, step))
        self._monkeypatch.setattr(sqlite_location, "MIGRATIONS", sqlite.MIGRATIONS)

    def is_over(self) -> None:
        for module in (postgres, sqlite, sqlite_location):
            self._monkeypatch.setattr(module, "MIGRATIONS", module.MIGRATIONS[:TODAY])


TODAY = len(sqlite.MIGRATIONS)


@pytest.fixture
def tomorrow(monkeypatch: pytest.MonkeyPatch) -> Tomorrow:
    return Tomorrow(monkeypatch)


class Home:
    """A registry in a folder, on one engine."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder, self.store = folder, store
        making = make_registry(folder, name="The Library", store=store, postgresql=FEW_PARTITIONS)
        self.admin = asyncio.run(making).admin

    @property
    def schema(self) -> str:
        return self.store.rpartition("schema=")[2]

    @property
    def is_file(self) -> bool:
        return self.store == DEFAULT_STORE

    def inside(self, work: Callable[[Registry], Any]) -> Any:
        async def session() -> Any:
            async with open_registry(self.folder) as registry:
                return await work(registry)

        return asyncio.run(session())

    def mint(self) -> str:
        [minted] = self.inside(lambda registry: mint(registry, self.admin, registry.home))
        return minted.name

    def find_redirects(self, *names: str) -> list[Any]:
        async def find(registry: Registry) -> list[Any]:
            future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            registry.store.batch_lookup().find_redirects(names, future.set_result)
            return list(await asyncio.wait_for(future, 20))

        found: list[Any] = self.inside(find)
        return found

    def version(self) -> int:
        return registry_location(self.folder).schema_versions()[0]

    def has(self, table: str) -> bool:
        if self.is_file:
            with closing(apsw.Connection(str(self.folder / "perdure.db"))) as connection:
                return bool(connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = ?", (table,)).get)
        return database().execute(f"SELECT to_regclass('{self.schema}.{table}')") != [(None,)]

    def come_from_the_future(self) -> None:
        if self.is_file:
            with closing(apsw.Connection(str(self.folder / "perdure.db"))) as connection:
                connection.execute(f"PRAGMA user_version = {TODAY + 7}")
        else:
            database().execute(f"INSERT INTO {self.schema}.migrations (number) VALUES ({TODAY + 7})")  # noqa: S608

    def go_back(self, statements: dict[str, str], version: int) -> None:
        if self.is_file:
            with closing(apsw.Connection(str(self.folder / "perdure.db"))) as connection:
                connection.execute(f"{statements['sqlite']}; PRAGMA user_version = {version}")
        else:
            back = f"{statements['postgres']}; DELETE FROM migrations WHERE number > {version}"  # noqa: S608
            database().execute(f"SET search_path = {self.schema}; {back}; RESET search_path")

    def migrate(self, *options: str) -> str:
        """Run the command in this process, in which a newer program can be simulated."""
        with redirect_stdout(io.StringIO()) as output:
            app(["migrate", "-R", str(self.folder), *options], standalone_mode=False)
        return output.getvalue()

    def copies(self) -> list[Path]:
        return sorted(self.folder.glob("*.copy"))


@pytest.fixture(params=ENGINES)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    need_engine(request.param)
    if request.param == "sqlite":
        yield Home(tmp_path / "registry", DEFAULT_STORE)
        return
    schema = f"t_{secrets.token_hex(6)}"
    yield Home(tmp_path / "registry", database().address(schema))
    for (name,) in database().execute("SELECT nspname FROM pg_namespace"):
        if str(name).startswith(schema):
            database().drop(str(name))


# What takes a database back to an earlier schema, as if no later step had ever been made.
def _trigger(name: str, step: object) -> str:
    """Return the SQL of a trigger of the embedded store, as a migration creates it."""
    return re.findall(rf"CREATE TRIGGER {name} .*?END;", str(step), re.DOTALL)[0]


_SETTINGS_OF_THE_SIXTH = (
    "DROP TABLE resolutions; ALTER TABLE agents DROP COLUMN retired; "
    "ALTER TABLE prefixes DROP COLUMN ttl; ALTER TABLE prefixes DROP COLUMN joiners; "
)
TO_THE_TENTH = "DROP TABLE held_names; ALTER TABLE holdings DROP COLUMN names; "
TO_THE_NINTH = f"{TO_THE_TENTH} DROP TABLE pools; "
TO_THE_SEVENTH = {
    "sqlite": f"{TO_THE_NINTH} DROP TABLE peers; DROP TABLE label_periods; DROP TRIGGER prefix_identity_stays; "
    f"{_trigger('prefix_identity_stays', sqlite.MIGRATIONS[0])} ",
    "postgres": f"{TO_THE_NINTH} DROP TABLE peers; DROP TABLE label_periods; DROP FUNCTION refuse_other_prefix; "
    "DROP TRIGGER prefix_identity_stays ON prefixes; CREATE TRIGGER prefix_identity_stays BEFORE UPDATE OF opaque "
    "ON prefixes FOR EACH ROW EXECUTE FUNCTION refuse_change('no'); ",
}
TO_THE_SIXTH = {
    "sqlite": f"{TO_THE_SEVENTH['sqlite']} DROP TABLE holdings; DROP TABLE collections; ",
    "postgres": f"{TO_THE_SEVENTH['postgres']} DROP TABLE holdings; DROP TABLE collections; "  # noqa: S608
    "DELETE FROM guards WHERE name = 'holdings'; ",
}
TO_THE_FIFTH = {
    "sqlite": f"{TO_THE_SIXTH['sqlite']} {_SETTINGS_OF_THE_SIXTH} DROP INDEX redirects; {sqlite.MIGRATIONS[2]}",
    "postgres": f"{TO_THE_SIXTH['postgres']} {_SETTINGS_OF_THE_SIXTH}",
}
TO_THE_FOURTH = {
    "sqlite": f"{TO_THE_FIFTH['sqlite']} DROP TRIGGER revisions_stay; DROP TRIGGER events_stay; ALTER TABLE revisions DROP COLUMN original; "  # noqa: S608
    "ALTER TABLE revisions DROP COLUMN digest; ALTER TABLE events DROP COLUMN digest; "
    "DELETE FROM facts WHERE name IN ('newest_event', 'lineage'); "
    f"{_trigger('revisions_stay', sqlite.MIGRATIONS[3])} {_trigger('events_stay', sqlite.MIGRATIONS[0])}",
    "postgres": f"{TO_THE_FIFTH['postgres']} DROP TRIGGER revisions_stay ON revisions; "  # noqa: S608
    "DROP TRIGGER events_stay ON events; "
    "ALTER TABLE revisions DROP COLUMN original, DROP COLUMN digest; ALTER TABLE events DROP COLUMN digest; "
    "DELETE FROM facts WHERE name IN ('newest_event', 'lineage'); "
    "CREATE TRIGGER revisions_stay BEFORE UPDATE ON revisions FOR EACH ROW EXECUTE FUNCTION refuse_change('no'); "
    "CREATE TRIGGER events_stay BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION refuse_change('no')",
}
TO_THE_THIRD = {
    "sqlite": f"{TO_THE_FOURTH['sqlite']} DROP TABLE changes; DROP VIEW persons; DROP INDEX persons_by_type; "
    "DROP TRIGGER revisions_stay; " + _trigger("revisions_stay", sqlite.MIGRATIONS[0]),
    "postgres": f"{TO_THE_FOURTH['postgres']}; ALTER TABLE revisions DROP COLUMN added; "
    "DROP VIEW persons; DROP INDEX persons_by_type",
}  # on PostgreSQL the step itself puts the trigger of before away
TO_THE_SECOND = {
    "sqlite": f"{TO_THE_THIRD['sqlite']}; DROP INDEX redirects",
    "postgres": TO_THE_THIRD["postgres"],
}
TO_THE_FIRST = {
    engine: f"{back}; DROP TABLE secrets; DROP TABLE answers; ALTER TABLE prefixes DROP COLUMN pass_through"
    for engine, back in TO_THE_SECOND.items()
}


def test_a_registry_of_the_first_schema_is_brought_up_to_date(home: Home) -> None:
    name = home.mint()
    before = home.inside(lambda registry: registry.store.read(lambda reader: reader.prefixes()))
    home.go_back(TO_THE_FIRST, 1)
    assert home.version() == 1
    with pytest.raises(StoreUnavailable, match="run perdure migrate"):
        home.mint()
    assert f"from schema 1 to {TODAY}." in home.migrate()
    after = home.inside(lambda registry: registry.store.read(lambda reader: reader.prefixes()))
    assert after == before
    assert not any(prefix.pass_through for prefix in after)

    def work(tx: Transaction) -> None:
        tx.put_secret(name, 300, b"sealed")
        tx.put_answer("jan", "token", b"digest", b"answer", "2027-01-15T08:00:00.000000Z")
        tx.put_prefix(msgspec.structs.replace(before[0], pass_through=True))

    home.inside(lambda registry: registry.store.write(work))
    secret, prefix = home.inside(
        lambda registry: registry.store.read(lambda reader: (reader.secret(name, 300), reader.prefix(before[0].key)))
    )
    assert (secret, prefix.pass_through) == (b"sealed", True)


def test_a_registry_of_the_second_schema_redirects_once_it_is_brought_up_to_date(home: Home) -> None:
    statement = Statement(target="https://example.org/")
    [minted] = home.inside(lambda registry: mint(registry, home.admin, registry.home, statement=statement))
    home.go_back(TO_THE_SECOND, 2)
    assert home.version() == 2
    with pytest.raises(StoreUnavailable, match="run perdure migrate"):
        home.mint()
    assert f"from schema 2 to {TODAY}." in home.migrate("--no-backup")
    assert home.find_redirects(minted.name, "nothing") == [("https://example.org/", 1), None]
    assert home.inside(verify) == []


def test_a_registry_of_the_fifth_schema_redirects_names_with_a_ttl_once_it_is_brought_up_to_date(home: Home) -> None:
    value = Value(1, "URL", Text("https://example.org/"), ttl=60)
    [minted] = home.inside(
        lambda registry: mint(registry, home.admin, registry.home, statement=Statement(values=(value,)))
    )
    before = home.inside(lambda registry: registry.store.read(lambda reader: (reader.prefixes(), reader.agents())))
    home.go_back(TO_THE_FIFTH, 5)
    assert f"from schema 5 to {TODAY}." in home.migrate("--no-backup")
    after = home.inside(lambda registry: registry.store.read(lambda reader: (reader.prefixes(), reader.agents())))
    assert after == before
    assert home.find_redirects(minted.name) == [("https://example.org/", 1)]
    assert home.inside(verify) == []


def test_a_subsystem_of_the_seventh_schema_gets_its_label_periods(home: Home) -> None:
    added = home.inside(lambda registry: add_subsystem(registry, home.admin, "mtc-m18.sid.inpe.br", "150.163.34.243"))
    home.go_back(TO_THE_SEVENTH, 7)
    assert f"from schema 7 to {TODAY}." in home.migrate("--no-backup")
    for key in added.lookup_keys:
        assert home.inside(lambda registry, key=key: registry.store.read(lambda reader: reader.prefix(key))) == added
    moved = AddressChange(host="new.sid.inpe.br")
    home.inside(lambda registry: change_prefix(registry, home.admin, added.name, address=moved))
    assert home.inside(verify) == []


def test_a_registry_of_the_fourth_schema_gets_digests(home: Home) -> None:
    name = home.mint()
    home.inside(lambda registry: bind(registry, home.admin, name, Statement(target="https://example.org/")))
    before = home.inside(
        lambda registry: registry.store.read(lambda reader: (reader.revisions(name), reader.events(9)))
    )
    home.go_back(TO_THE_FOURTH, 4)
    assert f"from schema 4 to {TODAY}." in home.migrate("--no-backup")
    after = home.inside(lambda registry: registry.store.read(lambda reader: (reader.revisions(name), reader.events(9))))
    assert after == before  # the same digests as if they had been there from the beginning
    assert len(before[0]) == 2
    assert home.inside(verify) == []


def test_a_registry_of_the_third_schema_can_redact_once_it_is_brought_up_to_date(home: Home) -> None:
    when = "2025-01-09T10:30:00Z"
    jan = home.inside(lambda registry: observe(registry, home.admin, "https://example.org/jan", when, "0" * 64)).name
    home.go_back(TO_THE_THIRD, 3)
    assert f"from schema 3 to {TODAY}." in home.migrate("--no-backup")
    known = home.inside(lambda registry: registry.store.read(lambda reader: reader.changes(0, 1000)))
    assert (known[-1].name, known[-1].version) == (jan, 1)  # the older names, in their order
    home.inside(lambda registry: redact(registry, home.admin, jan, "by law"))
    assert home.inside(lambda registry: show(registry, jan)).observation is None
    assert home.inside(verify) == []


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_a_backup_of_the_first_schema_is_restored(home: Home) -> None:
    name = home.mint()
    home.go_back(TO_THE_FIRST, 1)
    backup = home.folder.parent / "old.db"
    shutil.copyfile(home.folder / "perdure.db", backup)
    home.migrate("--no-backup")
    asyncio.run(restore_registry(home.folder, backup))
    assert home.version() == TODAY
    assert home.inside(lambda registry: registry.store.lookup(name)) is not None
    assert home.inside(verify) == []


def test_both_engines_have_the_same_migration_steps() -> None:
    assert len(postgres.MIGRATIONS) == len(sqlite.MIGRATIONS)


def test_a_new_store_has_all_migration_steps(home: Home, tomorrow: Tomorrow) -> None:
    assert home.version() == TODAY
    assert home.migrate() == f"Nothing to do: the database already has schema {TODAY}.\n"
    assert home.copies() == []


def test_a_new_store_has_the_steps_of_a_newer_program(tmp_path: Path, home: Home, tomorrow: Tomorrow) -> None:
    tomorrow.comes()
    store = home.store if home.is_file else home.store + "_b"
    other = Home(tmp_path / "other", store)
    assert other.version() == TODAY + 1
    assert other.has("tomorrow")
    assert other.mint()


def test_a_newer_schema_is_not_changed(home: Home) -> None:
    home.come_from_the_future()
    for attempt in (
        home.mint,
        home.migrate,
        lambda: home.migrate("--no-backup"),
        registry_location(home.folder).migrate,
    ):
        with pytest.raises(StoreUnavailable, match="use a newer Perdure"):
            attempt()
    assert home.version() == TODAY + 7
    assert home.copies() == []


def test_an_older_schema_is_not_changed_by_other_commands(home: Home, tomorrow: Tomorrow) -> None:
    home.mint()
    tomorrow.comes()
    with pytest.raises(StoreUnavailable, match="run perdure migrate"):
        home.mint()
    assert home.version() == TODAY
    assert not home.has("tomorrow")


def test_a_migration_makes_a_copy_first(home: Home, tomorrow: Tomorrow) -> None:
    name = home.mint()
    tomorrow.comes()
    output = home.migrate()
    [copy] = home.copies()
    assert str(copy) in output
    assert f"from schema {TODAY} to {TODAY + 1}." in output
    assert copy.stat().st_mode & 0o077 == 0
    assert (home.version(), home.has("tomorrow")) == (TODAY + 1, True)
    assert home.mint() != name
    assert home.inside(verify) == []
    assert "Nothing to do" in home.migrate()
    tomorrow.is_over()
    with pytest.raises(StoreUnavailable, match="use a newer Perdure"):
        home.mint()
    _check_that_the_old_program_reads(copy, home, name)


def _check_that_the_old_program_reads(copy: Path, home: Home, name: str) -> None:
    if home.is_file:
        asyncio.run(restore_registry(home.folder, copy))
        assert home.inside(lambda registry: registry.store.lookup(name)) is not None
        return
    program = shutil.which("pg_restore")
    assert program is not None
    listed = subprocess.run([program, "--list", str(copy)], capture_output=True, text=True, check=True).stdout
    for table in ("identifiers", "revisions", "timelines", "migrations"):
        assert f"TABLE {home.schema} {table} " in listed
    assert "tomorrow" not in listed
    database().drop(home.schema)
    subprocess.run([program, "--dbname", database().address(), str(copy)], check=True, capture_output=True)
    with pytest.raises(StoreBehind, match="the last acknowledged change"):  # it has lost the later changes
        home.mint()
    asyncio.run(recover_registry(home.folder, "the copy was brought back"))
    assert home.inside(lambda registry: registry.store.lookup(name)) is not None
    assert home.inside(verify) == []


def test_a_migration_writes_the_copy_to_the_given_file(home: Home, tomorrow: Tomorrow, tmp_path: Path) -> None:
    tomorrow.comes()
    taken = tmp_path / "taken"
    taken.write_text("precious")
    with pytest.raises(PerdureError, match="already"):
        home.migrate("--backup", str(taken))
    assert (taken.read_text(), home.version()) == ("precious", TODAY)
    home.migrate("--backup", str(tmp_path / "copy"))
    assert (tmp_path / "copy").stat().st_size > 0
    assert home.copies() == []


def test_a_migration_without_backup_makes_no_copy(home: Home, tomorrow: Tomorrow) -> None:
    tomorrow.comes()
    home.migrate("--no-backup")
    assert home.copies() == []
    assert home.mint()


def test_a_migration_is_refused_if_the_copy_fails(home: Home, tomorrow: Tomorrow, tmp_path: Path) -> None:
    """A copy is impossible if its folder does not exist, or on a server without pg_dump."""
    tomorrow.comes()
    with pytest.raises((PerdureError, OSError)):
        home.migrate("--backup", str(tmp_path / "missing" / "copy"))
    assert home.version() == TODAY


@pytest.mark.parametrize("home", ["postgres"], indirect=True)
def test_a_missing_pg_dump_is_reported(home: Home, tomorrow: Tomorrow, monkeypatch: pytest.MonkeyPatch) -> None:
    tomorrow.comes()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(StoreUnavailable, match=r"pg_dump was not found.*--no-backup"):
        home.migrate()
    assert (home.version(), home.copies()) == (TODAY, [])


def test_a_step_that_fails_leaves_everything_as_it_was(home: Home, tomorrow: Tomorrow) -> None:
    name = home.mint()
    tomorrow.comes(FAILING)
    with pytest.raises(StoreUnavailable, match="facts"):
        home.migrate()
    assert (home.version(), home.has("tomorrow")) == (TODAY, False)
    tomorrow.is_over()
    assert home.inside(lambda registry: registry.store.lookup(name)) is not None
    assert home.mint() != name


def test_an_open_registry_is_not_migrated(home: Home, tomorrow: Tomorrow) -> None:
    async def work(registry: Registry) -> None:
        tomorrow.comes()
        with pytest.raises(StoreUnavailable, match="open in another program"):
            home.migrate()

    home.inside(work)
    assert (home.version(), home.copies()) == (TODAY, [])


@pytest.mark.parametrize("home", ["postgres"], indirect=True)
def test_a_registry_that_another_machine_has_open_is_not_migrated(
    home: Home, tomorrow: Tomorrow, tmp_path: Path
) -> None:
    shutil.copytree(home.folder, tmp_path / "another machine")

    async def work() -> None:
        async with open_registry(tmp_path / "another machine") as registry:
            await mint(registry, home.admin, registry.home)
            tomorrow.comes()
            with pytest.raises(StoreUnavailable, match="open in another program"):
                home.migrate()

    asyncio.run(work())


@pytest.mark.parametrize("home", ["postgres"], indirect=True)
def test_a_long_migration_step_does_not_time_out(
    home: Home, tomorrow: Tomorrow, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = home.folder / "perdure.toml"
    settings.write_text(settings.read_text().replace("# statement_seconds = 30.0", "statement_seconds = 0.2"))
    tomorrow.comes("DO $$ BEGIN PERFORM pg_sleep(0.5); END $$")
    home.migrate("--no-backup")
    assert home.version() == TODAY + 1


def test_two_processes_that_migrate_at_once_make_every_step_once(home: Home, tomorrow: Tomorrow) -> None:
    """Without the folder's lock, as on two machines. A step that is applied twice would fail."""
    store = f"sqlite:{home.folder / 'perdure.db'}" if home.is_file else home.store
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.store.migration_process", store, STEP],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"now\n")
        process.stdin.flush()
    for process in processes:
        _, complaints = process.communicate(timeout=60)
        assert process.returncode == 0, complaints.decode()
    tomorrow.comes()
    assert home.version() == TODAY + 1
    assert home.mint()


def test_an_old_backup_is_restored_by_a_new_program(home: Home, tomorrow: Tomorrow) -> None:
    """It is migrated while it is restored, and the file itself does not change."""
    name = home.mint()
    backup = home.folder.parent / "backup.db"
    home.inside(lambda registry: registry.store.backup(backup, lambda done, of: None))
    before = backup.read_bytes()
    home.mint()
    tomorrow.comes()
    home.migrate("--no-backup")
    asyncio.run(restore_registry(home.folder, backup))
    assert home.version() == TODAY + 1
    assert home.has("tomorrow")
    assert home.inside(lambda registry: registry.store.lookup(name)) is not None
    assert home.inside(verify) == []
    assert backup.read_bytes() == before


def test_a_new_backup_is_refused_by_an_old_program(home: Home, tomorrow: Tomorrow) -> None:
    tomorrow.comes()
    home.migrate("--no-backup")
    backup = home.folder.parent / "backup.db"
    home.inside(lambda registry: registry.store.backup(backup, lambda done, of: None))
    tomorrow.is_over()
    with pytest.raises(StoreUnavailable):
        asyncio.run(restore_registry(home.folder, backup))
    tomorrow.comes()
    assert home.mint()
