"""Tests of the registry commands: invalid input first, then from `init` to `restore`."""

import asyncio
import csv
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

from perdure.folder.registry_folder import make_registry, open_registry
from perdure.registry import Registry, Statement, add_agent, add_prefix, grant, mint, new_key
from perdure.registry.entities import Agent
from perdure.registry.secret_box import store_secret

URL = "https://example.org/"
POID = ("--source", "https://example.org/staff/jan", "--at", "2025-01-09T10:30:00Z")
CURATOR = "https://orcid.org/0000-0002-1825-0097"


class Desk:
    """The command in a folder with a registry."""

    def __init__(self, run: Run, folder: Path, key: str) -> None:
        self.run, self.folder, self.key = run, folder, key

    def ok(self, *arguments: str, code: int = 0, **options: Any) -> str:
        done = self.run(*arguments, **options)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout

    def json(self, *arguments: str, **options: Any) -> Any:
        found = [json.loads(line) for line in self.ok(*arguments, "--json", **options).splitlines()]
        return found[0] if len(found) == 1 else found

    def refuses(self, *arguments: str, **options: Any) -> str:
        """Check a refusal: exit code 2, one line on standard error, no traceback, no key, and no change on disk."""
        before = registry_state(self.folder)
        done = self.run(*arguments, **options)
        assert done.returncode == 2, done.stdout + done.stderr
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
        assert re.fullmatch(r"perdure: [^\n]+\n", done.stderr), done.stderr
        assert self.key.rpartition("_")[2] not in done.stderr
        assert registry_state(self.folder) == before
        return done.stderr


def registry_state(folder: Path) -> object:
    """Return the content of the registry, and the names of the files in its folder."""

    async def read() -> object:
        async with open_registry(folder) as registry:
            return await registry.store.read(
                lambda reader: (
                    reader.identifiers_after("", 10_000),
                    reader.prefixes(),
                    reader.timelines(),
                    reader.agents(),
                    reader.events(10_000),
                    [reader.grants(agent.id) for agent in reader.agents()],
                )
            )

    files = {path.name for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm", "lock", ".json"))}
    return asyncio.run(read()), files


def make_desk(run: Run, folder: Path) -> Desk:
    """Create a registry with prefix 12345 and the identifier `12345/a`, without starting the command."""
    created = asyncio.run(make_registry(folder, name="The Library"))

    async def fill() -> None:
        async with open_registry(folder) as registry:
            await add_prefix(registry, created.admin, "12345", minter="chosen")
            await add_prefix(registry, created.admin, "12346")
            await mint(registry, created.admin, "12345", statement=Statement(URL), suffixes=["a"])

    asyncio.run(fill())
    return Desk(run, folder, created.key)


@pytest.fixture
def desk(quick: Run, tmp_path: Path) -> Desk:
    return make_desk(quick, tmp_path)


# Invalid input


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("mint", "99999", URL), ["99999", "perdure prefix list"]),
        (("mint", "12345", URL), ["generates no suffixes", "perdure mint --help"]),
        (("transfer", "unknown", "12345/a"), ["agent not found: 'unknown'", "perdure agent list"]),
        (("mint", "12345", "--suffix", "a"), ["12345/a", "already in use"]),
        (("mint", "12346", "javascript:alert(1)"), ["javascript", "https"]),
        (("mint", "12346", URL, "--what", "bell\x07"), ["what", "control character"]),
        (("mint", "12346", "https://example.org/\x1b[31m"), ["target", "percent-encoded"]),
        (("mint", "12346", URL, "--value", "0:EMAIL=a@example.org"), ["index 0"]),
        (("mint", "12346", URL, "--value", "2:A=x", "--value", "2:B=y"), ["index 2", "twice"]),
        (("mint", "POID", "--source", URL, "--at", "yesterday", "--hash", "0" * 64), ["yesterday"]),
        (("mint", "POID"), ["--source", "--at", "--hash"]),
        (("add-value", "12345/a", "EMAIL", "a@example.org", "--index", "0"), ["index"]),
        (("add-value", "12345/a", "EMAIL", "a@example.org", "--index", "1"), ["index 1", "in use"]),
        (("set", "12345/a", "--value", "urn:x=y"), ["index"]),
        (("show", "12345/nothing"), ["12345/nothing", "not registered"]),
        (("person", "show", "PRID-1234"), ["a PPID has 24 characters", "this has 9"]),
        (("agent", "key", "admin", "--expires", "2030-01-01"), ["2030-01-01"]),
        (("import", "missing.csv"), ["missing.csv"]),
        (("restore", "missing.db"), ["missing.db"]),
    ],
)
def test_wrong_input_is_one_line_that_names_the_field(
    desk: Desk, arguments: tuple[str, ...], expected: list[str]
) -> None:
    message = desk.refuses(*arguments)
    for word in expected:
        assert word in message


