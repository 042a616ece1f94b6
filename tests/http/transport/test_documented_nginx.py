"""The documented configurations of nginx, with a real nginx in front of a server."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.http.certificates import certificate, subject, write_pair
from tests.http.live_server import LiveServer, run_server
from tests.http.proxy import USUAL, WITH_CERTIFICATES, run_proxy
from tests.system_packages import require_package

EVERY_CLIENT = 'metrics_clients = ["0.0.0.0/0", "::/0"]'
TRUSTED = 'trusted_proxies = ["127.0.0.1"]'


@contextmanager
def behind_nginx(folder: Path, server: LiveServer, page: Path = USUAL) -> Iterator[httpx.Client]:
    require_package("nginx")
    folder.mkdir()
    key = rsa.generate_private_key(65537, 2048)
    files = write_pair(folder, "server", key, certificate(key, subject(cn="localhost")))
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        run_proxy(folder, server.address, *files, page) as url,
        httpx.Client(base_url=url, verify=context, timeout=30, headers={"Host": "id.example.org"}) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    require_package("nginx")
    with run_server(tmp_path_factory.mktemp("registry"), settings=f"{TRUSTED}\n{EVERY_CLIENT}") as server:
        yield server


@pytest.mark.parametrize("page", [USUAL, WITH_CERTIFICATES], ids=lambda page: page.stem)
def test_nginx_closes_the_metrics_for_all_its_clients(server: LiveServer, tmp_path: Path, page: Path) -> None:
    """Also if the settings allow every client."""
    with server.client("") as direct:
        assert direct.get("/metrics").status_code == 200
    with behind_nginx(tmp_path / "nginx", server, page) as client:
        for path in (
            b"/metrics",
            b"/metrics/",
            b"/metrics?a=b",
            b"//metrics",
            b"/%6Detrics",
            b"/x/../metrics",
            b"/metrics/.",
        ):
            answer = client.get("/", extensions={"target": path})  # as it is: the client would shorten some paths
            assert (path, answer.status_code) == (path, 404)
            assert "perdure" not in answer.text
        assert client.get("/healthz").status_code == 200


def test_credentials_work_behind_the_documented_nginx(server: LiveServer, tmp_path: Path) -> None:
    with behind_nginx(tmp_path / "nginx", server) as client:
        me = client.get("/api/v1/agents/me", headers={"Authorization": f"Bearer {server.key}"})
        assert me.json()["id"] == "admin"


def test_behind_nginx_without_trusted_proxies_the_error_names_the_setting(tmp_path: Path) -> None:
    require_package("nginx")
    with run_server(tmp_path / "registry") as server, behind_nginx(tmp_path / "nginx", server) as client:
        refused = client.get("/api/v1/agents/me", headers={"Authorization": f"Bearer {server.key}"})
        assert refused.status_code == 403
        assert TRUSTED in refused.json()["detail"]
        as_handle_client = client.get("/api/handles/0.NA/12345", headers={"Authorization": f"Bearer {server.key}"})
        assert TRUSTED in as_handle_client.json()["message"]
