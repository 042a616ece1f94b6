"""Client certificates from a trusted proxy, and forged headers."""

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from tests.http.certificates import certificate, subject
from tests.http.handle_client import ADMIN, DSA_KEY, RSA_KEY, AuthenticatorFixture, authenticator_on
from tests.registry_fixture import NOON

from perdure.errors import BadKey
from perdure.http.shared.http_errors import InsecureCredentials
from perdure.registry.entities import HandleIdentity
from perdure.registry.handles import delete_values

THEN = datetime.fromtimestamp(int(NOON), timezone.utc)
OTHER_KEY = rsa.generate_private_key(65537, 2048)
PROXY, STRANGER = "10.0.0.1", "192.0.2.7"
TRUSTED = ("10.0.0.0/8",)
CN = subject(cn=f"301:{ADMIN}")
ANNOUNCED = {"Authorization": 'Handle clientCert="true"'}


@pytest.fixture
def auth(tmp_path: Path) -> Iterator[AuthenticatorFixture]:
    with authenticator_on("sqlite", tmp_path) as fixture:
        yield fixture.with_options(trusted_proxies=TRUSTED, certificate_header="X-Client-Certificate")


def proxy_headers(pem: bytes, client: str = STRANGER) -> dict[str, str]:
    """Return the headers that the proxy sends."""
    return {
        "X-Client-Certificate": quote(pem.decode(), safe=""),
        "X-Forwarded-For": client,
        "X-Forwarded-Proto": "https",
    }


def is_refused(auth: AuthenticatorFixture, headers: dict[str, str], client: str = PROXY) -> bool:
    try:
        auth.authenticate(headers, client=client)
    except BadKey:
        return True
    return False


@pytest.mark.parametrize(
    ("name", "index"),
    [
        (CN, 301),
        (subject(uid=f"301:{ADMIN}", cn="300:12345/OTHER"), 301),
        (subject(cn=f"0:{ADMIN}"), 301),
        (subject(cn="301:12345/admin"), 301),
    ],
    ids=["CN", "UID before CN", "any index", "other case"],
)
def test_a_certificate_is_accepted_with_and_without_a_handle_header(
    auth: AuthenticatorFixture, name: object, index: int
) -> None:
    headers = proxy_headers(certificate(RSA_KEY, name, now=THEN))  # type: ignore[arg-type]
    for more in ({}, ANNOUNCED):
        identity = auth.authenticate(headers | more, client=PROXY)
        assert isinstance(identity, HandleIdentity)
        assert identity.index == index


def test_a_certificate_with_a_dsa_key_is_accepted(auth: AuthenticatorFixture) -> None:
    headers = proxy_headers(certificate(DSA_KEY, subject(cn=f"302:{ADMIN}"), now=THEN))
    assert isinstance(auth.authenticate(headers | ANNOUNCED, client=PROXY), HandleIdentity)


@pytest.mark.parametrize(
    ("key", "name", "days"),
    [
        (OTHER_KEY, CN, 1),
        (ec.generate_private_key(ec.SECP256R1()), CN, 1),
        (RSA_KEY, subject(cn=f"300:{ADMIN}"), 1),
        (RSA_KEY, subject(cn=f"302:{ADMIN}"), 1),
        (RSA_KEY, subject(cn="301:12345/UNKNOWN"), 1),
        (RSA_KEY, subject(cn="www.example.org"), 1),
        (RSA_KEY, subject(uid="jan", cn=f"301:{ADMIN}"), 1),
        (RSA_KEY, subject(), 1),
        (RSA_KEY, CN, -1),
    ],
    ids=[
        "other key",
        "other kind",
        "a password",
        "another's key",
        "unknown handle",
        "no identity",
        "UID is none",
        "empty",
        "expired",
    ],
)
def test_an_invalid_certificate_is_refused_if_announced_and_otherwise_ignored(
    auth: AuthenticatorFixture, key: rsa.RSAPrivateKey, name: object, days: int
) -> None:
    headers = proxy_headers(certificate(key, name, now=THEN, days=days))  # type: ignore[arg-type]
    assert is_refused(auth, headers | ANNOUNCED)
    assert auth.authenticate(headers, client=PROXY) is None


