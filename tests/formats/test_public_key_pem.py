"""Public keys in PEM files."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from tests.http.certificates import certificate, private_pem, subject

from perdure.errors import InvalidInput, OutOfRange
from perdure.formats.public_key_pem import parse_pem
from perdure.records.public_key import DsaKey, RsaKey, from_wire, to_wire

RSA = rsa.generate_private_key(65537, 2048)
DSA = dsa.generate_private_key(1024)  # noqa: S505  (as older Handle servers made them, and quick)


def public_pem(key: Any, format: PublicFormat = PublicFormat.SubjectPublicKeyInfo) -> bytes:
    data: bytes = key.public_key().public_bytes(Encoding.PEM, format)
    return data


def test_keys_and_certificates_are_read() -> None:
    numbers = RSA.public_key().public_numbers()
    expected = RsaKey(numbers.n, numbers.e)
    for data in (public_pem(RSA), public_pem(RSA, PublicFormat.PKCS1), certificate(RSA, subject(cn="300:12345/A"))):
        assert parse_pem(data) == expected
    assert from_wire(to_wire(expected)) == expected
    found = parse_pem(public_pem(DSA))
    assert isinstance(found, DsaKey)
    assert from_wire(to_wire(found)) == found


def test_a_private_key_is_refused_and_not_repeated() -> None:
    data = private_pem(RSA)
    with pytest.raises(InvalidInput, match="private key") as refusal:
        parse_pem(data)
    assert data.decode().split("\n")[1] not in str(refusal.value)


def test_keys_that_the_server_does_not_accept_are_refused() -> None:
    with pytest.raises(InvalidInput, match="RSA and DSA"):
        parse_pem(public_pem(ec.generate_private_key(ec.SECP256R1())))
    small = (
        b"-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf\n"
        b"9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit+CqvjWYzvQwECAwEAAQ==\n-----END PUBLIC KEY-----\n"
    )
    with pytest.raises(OutOfRange, match="512 bits"):
        parse_pem(small)


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda data: b"-----BEGIN CERTIFICATE-----\n" + data))
def test_other_data_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        parse_pem(data)
