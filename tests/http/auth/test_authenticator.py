"""Authentication of requests: valid credentials of every kind, and credentials that are almost valid."""

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
    AuthenticatorFixture,
    authenticator_on,
    b64,
    basic_header,
    handle_header,
    natural,
    public_proof,
    secret_proof,
    with_length,
)
from tests.registry_fixture import ENGINES

from perdure.errors import BadKey
from perdure.http.auth.challenge_response import NOT_PROVEN
from perdure.http.auth.credentials import parse_authorization
from perdure.http.shared.http_errors import InsecureCredentials, MalformedRequest
from perdure.records.value import Binary, Text, Value
from perdure.registry import new_key, revoke_key
from perdure.registry.entities import HandleIdentity
from perdure.registry.handles import delete_handle, delete_values, put_handle

OTHER_KEY = rsa.generate_private_key(65537, 2048)


@pytest.fixture(params=ENGINES)
def auth(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AuthenticatorFixture]:
    with authenticator_on(request.param, tmp_path) as fixture:
        yield fixture


@pytest.fixture
def sqlite_auth(tmp_path: Path) -> Iterator[AuthenticatorFixture]:
    """An authenticator on SQLite, for tests that do not depend on the store."""
    with authenticator_on("sqlite", tmp_path) as fixture:
        yield fixture


def proof_header(auth: AuthenticatorFixture, key: object, algorithm: str, id: str = f"300:{ADMIN}", **more: int) -> str:
    """Return a header with a proof, in a new session."""
    session = auth.authenticator.sessions.create()
    if isinstance(key, str):
        proof = secret_proof(session.nonce, key, algorithm, **more)
    else:
        proof = public_proof(session.nonce, key, algorithm)  # type: ignore[arg-type]
    return handle_header(sessionId=session.id, id=id, **proof)


def is_refused(auth: AuthenticatorFixture, header: str, **more: str) -> bool:
    try:
        auth.authenticate(header, **more)
    except BadKey:
        return True
    return False


def test_a_request_without_credentials_is_anonymous(auth: AuthenticatorFixture) -> None:
    assert auth.authenticate() is None


def test_a_key_of_perdure_is_accepted_as_bearer_and_as_a_password(auth: AuthenticatorFixture) -> None:
    assert auth.authenticate(f"Bearer {auth.office.key}") == auth.office.admin
    assert auth.authenticate(f"bearer  {auth.office.key} ") == auth.office.admin
    assert auth.authenticate(basic_header("admin", auth.office.key)) == auth.office.admin
    assert is_refused(auth, basic_header("other", auth.office.key))
    assert is_refused(auth, f"Bearer {auth.office.key[:-1]}0" if auth.office.key[-1] != "0" else "Bearer x")


def test_a_revoked_key_and_an_expired_key_are_refused_at_once(auth: AuthenticatorFixture) -> None:
    key, token = auth.office.do(new_key, "admin")
    _, until = auth.office.do(new_key, "admin", expires="2027-01-15T09:00:00Z")
    assert auth.authenticate(f"Bearer {token}") == auth.office.admin
    assert auth.authenticate(f"Bearer {until}").id == auth.office.admin.id
    auth.office.do(revoke_key, key.id)
    assert is_refused(auth, f"Bearer {token}")
    auth.office.clock.step(3600)
    assert is_refused(auth, f"Bearer {until}")


@pytest.mark.parametrize("name", [f"300:{ADMIN}", "300:12345/admin", f"0:{ADMIN}", ADMIN, "12345/admin"])
def test_a_password_is_that_of_the_value(auth: AuthenticatorFixture, name: str) -> None:
    identity = auth.authenticate(basic_header(name, PASSWORD))
    assert isinstance(identity, HandleIdentity)
    assert (identity.index, identity.name.lower()) == (300, ADMIN.lower())


def test_a_name_may_be_percent_encoded_partly_or_fully(auth: AuthenticatorFixture) -> None:
    for name in ("300%3A12345/ADMIN", "300%3a12345%2FADMIN", "%33%30%30%3A12345%2F%41DMIN"):
        assert isinstance(auth.authenticate(f"Basic {b64(f'{name}:{PASSWORD}'.encode())}"), HandleIdentity)


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
        ("300:12345/UNKNOWN", PASSWORD),
        ("300:12345/UNKNOWN", ""),
        ("300:99999/ADMIN", PASSWORD),
        ("300:no handle", PASSWORD),
        ("99999999999:12345/ADMIN", PASSWORD),
        ("-1:12345/ADMIN", PASSWORD),
        (ADMIN, PASSWORD[:-1]),
        ("12345/UNKNOWN", PASSWORD),
        ("ADMIN", PASSWORD),
        ("", ""),
    ],
)
def test_a_wrong_password_or_identity_is_refused(sqlite_auth: AuthenticatorFixture, name: str, password: str) -> None:
    assert is_refused(sqlite_auth, basic_header(name, password))


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
def test_a_malformed_credential_is_refused(sqlite_auth: AuthenticatorFixture, header: str) -> None:
    assert is_refused(sqlite_auth, header)


