"""Every way to say who is asking: the right credentials, and those that are almost right."""

import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.http.handle_client import (
    ADMIN,
    DSA_KEY,
    PASSWORD,
    RSA_KEY,
    Door,
    b64,
    basic_header,
    door_on,
    handle_header,
    natural,
    public_proof,
    secret_proof,
    sized,
)
from tests.registry_fixture import ENGINES

from perdure.errors import BadKey
from perdure.http.authentication.credentials import credentials
from perdure.http.authentication.proofs import NOT_PROVEN
from perdure.http.refusals import Malformed, PlainCredentials
from perdure.records.value import Binary, Text, Value
from perdure.registry import new_key, revoke_key
from perdure.registry.entities import HandleIdentity
from perdure.registry.handles import delete_handle, delete_values, put_handle

OTHER_KEY = rsa.generate_private_key(65537, 2048)


@pytest.fixture(params=ENGINES)
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Door]:
    with door_on(request.param, tmp_path) as one:
        yield one


@pytest.fixture
def plain_door(tmp_path: Path) -> Iterator[Door]:
    """Where the store does not matter."""
    with door_on("sqlite", tmp_path) as one:
        yield one


def answered(door: Door, key: object, algorithm: str, id: str = f"300:{ADMIN}", **more: int) -> str:
    """A header with a proof, in a new session."""
    session = door.authenticator.sessions.create()
    if isinstance(key, str):
        proof = secret_proof(session.nonce, key, algorithm, **more)
    else:
        proof = public_proof(session.nonce, key, algorithm)  # type: ignore[arg-type]
    return handle_header(sessionId=session.id, id=id, **proof)


def is_refused(door: Door, header: str, **more: str) -> bool:
    try:
        door.ask(header, **more)
    except BadKey:
        return True
    return False


def test_who_says_nothing_is_nobody(door: Door) -> None:
    assert door.ask() is None


def test_a_key_of_perdure_opens_as_bearer_and_as_a_password(door: Door) -> None:
    assert door.ask(f"Bearer {door.office.key}") == door.office.admin
    assert door.ask(f"bearer  {door.office.key} ") == door.office.admin
    assert door.ask(basic_header("admin", door.office.key)) == door.office.admin
    assert is_refused(door, basic_header("somebody", door.office.key))
    assert is_refused(door, f"Bearer {door.office.key[:-1]}0" if door.office.key[-1] != "0" else "Bearer x")


def test_a_revoked_key_and_one_that_has_lapsed_are_refused_at_once(door: Door) -> None:
    key, token = door.office.do(new_key, "admin")
    _, until = door.office.do(new_key, "admin", expires="2027-01-15T09:00:00Z")
    assert door.ask(f"Bearer {token}") == door.office.admin
    assert door.ask(f"Bearer {until}").id == door.office.admin.id
    door.office.do(revoke_key, key.id)
    assert is_refused(door, f"Bearer {token}")
    door.office.clock.step(3600)
    assert is_refused(door, f"Bearer {until}")


@pytest.mark.parametrize("name", [f"300:{ADMIN}", "300:12345/admin", f"0:{ADMIN}"])
def test_a_password_is_that_of_the_value(door: Door, name: str) -> None:
    who = door.ask(basic_header(name, PASSWORD))
    assert isinstance(who, HandleIdentity)
    assert (who.index, who.name.lower()) == (300, ADMIN.lower())


def test_a_name_may_be_encoded_as_little_as_can_be_and_as_much(door: Door) -> None:
    for name in ("300%3A12345/ADMIN", "300%3a12345%2FADMIN", "%33%30%30%3A12345%2F%41DMIN"):
        assert isinstance(door.ask(f"Basic {b64(f'{name}:{PASSWORD}'.encode())}"), HandleIdentity)


