"""Tests of the commands with a registry on PostgreSQL: equal to a file, and the password is never printed."""

import asyncio
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.test_registry_commands import Desk
from tests.postgres.addresses import address_of
from tests.postgres.server import USER, PostgresServer
from tests.postgres.shared_server import database, need_postgres
from tests.registry_fixture import FEW_PARTITIONS

from perdure.errors import PerdureError
from perdure.folder.move import move_registry
from perdure.folder.registry_folder import make_registry, open_registry
from perdure.registry import Statement, add_prefix, mint
from perdure.settings_file import SETTINGS, read_settings

URL = "https://example.org/"
PASSWORD = "pa55-w0rd-for-tests"
UNREACHABLE = f"postgresql://{USER}:{PASSWORD}@127.0.0.1:1/perdure"


class Addresses:
    """Addresses of schemas that are dropped after the test."""

    def __init__(self) -> None:
        self._schemas: list[str] = []

    def new(self) -> str:
        self._schemas.append(f"t_{secrets.token_hex(6)}")
        return database().address(self._schemas[-1])

    def clear(self) -> None:
        for (name,) in database().execute("SELECT nspname FROM pg_namespace"):
            if str(name).startswith(tuple(self._schemas) or ("-",)):
                database().drop(str(name))


@pytest.fixture
def addresses() -> Iterator[Addresses]:
    need_postgres()
    addresses = Addresses()
    yield addresses
    addresses.clear()


@pytest.fixture
def desk(quick: Run, tmp_path: Path, addresses: Addresses) -> Desk:
    """A registry on a server with prefixes 12345 and 12346, and one identifier `12345/a`."""
    created = asyncio.run(make_registry(tmp_path, name="The Library", store=addresses.new(), postgresql=FEW_PARTITIONS))

    async def fill() -> None:
        async with open_registry(tmp_path) as registry:
            await add_prefix(registry, created.admin, "12345", minter="chosen")
            await add_prefix(registry, created.admin, "12346")
            await mint(registry, created.admin, "12345", statement=Statement(URL), suffixes=["a"])

    asyncio.run(fill())
    return Desk(quick, tmp_path, created.key)


def with_password(address: str, password: str = PASSWORD) -> str:
    """Return an address with a password, which the test server does not check."""
    return address.replace(f"{USER}@", f"{USER}:{password}@", 1)


class Cut(BaseException):
    """An interruption as from the keyboard, which no code may handle as an error."""


def raise_cut(*_: object) -> None:
    raise Cut


# From creation to relocation


def test_a_registry_is_created_on_a_server_once(run: Run, tmp_path: Path, addresses: Addresses) -> None:
    store = with_password(addresses.new())
    first = run("init", "archive", "--name", "City Archive", "--prefix", "12345", "--store", store, "--partitions", "2")
    assert (first.returncode, first.stderr) == (0, "")
    assert PASSWORD not in first.stdout
    assert "postgresql://" in first.stdout
    [key] = re.findall(r"perdure_[0-9a-f]{8}_\S+", first.stdout)
    assert (tmp_path / "archive" / "admin.key").read_text().strip() == key
    again = run("init", "archive", "--store", store)
    assert (again.returncode, again.stderr) == (0, "")
    assert "nothing was changed" in again.stdout
    other = run("init", "other", "--store", store)
    assert (other.returncode, other.stdout) == (2, "")
    assert "already" in other.stderr
    assert PASSWORD not in again.stdout + other.stderr
    minted = run("mint", "12345", URL, "-R", "archive")
    assert minted.stdout.startswith("12345/")


def test_an_identifier_has_the_same_life_cycle_on_a_server_as_in_a_file(desk: Desk) -> None:
    [name] = desk.ok("mint", "12346", URL).split()
    desk.ok("set", name, f"{URL}new", "--what", "On lasting", "--who", "M. Silva")
    assert desk.ok("resolve", f"hdl:{name.lower()}") == f"{URL}new\n"
    assert [one["action"] for one in desk.json("history", name)] == ["mint", "set"]
    assert desk.ok("search", "silva").split("\t")[0] == name
    assert desk.ok("search", "--target", f"{URL}new").split("\t")[0] == name
    desk.ok("withdraw", name, "--reason", "retracted")
    assert "retracted" in desk.refuses("resolve", name)
    stats = desk.json("stats")
    assert (stats["identifiers"], stats["withdrawn"]) == (6, 1)  # this one, the administrator and the types
    assert "No problems found" in desk.ok("verify")