def test_a_password_beyond_ascii_may_come_in_utf_8_or_latin_1(auth: AuthenticatorFixture) -> None:
    auth.set_keys("schlüssel")
    for password in ("schlüssel".encode(), "schlüssel".encode("latin-1")):
        assert isinstance(auth.authenticate(basic_header(f"300:{ADMIN}", password)), HandleIdentity)
    assert is_refused(auth, basic_header(f"300:{ADMIN}", "schlussel"))


def test_a_changed_removed_or_withdrawn_secret_is_refused_at_once(auth: AuthenticatorFixture) -> None:
    header = basic_header(f"300:{ADMIN}", PASSWORD)
    assert auth.authenticate(header) is not None
    auth.set_keys("another")
    assert is_refused(auth, header)
    assert auth.authenticate(basic_header(f"300:{ADMIN}", "another")) is not None
    auth.office.do(delete_values, ADMIN, [300])
    assert is_refused(auth, basic_header(f"300:{ADMIN}", "another"))
    auth.set_keys()
    assert auth.authenticate(header) is not None
    auth.office.do(delete_handle, ADMIN)
    assert is_refused(auth, header)


@pytest.mark.parametrize("algorithm", ["SHA1", "SHA256", "PBKDF2-HMAC-SHA1"])
def test_a_proof_by_the_secret_key(auth: AuthenticatorFixture, algorithm: str) -> None:
    identity = auth.authenticate(proof_header(auth, PASSWORD, algorithm))
    assert isinstance(identity, HandleIdentity)
    assert identity.id == f"300:{ADMIN}"
    assert is_refused(auth, proof_header(auth, PASSWORD[:-1], algorithm))
    assert is_refused(auth, proof_header(auth, PASSWORD, algorithm, id=f"301:{ADMIN}"))
    assert is_refused(auth, proof_header(auth, PASSWORD, algorithm, id="300:12345/UNKNOWN"))
    assert is_refused(auth, proof_header(auth, PASSWORD, algorithm, id="unknown"))


@pytest.mark.parametrize("algorithm", ["SHA1", "SHA256"])
@pytest.mark.parametrize(("index", "key"), [(301, RSA_KEY), (302, DSA_KEY)], ids=["rsa", "dsa"])
def test_a_proof_by_the_private_key(auth: AuthenticatorFixture, index: int, key: object, algorithm: str) -> None:
    for requested in (index, 0):
        identity = auth.authenticate(proof_header(auth, key, algorithm, id=f"{requested}:{ADMIN}"))
        assert isinstance(identity, HandleIdentity)
        assert identity.index == index
    assert is_refused(auth, proof_header(auth, OTHER_KEY, algorithm, id=f"{index}:{ADMIN}"))
    assert is_refused(auth, proof_header(auth, key, algorithm, id=f"300:{ADMIN}"))
    assert is_refused(auth, proof_header(auth, key, algorithm, id="301:12345/UNKNOWN"))


def test_the_name_in_a_proof_may_be_percent_encoded_and_commas_may_be_missing(
    sqlite_auth: AuthenticatorFixture,
) -> None:
    header = proof_header(sqlite_auth, PASSWORD, "SHA256", id="300:12345%2FADMIN")
    assert sqlite_auth.authenticate(header) is not None
    header = proof_header(sqlite_auth, PASSWORD, "SHA256").replace('", ', '" ')
    assert sqlite_auth.authenticate(header) is not None


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
    sqlite_auth: AuthenticatorFixture, name: str, value: str
) -> None:
    session = sqlite_auth.authenticator.sessions.create()
    proof = secret_proof(session.nonce, PASSWORD, "PBKDF2-HMAC-SHA1") | {"id": f"300:{ADMIN}", name: value}
    with pytest.raises(BadKey) as refusal:
        sqlite_auth.authenticate(handle_header(sessionId=session.id, **proof))
    assert refusal.value.reason != NOT_PROVEN
    assert name in refusal.value.reason