@pytest.mark.parametrize(
    ("name", "password"),
    [
        (f"300:{ADMIN}", PASSWORD[:-1]),
        (f"300:{ADMIN}", PASSWORD + " "),
        (f"300:{ADMIN}", ""),
        (f"301:{ADMIN}", PASSWORD),
        (f"301:{ADMIN}", ""),
        (f"1:{ADMIN}", "https://example.org/"),
        (f"303:{ADMIN}", PASSWORD),
        ("300:12345/NOBODY", PASSWORD),
        ("300:12345/NOBODY", ""),
        ("300:99999/ADMIN", PASSWORD),
        ("300:no handle", PASSWORD),
        ("99999999999:12345/ADMIN", PASSWORD),
        ("-1:12345/ADMIN", PASSWORD),
        (ADMIN, PASSWORD),
        ("", ""),
    ],
)
def test_a_wrong_password_or_identity_is_refused(plain_door: Door, name: str, password: str) -> None:
    assert is_refused(plain_door, basic_header(name, password))


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic",
        "Basic !!!",
        f"Basic {b64(b'no colon')}",
        "Digest x",
        "Bearer",
        "Handle sessionId",
        'Handle a="1", a="2"',
        "Handle " + "x" * 9000,
    ],
)
def test_what_is_no_credential_is_refused(plain_door: Door, header: str) -> None:
    assert is_refused(plain_door, header)


def test_a_password_beyond_ascii_may_come_in_utf_8_or_latin_1(door: Door) -> None:
    door.set_keys("schlüssel")
    for sent in ("schlüssel".encode(), "schlüssel".encode("latin-1")):
        assert isinstance(door.ask(basic_header(f"300:{ADMIN}", sent)), HandleIdentity)
    assert is_refused(door, basic_header(f"300:{ADMIN}", "schlussel"))


def test_a_changed_removed_or_withdrawn_secret_opens_nothing_at_once(door: Door) -> None:
    header = basic_header(f"300:{ADMIN}", PASSWORD)
    assert door.ask(header) is not None
    door.set_keys("another")
    assert is_refused(door, header)
    assert door.ask(basic_header(f"300:{ADMIN}", "another")) is not None
    door.office.do(delete_values, ADMIN, [300])
    assert is_refused(door, basic_header(f"300:{ADMIN}", "another"))
    door.set_keys()
    assert door.ask(header) is not None
    door.office.do(delete_handle, ADMIN)
    assert is_refused(door, header)


@pytest.mark.parametrize("algorithm", ["SHA1", "SHA256", "PBKDF2-HMAC-SHA1"])
def test_a_proof_by_the_secret_key(door: Door, algorithm: str) -> None:
    who = door.ask(answered(door, PASSWORD, algorithm))
    assert isinstance(who, HandleIdentity)
    assert who.id == f"300:{ADMIN}"
    assert is_refused(door, answered(door, PASSWORD[:-1], algorithm))
    assert is_refused(door, answered(door, PASSWORD, algorithm, id=f"301:{ADMIN}"))
    assert is_refused(door, answered(door, PASSWORD, algorithm, id="300:12345/NOBODY"))
    assert is_refused(door, answered(door, PASSWORD, algorithm, id="nobody"))


@pytest.mark.parametrize("algorithm", ["SHA1", "SHA256"])
@pytest.mark.parametrize(("index", "key"), [(301, RSA_KEY), (302, DSA_KEY)], ids=["rsa", "dsa"])
def test_a_proof_by_the_private_key(door: Door, index: int, key: object, algorithm: str) -> None:
    for named in (index, 0):
        who = door.ask(answered(door, key, algorithm, id=f"{named}:{ADMIN}"))
        assert isinstance(who, HandleIdentity)
        assert who.index == index
    assert is_refused(door, answered(door, OTHER_KEY, algorithm, id=f"{index}:{ADMIN}"))
    assert is_refused(door, answered(door, key, algorithm, id=f"300:{ADMIN}"))
    assert is_refused(door, answered(door, key, algorithm, id="301:12345/NOBODY"))


