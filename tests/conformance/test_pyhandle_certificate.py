"""pyhandle with a client certificate, through nginx: it creates, changes and deletes a handle."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from pyhandle.client.resthandleclient import RESTHandleClient
from pyhandle.handleexceptions import HandleAuthenticationError
from tests.http.certificates import certificate, subject, write_pair
from tests.http.handle_client import b64, wire
from tests.http.live_server import run_server
from tests.http.proxy import run_proxy
from tests.system_packages import require_package

PREFIX = "21.T14999"
ADMIN = f"{PREFIX}/ADMIN"
SETTINGS = 'trusted_proxies = ["127.0.0.1"]\ncertificate_header = "x-client-certificate"'
KEY = rsa.generate_private_key(65537, 2048)
PERMISSIONS = "111111111111"

pytestmark = pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of nginx, in front of a server with an administrator and its public key."""
    require_package("nginx")
    folder = tmp_path_factory.mktemp("front")
    server_key = rsa.generate_private_key(65537, 2048)
    own = write_pair(folder, "server", server_key, certificate(server_key, subject(cn="localhost")))
    rights = {"handle": ADMIN, "index": 300, "permissions": PERMISSIONS}
    admin = {"index": 101, "type": "HS_ADMIN", "data": {"format": "admin", "value": rights}}
    public = {"index": 300, "type": "HS_PUBKEY", "data": {"format": "base64", "value": b64(wire(KEY))}}
    with (
        run_server(folder / "registry", settings=SETTINGS) as server,
        run_proxy(folder / "nginx", server.address, *own) as front,
    ):
        with server.client() as client:
            assert client.post(f"/api/prefixes/0.NA/{PREFIX}").status_code == 201
            assert client.put(f"/api/handles/{ADMIN}", json={"values": [admin, public]}).status_code == 201
            allowed = client.put(f"/api/handles/0.NA/{PREFIX}?index=various", json=[admin])
            assert allowed.json()["responseCode"] == 1, allowed.text
        yield front


def client_with(url: str, folder: Path, key: rsa.RSAPrivateKey) -> RESTHandleClient:
    pair = write_pair(folder, "client", key, certificate(key, subject(cn=f"300:{ADMIN}")))
    return RESTHandleClient(
        handle_server_url=url,
        HTTPS_verify=False,
        certificate_only=str(pair[0]),
        private_key=str(pair[1]),
        handleowner=f"300:{ADMIN}",
    )


def test_a_handle_is_created_changed_and_deleted(url: str, tmp_path: Path) -> None:
    client = client_with(url, tmp_path, KEY)
    name = f"{PREFIX}/by-certificate"
    assert client.register_handle(name, "https://example.org/one") == name
    client.modify_handle_value(name, URL="https://example.org/two")
    assert client.get_value_from_handle(name, "URL") == "https://example.org/two"
    client.delete_handle(name)
    assert client.retrieve_handle_record_json(name) is None


def test_another_key_under_the_same_name_creates_nothing(url: str, tmp_path: Path) -> None:
    client = client_with(url, tmp_path, rsa.generate_private_key(65537, 2048))
    name = f"{PREFIX}/by-an-impostor"
    with pytest.raises(HandleAuthenticationError):
        client.register_handle(name, "https://example.org/")
    assert client.retrieve_handle_record_json(name) is None