@pytest.mark.parametrize("id", [f"0:{ADMIN}", ADMIN])
def test_a_proof_of_an_identity_without_an_index_is_that_of_the_key(sqlite_auth: AuthenticatorFixture, id: str) -> None:
    for index in (300, 301):
        session = sqlite_auth.authenticator.sessions.create()
        by_secret = secret_proof(session.nonce, PASSWORD, "SHA256")
        proof = by_secret if index == 300 else public_proof(session.nonce, RSA_KEY, "SHA256")
        identity = sqlite_auth.authenticate(handle_header(sessionId=session.id, id=id, **proof))
        assert isinstance(identity, HandleIdentity)
        assert identity.index == index


def test_base64_in_credentials_may_lack_its_padding(sqlite_auth: AuthenticatorFixture) -> None:
    whole = b64(f"300%3A{ADMIN}:{PASSWORD}".encode())
    assert whole.endswith("=")
    assert isinstance(sqlite_auth.authenticate(f"Basic {whole.rstrip('=')}"), HandleIdentity)
    assert is_refused(sqlite_auth, f"Basic {whole.rstrip('=')[:-1]}")


def test_names_of_parameters_are_compared_without_case(sqlite_auth: AuthenticatorFixture) -> None:
    session = sqlite_auth.authenticator.sessions.create()
    proof = secret_proof(session.nonce, PASSWORD, "SHA256")
    header = handle_header(sessionID=session.id, ID=f"300:{ADMIN}", **{name.upper(): proof[name] for name in proof})
    assert isinstance(sqlite_auth.authenticate(header), HandleIdentity)
    assert is_refused(sqlite_auth, f'{header}, sessionId="{session.id}"')


def test_a_proof_for_another_nonce_is_refused(sqlite_auth: AuthenticatorFixture) -> None:
    session, other = (sqlite_auth.authenticator.sessions.create() for _ in range(2))
    proof = secret_proof(session.nonce, PASSWORD, "SHA256")
    assert is_refused(sqlite_auth, handle_header(sessionId=other.id, id=f"300:{ADMIN}", **proof))
    assert sqlite_auth.authenticate(handle_header(sessionId=session.id, id=f"300:{ADMIN}", **proof)) is not None


def random_prime(bits: int) -> int:
    """Return a probable prime: good enough for a test."""
    while True:
        number = secrets.randbits(bits) | 3 << (bits - 2) | 1
        if all(pow(base, number - 1, number) == 1 for base in (2, 3, 5, 7)) and (number - 1) % 65537:
            return number