def test_each_key_is_one_row_with_its_whole_id(desk: Desk) -> None:
    second = json.loads(desk.run("agent", "key", "admin", "--label", "backup", "--json").stdout)["id"]
    rows = [line.split("\t") for line in desk.run("agent", "list", "--keys").stdout.splitlines()]
    assert [row[0] for row in rows] == ["admin", "admin"]
    assert ["admin", second, "never expires", "backup"] in rows


def test_names_on_a_terminal_are_printed_without_a_progress_bar(desk: Desk) -> None:
    primary, secondary = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "perdure", "mint", "12346", URL, "--registry", str(desk.folder)],
        stdout=secondary, stderr=secondary, stdin=subprocess.DEVNULL, env={**os.environ, "PERDURE_KEY": desk.key},
        check=True,
    )  # fmt: skip
    os.close(secondary)
    printed = os.read(primary, 10_000).decode()
    os.close(primary)
    assert re.fullmatch(r"12346/[0-9A-Z]{9}\r\n", printed), printed


def test_an_invalid_key_is_refused_and_never_printed(desk: Desk, tmp_path: Path) -> None:
    other = asyncio.run(make_registry(tmp_path / "other", name="Others")).key
    wrong = desk.key[:-5] + ("00000" if not desk.key.endswith("00000") else "11111")
    for key, expected in ((other, "another registry"), (wrong, "it is unknown"), ("secret-word", "perdure_")):
        message = desk.refuses("mint", "12346", env={"PERDURE_KEY": key})
        assert expected in message
        assert key not in message
    (desk.folder / "admin.key").unlink()
    assert "PERDURE_KEY" in desk.refuses("mint", "12346")


def test_an_expired_key_is_refused(desk: Desk) -> None:
    async def add_expired_key() -> str:
        async with open_registry(desk.folder) as registry:
            admin = await registry.store.read(lambda reader: reader.agent("admin"))
            assert admin is not None
            return await _short_key(registry, admin)

    key = asyncio.run(add_expired_key())
    message = desk.refuses("mint", "12346", env={"PERDURE_KEY": key})
    assert "expired at" in message
    assert key not in message


async def _short_key(registry: Registry, admin: Agent) -> str:
    key, token = await new_key(
        registry, admin, "admin", expires=f"{int(registry.current_time()[:4]) + 1}-01-01T00:00:00Z"
    )
    await registry.store.write(
        lambda tx: tx.put_key(type(key)(key.id, key.agent, key.digest, key.created, key.created))
    )
    return token


def test_a_key_without_the_grant_is_refused(desk: Desk) -> None:
    async def hire() -> str:
        async with open_registry(desk.folder) as registry:
            admin = await registry.store.read(lambda reader: reader.agent("admin"))
            assert admin is not None
            await add_agent(registry, admin, "maria", "Maria", identifier="https://example.org/maria")
            await grant(registry, admin, "maria", "12345", ["mint"])
            return (await new_key(registry, admin, "maria"))[1]

    key = asyncio.run(hire())
    message = desk.refuses("mint", "12346", env={"PERDURE_KEY": key})
    assert "maria" in message
    assert "12346" in message
    assert "admin" in desk.refuses("export", "all.ndjson", env={"PERDURE_KEY": key})


def test_without_a_registry_the_command_says_how_to_create_one(run: Run) -> None:
    done = run("mint", "12345")
    assert (done.returncode, done.stdout) == (2, "")
    assert "perdure init" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_that_cannot_be_read_is_named(desk: Desk) -> None:
    (desk.folder / "names.csv").mkdir()  # a folder cannot be read as a file, even by root
    assert "names.csv" in desk.refuses("import", "names.csv")


