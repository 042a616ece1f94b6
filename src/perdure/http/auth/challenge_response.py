"""Challenge–response proofs: a client computes one from its key and the server's nonce, so the key is not sent.

The algorithms are those of Handle servers. SHA-1 is among them because clients in use support nothing else.
"""

import hashlib
import hmac
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from perdure.errors import BadKey
from perdure.http.auth.credentials import Identity, decode_octets, parse_identity
from perdure.http.auth.kdf_limit import derivation_slot
from perdure.http.auth.signatures import is_signature_valid
from perdure.http.shared.threads import run_in_thread
from perdure.records.public_key import PUBLIC_KEY
from perdure.records.value import SECRET
from perdure.registry.handles import KeyMaterial

NOT_PROVEN: Final = "the identity could not be verified"
MOST_ITERATIONS: Final = 100_000

_DERIVED: Final = "PBKDF2-HMAC-SHA1"
_HASHES: Final = {"SHA1": "sha1", "SHA-1": "sha1", "SHA256": "sha256", "SHA-256": "sha256"}
LONGEST_NONCE: Final = 256  # bytes
_LONGEST_SIGNATURE: Final = 2048
_LONGEST_SALT: Final = 256
_LENGTHS: Final = range(64, 257, 8)  # bits of a derived key: every 160 bits repeat all iterations
_DERIVED_USUALLY: Final = 160
_MOST_DERIVED: Final = 3  # keys that are tried if the client does not name one


class Proof:
    """One proof with a valid form. `kind` is None if the client does not say which type of key it has."""

    __slots__ = ("algorithm", "cnonce", "iterations", "kind", "length", "salt", "signature")

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self.kind = parameters.get("type")
        if self.kind not in (None, SECRET, PUBLIC_KEY):
            raise BadKey(f"the type of a proof must be {SECRET} or {PUBLIC_KEY}")
        self.algorithm = _require_parameter(parameters, "alg").upper()
        if self.algorithm != _DERIVED and self.algorithm not in _HASHES:
            raise BadKey(f"the alg of a proof must be SHA1, SHA256 or {_DERIVED}")
        self.cnonce = decode_octets(_require_parameter(parameters, "cnonce"), "cnonce", LONGEST_NONCE)
        self.signature = decode_octets(_require_parameter(parameters, "signature"), "signature", _LONGEST_SIGNATURE)
        self.salt = b""
        self.iterations = self.length = 0
        if self.algorithm == _DERIVED:
            self.salt = decode_octets(_require_parameter(parameters, "salt"), "salt", _LONGEST_SALT)
            self.iterations = _parse_number(parameters, "iterations", range(1, MOST_ITERATIONS + 1))
            self.length = _parse_number({"length": str(_DERIVED_USUALLY), **parameters}, "length", _LENGTHS)

    @asynccontextmanager
    async def derivation_slot(self, client: str) -> AsyncIterator[None]:
        """Wait for a slot if the proof needs a key derivation. Raises TooManyConcurrentRequests beyond the limit."""
        if self.algorithm != _DERIVED:
            yield
            return
        async with derivation_slot(client):
            yield

    async def check(self, nonce: bytes, keys: KeyMaterial | None) -> KeyMaterial | None:
        """Return the key that made this proof, or None. Without a key to try, the computation takes as long."""
        candidates = () if keys is None else keys.candidates
        made_by: KeyMaterial | None = None
        if self.kind != PUBLIC_KEY:
            secrets = [(one, one.secret) for one in candidates if one.secret]
            if self.algorithm == _DERIVED:
                secrets = secrets[:_MOST_DERIVED]
            for one, secret in secrets:
                if hmac.compare_digest(await self._compute_mac(nonce, secret), self.signature):
                    made_by = one
            if not secrets:
                hmac.compare_digest(await self._compute_mac(nonce, os.urandom(16)), self.signature)
        if self.kind != SECRET and self.algorithm in _HASHES:
            used, signed = _HASHES[self.algorithm], nonce + self.cnonce
            public = [(one, wire) for one in candidates for wire in one.public_keys]
            for one, wire in public:
                if is_signature_valid(wire, self.signature, signed, used):
                    made_by = one
            if not public:
                is_signature_valid(None, self.signature, signed, used)
        return made_by

    async def _compute_mac(self, nonce: bytes, secret: bytes) -> bytes:
        if self.algorithm in _HASHES:
            return hashlib.new(_HASHES[self.algorithm], secret + nonce + self.cnonce + secret).digest()
        key = await run_in_thread(hashlib.pbkdf2_hmac, "sha1", secret, self.salt, self.iterations, self.length // 8)
        return hmac.digest(key, nonce + self.cnonce, "sha1")


def parse_claimed_identity(parameters: Mapping[str, str]) -> Identity | None:
    """Return the identity that the proof claims, or None if the text is not an identity. Both fail alike later."""
    return parse_identity(_require_parameter(parameters, "id"))


def _require_parameter(parameters: Mapping[str, str], name: str) -> str:
    if not parameters.get(name):
        raise BadKey(f"the proof has no {name}")
    return parameters[name]


def _parse_number(parameters: Mapping[str, str], name: str, allowed: range) -> int:
    text = _require_parameter(parameters, name)
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) in allowed):
        raise BadKey(f"{name} of the proof must be a number from {allowed[0]} to {allowed[-1]}")
    return int(text)
