"""Proofs of identity as a Handle client computes them, and an authenticator to check them."""

import asyncio
import base64
import hashlib
import hmac
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, padding, rsa
from tests.registry_fixture import Office, locations_on, open_office

from perdure.http.auth import Authenticator
from perdure.http.shared.request import Request
from perdure.http_options import HttpOptions
from perdure.records.value import Binary, Text, Value
from perdure.registry import Agent
from perdure.registry.handles import put_handle
from perdure.registry.secret_box import Sealer

PRIVATE = "1100"
ADMIN = "12345/ADMIN"
PASSWORD = "correct horse"
RSA_KEY = rsa.generate_private_key(65537, 2048)
DSA_KEY = dsa.generate_private_key(1024)  # noqa: S505  (quickly made)


def b64(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


def with_length(octets: bytes) -> bytes:
    return struct.pack(">I", len(octets)) + octets


def natural(number: int) -> bytes:
    return with_length(number.to_bytes(number.bit_length() // 8 + 1, "big"))


def wire(key: rsa.RSAPrivateKey | dsa.DSAPrivateKey) -> bytes:
    """Return the public key in the format of an HS_PUBKEY value."""
    if isinstance(key, rsa.RSAPrivateKey):
        of_rsa = key.public_key().public_numbers()
        return with_length(b"RSA_PUB_KEY") + b"\0\0" + natural(of_rsa.e) + natural(of_rsa.n) + bytes(4)
    of_dsa = key.public_key().public_numbers()
    group = of_dsa.parameter_numbers
    return with_length(b"DSA_PUB_KEY") + b"\0\0" + b"".join(natural(n) for n in (group.q, group.p, group.g, of_dsa.y))


def secret_proof(nonce: bytes, password: str, algorithm: str, **more: Any) -> dict[str, str]:
    cnonce, key = os.urandom(16), password.encode()
    proof = {"type": "HS_SECKEY", "cnonce": b64(cnonce), "alg": algorithm}
    if algorithm == "PBKDF2-HMAC-SHA1":
        salt, iterations, length = os.urandom(16), more.get("iterations", 1000), more.get("length", 160)
        derived = hashlib.pbkdf2_hmac("sha1", key, salt, min(iterations, 1000), length // 8)
        signature = hmac.new(derived, nonce + cnonce, "sha1").digest()
        proof |= {"salt": b64(salt), "iterations": str(iterations), "length": str(length)}
    else:
        used = {"SHA1": hashlib.sha1, "SHA256": hashlib.sha256}[algorithm]
        signature = used(key + nonce + cnonce + key).digest()
    return proof | {"signature": b64(signature)}


def public_proof(nonce: bytes, key: rsa.RSAPrivateKey | dsa.DSAPrivateKey, algorithm: str) -> dict[str, str]:
    cnonce = os.urandom(16)
    used = {"SHA1": hashes.SHA1(), "SHA256": hashes.SHA256()}[algorithm]  # noqa: S303
    signed = nonce + cnonce
    signature = (
        key.sign(signed, padding.PKCS1v15(), used) if isinstance(key, rsa.RSAPrivateKey) else key.sign(signed, used)
    )
    return {"type": "HS_PUBKEY", "cnonce": b64(cnonce), "alg": algorithm, "signature": b64(signature)}


def handle_header(**parameters: str) -> str:
    return "Handle " + ", ".join(f'{name}="{value}"' for name, value in parameters.items())


def basic_header(name: str, password: str | bytes) -> str:
    secret = password.encode() if isinstance(password, str) else password
    return f"Basic {b64(quote(name).encode() + b':' + secret)}"


def request(options: HttpOptions, headers: dict[str, str], client: str, **more: Any) -> Request:
    scope = {
        "type": "http",
        "method": "GET",
        "raw_path": b"/api/handles/12345/ADMIN",
        "query_string": b"",
        "scheme": "http",
        "client": (client, 1),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
    }

    async def receive() -> dict[str, Any]:
        raise AssertionError("authentication does not read the body")

    return Request(scope | more, receive, options)


class AuthenticatorFixture:
    """A registry with an administrator for Handle clients, and an authenticator."""

    def __init__(self, office: Office) -> None:
        self.office = office
        office.registry = office.registry._replace(sealer=Sealer(os.urandom(32)))
        office.prefix("12345", "chosen", case_sensitive=False)
        self.set_keys()
        self.options = HttpOptions()
        self.authenticator = Authenticator(office.registry, self.options)

    def set_keys(self, password: str = PASSWORD, rsa_key: rsa.RSAPrivateKey = RSA_KEY) -> None:
        values = [
            Value(300, "HS_SECKEY", Text(password), permissions=PRIVATE),
            Value(301, "HS_PUBKEY", Binary(wire(rsa_key))),
            Value(302, "HS_PUBKEY", Binary(wire(DSA_KEY))),
            Value(1, "URL", Text("https://example.org/")),
        ]
        self.office.do(put_handle, ADMIN, values)

    def with_options(self, **options: Any) -> "AuthenticatorFixture":
        self.options = HttpOptions(**options)
        self.authenticator = Authenticator(self.office.registry, self.options)
        return self

    def request(self, headers: dict[str, str] | str | None = None, client: str = "127.0.0.1", **more: Any) -> Request:
        if isinstance(headers, str):
            headers = {"Authorization": headers}
        return request(self.options, headers or {}, client, **more)

    def authenticate(
        self, headers: dict[str, str] | str | None = None, client: str = "127.0.0.1", **more: Any
    ) -> Agent | None:
        return self.office.run(self.authenticator.authenticate(self.request(headers, client, **more)))


@contextmanager
def authenticator_on(engine: str, folder: Path) -> Iterator[AuthenticatorFixture]:
    locations = locations_on(engine, folder)
    try:
        with asyncio.Runner() as runner:
            yield AuthenticatorFixture(open_office(runner, locations.open()))
    finally:
        locations.close()
