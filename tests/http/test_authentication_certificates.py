"""Certificates that a trusted proxy passes on; and headers that only pretend to be."""

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from tests.http.certificates import certificate, subject
from tests.http.handle_client import ADMIN, DSA_KEY, RSA_KEY, Door, door_on
from tests.registry_fixture import NOON

from perdure.errors import BadKey
from perdure.http.refusals import PlainCredentials
from perdure.registry.entities import HandleIdentity
from perdure.registry.handles import delete_values

THEN = datetime.fromtimestamp(int(NOON), timezone.utc)
OTHER_KEY = rsa.generate_private_key(65537, 2048)
PROXY, STRANGER = "10.0.0.1", "192.0.2.7"
TRUSTED = ("10.0.0.0/8",)
CN = subject(cn=f"301:{ADMIN}")
ASKED = {"Authorization": 'Handle clientCert="true"'}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with door_on("sqlite", tmp_path) as one:
        yield one.with_options(trusted_proxies=TRUSTED, certificate_header="X-Client-Certificate")


def passed_on(pem: bytes, client: str = STRANGER) -> dict[str, str]:
    """What the proxy sends."""
    return {
        "X-Client-Certificate": quote(pem.decode(), safe=""),
        "X-Forwarded-For": client,
        "X-Forwarded-Proto": "https",
    }


def is_refused(door: Door, headers: dict[str, str], client: str = PROXY) -> bool:
    try:
        door.ask(headers, client=client)
    except BadKey:
        return True
    return False


@pytest.mark.parametrize(
    ("name", "index"),
    [
        (CN, 301),
        (subject(uid=f"301:{ADMIN}", cn="300:12345/SOMEBODY"), 301),
        (subject(cn=f"0:{ADMIN}"), 301),
        (subject(cn="301:12345/admin"), 301),
    ],
    ids=["CN", "UID before CN", "any index", "other case"],
)
def test_a_certificate_opens_whether_the_client_says_so_or_not(door: Door, name: object, index: int) -> None:
    headers = passed_on(certificate(RSA_KEY, name, now=THEN))  # type: ignore[arg-type]
    for more in ({}, ASKED):
        who = door.ask(headers | more, client=PROXY)
        assert isinstance(who, HandleIdentity)
        assert who.index == index


def test_a_certificate_with_a_dsa_key_opens(door: Door) -> None:
    headers = passed_on(certificate(DSA_KEY, subject(cn=f"302:{ADMIN}"), now=THEN))
    assert isinstance(door.ask(headers | ASKED, client=PROXY), HandleIdentity)


@pytest.mark.parametrize(
    ("key", "name", "days"),
    [
        (OTHER_KEY, CN, 1),
        (ec.generate_private_key(ec.SECP256R1()), CN, 1),
        (RSA_KEY, subject(cn=f"300:{ADMIN}"), 1),
        (RSA_KEY, subject(cn=f"302:{ADMIN}"), 1),
        (RSA_KEY, subject(cn="301:12345/NOBODY"), 1),
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
        "nobody",
        "no identity",
        "UID is none",
        "empty",
        "lapsed",
    ],
)
def test_a_certificate_that_proves_nothing_is_refused_if_meant_and_else_ignored(
    door: Door, key: rsa.RSAPrivateKey, name: object, days: int
) -> None:
    headers = passed_on(certificate(key, name, now=THEN, days=days))  # type: ignore[arg-type]
    assert is_refused(door, headers | ASKED)
    assert door.ask(headers, client=PROXY) is None


@pytest.mark.parametrize("text", ["x", "-----BEGIN%20CERTIFICATE-----", "%FF%FE", "x" * 40_000])
def test_what_is_no_certificate_is_refused(door: Door, text: str) -> None:
    headers = passed_on(b"") | {"X-Client-Certificate": text}
    assert is_refused(door, headers | ASKED)
    assert door.ask(headers, client=PROXY) is None


def test_the_header_says_nothing_unless_a_trusted_proxy_says_it(door: Door) -> None:
    headers = passed_on(certificate(RSA_KEY, CN, now=THEN))
    for client in (STRANGER, "127.0.0.1", "::1"):
        assert door.ask(headers, client=client, scheme="https") is None
        with pytest.raises(BadKey):
            door.ask(headers | ASKED, client=client, scheme="https")
    assert door.with_options().ask(headers, client=PROXY, scheme="https") is None


def test_without_a_certificate_saying_that_there_is_one_is_refused(door: Door) -> None:
    headers = passed_on(b"")
    assert is_refused(door, headers | ASKED)
    assert door.ask(headers, client=PROXY) is None


def test_over_plain_http_a_certificate_cannot_have_been_shown(door: Door) -> None:
    headers = passed_on(certificate(RSA_KEY, CN, now=THEN)) | {"X-Forwarded-Proto": "http"}
    assert door.ask(headers, client=PROXY) is None
    with pytest.raises(PlainCredentials):
        door.ask(headers | ASKED, client=PROXY)


def test_a_page_of_another_site_cannot_use_a_certificate_that_the_browser_shows(door: Door) -> None:
    headers = passed_on(certificate(RSA_KEY, CN, now=THEN))
    assert door.ask(headers | {"Sec-Fetch-Site": "cross-site"}, client=PROXY) is None
    assert door.ask(headers | {"Sec-Fetch-Site": "same-origin"}, client=PROXY) is not None


def test_a_certificate_opens_nothing_once_the_key_is_removed(door: Door) -> None:
    headers = passed_on(certificate(RSA_KEY, CN, now=THEN))
    assert door.ask(headers, client=PROXY) is not None
    door.office.do(delete_values, ADMIN, [301])
    assert door.ask(headers, client=PROXY) is None
    assert is_refused(door, headers | ASKED)


def test_the_header_goes_by_the_name_that_the_settings_give_it(door: Door) -> None:
    headers = passed_on(certificate(RSA_KEY, CN, now=THEN))
    named = {"X-SSL-Cert" if name == "X-Client-Certificate" else name: value for name, value in headers.items()}
    door.with_options(trusted_proxies=TRUSTED, certificate_header="X-SSL-Cert")
    assert door.ask(named, client=PROXY) is not None
    assert door.ask(headers, client=PROXY) is None


def test_no_header_is_believed_unless_the_settings_name_it(door: Door) -> None:
    """A proxy that only takes TLS off passes on what it does not know: whatever its clients send."""
    shown = quote(certificate(RSA_KEY, CN, now=THEN).decode(), safe="")
    door.with_options(trusted_proxies=TRUSTED)
    for name in ("X-Client-Certificate", "X-SSL-Cert", ""):
        headers = passed_on(b"") | {name: shown}
        assert door.ask(headers, client=PROXY) is None
        assert is_refused(door, headers | ASKED)
