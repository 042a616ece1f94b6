"""The drill: back up, lose the whole folder, restore the backup alone, serve, resolve and mint. All in processes."""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
from tests.folder.registry_folders import RegistryMaker
from tests.http.live_server import run_server
from tests.registry_fixture import FEW_PARTITIONS

from perdure.folder.registry_folder import make_registry

NAMES = "/api/v1/identifiers"
PILIN, NUMBERS = "12345", "777"


def perdure(*arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "perdure", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def mint(client: httpx.Client, prefix: str, count: int) -> list[str]:
    answer = client.post(NAMES, json={"prefix": prefix, "target": f"https://example.org/{prefix}", "count": count})
    assert answer.status_code == 201, answer.text
    return [one["name"] for one in answer.json()["identifiers"]]


def resolve(client: httpx.Client, name: str) -> tuple[int, str | None]:
    answer = client.get(f"/{name}")
    return answer.status_code, answer.headers.get("location")


def test_a_registry_survives_the_loss_of_its_folder_and_repeats_no_name(maker: RegistryMaker, tmp_path: Path) -> None:
    old, new, backup = maker.new_folder(), maker.new_folder("new machine"), tmp_path / "backup.db"
    asyncio.run(make_registry(old.folder, name="The Library", store=old.store, postgresql=FEW_PARTITIONS))
    with run_server(old.folder, settings='contact = "archive@example.org"') as server, server.client() as client:
        for prefix, minter in ((PILIN, "pilin"), (NUMBERS, "sequential")):
            assert client.post("/api/v1/prefixes", json={"prefix": prefix, "minter": minter}).status_code == 201
        names = [name for prefix in (PILIN, NUMBERS) for name in mint(client, prefix, 10)]
        assert "It does not contain admin.key" in perdure("backup", backup, "--registry", old.folder)
        lost = [name for prefix in (PILIN, NUMBERS) for name in mint(client, prefix, 10)]
    old.lose()
    shutil.rmtree(old.folder)

    output = perdure("restore", backup, "--to", new.folder, "--store", new.store)
    assert "admin.key is not in a backup" in output
    (new.folder / "admin.key").write_text(server.key)
    with run_server(new.folder) as server, server.client() as client:
        assert "archive@example.org" in client.get("/").text
        expected = [(302, f"https://example.org/{name.partition('/')[0]}") for name in names]
        assert [resolve(client, name) for name in names] == expected
        assert {resolve(client, name)[0] for name in lost} == {404}
        refused = client.post(NAMES, json={"prefix": NUMBERS, "target": "https://example.org/"})
        assert "must set the last number" in refused.json()["detail"]
        perdure("prefix", "reset", NUMBERS, "--number", "20", "--reason", "drill", "--registry", new.folder)
        again = [name for prefix in (PILIN, NUMBERS) for name in mint(client, prefix, 10)]
        assert len({*names, *lost, *again}) == len(names) + len(lost) + len(again)
        assert {resolve(client, name)[0] for name in again} == {302}
        assert "No problems found" in perdure("verify", "--registry", new.folder)