# From creation to backup


def test_init_warns_of_person_iris_that_no_other_machine_can_reach(run: Run) -> None:
    for number, (option, iri) in enumerate(
        [("--public-url", "http://localhost:8080"), ("--person-iris", "http://127.0.0.1/#")]
    ):
        done = run("init", f"trial{number}", "--name", "Trial", option, iri)
        assert done.returncode == 0
        assert "only this machine can reach" in done.stderr
    public = run("init", "public", "--name", "Trial", "--public-url", "https://id.example.org")
    assert (public.returncode, public.stderr) == (0, "")
    assert "https://id.example.org/PRID-…, for life" in public.stdout
    refused = run("init", "wrong", "--person-iris", "https://ppid.org")
    assert refused.returncode == 2
    assert "--person-iris must be a web address that ends in / or #" in refused.stderr


def test_init_creates_a_registry_once(run: Run, tmp_path: Path) -> None:
    first = run("init", "archive", "--name", "City Archive", "--prefix", "12345")
    assert (first.returncode, first.stderr) == (0, "")
    [key] = re.findall(r"perdure_\S+", first.stdout)
    assert (tmp_path / "archive" / "admin.key").read_text().strip() == key
    before = registry_state(tmp_path / "archive")
    again = run("init", "archive", "--name", "Another")
    assert again.returncode == 0
    assert "nothing was changed" in again.stdout
    assert key not in again.stdout + again.stderr
    assert registry_state(tmp_path / "archive") == before
    shown = run("show", "102.100.TYPE/CREATOR", "-R", "archive")
    assert "party that first created the identifier" in shown.stdout


def test_prefixes_from_the_command(desk: Desk) -> None:
    desk.ok("prefix", "add", "777", "--minter", "sequential", "--pattern", "thesis-####", "--ignore-case")
    desk.ok("prefix", "derive", "777.1")
    desk.ok("prefix", "change", "777.1", "--policy", "Names are never used again.", "--pass-through")
    desk.ok("prefix", "add", "--host", "mtc-m18.sid.inpe.br", "--ip", "150.163.34.243", "--granularity", "0.1")
    moved = desk.ok("prefix", "change", "sid.inpe.br/mtc-m18", "--host", "mtc-m21b.sid.inpe.br", "--ip-port", "801")
    assert "sid.inpe.br/mtc-m21b/" in moved
    shown = desk.ok("prefix", "show", "sid.inpe.br/mtc-m18")
    assert all(text in shown for text in ("sid.inpe.br/mtc-m21b", "8JMKD3MGP8W", "in use"))
    listed = {one["name"]: one for one in desk.json("prefix", "list")}
    assert [one["kind"] for one in listed["sid.inpe.br/mtc-m18"]["periods"]] == ["name", "address"] * 2
    assert listed["777"]["case_sensitive"] is False
    assert (listed["777"]["pass_through"], listed["777.1"]["pass_through"]) == (False, True)
    desk.ok("prefix", "change", "777.1", "--no-pass-through")
    assert desk.json("prefix", "show", "777.1")["pass_through"] is False
    desk.ok("prefix", "add", "778", "--pass-through")
    assert desk.json("prefix", "show", "778")["pass_through"] is True
    assert (listed["777.1"]["parent"], listed["777.1"]["policy"]) == ("777", "Names are never used again.")
    assert listed["sid.inpe.br/mtc-m18"]["granularity"] == "1/10"
    assert desk.ok("mint", "777", "--count", "2") == "777/thesis-0001\n777/thesis-0002\n"
    desk.ok("prefix", "reset", "777", "--reason", "paper ledger", "--number", "5000")
    assert desk.ok("mint", "777") == "777/thesis-5001\n"
    assert "5001" in desk.ok("prefix", "show", "777")
    label, alias = desk.ok("mint", "sid.inpe.br/mtc-m18", URL).strip().split("\t")
    assert (label[:21], alias[:15]) == ("sid.inpe.br/mtc-m21b/", "8JMKD3MGP8W34L/")
    assert desk.ok("resolve", alias) == desk.ok("resolve", label) == f"{URL}\n"


