"""The store on PostgreSQL alone: addresses, schemas, partitions, TLS, and triggers against manual changes."""

import asyncio
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from tests.postgres.addresses import address_through
from tests.postgres.server import USER, PostgresServer
from tests.store.record_strategies import Desk, change
from tests.store.unreliable_network import Unreliable, in_one_group
from tests.system_packages import require_package

from perdure.errors import InvalidInput, StoreUnavailable
from perdure.registry.entities import Change
from perdure.registry.store_interface import Transaction
from perdure.store.postgres.address import parse
from perdure.store.postgres.connection import KEY_LOOKUP_SETTINGS, connect
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.store.postgres.reader import FIND_MANY, PERSONS, to_json_array
from perdure.store.postgres.store import PostgresStore

SECRET: Final = "correct-horse"


# Addresses


def test_the_schema_is_removed_from_the_address_for_the_server() -> None:
    address = parse("postgresql://jan@db.example.org:5433/library?schema=registry&sslmode=verify-full")
    assert address.schema == "registry"
    assert psycopg.conninfo.conninfo_to_dict(address.conninfo) == {
        "user": "jan", "host": "db.example.org", "port": "5433", "dbname": "library", "sslmode": "verify-full",
    }  # fmt: skip


def test_an_address_without_a_schema_uses_the_default_one() -> None:
    assert parse("postgres://db.example.org/library").schema == "perdure"


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://jan:{SECRET}@db.example.org/library",
        f"postgresql://jan:{SECRET}@db.example.org:5432,other.example.org/library?schema=x",
        f"postgresql://db.example.org/library?user=jan&password={SECRET}",
        f"postgresql:///library?host=/run/postgresql&password={SECRET}&sslpassword={SECRET}",
        f"postgresql://jan:%63orrect-horse:{SECRET}@db.example.org/library?schema=x",
    ],
)
def test_an_address_is_shown_without_its_password(text: str) -> None:
    address = parse(text)
    assert SECRET in address.conninfo
    assert SECRET not in address.display_name
    assert "orrect-horse" not in address.display_name
    assert "library" in address.display_name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "library",
        "mysql://db.example.org/library",
        "postgresql://db.example.org/library?schema=",
        "postgresql://db.example.org/library?schema=Upper",
        "postgresql://db.example.org/library?schema=1st",
        "postgresql://db.example.org/library?schema=x;drop",
        f"postgresql://db.example.org/library?schema={'x' * 64}",
        "postgresql://db.example.org/library?sslmod=require",
        "postgresql://db.example.org/library?nonsense",
        "postgresql://[::1/library",
        f"postgresql://jan:{SECRET}@db.example.org/library?pasword={SECRET}",
        f"postgresql://jan:{SECRET}@db.example.org/%zz?schema=x",
    ],
)
def test_an_invalid_address_is_refused_and_its_password_is_not_repeated(text: str) -> None:
    with pytest.raises(InvalidInput, match="invalid database address") as refused:
        parse(text)
    assert SECRET not in str(refused.value)


def test_a_refused_greeting_does_not_reveal_the_password(unreliable: Unreliable, tmp_path: Path) -> None:
    direct = unreliable.open(direct=True)
    direct.close()
    wrong = address_through(unreliable.direct, f"127.0.0.1:{unreliable.proxy.port}", dbname=None)
    wrong = wrong.replace("//", f"//nobody:{SECRET}@", 1) if "@" not in wrong else wrong.replace("@", f":{SECRET}@", 1)
    unreliable.proxy.refuse()
    with pytest.raises(StoreUnavailable) as refused:
        PostgresStore(wrong, tmp_path / "marks.json")
    assert SECRET not in str(refused.value)


# Schemas and partitions


def test_concurrent_creations_of_a_schema_create_it_once(unreliable: Unreliable, runner: asyncio.Runner) -> None:
    problems: list[BaseException] = []
    stores: list[PostgresStore] = []
    start = threading.Barrier(4)

    def make() -> None:
        start.wait()
        try:
            stores.append(unreliable.open(direct=True))
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    for number, store in enumerate(stores):
        Desk(runner, store).insert(change(f"1/{number}"))
    assert Desk(runner, stores[0]).names() == ["1/0", "1/1", "1/2", "1/3"]


def test_the_rows_of_names_are_spread_over_the_partitions(unreliable: Unreliable, runner: asyncio.Runner) -> None:
    store = unreliable.open(direct=True, partitions=4)
    desk = Desk(runner, store)
    desk.insert(*(change(f"1/{number}", reverse=(("URL", f"https://{number}.org/"),)) for number in range(400)))
    for table in ("identifiers", "revisions", "words", "reverse"):
        rows = unreliable.execute(f"SELECT tableoid, count(*) FROM {table} GROUP BY tableoid")  # noqa: S608
        assert len(rows) == 4
        assert all(50 < int(str(count)) < 200 for _, count in rows), rows


