"""The test suites that pyhandle ships for a real server, run unchanged against this one.

Left out are the tests that fail on every server, because of their own calls or expectations, and one that needs the global
resolver.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.http.live_server import LiveServer, run_server

PREFIX = "21.T14999"
IDENTITY = f"{PREFIX}/B2HANDLE_INTEGRATION_TESTS"
INDEX = 300
PASSWORD = "pw300"
SELECTED = (
    "not global_resolve and not instantiate_with_credentials and not test_register_handle "
    "and not test_generate_and_register_handle and not test_delete_handle_inexistent "
    "or test_register_handle_already_exists"
)
SUITES = "pyhandle.tests.testcases"


def administrator(permissions: str) -> dict[str, object]:
    rights = {"handle": IDENTITY, "index": INDEX, "permissions": permissions}
    return {"index": 100, "type": "HS_ADMIN", "data": {"format": "admin", "value": rights}}


def text(index: int, type: str, value: str, **more: object) -> dict[str, object]:
    return {"index": index, "type": type, "data": {"format": "string", "value": value}, **more}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """Serve a prefix, an identity that may create under it, and the handle that the suite reads."""
    with run_server(tmp_path_factory.mktemp("served") / "registry") as one:
        with one.client() as client:
            assert client.post(f"/api/prefixes/0.NA/{PREFIX}").status_code == 201
            records = {
                IDENTITY: [administrator("011111110011"), text(INDEX, "HS_SECKEY", PASSWORD, permissions="1100")],
                f"{PREFIX}/READ": [
                    administrator("011111110011"),
                    text(111, "TEST1", "val1"),
                    text(2222, "TEST2", "val2"),
                    text(333, "TEST3", "val3"),
                    text(4, "TEST4", "val4"),
                ],
            }
            for name, values in records.items():
                made = client.put(f"/api/handles/{name}", json={"values": values})
                assert made.status_code == 201, made.text
            allowed = client.put(f"/api/handles/0.NA/{PREFIX}?index=various", json=[administrator("111111111111")])
            assert allowed.json()["responseCode"] == 1, allowed.text
        yield one


@pytest.fixture
def suites(server: LiveServer, tmp_path: Path) -> Path:
    """Copy the package, with the file that its suites read, so that the installed one is not changed."""
    spec = find_spec("pyhandle")
    assert spec is not None
    assert spec.origin is not None
    copy = tmp_path / "pyhandle"
    shutil.copytree(Path(spec.origin).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    # One suite imports the module that was taken into the standard library under another name.
    tmp_path.joinpath("mock.py").write_text("from unittest.mock import *\n")
    values = {
        "user": f"{INDEX}:{IDENTITY}",
        "password": PASSWORD,
        "handle_server_url_read": server.url,
        "handle_server_url_write": server.url,
        "url_extension_REST_API": "/api/handles/",
        "reverselookup_username": f"{INDEX}:{IDENTITY}",
        "reverselookup_password": PASSWORD,
        "reverselookup_baseuri": server.url,
        "reverselookup_baseuri_wrong": f"{server.url}/wrong",
        "reverselookup_url_extension": "/hrls/handles/",
        "handle_for_read_tests": f"{PREFIX}/READ",
        "handle_globally_resolvable": "20.1000/100",
        "handle_to_be_created": f"{PREFIX}/CREATE",
        "handle_to_be_modified": f"{PREFIX}/MOD",
        "handle_for_read_tests_with_10320LOC": "x/x",
        "handle_for_read_tests_without_10320LOC": "x/x",
        "handle_to_be_modified_with_10320LOC": "x/x",
        "handle_to_be_modified_without_10320LOC": "x/x",
        "HTTPS_verify": False,
    }
    file = copy / "tests" / "resources" / "testvalues_for_integration_tests_IGNORE.json"
    file.write_text(json.dumps(values))
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    """Run Python in a process that finds the copy before the installed package. Return both output streams."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return done.stdout + done.stderr


def test_the_reading_and_writing_suites_pass(suites: Path) -> None:
    names = [f"{SUITES}.handleclient_{kind}_integration_test" for kind in ("read", "write")]
    options = ["-q", "-W", "ignore", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(suites)]
    output = run(suites, "-m", "pytest", *options, "--pyargs", *names, "-k", SELECTED)
    last = output.strip().splitlines()[-1]
    assert re.search(r"\b22 passed\b", last), output
    assert not re.search(r"failed|error", last), output


def test_the_search_suite_passes(suites: Path) -> None:
    output = run(suites, "-m", "unittest", f"{SUITES}.handleclient_search_integration_test")
    assert re.search(r"^Ran 7 tests\b", output, re.MULTILINE), output
    assert output.rstrip().endswith("\nOK"), output