def test_an_identifier_from_reservation_to_tombstone(desk: Desk) -> None:
    names = desk.ok("mint", "12346", "--count", "3").splitlines()
    assert len(set(names)) == 3
    name = names[0]
    assert "reserved" in desk.refuses("resolve", name)
    desk.ok("bind", name, URL, "--what", "On lasting", "--who", "M. Silva")
    desk.ok("set", name, "https://example.org/new", "--value", "3:EMAIL=desk@example.org")
    desk.ok("add-value", name, "DESC", "first copy")
    desk.ok("remove-value", name, "3")
    assert desk.ok("resolve", f"hdl:{name.lower()}") == "https://example.org/new\n"
    view = desk.json("show", name)
    assert (view["state"], view["version"]) == ("active", 5)
    assert [one["action"] for one in desk.json("history", name)] == ["mint", "bind", "set", "add value", "remove value"]
    [changed] = [one for one in desk.json("diff", name, "2", "5") if one["part"] == "value 1"]
    assert changed["after"]["data"]["value"] == "https://example.org/new"
    assert desk.ok("search", "silva").split("\t")[0] == name
    assert desk.ok("search", "--target", "https://example.org/new").split("\t")[0] == name
    desk.ok("withdraw", name, "--reason", "retracted", "--replaced-by", "12345/a")
    message = desk.refuses("resolve", name)
    assert "retracted" in message
    assert "12345/a" in message
    desk.ok("reinstate", name)
    assert desk.ok("resolve", name) == "https://example.org/new\n"
    assert "No problems found" in desk.ok("verify")


def test_a_record_is_shown_as_the_policy_writes_it(desk: Desk) -> None:
    [minted] = [desk.json("mint", "12346", URL, "--creator", "https://example.org/maria")]
    record = {value["type"]: value for value in desk.json("show", minted["name"])["handle_record"]}
    assert set(record) == {"URL", "102.100.TYPE/CREATION_DATE", "102.100.TYPE/CREATOR"}  # no handle administers it
    assert record["URL"]["data"] == {"format": "string", "value": URL}
    assert record["102.100.TYPE/CREATOR"]["data"]["value"] == "https://example.org/maria"
    created = record["102.100.TYPE/CREATION_DATE"]["data"]["value"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created)


def test_person_identifiers_from_the_command(desk: Desk) -> None:
    assert desk.ok("mint", "POID", *POID, "--hash", "0" * 64) == "POID-93b0-4476-560e-5ac1\n"
    again = desk.json("mint", "POID", *POID, "--hash", "0" * 64)
    observed = desk.json("person", "observe", POID[1], *POID[2:], "--hash", "0" * 64)
    assert (
        again
        == observed
        == {
            "ppid": "POID-93b0-4476-560e-5ac1",
            "name": "POID-93b0-4476-560e-5ac1",
            "uuid_raw": again["uuid_raw"],
            "created": False,
        }
    )
    made = desk.ok("mint", "PRID", "--observation", "POID-93b0-4476-560e-5ac1", "--curator", CURATOR, *POID[2:])
    assert made == "PRID-5ccc-3780-8c9c-5a90\n"
    desk.ok(
        "set",
        "PRID-5ccc-3780-8c9c-5a90",
        "--observation",
        "POID-93b0-4476-560e-5ac1",
        "--curator",
        CURATOR,
        "--at",
        "2026-01-09T10:30:00Z",
    )
    assert desk.json("show", "prid-5ccc-3780-8c9c-5a90")["version"] == 2
    assert "never changes" in desk.refuses("set", "POID-93b0-4476-560e-5ac1", "--what", "x")