def test_the_number_of_partitions_is_decided_once(unreliable: Unreliable, runner: asyncio.Runner) -> None:
    unreliable.open(direct=True, partitions=2).close()
    desk = Desk(runner, unreliable.open(direct=True, partitions=8))
    desk.insert(*(change(f"1/{number}") for number in range(100)))
    assert unreliable.execute("SELECT count(DISTINCT tableoid) FROM identifiers") == [(2,)]


@pytest.mark.parametrize("question", [FIND_MANY, PERSONS], ids=["names", "persons"])
def test_lookups_use_the_key_although_the_plan_was_made_for_empty_tables(unreliable: Unreliable, question: str) -> None:
    """The server keeps its plan while they grow."""
    unreliable.open(direct=True, partitions=4)
    with closing(connect(parse(unreliable.direct), PostgresOptions(), KEY_LOOKUP_SETTINGS)) as connection:
        connection.execute("VACUUM (ANALYZE) identifiers, person_inputs")
        row = connection.execute(f"EXPLAIN (FORMAT JSON) {question}", (to_json_array(["1/a", "1/b"]),)).fetchone()
    assert row is not None
    scans = [node for node in nodes(row[0][0]["Plan"]) if "Relation Name" in node]
    assert len(scans) == 4
    assert all("Index Cond" in scan for scan in scans), scans


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


# Hands in the tables


@pytest.mark.parametrize(
    "deed",
    [
        "UPDATE revisions SET record = 'x'",
        "DELETE FROM revisions",
        "TRUNCATE revisions",
        "TRUNCATE revisions CASCADE",
        "DELETE FROM identifiers",
        "TRUNCATE identifiers CASCADE",
        "UPDATE events SET detail = 'nothing happened'",
        "DELETE FROM events",
        "TRUNCATE events",
        "UPDATE revisions_000 SET record = 'x'; UPDATE revisions_001 SET record = 'x'",
        "DELETE FROM revisions_000; DELETE FROM revisions_001",
        "TRUNCATE revisions_000, revisions_001",
        "TRUNCATE identifiers_000, identifiers_001 CASCADE",
    ],
)
def test_history_cannot_be_rewritten_by_hand(unreliable: Unreliable, runner: asyncio.Runner, deed: str) -> None:
    desk = Desk(runner, unreliable.open(direct=True))
    desk.insert(*(change(f"1/{number}") for number in range(20)))
    unreliable.execute("INSERT INTO events VALUES (1, 'w', 'then', 'jan', 'did', 'this', 'and that')")
    with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="never"):
        unreliable.execute(deed)
    assert len(desk.names()) == 20
    assert unreliable.execute("SELECT count(*) FROM revisions") == [(20,)]
    assert desk.contradictions() == []


# TLS


def _run_openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def _authority(folder: Path, name: str) -> None:
    _run_openssl(
        folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
        "-keyout", f"{name}.key", "-out", f"{name}.crt",
    )  # fmt: skip


