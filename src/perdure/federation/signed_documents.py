"""Signed documents: a JSON object whose member `signature` is a detached JWS (RFC 7515, Appendix F) with Ed25519.

The signature covers the canonical JSON of the object without that member.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, Final

from perdure.federation import canonical_json
from perdure.registry.server_key import ServerKey

SIGNATURE: Final = "signature"
_ALGORITHM: Final = "EdDSA"  # RFC 8037
_LONGEST_HEADER: Final = 512


class BadSignature(ValueError):
    """The document is not signed, or not with this key."""


def sign_document(key: ServerKey, document: dict[str, Any]) -> bytes:
    """Return a document with its signature, as canonical JSON."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    header = _to_base64(canonical_json.encode({"alg": _ALGORITHM, "kid": key.public}))
    message = _signing_input(header, canonical_json.encode(document))
    signature = _to_base64(Ed25519PrivateKey.from_private_bytes(key.seed).sign(message))
    return canonical_json.encode(document | {SIGNATURE: f"{header}..{signature}"})


def verify_document(body: bytes, public: str | None = None) -> dict[str, Any]:
    """Return a document without its signature. Raise BadSignature if it was not signed with this key.

    Without a key, the document must be signed with the key that it names itself, in its member `key`.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    document = _parse(body)
    signature = document.pop(SIGNATURE, None)
    known = document.get("key") if public is None else public
    if not isinstance(signature, str) or not isinstance(known, str):
        raise BadSignature("it is not signed")
    header, dots, signed = signature.partition("..")
    if not dots or len(header) > _LONGEST_HEADER:
        raise BadSignature("its signature is not a detached JWS")
    try:
        stated = _parse(_from_base64(header))
        if stated.get("alg") != _ALGORITHM or "crit" in stated or "b64" in stated:
            raise BadSignature(f"its signature does not use {_ALGORITHM}")
        message = _signing_input(header, canonical_json.encode(document))
        Ed25519PublicKey.from_public_bytes(_from_base64(known)).verify(_from_base64(signed), message)
    except InvalidSignature:
        raise BadSignature("it is not signed with the key that is registered for this server") from None
    except (ValueError, RecursionError) as problem:
        raise BadSignature(str(problem)) from None
    return document


def _signing_input(header: str, payload: bytes) -> bytes:
    return f"{header}.{_to_base64(payload)}".encode()


def _parse(body: bytes) -> dict[str, Any]:
    """Parse a JSON object in which no member is given twice."""

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        document = dict(pairs)
        if len(document) < len(pairs):
            raise BadSignature("it has a member twice")
        return document

    try:
        document = json.loads(body.decode("utf-8"), object_pairs_hook=build)
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, BadSignature):
            raise
        raise BadSignature("it is not JSON") from None
    if not isinstance(document, dict):
        raise BadSignature("it is not a JSON object")
    return document


def _to_base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_base64(text: str) -> bytes:
    if not text.isascii():
        raise ValueError("it is not base64url")
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