def test_agents_keys_and_permissions(desk: Desk) -> None:
    desk.ok("agent", "add", "maria", "--name", "Maria Silva")
    until = "2099-01-01T00:00:00Z"
    limited = desk.ok("agent", "grant", "maria", "12345", "mint", "edit", "--own", "--until", until)
    assert limited == f"Granted to maria on 12345: mint, edit, for own identifiers until {until}\n"
    desk.ok("agent", "grant", "maria", "12345", "mint", "edit", "--until", until)
    made = desk.json("agent", "key", "maria", "--label", "laptop")
    hers = {"PERDURE_KEY": made["key"]}
    desk.ok("mint", "12345", URL, "--suffix", "m", env=hers)
    desk.ok("transfer", "maria", "12345/a")
    assert desk.json("show", "12345/a")["authority"]["owners"] != []
    listed = desk.ok("agent", "list", "--keys")
    assert made["id"] in listed
    assert made["key"] not in listed + desk.ok("log", "--json")
    desk.ok("agent", "revoke", "maria", "12345", "mint")
    assert "no grant to mint" in desk.refuses("mint", "12345", "--suffix", "n", env=hers)
    desk.ok("agent", "key", "maria", "--revoke", made["id"])
    assert "revoked" in desk.refuses("mint", "12345", "--suffix", "n", env=hers)
    (desk.folder / "admin.key").unlink()
    recovered = desk.json("agent", "recover", "admin", "--reason", "all keys were lost")
    desk.ok("mint", "12345", "--suffix", "n", env={"PERDURE_KEY": recovered["key"]})
    assert [one for one in desk.json("log") if one["action"] == "recovery" and "lost" in one["detail"]]


def test_import_and_export(desk: Desk) -> None:
    (desk.folder / "names.csv").write_text(
        "name,target,what\n12345/b,https://example.org/b,Bee\n12345 c,https://example.org/c,Cee\n12345/d,https://example.org/d,Dee\n"
    )
    before = registry_state(desk.folder)
    desk.ok("import", "names.csv", "--dry-run", code=1)
    assert registry_state(desk.folder) == before
    done = desk.run("import", "names.csv", "--problems", "problems.ndjson")
    assert (done.returncode, done.stdout) == (1, "2 created, 0 changed, 0 unchanged, 1 refused\n")
    [problem] = [json.loads(line) for line in (desk.folder / "problems.ndjson").read_text().splitlines()]
    assert (problem["line"], problem["name"], problem["refused"]) == (3, "12345 c", True)
    assert "no slash" in problem["reason"]
    after = registry_state(desk.folder)
    desk.ok("import", "names.csv", code=1)
    assert registry_state(desk.folder) == after
    for name in ("all.ndjson", "out.txt"):
        desk.ok("export", name)
    assert "CREATE 12345/b\n1 URL 86400 1110 UTF8 https://example.org/b\n" in (desk.folder / "out.txt").read_text()
    piped = desk.json("import", "-", "--format", "ndjson", stdin=(desk.folder / "all.ndjson").read_bytes())
    assert (piped["created"], piped["changed"], piped["refused"]) == (0, 0, 0)
    assert desk.ok("export", "--format", "csv", "--under", "12345", "-").splitlines()[0].startswith("name,target,who")


