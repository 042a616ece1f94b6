"""A schema that another program has changed is noticed when it is opened, verified or restored, on both engines."""

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.folder.registry_folders import (
    PAIRS,
    RegistryFolder,
    RegistryMaker,
    any_registry,
    maker,
    minting_registry,
    on_a_file,
    on_a_server,
)
from tests.postgres.shared_server import database
from typer.testing import CliRunner

from perdure.cli.app import app
from perdure.errors import InvalidInput, SchemaChanged, StoreUnavailable
from perdure.folder.restore import restore_registry
from perdure.registry import Registry, Statement, find_by_value, history, mint, search, show, verify
from perdure.registry.entities import Agent
from perdure.settings_file import DATABASE, DEFAULT_STORE
from perdure.store.backup_digest import digest_file
from perdure.store.postgres import schema_check
from perdure.store.schema_check import SCHEMA_DIGEST
from perdure.store.sqlite import restore

__all__ = ["any_registry", "maker", "minting_registry"]

GRANT = (
    "INSERT INTO grants (agent, scope, action, own, given_by, given_at) "
    "SELECT id, '*', 'administer', 0, 'nobody', '2020' FROM agents"
)

# What is done to a database, and the part that is named.
ON_A_FILE = {
    "a trigger more": (f"CREATE TRIGGER kind AFTER INSERT ON identifiers BEGIN {GRANT}; END", "trigger kind on iden"),
    "a trigger less": ("DROP TRIGGER revisions_are_kept", "trigger revisions_are_kept on revisions is missing"),
    "another trigger of the same name": (
        "DROP TRIGGER revisions_are_kept; CREATE TRIGGER revisions_are_kept BEFORE DELETE ON revisions "
        "BEGIN SELECT 1; END",
        "trigger revisions_are_kept on revisions differs",
    ),
    "an index less": ("DROP INDEX redirects", "index redirects on identifiers is missing"),
    "another index of the same name": (
        "DROP INDEX redirects; CREATE INDEX redirects ON identifiers (key)",
        "index redirects on identifiers differs",
    ),
    "another view of the same name": (
        "DROP VIEW persons; CREATE VIEW persons AS SELECT key AS ppid FROM identifiers",
        "view persons differs",
    ),
    "a table more": ("CREATE TABLE more (text)", "table more is not expected"),
    "a column more": ("ALTER TABLE keys ADD COLUMN more TEXT", "table keys differs"),
    "another default": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'DEFAULT 0', 'DEFAULT 1') "
        "WHERE name = 'prefixes'",
        "table prefixes differs",
    ),
    "a virtual table more": ("CREATE VIRTUAL TABLE more USING fts5 (text)", "table more_data is not expected"),
}
FUNCTION = "CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$"
ON_A_SERVER = {
    "a trigger more": (
        f"{FUNCTION}; CREATE TRIGGER kind AFTER INSERT ON identifiers FOR EACH ROW EXECUTE FUNCTION more()",
        "trigger kind on identifiers is not expected",
    ),
    "a function more": (FUNCTION, r"function more\(\) is not expected"),
    "another function of the same name": (
        FUNCTION.replace("CREATE", "CREATE OR REPLACE").replace("more", "refuse_change"),
        r"function refuse_change\(\) differs",
    ),
    "a trigger less": (
        "DROP TRIGGER revisions_are_kept ON revisions",
        "trigger revisions_are_kept on revisions is mis",
    ),
    "a trigger less on one partition": (
        "DROP TRIGGER revisions_001_is_not_emptied ON revisions_001",
        "trigger revisions_001_is_not_emptied on revisions_001 is missing",
    ),
    "a trigger that is switched off": (
        "ALTER TABLE events DISABLE TRIGGER events_stay",
        "trigger events_stay on events differs",
    ),
    "foreign keys that are switched off": (
        "ALTER TABLE grants DISABLE TRIGGER ALL",
        "switched-off trigger RI_ConstraintTrigger_.* on grants is not expected",
    ),
    "a rule more": (
        "CREATE RULE more AS ON INSERT TO grants DO ALSO DELETE FROM secrets",
        "rule more on grants is not expected",
    ),
    "a policy more": ("CREATE POLICY more ON grants USING (true)", "policy more on grants is not expected"),
    "rows that are hidden": ("ALTER TABLE grants ENABLE ROW LEVEL SECURITY", "table grants differs"),
    "another view of the same name": (
        "CREATE OR REPLACE VIEW persons AS SELECT key AS ppid, key AS ppid_type, key AS created_at, key AS uuid_raw "
        "FROM identifiers",
        "rule _RETURN on persons differs",
    ),
    "an index less": ("DROP INDEX answers_by_age", "index answers_by_age on answers is missing"),
    "another index of the same name": (
        "DROP INDEX answers_by_age; CREATE INDEX answers_by_age ON answers (token)",
        "index answers_by_age on answers differs",
    ),
    "a constraint less": (
        "ALTER TABLE grants DROP CONSTRAINT grants_agent_fkey",
        "constraint grants_agent_fkey on grants is missing",
    ),
    "a table more": ("CREATE TABLE more (text text)", "table more is not expected"),
    "a column more": ("ALTER TABLE keys ADD COLUMN more text", "column more of keys is not expected"),
    "another default": (
        "ALTER TABLE prefixes ALTER COLUMN pass_through SET DEFAULT true",
        "column pass_through of prefixes differs",
    ),
    "a type more": ("CREATE TYPE more AS ENUM ('a')", "type .*more is not expected"),
    "a table elsewhere that adds its rows": (
        "CREATE TABLE pg_temp.more () INHERITS (grants)",
        r"table pg_temp.*more under grants is not expected",
    ),
}