def test_names_are_imported_and_exported(desk: Desk) -> None:
    (desk.folder / "names.csv").write_text(
        "name,target\n12345/b,https://example.org/b\n12345/c,https://example.org/c,more\n"
    )
    done = desk.run("import", "names.csv")
    assert (done.returncode, done.stdout) == (1, "1 created, 0 changed, 0 unchanged, 1 refused\n")
    desk.ok("export", "all.ndjson")
    again = desk.json("import", "all.ndjson")
    assert (again["created"], again["changed"], again["refused"]) == (0, 0, 0)


def test_a_restore_brings_the_registry_back_and_preserves_the_old_schema(desk: Desk) -> None:
    desk.ok("backup", "safe.db")
    assert "--overwrite" in desk.refuses("backup", "safe.db")
    [lost] = desk.ok("mint", "12346", URL).split()
    done = desk.run("restore", "safe.db")
    assert done.returncode == 0, done.stderr
    [aside] = re.findall(r"\S+_before_restore_\S+", done.stdout)
    assert [(aside,)] == database().execute(f"SELECT nspname FROM pg_namespace WHERE nspname = '{aside}'")  # noqa: S608
    assert "not registered" in desk.refuses("show", lost)
    assert desk.json("verify") == {"sound": True, "problems": []}
    assert "restore" in desk.ok("log", "--limit", "1")


def test_a_current_registry_needs_no_migration(desk: Desk) -> None:
    assert "Nothing to do" in desk.ok("migrate")
    assert not list(desk.folder.glob("before-schema*"))


# Moving


def test_a_registry_moves_to_a_file_and_back_to_a_server(desk: Desk, addresses: Addresses) -> None:
    """Move with --from as a folder, as a store, and without it."""
    before = desk.ok("export", "--format", "csv", "-")
    moved = desk.json("move", "--from", str(desk.folder), "--to", "sqlite:perdure.db")
    assert moved["store"] == "sqlite:perdure.db"
    assert moved["names"] == desk.json("stats")["identifiers"]
    store = with_password(addresses.new())
    message = desk.ok("move", "--from", "sqlite:perdure.db", "--to", store)
    assert moved["sha256"] in message
    assert PASSWORD not in message
    assert read_settings(desk.folder).registry.store == store
    third = desk.json("move", "--to", addresses.new())
    assert (third["names"], third["sha256"]) == (moved["names"], moved["sha256"])
    assert desk.ok("export", "--format", "csv", "-") == before
    desk.ok("mint", "12346", URL)
    assert "No problems found" in desk.ok("verify")
    events = desk.ok("log", "--json")
    assert events.count('"move"') == 3
    assert PASSWORD not in events


def test_a_move_from_another_source_is_refused(desk: Desk) -> None:
    message = desk.refuses("move", "--from", UNREACHABLE, "--to", "sqlite:perdure.db")
    assert "--from" in message
    assert PASSWORD not in message
    message = desk.refuses("move", "--to", read_settings(desk.folder).registry.store)
    assert "already" in message


def test_an_interrupted_move_is_reported_and_can_be_finished_or_cancelled(desk: Desk, addresses: Addresses) -> None:
    """A write meanwhile is refused with a command that helps, and without the password."""

    to = with_password(addresses.new())
    with pytest.raises(Cut):
        asyncio.run(move_registry(desk.folder, to, raise_cut))
    message = desk.refuses("mint", "12346", URL)
    assert "perdure move" in message
    assert "--give-up" in message
    assert PASSWORD not in message
    assert desk.ok("resolve", "12345/a") == f"{URL}\n"
    assert "being moved to" in assert_refused(desk.run, "move", "--to", "sqlite:perdure.db")
    assert "Cancelled" in desk.ok("move", "--to", to, "--give-up")
    desk.ok("mint", "12346", URL)
    with pytest.raises(Cut):
        asyncio.run(move_registry(desk.folder, to, raise_cut))
    desk.ok("move", "--to", to)
    assert "finished" in desk.refuses("move", "--to", to, "--give-up")
    desk.ok("mint", "12346", URL)


def test_a_move_that_is_refused_leaves_nothing_behind(desk: Desk, addresses: Addresses) -> None:
    with pytest.raises(Cut):
        asyncio.run(move_registry(desk.folder, addresses.new(), raise_cut))
    assert "being moved to" in desk.refuses("move", "--to", "sqlite:perdure.db")


# An interrupted init