@pytest.mark.parametrize(("bits", "is_enough"), [(1024, True), (768, False)])
def test_a_key_that_is_too_short_is_refused(sqlite_auth: AuthenticatorFixture, bits: int, is_enough: bool) -> None:
    """The test computes the signature itself, because libraries refuse to sign with such a short key."""
    p, q = random_prime(bits // 2), random_prime(bits // 2)
    n = p * q
    key = with_length(b"RSA_PUB_KEY") + b"\0\0" + natural(65537) + natural(n) + bytes(4)
    sqlite_auth.office.do(put_handle, "12345/short", [Value(1, "HS_PUBKEY", Binary(key))])
    session = sqlite_auth.authenticator.sessions.create()
    cnonce = secrets.token_bytes(16)
    hashed = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(session.nonce + cnonce).digest()
    padded = b"\0\1" + b"\xff" * (bits // 8 - 3 - len(hashed)) + b"\0" + hashed
    signature = pow(int.from_bytes(padded, "big"), pow(65537, -1, (p - 1) * (q - 1)), n).to_bytes(bits // 8, "big")
    proof = {"type": "HS_PUBKEY", "alg": "SHA256", "cnonce": b64(cnonce), "signature": b64(signature)}
    header = handle_header(sessionId=session.id, id="1:12345/short", **proof)
    assert is_refused(sqlite_auth, header) is not is_enough


def test_credentials_over_plain_http_are_not_checked(sqlite_auth: AuthenticatorFixture) -> None:
    headers = [
        f"Bearer {sqlite_auth.office.key}",
        basic_header(f"300:{ADMIN}", PASSWORD),
        proof_header(sqlite_auth, PASSWORD, "SHA256"),
    ]
    for header in headers:
        with pytest.raises(InsecureCredentials):
            sqlite_auth.authenticate(header, client="192.0.2.7")
        assert sqlite_auth.authenticate(header, client="192.0.2.7", scheme="https") is not None
    for header in headers[:2]:
        assert sqlite_auth.authenticate(header, client="::1") is not None
        assert sqlite_auth.with_options(plain_credentials=True).authenticate(header, client="192.0.2.7") is not None


def test_an_untrusted_proxy_is_not_this_machine(sqlite_auth: AuthenticatorFixture) -> None:
    credentials = {"Authorization": f"Bearer {sqlite_auth.office.key}"}
    for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"):
        with pytest.raises(InsecureCredentials):
            sqlite_auth.authenticate(credentials | {name: "192.0.2.7"})
    trusting = sqlite_auth.with_options(trusted_proxies=("127.0.0.1",))
    assert trusting.authenticate(credentials | {"X-Forwarded-For": "127.0.0.2"}) is not None
    assert trusting.authenticate(credentials | {"Forwarded": "for=127.0.0.2"}) is not None
    for headers in ({}, {"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}, {"Via": "1.1 proxy"}):
        with pytest.raises(InsecureCredentials):
            trusting.authenticate(credentials | headers)
    with pytest.raises(InsecureCredentials):
        trusting.authenticate(credentials | {"X-Forwarded-For": "192.0.2.7"})
    assert (
        trusting.authenticate(credentials | {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}) is not None
    )


def test_a_page_of_another_site_cannot_use_credentials_that_a_browser_remembers(
    sqlite_auth: AuthenticatorFixture,
) -> None:
    credentials = {"Authorization": basic_header(f"300:{ADMIN}", PASSWORD), "Host": "registry.example"}
    assert sqlite_auth.authenticate(credentials | {"Sec-Fetch-Site": "same-origin"}) is not None
    assert sqlite_auth.authenticate(credentials | {"Origin": "http://registry.example"}) is not None
    assert sqlite_auth.authenticate(credentials | {"Sec-Fetch-Site": "cross-site"}) is None
    assert sqlite_auth.authenticate(credentials | {"Sec-Fetch-Site": "same-site"}) is None
    assert sqlite_auth.authenticate(credentials | {"Origin": "http://evil.example"}) is None
    assert sqlite_auth.authenticate(credentials | {"Origin": "null"}) is None


def test_two_different_headers_are_refused(sqlite_auth: AuthenticatorFixture) -> None:
    request = sqlite_auth.request(f"Bearer {sqlite_auth.office.key}")
    request.headers.append((b"authorization", b"Bearer another"))
    with pytest.raises(MalformedRequest):
        sqlite_auth.office.run(sqlite_auth.authenticator.authenticate(request))


def test_no_representation_and_no_error_contains_a_secret(sqlite_auth: AuthenticatorFixture) -> None:
    header = proof_header(sqlite_auth, PASSWORD, "SHA256")
    session = sqlite_auth.authenticator.sessions.create()
    texts = [
        repr(parse_authorization(credential))
        for credential in (f"Bearer {sqlite_auth.office.key}", basic_header("a", PASSWORD), header)
    ]
    texts.append(repr(session))
    for wrong in (
        f"Bearer {sqlite_auth.office.key}x",
        basic_header(f"300:{ADMIN}", "hunter2"),
        proof_header(sqlite_auth, "hunter2", "SHA256"),
    ):
        with pytest.raises(BadKey) as refusal:
            sqlite_auth.authenticate(wrong)
        texts += [str(refusal.value), repr(refusal.value)]
    for text in texts:
        for secret in (sqlite_auth.office.key[20:], PASSWORD, "hunter2", session.id):
            assert secret not in text


def test_an_unknown_identity_and_a_wrong_secret_get_the_same_error(sqlite_auth: AuthenticatorFixture) -> None:
    errors = set()
    for name in (f"300:{ADMIN}", "300:12345/UNKNOWN", "300:99999/X", "300:x"):
        for header in (basic_header(name, "wrong"), proof_header(sqlite_auth, "wrong", "SHA256", id=name)):
            with pytest.raises(BadKey) as refusal:
                sqlite_auth.authenticate(header)
            errors.add(str(refusal.value))
    assert len(errors) == 1


def test_the_secret_of_a_value_whose_type_has_changed_is_refused(auth: AuthenticatorFixture) -> None:
    auth.office.do(put_handle, ADMIN, [Value(300, "DESC", Text(PASSWORD))])
    assert is_refused(auth, basic_header(f"300:{ADMIN}", PASSWORD))