class EncryptedServer:
    """A server that requires TLS, with a certificate of an authority of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("root", "stranger"):
            _authority(folder, name)
        _run_openssl(
            folder, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "server.key",
            "-out", "server.csr",
        )  # fmt: skip
        (folder / "names").write_text("subjectAltName=DNS:localhost")
        _run_openssl(
            folder, "x509", "-req", "-in", "server.csr", "-CA", "root.crt", "-CAkey", "root.key", "-days", "2",
            "-CAcreateserial", "-extfile", "names", "-out", "server.crt",
        )  # fmt: skip
        access = ("local all all trust", "hostssl all all 127.0.0.1/32 trust")
        self.server = PostgresServer(access=access, settings={"ssl": "on"})
        for setting, file in (("ssl_cert_file", "server.crt"), ("ssl_key_file", "server.key")):
            given = self.server.put(file, (folder / file).read_bytes())
            self.server._settings[setting] = str(given)

    def address(self, host: str, **parameters: str) -> str:
        host_and_port = f"{host}:{self.server.port}"
        return address_through(
            f"postgresql://{USER}@x/postgres", host_and_port, schema="tls", hostaddr="127.0.0.1", **parameters
        )


@pytest.fixture(scope="module")
def tls_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EncryptedServer]:
    require_package("postgresql")
    tls_server = EncryptedServer(tmp_path_factory.mktemp("tls"))
    with tls_server.server:
        yield tls_server


def _open_store(tls_server: EncryptedServer, folder: Path, host: str = "localhost", **parameters: str) -> PostgresStore:
    address = tls_server.address(host, **parameters)
    return PostgresStore(address, folder / "marks.json", PostgresOptions(partitions=2), create=True)


def test_every_connection_to_the_database_is_encrypted_and_its_server_verified(
    tls_server: EncryptedServer, tmp_path: Path, runner: asyncio.Runner
) -> None:
    root = str(tls_server.folder / "root.crt")
    store = _open_store(tls_server, tmp_path, sslmode="verify-full", sslrootcert=root)
    try:
        desk = Desk(runner, store)
        desk.insert(change("1/a"))
        assert desk.lookup("1/a") == desk.read(lambda reader: reader.find("1/a"))
        with psycopg.connect(tls_server.server.address(over_socket=True)) as connection:
            query = (
                "SELECT s.ssl, count(*) FROM pg_stat_ssl AS s JOIN pg_stat_activity AS a USING (pid) "
                "WHERE a.application_name LIKE 'perdure%' GROUP BY s.ssl"
            )
            assert connection.execute(query).fetchall() == [(True, 3)], "one looks up, one reads, one writes"
    finally:
        store.close()


@pytest.mark.parametrize(
    ("host", "parameters", "message"),
    [
        ("localhost", {"sslmode": "verify-full", "sslrootcert": "stranger.crt"}, "certificate verify failed"),
        ("elsewhere.example.org", {"sslmode": "verify-full", "sslrootcert": "root.crt"}, "does not match host name"),
        ("localhost", {"sslmode": "verify-full", "sslrootcert": "missing.crt"}, "does not exist"),
        ("localhost", {"sslmode": "disable"}, "no encryption"),
    ],
    ids=["another authority", "another name", "no authority", "no TLS"],
)
def test_a_server_that_cannot_be_trusted_is_refused_clearly(
    tls_server: EncryptedServer, tmp_path: Path, host: str, parameters: dict[str, Any], message: str
) -> None:
    if "sslrootcert" in parameters:
        parameters = parameters | {"sslrootcert": str(tls_server.folder / parameters["sslrootcert"])}
    with pytest.raises(StoreUnavailable, match=message):
        _open_store(tls_server, tmp_path, host, **parameters)


# What the engine refuses


_ENDLESS: Final = " ".join(f"word{number}" for number in range(150_000))  # more than one tsvector takes


@pytest.mark.parametrize(
    "bad",
    [
        change("1/bad", scheme="nonsense"),
        change("1/bad", target="https://example.org/\0"),
        change("1/bad", words=_ENDLESS),
    ],
    ids=["a check", "a character that no text holds", "more words than can be searched"],
)
def test_a_transaction_that_the_database_refuses_does_not_affect_its_group(
    unreliable: Unreliable, runner: asyncio.Runner, bad: Change
) -> None:
    desk = Desk(runner, unreliable.open(direct=True))
    works = [lambda tx: tx.insert([change("1/good")]), lambda tx: tx.insert([bad])]
    good, refused = runner.run(in_one_group(desk.store, works))
    assert good is None
    assert isinstance(refused, StoreUnavailable)
    assert not refused.safe_to_retry, "it would always be refused"
    assert desk.names() == ["1/good"]


# What others do meanwhile


def test_a_person_observed_concurrently_has_the_same_name(unreliable: Unreliable, runner: asyncio.Runner) -> None:
    """Others insert the person between the look-up of the inputs and that of the name: the name exists, for the same person."""
    desk, other = Desk(runner, unreliable.open(direct=True)), unreliable.open(direct=True)
    tries = count(1)

    def make(name: str) -> Callable[[Transaction], None]:
        def work(tx: Transaction) -> None:
            tx.insert([change(name, scheme="ppid")])
            tx.put_persons({f"of {name}": name})

        return work

    def observe(tx: Transaction) -> str:
        number = next(tries)
        if number <= 2:  # others are first twice, so that the third try is made with all the care there is
            make(f"POID-{number}")(tx)
            asyncio.run(other.write(make(f"POID-{number}")))
        known = tx.person("of POID-a")
        if known is not None:
            return known
        if number == 3:
            asyncio.run(other.write(make("POID-a")))
        name = "POID-a" if tx.find("POID-a") is None else "POID-successor"
        tx.insert([change(name, scheme="ppid")])
        tx.put_persons({"of POID-a": name})
        return name

    assert desk.write(observe) == "POID-a"
    assert desk.names() == ["POID-1", "POID-2", "POID-a"]
    assert next(tries) == 5