def test_an_init_that_stopped_before_its_last_step_can_be_run_again(
    quick: Run, tmp_path: Path, addresses: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    from perdure.store.postgres.location import PostgresLocation

    store = addresses.new()
    with monkeypatch.context() as cut:
        cut.setattr(PostgresLocation, "install", raise_cut)
        with pytest.raises(Cut):
            asyncio.run(make_registry(tmp_path / "archive", name="The Library", store=store))
    again = quick("init", "archive", "--store", store)
    assert (again.returncode, again.stderr) == (0, "")
    assert quick("verify", "-R", "archive").returncode == 0


# Errors


def assert_refused(run: Run, *arguments: str, secret: str = PASSWORD) -> str:
    """Check a refusal: exit code 2, one line, no traceback, and no password."""
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, ""), done.stdout + done.stderr
    assert re.fullmatch(r"perdure: [^\n]+\n", done.stderr), done.stderr
    assert "Traceback" not in done.stderr
    assert secret not in done.stderr
    return done.stderr


def test_a_database_that_is_down_is_reported_in_one_line(quick: Run, desk: Desk) -> None:
    assert "cannot be reached" in assert_refused(quick, "init", "archive", "--store", UNREACHABLE)
    assert "cannot be reached" in desk.refuses("move", "--to", UNREACHABLE)
    settings = desk.folder / SETTINGS
    settings.write_text(settings.read_text().replace(read_settings(desk.folder).registry.store, UNREACHABLE))
    for command in (["mint", "12346", URL], ["show", "12345/a"], ["verify"], ["backup", "x.db"], ["migrate"]):
        assert "cannot be reached" in assert_refused(quick, *command)
    assert not (desk.folder / "x.db").exists()


def test_a_database_that_does_not_exist_is_reported_in_one_line(
    quick: Run, tmp_path: Path, addresses: Addresses
) -> None:
    store = with_password(address_of(addresses.new(), "no_such_database"))
    assert "no_such_database" in assert_refused(quick, "init", "archive", "--store", store)
    assert not (tmp_path / "archive" / SETTINGS).exists()


@pytest.fixture(scope="module")
def strict_server() -> Iterator[PostgresServer]:
    """A server that requires a password."""
    need_postgres()
    with PostgresServer(access=("local all all trust", "host all all 127.0.0.1/32 scram-sha-256")) as server:
        yield server


def test_a_wrong_password_is_reported_in_one_line_without_the_right_one(
    quick: Run, tmp_path: Path, strict_server: PostgresServer
) -> None:
    import psycopg

    with psycopg.connect(strict_server.address(over_socket=True), autocommit=True) as connection:
        connection.execute(f"ALTER USER {USER} PASSWORD '{PASSWORD}'")
    right, wrong = (with_password(strict_server.address(), word) for word in (PASSWORD, "wr0ng-w0rd"))
    assert "password" in assert_refused(quick, "init", "archive", "--store", wrong, secret="wr0ng-w0rd")
    assert "password" in assert_refused(quick, "init", "archive", "--store", strict_server.address())
    done = quick("init", "archive", "--store", right)
    assert (done.returncode, done.stderr) == (0, "")
    desk = Desk(quick, tmp_path / "archive", (tmp_path / "archive" / "admin.key").read_text().strip())
    output = desk.ok("log", "--json", "-R", "archive") + desk.ok("stats", "-R", "archive")
    desk.ok("move", "-R", "archive", "--to", "sqlite:perdure.db")
    output += desk.ok("log", "--json", "-R", "archive")
    assert PASSWORD not in done.stdout + output
    sealed = strict_server.address(over_socket=True)
    with psycopg.connect(sealed, autocommit=True) as connection:
        [[reason]] = connection.execute("SELECT value FROM perdure.guards WHERE name = 'sealed'").fetchall()
    assert "sqlite:perdure.db" in reason
    assert PASSWORD not in reason


@pytest.mark.parametrize(
    "store",
    [
        f"postgresql://u:{PASSWORD}@[::1:5432/d",
        f"postgresql://u:{PASSWORD}%zz@127.0.0.1:1/d",
        f"postgresql://u:{PASSWORD} @127.0.0.1:1/d",
        f"postgresql://u:{PASSWORD}@127.0.0.1:1/d?schema=No-Schema",
        f"postgresql://u:{PASSWORD}@127.0.0.1:1/d?nonsense=1",
        f"postgresql://u@127.0.0.1:1/d?password={PASSWORD}&nonsense=1",
        f"postgresql://u:{PASSWORD}@127.0.0.1:port/d",
        f"postgresql://u@127.0.0.1:1/d?PASSWORD={PASSWORD}",
    ],
)
def test_an_invalid_address_is_reported_in_one_line(quick: Run, store: str) -> None:
    assert "database" in assert_refused(quick, "init", "archive", "--store", store)


