"""The command takes the address of a name at the registry's own resolver for the name, and suggests similar names."""

import asyncio
import json
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.cli.conftest import Run
from tests.http.sample_registry import fill_registry

from perdure.folder.registry_folder import open_registry
from perdure.registry import show

HERE = "https://id.example.org"
TARGET = "https://example.org/thesis"
ADDRESS = f"{HERE}/hdl/20.500.777/thesis%20one?info"
NAME = "20.500.777/thesis one"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder in which the command runs, with a registry that has a public address."""
    fill_registry(tmp_path, {"thesis one": TARGET, "other": TARGET})
    file = tmp_path / "perdure.toml"
    file.write_text(file.read_text().replace("[http]", f'[http]\npublic_url = "{HERE}"', 1))
    return tmp_path


def test_every_command_takes_an_address_for_a_name(quick: Run, folder: Path) -> None:
    for arguments in (
        ("set", ADDRESS, f"{TARGET}/new"),
        ("add-value", ADDRESS, "EMAIL", "a@example.org"),
        ("show", ADDRESS),
        ("resolve", ADDRESS),
        ("history", ADDRESS),
        ("diff", ADDRESS, "1", "2"),
        ("search", f"{HERE}/20.500.777/other"),
        ("withdraw", ADDRESS, "--reason", "lost"),
    ):
        done = quick(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)

    async def state() -> str:
        async with open_registry(folder) as registry:
            return (await show(registry, NAME)).state

    assert asyncio.run(state()) == "withdrawn"


def test_the_address_of_a_server_on_this_machine_is_understood(quick: Run, folder: Path) -> None:
    for host in ("localhost:8080", "127.0.0.1:9999", "[::1]"):
        assert quick("resolve", f"http://{host}/20.500.777/thesis%20one").stdout == f"{TARGET}\n"


@pytest.mark.parametrize(
    "address",
    ["id.example.org", "ID.example.org/hdl", "localhost:8080", "hdl.handle.net", "HDL.handle.net"],
)
def test_an_address_may_be_written_without_its_protocol(quick: Run, folder: Path, address: str) -> None:
    assert quick("resolve", f"{address}/20.500.777/thesis%20one").stdout == f"{TARGET}\n"


def test_a_registered_name_is_not_taken_for_an_address(quick: Run, folder: Path) -> None:
    assert quick("prefix", "add", "id.example.org", "--minter", "chosen").returncode == 0
    assert quick("mint", "id.example.org", "--suffix", "20.500.777/other", f"{TARGET}/own").returncode == 0
    assert quick("resolve", "id.example.org/20.500.777/other").stdout == f"{TARGET}/own\n"
    unknown = quick("resolve", "id.example.org/20.500.777/thesis%20one").stderr
    assert "'id.example.org/20.500.777/thesis%20one' is not registered here" in unknown


def test_the_address_of_another_server_is_refused(quick: Run, folder: Path) -> None:
    done = quick("resolve", "https://id.example.net/20.500.777/other")
    assert done.returncode == 2
    assert "this is a web address" in done.stderr


def test_an_address_is_explained_beside_a_registry_only(quick: Run, folder: Path) -> None:
    explained = json.loads(quick("explain", "--json", ADDRESS).stdout)
    assert (explained["scheme"], explained["canonical"]) == ("handle", NAME)
    (folder / "perdure.toml").unlink()
    assert json.loads(quick("explain", "--json", ADDRESS).stdout)["scheme"] == "unknown"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("20.500.777/thesis on", NAME),
        ("20.500.777/thesisone", NAME),
        ("20.500.777/thseis one", NAME),
        (f"{HERE}/20.500.777/tthesis%20one", NAME),
        ("20.500.77/other", "20.500.777/other"),
    ],
)
@pytest.mark.parametrize("command", [("resolve",), ("show",), ("set", TARGET), ("withdraw", "--reason=lost")])
def test_a_similar_name_is_suggested(
    quick: Run, folder: Path, command: tuple[str, ...], typed: str, meant: str
) -> None:
    done = quick(command[0], typed, *command[1:])
    assert done.returncode == 2
    assert f"did you mean {meant}?" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_name_with_joiners_is_valid_where_its_prefix_allows_them(quick: Run, folder: Path) -> None:
    name = "20.500.777/می\u200cخواهم"

    def explain(text: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(quick("explain", "--json", text).stdout)
        return found

    refused = explain(name)
    assert not refused["valid"]
    assert "a zero-width joiner, which only some prefixes allow" in str(refused["reason"])
    assert quick("prefix", "change", "20.500.777", "--joiners").returncode == 0
    for text in (name, f"hdl:{name}", f"{HERE}/{quote(name)}"):
        found = explain(text)
        assert (found["valid"], found["scheme"], found["canonical"]) == (True, "handle", name)
    assert not explain("20.500.777/a\u200cb")["valid"]
    assert not explain("12346/می\u200cخواهم")["valid"]
