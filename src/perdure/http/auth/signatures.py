"""Signatures by the keys that HS_PUBKEY values hold: RSA (PKCS #1 v1.5) and DSA."""

import secrets
from functools import cache
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, padding, rsa

from perdure.errors import InvalidInput
from perdure.records.public_key import ACCEPTED_BITS, DsaKey, PublicKey, RsaKey, from_wire

_HASHES: Final = {"sha1": hashes.SHA1(), "sha256": hashes.SHA256()}  # noqa: S303  (older clients support nothing else)
_LARGEST_EXPONENT: Final = 1 << 32


def load_public_key(wire: bytes) -> PublicKey | None:
    """Return the public key of a value, or None if it is malformed or its size is not accepted."""
    try:
        key = from_wire(wire)
    except InvalidInput:
        return None
    if isinstance(key, RsaKey):
        is_usable = key.n.bit_length() in ACCEPTED_BITS and 3 <= key.e < _LARGEST_EXPONENT and key.e & 1 and key.n & 1
    else:
        is_usable = key.p.bit_length() in ACCEPTED_BITS
    return key if is_usable else None


def is_same_key(wire: bytes, other: object) -> bool:
    """Return whether the public key of a certificate is the key of a value."""
    key = load_public_key(wire)
    if isinstance(key, RsaKey) and isinstance(other, rsa.RSAPublicKey):
        return other.public_numbers() == rsa.RSAPublicNumbers(key.e, key.n)
    if isinstance(key, DsaKey) and isinstance(other, dsa.DSAPublicKey):
        return other.public_numbers() == _dsa_numbers(key)
    return False


def is_signature_valid(wire: bytes | None, signature: bytes, signed: bytes, algorithm: str) -> bool:
    """Return whether the key signed these bytes. Without a key the check takes as long, and returns False."""
    key = None if wire is None else load_public_key(wire)
    used = _HASHES[algorithm]
    try:
        if isinstance(key, DsaKey):
            _dsa_numbers(key).public_key().verify(signature, signed, used)
            return True
        loaded = _decoy_key() if key is None else rsa.RSAPublicNumbers(key.e, key.n).public_key()
        loaded.verify(signature, signed, padding.PKCS1v15(), used)
        return key is not None
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False


def _dsa_numbers(key: DsaKey) -> dsa.DSAPublicNumbers:
    return dsa.DSAPublicNumbers(key.y, dsa.DSAParameterNumbers(key.p, key.q, key.g))


@cache
def _decoy_key() -> rsa.RSAPublicKey:
    """Return a public key of the usual size that has no private key."""
    return rsa.RSAPublicNumbers(65537, secrets.randbits(2046) << 1 | 1 | 1 << 2047).public_key()