@pytest.mark.parametrize("text", ["x", "-----BEGIN%20CERTIFICATE-----", "%FF%FE", "x" * 40_000])
def test_a_malformed_certificate_is_refused(auth: AuthenticatorFixture, text: str) -> None:
    headers = proxy_headers(b"") | {"X-Client-Certificate": text}
    assert is_refused(auth, headers | ANNOUNCED)
    assert auth.authenticate(headers, client=PROXY) is None


def test_the_header_is_ignored_unless_a_trusted_proxy_sends_it(auth: AuthenticatorFixture) -> None:
    headers = proxy_headers(certificate(RSA_KEY, CN, now=THEN))
    for client in (STRANGER, "127.0.0.1", "::1"):
        for more in ({}, ANNOUNCED):
            assert auth.authenticate(headers | more, client=client, scheme="https") is None
    assert auth.with_options().authenticate(headers, client=PROXY, scheme="https") is None


def test_a_client_that_announces_a_certificate_and_sends_none_is_anonymous(auth: AuthenticatorFixture) -> None:
    """Clients announce it for public reads too, also over plain HTTP."""
    headers = proxy_headers(b"")
    for more in ({}, ANNOUNCED, ANNOUNCED | {"X-Forwarded-Proto": "http"}):
        assert auth.authenticate(headers | more, client=PROXY) is None


def test_a_certificate_over_plain_http_is_not_accepted(auth: AuthenticatorFixture) -> None:
    headers = proxy_headers(certificate(RSA_KEY, CN, now=THEN)) | {"X-Forwarded-Proto": "http"}
    assert auth.authenticate(headers, client=PROXY) is None
    with pytest.raises(InsecureCredentials):
        auth.authenticate(headers | ANNOUNCED, client=PROXY)


def test_a_page_of_another_site_cannot_use_a_certificate_that_the_browser_presents(auth: AuthenticatorFixture) -> None:
    headers = proxy_headers(certificate(RSA_KEY, CN, now=THEN))
    assert auth.authenticate(headers | {"Sec-Fetch-Site": "cross-site"}, client=PROXY) is None
    assert auth.authenticate(headers | {"Sec-Fetch-Site": "same-origin"}, client=PROXY) is not None


def test_a_certificate_is_refused_once_the_key_is_removed(auth: AuthenticatorFixture) -> None:
    headers = proxy_headers(certificate(RSA_KEY, CN, now=THEN))
    assert auth.authenticate(headers, client=PROXY) is not None
    auth.office.do(delete_values, ADMIN, [301])
    assert auth.authenticate(headers, client=PROXY) is None
    assert is_refused(auth, headers | ANNOUNCED)


def test_the_header_has_the_name_from_the_settings(auth: AuthenticatorFixture) -> None:
    headers = proxy_headers(certificate(RSA_KEY, CN, now=THEN))
    renamed = {"X-SSL-Cert" if name == "X-Client-Certificate" else name: value for name, value in headers.items()}
    auth.with_options(trusted_proxies=TRUSTED, certificate_header="X-SSL-Cert")
    assert auth.authenticate(renamed, client=PROXY) is not None
    assert auth.authenticate(headers, client=PROXY) is None


def test_no_header_is_trusted_unless_the_settings_name_it(auth: AuthenticatorFixture) -> None:
    """A proxy that only terminates TLS forwards every unknown header of its clients."""
    forwarded = quote(certificate(RSA_KEY, CN, now=THEN).decode(), safe="")
    auth.with_options(trusted_proxies=TRUSTED)
    for name in ("X-Client-Certificate", "X-SSL-Cert", ""):
        headers = proxy_headers(b"") | {name: forwarded}
        for more in ({}, ANNOUNCED):
            assert auth.authenticate(headers | more, client=PROXY) is None