def change(registry_folder: RegistryFolder, statements: str) -> None:
    """Change a registry's database with the engine's own tool."""
    if registry_folder.store == DEFAULT_STORE:
        change_file(registry_folder.folder / DATABASE, statements)
        return
    name = registry_folder.store.rpartition("schema=")[2]
    database().execute(f"SET search_path = {name}; {statements}; RESET search_path")


def change_file(file: Path, statements: str) -> None:
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(statements)


def check_noticed(registry_folder: RegistryFolder, named: str) -> None:
    with pytest.raises(SchemaChanged, match=named):
        registry_folder.mint("777")
    result = CliRunner().invoke(app, ["verify", "-R", str(registry_folder.folder), "--json"])
    assert result.exit_code == 1
    assert any(re.search(f"schema was changed .*: {named}", one) for one in json.loads(result.stdout)["problems"])


@on_a_file
@pytest.mark.parametrize(("statements", "named"), ON_A_FILE.values(), ids=ON_A_FILE)
def test_a_changed_schema_of_a_file_is_not_opened(
    minting_registry: RegistryFolder, statements: str, named: str
) -> None:
    change(minting_registry, statements)
    check_noticed(minting_registry, named)


@on_a_server
@pytest.mark.parametrize(("statements", "named"), ON_A_SERVER.values(), ids=ON_A_SERVER)
def test_a_changed_schema_on_a_server_is_not_opened(
    minting_registry: RegistryFolder, statements: str, named: str
) -> None:
    try:
        change(minting_registry, statements)
        check_noticed(minting_registry, named)
    finally:
        database().execute("DROP TABLE IF EXISTS pg_temp.more")


@on_a_file
def test_statistics_of_the_query_planner_do_not_change_the_schema(minting_registry: RegistryFolder) -> None:
    change(minting_registry, "ANALYZE")
    assert minting_registry.mint("777")
    assert minting_registry.restore(minting_registry.backup()) is not None


def test_verify_notices_a_schema_change_while_the_registry_is_open(minting_registry: RegistryFolder) -> None:
    statements, named = (ON_A_FILE if minting_registry.store == DEFAULT_STORE else ON_A_SERVER)["a trigger less"]

    async def work(registry: Registry, by: Agent) -> list[str]:
        assert await verify(registry) == []
        change(minting_registry, statements)
        return await verify(registry)

    assert re.search(named, minting_registry.inside(work)[0]) is not None


@pytest.mark.parametrize(("statements", "named"), ON_A_FILE.values(), ids=ON_A_FILE)
@on_a_file
def test_a_backup_with_a_changed_schema_is_refused(
    minting_registry: RegistryFolder, statements: str, named: str
) -> None:
    backup = minting_registry.backup()
    change_file(backup, statements)
    before = minting_registry.files()
    with pytest.raises(SchemaChanged, match=named) as refused:
        minting_registry.restore(backup)
    assert "backup.db" in str(refused.value)
    assert minting_registry.files() == before


@on_a_server
def test_a_server_refuses_a_backup_with_a_changed_schema_too(minting_registry: RegistryFolder) -> None:
    backup = minting_registry.backup()
    change_file(backup, ON_A_FILE["a trigger more"][0])
    with pytest.raises(SchemaChanged, match="trigger kind on identifiers is not expected"):
        minting_registry.restore(backup)
    assert minting_registry.mint("777")


def test_a_database_with_a_changed_schema_is_replaced_by_a_backup(minting_registry: RegistryFolder) -> None:
    """A restore repairs it."""
    [name] = minting_registry.mint("777")
    backup = minting_registry.backup()
    statements, named = (ON_A_FILE if minting_registry.store == DEFAULT_STORE else ON_A_SERVER)["a trigger more"]
    change(minting_registry, statements)
    with pytest.raises(SchemaChanged, match=named):
        minting_registry.mint("777")
    assert minting_registry.restore(backup).displaced_name is not None
    assert minting_registry.ask(show, name).name == name
    assert minting_registry.ask(verify) == []