@pytest.mark.parametrize(
    "store",
    [
        f"mysql://u:{PASSWORD}@127.0.0.1/d",
        f"PostgreSQL://u:{PASSWORD}@127.0.0.1/d",
        f"postgresql+psycopg://u:{PASSWORD}@127.0.0.1/d",
        # Characters that must be escaped in a password, but often are not:
        f"postgresql://u:x@{PASSWORD}@127.0.0.1:1/d",
        f"postgresql://u:{PASSWORD}/x@127.0.0.1:1/d",
        f"postgresql://u:x#{PASSWORD}@127.0.0.1:1/d",
        f"postgresql://u:x?{PASSWORD}@127.0.0.1:1/d",
    ],
)
def test_an_error_does_not_repeat_an_address_that_cannot_be_parsed(quick: Run, store: str) -> None:
    assert_refused(quick, "init", "archive", "--store", store)


@pytest.mark.parametrize(
    "store", [UNREACHABLE, f"{UNREACHABLE}?nonsense=1", f"{UNREACHABLE}?schema=No", f"{UNREACHABLE}%zz"]
)
def test_no_part_of_an_error_contains_the_password(tmp_path: Path, store: str) -> None:
    """Check the text, the arguments and the causes, because an error may be logged with all of them."""
    with pytest.raises(PerdureError) as caught:
        asyncio.run(make_registry(tmp_path / "registry", name="The Library", store=store))
    problem: BaseException | None = caught.value
    while problem is not None:
        assert PASSWORD not in f"{problem} {problem!r} {problem.args}"
        problem = problem.__cause__
    assert not (tmp_path / "registry" / SETTINGS).exists()


def test_an_address_without_tls_gives_a_warning_and_fails_if_nothing_answers(quick: Run) -> None:
    done = quick("init", "archive", "--store", f"postgresql://u:{PASSWORD}@db.invalid/d")
    assert done.returncode == 2
    assert "sslmode=verify-full" in done.stderr
    assert PASSWORD not in done.stderr


def test_the_error_for_a_schema_without_a_registry_says_what_to_do(desk: Desk, addresses: Addresses) -> None:
    settings = desk.folder / SETTINGS
    settings.write_text(settings.read_text().replace(read_settings(desk.folder).registry.store, addresses.new()))
    for command in (["show", "12345/a"], ["mint", "12346"]):
        assert "no registry found in the schema" in assert_refused(desk.run, *command)


def test_a_schema_without_a_registry_cannot_be_migrated(desk: Desk, addresses: Addresses) -> None:
    settings = desk.folder / SETTINGS
    settings.write_text(settings.read_text().replace(read_settings(desk.folder).registry.store, addresses.new()))
    assert "no registry found" in assert_refused(desk.run, "migrate", "--no-backup")


# The driver

_WITHOUT_A_REGISTRY = [["explain", "8JMKD3MGP8W/34PGRBS"], ["check", "names.txt"], ["generate", "--help"], ["--help"]]
_ON_A_FILE = [
    ["init", "--prefix", "12345"],
    ["mint", "12345", URL],
    ["export", "all.ndjson"],
    ["import", "all.ndjson"],
    ["verify"],
    ["stats"],
    ["backup", "old.db"],
    ["restore", "old.db"],
    ["migrate"],
    ["move", "--to", "sqlite:other.db"],
    ["search", "example"],
]


@pytest.mark.parametrize("commands", [_WITHOUT_A_REGISTRY, _ON_A_FILE], ids=["without a registry", "on a file"])
def test_commands_that_need_no_server_do_not_load_its_driver(tmp_path: Path, commands: list[list[str]]) -> None:
    """The driver takes longer to load than most commands take to run."""
    (tmp_path / "names.txt").write_text("8JMKD3MGP8W/34PGRBS\n")
    program = f"""
import sys
from perdure.cli.app import main
for arguments in {commands!r}:
    sys.argv = ["perdure", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (arguments, end.code)
    drivers = sorted(name for name in sys.modules if name.startswith("psycopg"))
    assert not drivers, (arguments, drivers)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