def test_the_name_in_a_proof_may_be_percent_encoded_and_commas_forgotten(plain_door: Door) -> None:
    header = answered(plain_door, PASSWORD, "SHA256", id="300:12345%2FADMIN")
    assert plain_door.ask(header) is not None
    header = answered(plain_door, PASSWORD, "SHA256").replace('", ', '" ')
    assert plain_door.ask(header) is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("type", "HS_ADMIN"),
        ("alg", "MD5"),
        ("alg", ""),
        ("cnonce", "?"),
        ("cnonce", b64(bytes(300))),
        ("signature", "?"),
        ("iterations", "0"),
        ("iterations", "100001"),
        ("iterations", "1e3"),
        ("iterations", "-1"),
        ("iterations", "9" * 30),
        ("length", "7"),
        ("length", "161"),
        ("length", "264"),
        ("length", "1000000"),
        ("salt", ""),
        ("id", ""),
    ],
)
def test_a_proof_that_is_malformed_or_costs_too_much_is_refused_before_it_is_computed(
    plain_door: Door, name: str, value: str
) -> None:
    session = plain_door.authenticator.sessions.create()
    proof = secret_proof(session.nonce, PASSWORD, "PBKDF2-HMAC-SHA1") | {"id": f"300:{ADMIN}", name: value}
    with pytest.raises(BadKey) as refusal:
        plain_door.ask(handle_header(sessionId=session.id, **proof))
    assert refusal.value.reason != NOT_PROVEN
    assert name in refusal.value.reason


def test_a_proof_for_another_number_is_refused(plain_door: Door) -> None:
    one, other = (plain_door.authenticator.sessions.create() for _ in range(2))
    proof = secret_proof(one.nonce, PASSWORD, "SHA256")
    assert is_refused(plain_door, handle_header(sessionId=other.id, id=f"300:{ADMIN}", **proof))
    assert plain_door.ask(handle_header(sessionId=one.id, id=f"300:{ADMIN}", **proof)) is not None


def prime(bits: int) -> int:
    """Good enough for a test."""
    while True:
        number = secrets.randbits(bits) | 3 << (bits - 2) | 1
        if all(pow(base, number - 1, number) == 1 for base in (2, 3, 5, 7)) and (number - 1) % 65537:
            return number


