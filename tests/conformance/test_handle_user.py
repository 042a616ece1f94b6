"""Users made by `perdure handle-user add`: the printed lines work as printed, in pyhandle, curl and openssl."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.proxy import run_proxy
from tests.system_packages import require_package

PREFIX, OTHER = "21.T1", "21.T2"
PASSWORD = "a word; with: signs/é \"$(x)'"
SETTINGS = 'trusted_proxies = ["127.0.0.1"]\ncertificate_header = "x-client-certificate"'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with run_server(tmp_path_factory.mktemp("users") / "registry") as one:
        for prefix in (PREFIX, OTHER):
            one.perdure("prefix", "add", prefix, "--minter", "chosen", "--ignore-case")
        yield one


def handle_user(server: LiveServer, *arguments: str, stdin: str = "", url: str | None = None) -> dict[str, Any]:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "perdure", "handle-user", *arguments, "--json"),
            *("--registry", str(server.folder)),
            *(("--url", url or server.url) if arguments[0] == "add" else ()),
        ],
        input=stdin, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    fields: dict[str, Any] = json.loads(done.stdout)
    return fields


def lines_of(fields: dict[str, Any], title: str, number: int = 0) -> str:
    return "\n".join([one for one in fields["examples"] if one["title"].startswith(title)][number]["lines"])


def run_lines(language: str, lines: str, folder: Path, **variables: str) -> str:
    """Run lines of Python or of the shell in a process of their own."""
    command = [sys.executable, "-W", "ignore", "-c"] if language == "python" else ["sh", "-ec"]
    environment = {**os.environ, "HANDLE_PASSWORD": PASSWORD, **variables}
    done = subprocess.run(
        [*command, lines], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def target(server: LiveServer, name: str) -> str | None:
    return httpx.get(f"{server.url}/{name}").headers.get("location")


def test_the_printed_lines_of_a_password_work(server: LiveServer, tmp_path: Path) -> None:
    made = handle_user(server, "add", f"300:{PREFIX}/USER1", "--password-stdin", stdin=f"{PASSWORD}\n")
    example = f"{PREFIX}/example-1"
    change = f"\nclient.modify_handle_value({example!r}, URL='https://example.org/changed')"
    run_lines("python", lines_of(made, "pyhandle") + change, tmp_path)
    assert target(server, example) == "https://example.org/changed"
    assert '"responseCode":1' in run_lines("sh", lines_of(made, "curl"), tmp_path)
    assert target(server, example) == "https://example.org/"
    run_lines("python", lines_of(made, "pyhandle") + change, tmp_path)  # what curl wrote can be changed too
    assert target(server, example) == "https://example.org/changed"


def test_the_printed_credentials_file_works(server: LiveServer, tmp_path: Path) -> None:
    made = handle_user(server, "add", f"300:{PREFIX}/FILE", "--password-stdin", stdin=PASSWORD)
    written = lines_of(made, "credentials.json").replace('"YOUR PASSWORD"', json.dumps(PASSWORD))
    (tmp_path / "credentials.json").write_text(written)
    name = f"{PREFIX}/by-file"
    change = f"\nclient.register_handle({name!r}, 'https://example.org/one')"
    change += f"\nclient.modify_handle_value({name!r}, URL='https://example.org/two')"
    run_lines("python", lines_of(made, "pyhandle, with") + change, tmp_path)
    assert target(server, name) == "https://example.org/two"


def test_a_user_changes_what_another_user_of_the_prefix_has_created(server: LiveServer, tmp_path: Path) -> None:
    first, second = (
        handle_user(server, "add", f"300:{PREFIX}/{name}", "--password-stdin", stdin=PASSWORD) for name in ("A", "B")
    )
    run_lines("python", lines_of(first, "pyhandle"), tmp_path)
    change = f"\nclient.modify_handle_value('{PREFIX}/example-1', URL='https://example.org/by-b')"
    run_lines("python", lines_of(second, "pyhandle").replace("overwrite=True", "overwrite=False").rpartition("\n")[0]
              + change, tmp_path)  # fmt: skip
    assert target(server, f"{PREFIX}/example-1") == "https://example.org/by-b"


def test_a_user_works_under_another_prefix_and_only_there(server: LiveServer, tmp_path: Path) -> None:
    made = handle_user(server, "add", f"300:{PREFIX}/GUEST", "--password-stdin", "--for", OTHER, stdin=PASSWORD)
    run_lines("python", lines_of(made, "pyhandle"), tmp_path)
    assert target(server, f"{OTHER}/example-1") == "https://example.org/"
    refused = httpx.put(
        f"{server.url}/api/handles/{PREFIX}/guests",
        json={"values": []},
        auth=(f"300%3A{PREFIX}%2FGUEST", PASSWORD),
    )
    assert refused.status_code == 403


def test_a_removed_user_cannot_log_in(server: LiveServer, tmp_path: Path) -> None:
    made = handle_user(server, "add", f"300:{PREFIX}/GONE", "--password-stdin", stdin=PASSWORD)
    handle_user(server, "remove", f"300:{PREFIX}/GONE")
    with pytest.raises(AssertionError, match=r"HandleAuthentication|does not exist|401"):
        run_lines("python", lines_of(made, "pyhandle"), tmp_path)
    refused = httpx.get(f"{server.url}/api/handles/{PREFIX}/GONE", auth=(f"300%3A{PREFIX}%2FGONE", PASSWORD))
    assert refused.status_code == 401


def test_the_printed_lines_of_a_public_key_work(tmp_path: Path) -> None:
    """The files are made by openssl as the help says; nginx passes the certificate on."""
    require_package("nginx")
    pair = (
        "openssl req -new -x509 -nodes -newkey rsa:2048 -keyout server.key -out server.pem -subj /CN=localhost -days 2"
    )
    run_lines("sh", pair + " -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>&1", tmp_path)
    run_lines(
        "sh", "openssl genrsa -out private.pem 3072 && openssl rsa -in private.pem -pubout -out public.pem", tmp_path
    )
    with (
        run_server(tmp_path / "registry", settings=SETTINGS) as server,
        run_proxy(tmp_path / "nginx", server.address, tmp_path / "server.pem", tmp_path / "server.key") as url,
    ):
        server.perdure("prefix", "add", PREFIX, "--minter", "chosen", "--ignore-case")
        file = str(tmp_path / "public.pem")
        made = handle_user(server, "add", f"300:{PREFIX}/USER1", "--public-key", file, url=url)
        run_lines("sh", lines_of(made, "a certificate"), tmp_path)
        trusted = {"REQUESTS_CA_BUNDLE": str(tmp_path / "server.pem"), "CURL_CA_BUNDLE": str(tmp_path / "server.pem")}
        change = f"\nclient.modify_handle_value('{PREFIX}/example-1', URL='https://example.org/changed')"
        run_lines("python", lines_of(made, "pyhandle") + change, tmp_path, **trusted)
        assert target(server, f"{PREFIX}/example-1") == "https://example.org/changed"
        assert '"responseCode":1' in run_lines("sh", lines_of(made, "curl"), tmp_path, **trusted)
        assert target(server, f"{PREFIX}/example-1") == "https://example.org/"