def read_all_rows(file: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables, with those of the search index, and row ids where they matter."""
    with closing(apsw.Connection(str(file))) as connection:
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0").fetchall()
        return {name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr) for (name,) in tables}  # noqa: S608


@on_a_file
def test_a_restore_brings_every_row(minting_registry: RegistryFolder) -> None:
    for prefix in ("12345", "777", PAIRS):
        minting_registry.mint(prefix, 3)

    async def work(registry: Registry, by: Agent) -> None:
        await mint(registry, by, "12345", statement=Statement("https://example.org/rare"))

    minting_registry.inside(work)
    backup = minting_registry.backup()
    before = read_all_rows(backup)
    assert all(before[table] for table in ("changes", "words_data", "words_docsize", "facts", "events", "reverse"))
    minting_registry.restore(backup)
    after = read_all_rows(minting_registry.folder / DATABASE)
    assert set(after.pop("events")) > set(before.pop("events"))  # a restore is an event, and moves timelines
    assert len(after.pop("timelines")) == len(before.pop("timelines"))
    for tables in (before, after):  # these belong to the one database, and not to the registry
        tables["facts"] = [fact for fact in tables["facts"] if fact[0] not in ("lineage", "newest_event")]
    assert after == before
    [found] = minting_registry.ask(find_by_value, "https://example.org/rare")
    assert [one.name for one in minting_registry.ask(search, ["rare"])] == [found.name]
    assert len(minting_registry.ask(history, found.name)) == 1


# The digest of a backup


def test_a_backup_returns_the_digest_of_its_file(minting_registry: RegistryFolder) -> None:
    file = minting_registry.folder.parent / "result.db"
    result = CliRunner().invoke(app, ["backup", str(file), "-R", str(minting_registry.folder), "--json"])
    digest = sha256(file.read_bytes()).hexdigest()
    assert json.loads(result.stdout) == {"file": str(file), "sha256": digest, "not_included": ["admin.key"]}
    result = CliRunner().invoke(app, ["backup", str(file), "-R", str(minting_registry.folder), "--overwrite"])
    assert digest_file(file) in result.stdout


WRITTEN: list[Callable[[str], str]] = [str, str.upper, "sha256:{}".format, " SHA256:{}\n".format]


@pytest.mark.parametrize("written", WRITTEN)
def test_a_restore_checks_the_digest(any_registry: RegistryFolder, written: Callable[[str], str]) -> None:
    backup = any_registry.backup()
    result = CliRunner().invoke(
        app, ["restore", str(backup), "-R", str(any_registry.folder), "--digest", written(digest_file(backup))]
    )
    assert result.exit_code == 0, result.output


def test_a_restore_refuses_another_digest(minting_registry: RegistryFolder) -> None:
    backup = minting_registry.backup()
    digest = digest_file(backup)
    change_file(backup, "CREATE TABLE more (text); DROP TABLE more")  # still a good backup, and another file
    before = minting_registry.files()
    with pytest.raises(StoreUnavailable, match=f"{digest_file(backup)}.*nothing was changed"):
        asyncio.run(restore_backup(minting_registry, backup, digest))
    assert minting_registry.files() == before
    asyncio.run(restore_backup(minting_registry, backup, digest_file(backup)))


@pytest.mark.parametrize("text", ["", "sha256:", "12", "md5:" + "0" * 64, "g" * 64, "0" * 63, "0" * 65])
@on_a_file
def test_an_invalid_digest_is_refused(any_registry: RegistryFolder, text: str) -> None:
    with pytest.raises(InvalidInput, match="SHA-256"):
        asyncio.run(restore_backup(any_registry, any_registry.backup(), text))


async def restore_backup(registry_folder: RegistryFolder, backup: Path, digest: str) -> None:
    await restore_registry(registry_folder.folder, backup, digest=digest, clock=registry_folder.clock)


@on_a_file
def test_the_checked_content_is_loaded_even_if_the_file_changes(
    minting_registry: RegistryFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is replaced just after its digest was computed."""
    backup = minting_registry.backup()
    digest = digest_file(backup)
    copied = restore.copy_with_digest

    def copy_and_replace(source: Path, target: Path) -> str:
        found = copied(source, target)
        source.write_bytes(b"something else")
        return found

    monkeypatch.setattr(restore, "copy_with_digest", copy_and_replace)
    asyncio.run(restore_backup(minting_registry, backup, digest))
    assert minting_registry.ask(verify) == []


# What an opening costs


@on_a_server
def test_opening_a_known_schema_creates_nothing(
    maker: RegistryMaker, minting_registry: RegistryFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_check, "_expected", {})
    minting_registry.mint("777")
    assert schema_check._expected == {}
    (minting_registry.folder / SCHEMA_DIGEST).write_text("of another schema")
    minting_registry.mint("777")
    assert len(schema_check._expected) == 1
    assert database().execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'perdure$check%'") == [(0,)]
