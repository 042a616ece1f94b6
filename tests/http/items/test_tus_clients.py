"""Uploads by tuspy and by tus-js-client, while the server is killed: they continue, and nothing is lost or stored twice."""

import asyncio
import hashlib
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path

import pytest
from tests.http.items.item_server import COLLECTION, SUBSYSTEM, prepare
from tests.http.live_server import LiveServer, run_server
from tests.system_packages import node_modules, require_package
from tusclient.client import TusClient

SIZE = 40_000_000
PART = 8 << 20
SCRIPT = Path(__file__).with_name("upload.js")
_PATIENCE = 60.0


class RestartableServer:
    """A server on one port, which can be killed and started again."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder = folder
        self.key = key
        self.port = 0
        self.server: LiveServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1/uploads"

    @contextmanager
    def run(self) -> Iterator[LiveServer]:
        """Serve until the block ends."""
        with run_server(self.folder, "--port", str(self.port)) as server:
            self.server, self.port = server, server.address[1]
            yield server

    def kill(self) -> None:
        assert self.server is not None
        self.server.process.kill()
        self.server.process.wait(_PATIENCE)

    def bytes_on_disk(self) -> int:
        """Return how many bytes of unfinished uploads have been written, acknowledged or not."""
        return sum(file.stat().st_size for file in (self.folder / "uploads").glob("*/content"))

    def wait_for_bytes(self, count: int) -> None:
        deadline = time.monotonic() + _PATIENCE
        while self.bytes_on_disk() < count:
            assert time.monotonic() < deadline
            time.sleep(0.002)


@pytest.fixture
def restartable(tmp_path: Path) -> RestartableServer:
    _, _, key = asyncio.run(prepare(tmp_path / "registry"))
    return RestartableServer(tmp_path / "registry", key)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "survey.tar"
    file.write_bytes(random.Random(7).randbytes(SIZE))
    return file


def items_with(server: LiveServer, size: int, digest: str) -> list[str]:
    """Return the labels of the items that have a file of this content."""
    found = []
    with server.client("") as client, server.client() as admin:
        for one in admin.get("/api/v1/identifiers", params={"prefix": SUBSYSTEM}).json()["identifiers"]:
            answer = client.get(f"/items/{COLLECTION}/{one['name']}.json")
            files = answer.json()["versions"][0]["files"] if answer.status_code == 200 else []
            found += [one["name"] for file in files if (file["size"], file["sha512"]) == (size, digest)]
    return found


def open_source(source: Path) -> BytesIO:
    """Return the content: the client does not close the files that it opens."""
    return BytesIO(source.read_bytes())


def metadata() -> dict[str, str]:
    return {"collection": COLLECTION, "subsystem": SUBSYSTEM, "filename": "survey.tar", "title": "A survey"}


@pytest.mark.parametrize("checked", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_tuspy_continues_after_the_server_was_killed(
    restartable: RestartableServer, source: Path, checked: bool
) -> None:
    headers = {"Authorization": f"Bearer {restartable.key}"}
    with restartable.run():
        client = TusClient(restartable.url, headers=headers)
        uploader = client.uploader(
            file_stream=open_source(source), chunk_size=PART, metadata=metadata(), upload_checksum=checked
        )
        uploader.upload_chunk()
        url = uploader.url
        cut = threading.Thread(target=_upload_until_cut, args=(uploader,))
        cut.start()
        restartable.wait_for_bytes(PART + PART // 4)
        restartable.kill()
        cut.join(_PATIENCE)
    with restartable.run() as server:
        again = TusClient(restartable.url, headers=headers).uploader(
            file_stream=open_source(source), url=url, chunk_size=PART, upload_checksum=checked
        )
        offset = again.get_offset()
        assert PART <= offset <= restartable.bytes_on_disk() < SIZE
        again.offset = offset
        again.upload()
        assert len(items_with(server, SIZE, hashlib.sha512(source.read_bytes()).hexdigest())) == 1
        assert restartable.bytes_on_disk() == 0


def _upload_until_cut(uploader: object) -> None:
    with suppress(Exception):  # the client raises errors of several libraries
        uploader.upload()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_an_upload_that_was_complete_before_the_server_was_killed_is_stored_once(
    restartable: RestartableServer, source: Path
) -> None:
    """The last part is on disk, but its response, and perhaps the item, is missing."""
    headers = {"Authorization": f"Bearer {restartable.key}"}
    with restartable.run():
        uploader = TusClient(restartable.url, headers=headers).uploader(
            file_stream=open_source(source), chunk_size=SIZE, metadata=metadata()
        )
        cut = threading.Thread(target=_upload_until_cut, args=(uploader,))
        cut.start()
        restartable.wait_for_bytes(SIZE)
        time.sleep(random.uniform(0, 0.2))
        restartable.kill()
        cut.join(_PATIENCE)
    with restartable.run() as server:
        again = TusClient(restartable.url, headers=headers).uploader(
            file_stream=open_source(source), url=uploader.url, chunk_size=SIZE
        )
        again.offset = again.get_offset()
        if again.offset < SIZE:
            again.upload()
        assert len(items_with(server, SIZE, hashlib.sha512(source.read_bytes()).hexdigest())) == 1


def test_tus_js_client_continues_after_the_server_was_killed(restartable: RestartableServer, source: Path) -> None:
    require_package("tus-js-client")
    with restartable.run():
        client = subprocess.Popen(
            ["node", str(SCRIPT), restartable.url, restartable.key, str(source), str(PART)],
            env={"NODE_PATH": str(node_modules("tus-js-client")), "PATH": "/usr/local/bin:/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        restartable.wait_for_bytes(2 * PART + PART // 4)
        restartable.kill()
    with restartable.run() as server:
        output, _ = client.communicate(timeout=_PATIENCE)
        assert client.returncode == 0, output
        assert "retry" in output, output
        assert len(items_with(server, SIZE, hashlib.sha512(source.read_bytes()).hexdigest())) == 1