def test_a_csv_file_for_a_spreadsheet_runs_no_formula_and_can_be_imported_again(desk: Desk) -> None:
    formulas = ['=HYPERLINK("https://example.org/")', "+1", "-1", "@SUM(1)", "'=1", "'s-Hertogenbosch"]
    for number, text in enumerate(formulas):
        desk.ok("mint", "12345", URL, "--suffix", f"f{number}", f"--what={text}", f"--value=2:NOTE={text}")
    for form in ("csv", "handles"):
        table = desk.folder / f"{form}.csv"
        desk.ok("export", table.name, "--under", "12345", "--format", form)
        plain = table.read_bytes()
        desk.ok("export", table.name, "--under", "12345", "--format", form, "--for-spreadsheet", "--force")
        cells = [cell for row in csv.reader(table.read_text().splitlines()) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
        assert "''=1" in cells
        assert "'s-Hertogenbosch" in cells
        before = registry_state(desk.folder)
        counted = desk.json("import", table.name, "--format", form, "--from-spreadsheet", "--update")
        assert (counted["created"], counted["changed"], counted["refused"]) == (0, 0, 0)
        assert registry_state(desk.folder) == before
        desk.ok("export", "again.csv", "--under", "12345", "--format", form, "--overwrite")
        assert (desk.folder / "again.csv").read_bytes() == plain
        desk.ok("import", "again.csv", "--format", form)
    assert "handles" in desk.refuses("export", "all.ndjson", "--for-spreadsheet")
    desk.ok("export", "all.ndjson")
    assert "requires the format csv or handles" in desk.refuses("import", "all.ndjson", "--from-spreadsheet")


def test_an_import_is_repeated_after_its_prefix_was_added(desk: Desk) -> None:
    (desk.folder / "names.csv").write_text("name,target\n777/a,https://example.org/a\n")
    message = desk.run("import", "names.csv")
    assert message.returncode == 1
    assert "line 2: the prefix '777' is not registered here" in message.stderr
    desk.ok("prefix", "add", "777", "--minter", "chosen")
    assert desk.ok("import", "names.csv").startswith("1 created")


def test_numbers_in_a_pipe_have_no_separators(desk: Desk) -> None:
    counts = dict(line.split("\t") for line in desk.ok("stats").splitlines())
    assert {what: int(count) for what, count in counts.items()} == desk.json("stats")
    assert int(counts["bytes"]) > 1000


def test_a_backup_is_restored_in_a_new_folder_without_anything_else(desk: Desk, tmp_path: Path) -> None:
    output = desk.ok("backup", "safe.db")
    assert "perdure restore safe.db --to DIR" in output
    assert "It does not contain admin.key" in output
    assert "secrets.key" not in output
    assert desk.json("backup", "safe.db", "--overwrite")["not_included"] == ["admin.key"]
    for option in (("--to", "."), ("--store", "sqlite:x.db"), ("--to", "new", "--digest", "0" * 64)):
        desk.refuses("restore", "safe.db", *option)
    assert not (desk.folder / "new").exists()
    done = desk.run("restore", "safe.db", "--to", "new", "--store", "sqlite:names.db")
    assert done.returncode == 0, done.stderr
    assert "perdure serve --registry new" in done.stdout
    assert "admin.key is not in a backup" in done.stdout
    assert (desk.folder / "new" / "names.db").exists()
    assert desk.ok("resolve", "12345/a", "-R", "new") == desk.ok("resolve", "12345/a")
    key = {"PERDURE_KEY": (desk.folder / "admin.key").read_text()}
    assert desk.run("set", "12345/a", f"{URL}new", "-R", "new", env=key).returncode == 0


def test_a_backup_with_secrets_says_which_file_they_need(desk: Desk) -> None:
    async def keep_secret() -> None:
        async with open_registry(desk.folder) as registry:
            await registry.store.write(lambda tx: store_secret(tx, registry.sealer, "12345/a", 300, b"correct horse"))

    asyncio.run(keep_secret())
    assert "It does not contain secrets.key" in desk.ok("backup", "safe.db")
    assert desk.json("backup", "safe.db", "--overwrite")["not_included"] == ["admin.key", "secrets.key"]
    output = desk.run("restore", "safe.db", "--to", "new").stdout
    assert "Handle clients with a secret key (HS_SECKEY, 1 here) cannot authenticate" in output
    assert "new/secrets.key (chmod 600)" in output


def test_a_restore_without_a_registry_says_how_to_restore_on_an_empty_machine(quick: Run) -> None:
    done = quick("restore", "safe.db")
    assert done.returncode == 2
    assert "or a new folder with --to" in done.stderr


def test_backup_restore_verify_and_stats(desk: Desk) -> None:
    desk.ok("backup", "safe.db")
    assert "--overwrite" in desk.refuses("backup", "safe.db")
    [lost] = desk.ok("mint", "12346", URL).split()
    assert desk.json("stats")["identifiers"] == 6  # this one, 12345/a, the administrator and three types
    done = desk.run("restore", "safe.db")
    assert done.returncode == 0
    [aside] = desk.folder.glob("perdure-before-restore-*.db")
    assert aside.name in done.stdout
    assert "not registered" in desk.refuses("show", lost)
    assert desk.json("verify") == {"sound": True, "problems": []}
    assert "restore" in desk.ok("log", "--limit", "1")


def test_values_that_are_hidden_or_redacted_are_not_read_in_old_versions(desk: Desk) -> None:
    desk.ok("set", "12345/a", "--value", "5:NOTE=quetzal")
    stranger = {"PERDURE_KEY": _key_without_grants(desk)}
    old = ("show", "12345/a", "--version", "2")
    assert "quetzal" in desk.ok(*old, env=stranger)
    desk.ok("remove-value", "12345/a", "5")
    desk.ok("add-value", "12345/a", "NOTE", "quetzal", "--index", "5", "--permissions", "1100")
    for expected in (old, ("diff", "12345/a", "1", "2"), ("history", "12345/a", "--json")):
        assert "quetzal" not in desk.ok(*expected, env=stranger)
        assert "quetzal" in desk.ok(*expected)
    why = ("--reason", "a court order")
    assert "--for-good" in desk.refuses("redact", "12345/a", "--index", "5", *why)
    assert "no grant to admin" in desk.refuses("redact", "12345/a", "--index", "5", *why, "--for-good", env=stranger)
    assert "index 7" in desk.refuses("redact", "12345/a", "--index", "7", *why, "--for-good")
    assert "version 5" in desk.ok("redact", "12345/a", "--index", "5", *why, "--for-good")
    assert "quetzal" not in desk.ok("history", "12345/a", "--json") + desk.ok(*old)
    assert "a court order" in desk.ok("show", "12345/a")
    assert b"quetzal" not in (desk.folder / "perdure.db").read_bytes()
    desk.ok("verify")


def _key_without_grants(desk: Desk) -> str:
    desk.ok("agent", "add", "stranger", "--name", "A Stranger", "--identifier", "https://example.org/stranger")
    key: str = desk.json("agent", "key", "stranger")["key"]
    return key


def test_an_import_refuses_a_line_with_a_key_twice(desk: Desk) -> None:
    good = '{"name": "12345/k%d", "target": "https://example.org/"}\n'
    twice = '{"name": "12345/k2", "target": "https://example.org/", "target": "https://example.org/2"}\n'
    (desk.folder / "names.ndjson").write_text(good % 1 + twice + good % 3)
    message = desk.run("import", "names.ndjson")
    assert message.returncode == 1
    assert message.stdout.startswith("2 created")
    assert re.search("line 2: .*the key 'target' is given twice", message.stderr), message.stderr
    assert "not registered" in desk.refuses("show", "12345/k2")


def test_an_unclosed_quotation_mark_in_an_import_loses_no_other_row(desk: Desk) -> None:
    rows = [f"12345/{number},https://example.org/{number}" for number in range(300)]
    (desk.folder / "open.csv").write_text("\n".join(["name,target", '12345/x,"https://e.org', *rows, ""]))
    summary = desk.json("import", "open.csv", "--problems", "problems.ndjson", code=1)
    assert (summary["created"], summary["refused"]) == (300, 1)
    [problem] = [json.loads(line) for line in (desk.folder / "problems.ndjson").read_text().splitlines()]
    assert problem["line"] == 2
    assert "quotation mark" in problem["reason"]


def test_a_table_of_values_shows_ttls_that_are_not_the_usual_one(desk: Desk) -> None:
    desk.ok("mint", "12345", "--suffix", "usual", URL)
    desk.ok("mint", "12345", "--suffix", "short", URL, "--ttl", "60")
    assert "ttl" not in desk.ok("show", "12345/usual")
    shown = desk.ok("show", "12345/short")
    assert shown.split("timestamp")[1].split()[0] == "ttl"
    assert shown.split()[-1] == "60"


def test_a_handle_instead_of_its_prefix_is_explained(desk: Desk) -> None:
    assert "perdure mint 12345 --suffix new-1" in desk.refuses("mint", "12345/new-1", URL)
    assert "not registered" in desk.refuses("mint", "example.org/www", URL)


def test_in_a_pipe_the_grants_of_an_agent_are_on_one_line(desk: Desk) -> None:
    desk.ok("agent", "add", "maria", "--name", "Maria")
    desk.ok("prefix", "add", "777", "--minter", "chosen")
    for prefix in ("12345", "777"):
        desk.ok("agent", "grant", "maria", prefix, "mint")
    assert "\t12345: mint; 777: mint\n" in desk.ok("agent", "list")
