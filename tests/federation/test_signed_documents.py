"""Canonical JSON, and documents that are signed."""

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from perdure.federation import canonical_json
from perdure.federation.signed_documents import SIGNATURE, BadSignature, sign_document, verify_document
from perdure.registry.server_key import ServerKey

WHOLE = st.integers(-(2**53) + 1, 2**53 - 1)
KEYS = st.text(st.characters(max_codepoint=127), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | WHOLE | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)
DOCUMENTS = st.dictionaries(KEYS.filter(lambda key: key != SIGNATURE), VALUES, max_size=5)


def key(number: int) -> ServerKey:
    seed = bytes([number]) * 32
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    return ServerKey(seed, urlsafe_b64encode(public).rstrip(b"=").decode())


OURS, OTHER = key(1), key(2)


@given(DOCUMENTS)
def test_a_signed_document_is_verified_with_its_key_alone(document: dict[str, Any]) -> None:
    body = sign_document(OURS, document)
    assert verify_document(body, OURS.public) == document
    with pytest.raises(BadSignature):
        verify_document(body, OTHER.public)


@given(VALUES)
def test_canonical_json_is_the_same_after_it_was_read(value: Any) -> None:
    once = canonical_json.encode(value)
    assert canonical_json.encode(json.loads(once)) == once


@pytest.mark.parametrize("value", [1.5, 2**53, {"é": 1}, [[float("nan")]]])
def test_what_other_programs_may_write_differently_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="is not"):
        canonical_json.encode(value)


def test_another_order_and_other_blanks_do_not_matter() -> None:
    signed = json.loads(sign_document(OURS, {"a": 1, "b": [True, "é"]}))
    loose = json.dumps(dict(reversed(signed.items())), indent=2).encode()
    assert verify_document(loose, OURS.public) == {"a": 1, "b": [True, "é"]}


def test_each_changed_member_breaks_the_signature() -> None:
    signed = json.loads(sign_document(OURS, {"name": "12345/a", "url": "https://example.org/"}))
    for changed in (
        signed | {"name": "12345/b"},
        signed | {"more": 1},
        {k: v for k, v in signed.items() if k != "url"},
    ):
        with pytest.raises(BadSignature):
            verify_document(json.dumps(changed).encode(), OURS.public)


def test_without_a_key_the_document_names_its_own() -> None:
    assert verify_document(sign_document(OURS, {"key": OURS.public}))["key"] == OURS.public
    with pytest.raises(BadSignature):
        verify_document(sign_document(OURS, {"key": OTHER.public}))
    with pytest.raises(BadSignature, match="not signed"):
        verify_document(sign_document(OURS, {"a": 1}))


def with_header(**header: Any) -> bytes:
    """Return a document whose signature is right, with another header."""
    head = urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=")
    payload = urlsafe_b64encode(canonical_json.encode({"a": 1})).rstrip(b"=")
    signed = Ed25519PrivateKey.from_private_bytes(OURS.seed).sign(head + b"." + payload)
    signature = head + b".." + urlsafe_b64encode(signed).rstrip(b"=")
    return json.dumps({"a": 1, SIGNATURE: signature.decode()}).encode()


def test_another_algorithm_or_an_unknown_extension_is_refused() -> None:
    assert verify_document(with_header(alg="EdDSA"), OURS.public) == {"a": 1}
    for header in (
        {"alg": "none"},
        {"alg": "HS256"},
        {},
        {"alg": "EdDSA", "crit": ["x"]},
        {"alg": "EdDSA", "b64": False},
    ):
        with pytest.raises(BadSignature):
            verify_document(with_header(**header), OURS.public)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"a":1}',
        b'{"a":1,"a":2,"signature":"x..y"}',
        b'{"signature":1}',
        b'{"signature":"x.y.z"}',
        b'{"signature":"!!..!!"}',
        '{"signature":"é..é"}'.encode(),
        b'{"signature":"' + b"x" * 10_000 + b'..x"}',
        b'{"n":1e400,"signature":"e30..e30"}',
    ],
)
def test_anything_else_is_refused_with_a_reason(body: bytes) -> None:
    with pytest.raises(BadSignature, match=r"it |its |not "):
        verify_document(body, OURS.public)
