"""Public keys: the bytes of Handle servers, and the JWK of their clients."""

from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.records.public_key import DsaKey, PublicKey, RsaKey, from_jwk, from_wire, to_jwk, to_wire

numbers = st.integers(0, 1 << 4096)
keys = st.one_of(st.builds(RsaKey, numbers, numbers), st.builds(DsaKey, numbers, numbers, numbers, numbers))


def with_length(raw: bytes) -> bytes:
    return len(raw).to_bytes(4, "big") + raw


@given(keys)
def test_a_key_is_read_back_from_a_jwk_and_from_bytes(key: PublicKey) -> None:
    assert from_wire(to_wire(key)) == key
    assert from_jwk(to_jwk(key)) == key
    assert to_wire(from_jwk(to_jwk(from_wire(to_wire(key))))) == to_wire(key)


def test_the_bytes_have_the_layout_of_handle_servers() -> None:
    rsa = (
        with_length(b"RSA_PUB_KEY")
        + b"\0\0"
        + with_length(b"\x01\x00\x01")
        + with_length(b"\x00\xc5\x21\x9b")
        + bytes(4)
    )
    assert from_wire(rsa) == RsaKey(n=0xC5219B, e=65537)
    assert to_wire(RsaKey(n=0xC5219B, e=65537)) == rsa
    parts = b"".join(with_length(bytes([part])) for part in (7, 13, 2, 5))
    dsa = with_length(b"DSA_PUB_KEY") + b"\0\0" + parts
    assert from_wire(dsa) == DsaKey(y=5, p=13, q=7, g=2)
    assert to_wire(DsaKey(y=5, p=13, q=7, g=2)) == dsa


def test_a_jwk_is_written_without_padding_and_without_leading_zeros() -> None:
    assert to_jwk(RsaKey(n=0xC5219B, e=65537)) == {"kty": "RSA", "n": "xSGb", "e": "AQAB"}
    padded = {"kty": "RSA", "n": urlsafe_b64encode(b"\x00\xc5\x21\x9b").decode(), "e": "AQAB="}
    assert from_jwk(padded) == RsaKey(n=0xC5219B, e=65537)


@given(st.binary(max_size=60))
def test_other_bytes_are_refused(raw: bytes) -> None:
    with pytest.raises(InvalidInput):
        from_wire(raw)


@given(keys, st.data())
def test_a_key_that_is_too_short_or_too_long_is_refused(key: PublicKey, data: st.DataObject) -> None:
    wire = to_wire(key)
    end = data.draw(st.integers(0, len(wire) - (5 if isinstance(key, RsaKey) else 1)))
    for wrong in (wire[:end], wire + b"\0"):
        with pytest.raises(InvalidInput):
            from_wire(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "key",
        {},
        {"kty": "EC"},
        {"kty": "RSA", "n": "xSGb"},
        {"kty": "RSA", "n": 5, "e": "AQAB"},
        {"kty": "RSA", "n": "", "e": "AQAB"},
        {"kty": "RSA", "n": "é", "e": "AQAB"},
        {"kty": "RSA", "n": "*!*", "e": "AQAB"},
        {"kty": "RSA", "n": "A", "e": "AQAB"},
        {"kty": "RSA", "n": "AAAA" * 2000, "e": "AQAB"},
        {"kty": ["RSA"], "n": "xSGb", "e": "AQAB"},
    ],
)
def test_an_invalid_jwk_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInput):
        from_jwk(wrong)


def test_a_key_with_a_negative_number_is_refused() -> None:
    with pytest.raises(InvalidInput, match="negative"):
        from_wire(with_length(b"RSA_PUB_KEY") + b"\0\0" + with_length(b"\xff") + with_length(b"\x05") + bytes(4))
