"""Client certificates through a real nginx, configured as in the documentation."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.http.certificates import certificate, subject, write_pair
from tests.http.handle_client import b64, wire
from tests.http.handle_server import PREFIX, HandleOffice, handle_office, handle_path, text
from tests.http.proxy import run_proxy
from tests.system_packages import require_package

ADMIN = f"{PREFIX}/CERTIFIED"
SETTINGS = 'trusted_proxies = ["127.0.0.1"]\ncertificate_header = "x-client-certificate"'
KEY = rsa.generate_private_key(65537, 2048)
OTHER_KEY = rsa.generate_private_key(65537, 2048)
ANNOUNCED = {"Authorization": 'Handle clientCert="true"'}


class Front(NamedTuple):
    """The address of nginx, the server behind it, and a folder for files."""

    url: str
    office: HandleOffice
    folder: Path

    def client(self, key: rsa.RSAPrivateKey | None = None, cn: str = f"301:{ADMIN}", days: int = 1) -> httpx.Client:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if key is not None:
            pair = write_pair(self.folder, "client", key, certificate(key, subject(cn=cn), days=days))
            context.load_cert_chain(*pair)
        return httpx.Client(base_url=self.url, verify=context, timeout=30)


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    require_package("nginx")
    folder = tmp_path_factory.mktemp("front")
    server_key = rsa.generate_private_key(65537, 2048)
    server_files = write_pair(folder, "server", server_key, certificate(server_key, subject(cn="localhost")))
    with (
        handle_office(folder / "registry", settings=SETTINGS) as office,
        run_proxy(folder / "nginx", office.server.address, *server_files) as url,
    ):
        public = {"index": 301, "type": "HS_PUBKEY", "data": {"format": "base64", "value": b64(wire(KEY))}}
        rights = {"handle": ADMIN, "index": 301, "permissions": "111111111111"}
        admin = {"index": 105, "type": "HS_ADMIN", "data": {"format": "admin", "value": rights}}
        assert office.put(ADMIN, {"values": [public]}, office.key).status_code == 201
        assert office.put(f"0.NA/{PREFIX}", [admin], office.key, index="various").status_code in (200, 201)
        yield Front(url, office, folder)


def create(front: Front, client: httpx.Client, **headers: str) -> int:
    body = {"values": [text(1, "DESC", "a thing")]}
    return client.put(handle_path(front.office.name()), json=body, headers=headers).status_code


def test_a_client_with_the_right_certificate_may_write(front: Front) -> None:
    with front.client(KEY) as client:
        assert create(front, client, **ANNOUNCED) == 201
        assert create(front, client) == 201


def test_clients_without_one_or_with_a_wrong_one_may_read_and_nothing_else(front: Front) -> None:
    for client in (front.client(), front.client(OTHER_KEY), front.client(KEY, cn=f"302:{ADMIN}")):
        with client:
            assert client.get(handle_path(ADMIN)).status_code == 200
            assert create(front, client, **ANNOUNCED) == 401
            assert create(front, client) == 401


def test_an_expired_certificate_is_refused(front: Front) -> None:
    with front.client(KEY, days=-1) as client:
        assert create(front, client, **ANNOUNCED) in (400, 401)


def test_a_header_that_the_client_made_up_does_not_reach_the_server(front: Front) -> None:
    forged = quote(certificate(KEY, subject(cn=f"301:{ADMIN}")).decode(), safe="")
    for name in ("X-Client-Certificate", "x-client-certificate", "X_Client_Certificate"):
        with front.client() as client:
            assert create(front, client, **ANNOUNCED, **{name: forged}) == 401
        with front.client(OTHER_KEY) as client:
            assert create(front, client, **{name: forged}) == 401


def test_other_credentials_pass_and_names_arrive_as_they_were_sent(front: Front) -> None:
    with front.client() as client:
        name = f"{PREFIX}/a%2F%2Fb//c%20+%C3%A9"
        credentials = {"Authorization": f"Bearer {front.office.server.key}"}
        response = client.put(f"/api/handles/{name}", json={"values": []}, headers=credentials)
        assert response.json() == {"responseCode": 1, "handle": f"{PREFIX}/a//b//c +é"}