@pytest.mark.parametrize(("bits", "is_enough"), [(1024, True), (768, False)])
def test_a_key_that_anybody_could_take_apart_is_no_key(plain_door: Door, bits: int, is_enough: bool) -> None:
    """The signature is made by hand, because no library makes one with so short a key any more."""
    p, q = prime(bits // 2), prime(bits // 2)
    n = p * q
    key = sized(b"RSA_PUB_KEY") + b"\0\0" + natural(65537) + natural(n) + bytes(4)
    plain_door.office.do(put_handle, "12345/short", [Value(1, "HS_PUBKEY", Binary(key))])
    session = plain_door.authenticator.sessions.create()
    cnonce = secrets.token_bytes(16)
    hashed = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(session.nonce + cnonce).digest()
    padded = b"\0\1" + b"\xff" * (bits // 8 - 3 - len(hashed)) + b"\0" + hashed
    signature = pow(int.from_bytes(padded, "big"), pow(65537, -1, (p - 1) * (q - 1)), n).to_bytes(bits // 8, "big")
    proof = {"type": "HS_PUBKEY", "alg": "SHA256", "cnonce": b64(cnonce), "signature": b64(signature)}
    header = handle_header(sessionId=session.id, id="1:12345/short", **proof)
    assert is_refused(plain_door, header) is not is_enough


def test_credentials_over_plain_http_are_not_looked_at(plain_door: Door) -> None:
    headers = [
        f"Bearer {plain_door.office.key}",
        basic_header(f"300:{ADMIN}", PASSWORD),
        answered(plain_door, PASSWORD, "SHA256"),
    ]
    for header in headers:
        with pytest.raises(PlainCredentials):
            plain_door.ask(header, client="192.0.2.7")
        assert plain_door.ask(header, client="192.0.2.7", scheme="https") is not None
    for header in headers[:2]:
        assert plain_door.ask(header, client="::1") is not None
        assert plain_door.with_options(plain_credentials=True).ask(header, client="192.0.2.7") is not None


def test_a_proxy_that_nobody_trusts_is_not_this_machine(plain_door: Door) -> None:
    shown = {"Authorization": f"Bearer {plain_door.office.key}"}
    for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"):
        with pytest.raises(PlainCredentials):
            plain_door.ask(shown | {name: "192.0.2.7"})
    trusting = plain_door.with_options(trusted_proxies=("127.0.0.1",))
    assert trusting.ask(shown | {"X-Forwarded-For": "127.0.0.2"}) is not None
    assert trusting.ask(shown | {"Forwarded": "for=127.0.0.2"}) is not None
    for unnamed in ({}, {"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}, {"Via": "1.1 proxy"}):
        with pytest.raises(PlainCredentials):
            trusting.ask(shown | unnamed)
    with pytest.raises(PlainCredentials):
        trusting.ask(shown | {"X-Forwarded-For": "192.0.2.7"})
    assert trusting.ask(shown | {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}) is not None


def test_a_page_of_another_site_cannot_use_what_a_browser_remembers(plain_door: Door) -> None:
    shown = {"Authorization": basic_header(f"300:{ADMIN}", PASSWORD), "Host": "registry.example"}
    assert plain_door.ask(shown | {"Sec-Fetch-Site": "same-origin"}) is not None
    assert plain_door.ask(shown | {"Origin": "http://registry.example"}) is not None
    assert plain_door.ask(shown | {"Sec-Fetch-Site": "cross-site"}) is None
    assert plain_door.ask(shown | {"Sec-Fetch-Site": "same-site"}) is None
    assert plain_door.ask(shown | {"Origin": "http://evil.example"}) is None
    assert plain_door.ask(shown | {"Origin": "null"}) is None


def test_two_different_headers_are_refused(plain_door: Door) -> None:
    asking = plain_door.request(f"Bearer {plain_door.office.key}")
    asking.headers.append((b"authorization", b"Bearer another"))
    with pytest.raises(Malformed):
        plain_door.office.run(plain_door.authenticator.actor(asking))


def test_nothing_shows_a_secret(plain_door: Door) -> None:
    header = answered(plain_door, PASSWORD, "SHA256")
    session = plain_door.authenticator.sessions.create()
    shown = [repr(credentials(one)) for one in (f"Bearer {plain_door.office.key}", basic_header("a", PASSWORD), header)]
    shown.append(repr(session))
    for wrong in (
        f"Bearer {plain_door.office.key}x",
        basic_header(f"300:{ADMIN}", "hunter2"),
        answered(plain_door, "hunter2", "SHA256"),
    ):
        with pytest.raises(BadKey) as refusal:
            plain_door.ask(wrong)
        shown += [str(refusal.value), repr(refusal.value)]
    for text in shown:
        for secret in (plain_door.office.key[20:], PASSWORD, "hunter2", session.id):
            assert secret not in text


def test_whom_nobody_knows_is_told_the_same_as_who_is_wrong(plain_door: Door) -> None:
    told = set()
    for name in (f"300:{ADMIN}", "300:12345/NOBODY", "300:99999/X", "300:x"):
        for header in (basic_header(name, "wrong"), answered(plain_door, "wrong", "SHA256", id=name)):
            with pytest.raises(BadKey) as refusal:
                plain_door.ask(header)
            told.add(str(refusal.value))
    assert len(told) == 1


def test_a_secret_of_a_value_that_became_something_else_opens_nothing(door: Door) -> None:
    door.office.do(put_handle, ADMIN, [Value(300, "DESC", Text(PASSWORD))])
    assert is_refused(door, basic_header(f"300:{ADMIN}", PASSWORD))
