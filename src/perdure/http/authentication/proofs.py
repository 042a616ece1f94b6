"""Proofs: what a client computes from its key and from a number that the server chose, so that the key is not sent.

They are those of Handle servers, and old: SHA-1 is among them because clients in use know nothing else.
"""

import asyncio
import hashlib
import hmac
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Final

from perdure.errors import BadKey
from perdure.http.authentication.credentials import Identity, identity, octets
from perdure.http.authentication.deriving import turn_to_derive
from perdure.http.authentication.signatures import signs
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
_LENGTHS: Final = range(64, 257, 8)  # bits of a derived key: each 160 of them cost all iterations once more
_DERIVED_USUALLY: Final = 160
_MOST_DERIVED: Final = 3  # keys that are tried, where nobody says which


class Proof:
    """One proof, checked for form. `kind` is None where the client leaves open what sort of key it has."""

    __slots__ = ("algorithm", "cnonce", "iterations", "kind", "length", "salt", "signature")

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self.kind = parameters.get("type")
        if self.kind not in (None, SECRET, PUBLIC_KEY):
            raise BadKey(f"the type of a proof is {SECRET} or {PUBLIC_KEY}")
        self.algorithm = _needed(parameters, "alg").upper()
        if self.algorithm != _DERIVED and self.algorithm not in _HASHES:
            raise BadKey(f"the alg of a proof is SHA1, SHA256 or {_DERIVED}")
        self.cnonce = octets(_needed(parameters, "cnonce"), "cnonce", LONGEST_NONCE)
        self.signature = octets(_needed(parameters, "signature"), "signature", _LONGEST_SIGNATURE)
        self.salt = b""
        self.iterations = self.length = 0
        if self.algorithm == _DERIVED:
            self.salt = octets(_needed(parameters, "salt"), "salt", _LONGEST_SALT)
            self.iterations = _number(parameters, "iterations", range(1, MOST_ITERATIONS + 1))
            self.length = _number({"length": str(_DERIVED_USUALLY), **parameters}, "length", _LENGTHS)

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Proofs that are slow to check wait here for their turn; TooManyAtOnce, if this client has enough waiting."""
        if self.algorithm != _DERIVED:
            yield
            return
        async with turn_to_derive(client):
            yield

    async def proven(self, nonce: bytes, keys: KeyMaterial | None) -> KeyMaterial | None:
        """The one of these keys that made it. Where there is none to try, as much is computed as if there were."""
        candidates = () if keys is None else keys.candidates
        made_by: KeyMaterial | None = None
        if self.kind != PUBLIC_KEY:
            secrets = [(one, one.secret) for one in candidates if one.secret]
            if self.algorithm == _DERIVED:
                secrets = secrets[:_MOST_DERIVED]
            for one, secret in secrets:
                if hmac.compare_digest(await self._expected(nonce, secret), self.signature):
                    made_by = one
            if not secrets:
                hmac.compare_digest(await self._expected(nonce, os.urandom(16)), self.signature)
        if self.kind != SECRET and self.algorithm in _HASHES:
            used, signed = _HASHES[self.algorithm], nonce + self.cnonce
            public = [(one, wire) for one in candidates for wire in one.public_keys]
            for one, wire in public:
                if signs(wire, self.signature, signed, used):
                    made_by = one
            if not public:
                signs(None, self.signature, signed, used)
        return made_by

    async def _expected(self, nonce: bytes, secret: bytes) -> bytes:
        if self.algorithm in _HASHES:
            return hashlib.new(_HASHES[self.algorithm], secret + nonce + self.cnonce + secret).digest()
        key = await asyncio.to_thread(hashlib.pbkdf2_hmac, "sha1", secret, self.salt, self.iterations, self.length // 8)
        return hmac.digest(key, nonce + self.cnonce, "sha1")


def named(parameters: Mapping[str, str]) -> Identity | None:
    """Whose proof it is, as it says; None if that names nobody, which is no different from naming a stranger."""
    return identity(_needed(parameters, "id"))


def same_secret(given: bytes, secret: bytes | None) -> bool:
    """Compared in a time that says nothing of either, not even how long they are; also when there is none.

    Passwords that are not plain ASCII come in UTF-8 or, from older clients, in Latin-1.
    """
    pepper = _pepper()
    kept = hmac.digest(pepper, secret or pepper, "sha256")
    as_sent = hmac.compare_digest(hmac.digest(pepper, given, "sha256"), kept)
    from_latin = given.decode("latin-1").encode("utf-8")
    as_meant = hmac.compare_digest(hmac.digest(pepper, from_latin, "sha256"), kept)
    return (as_sent or as_meant) and bool(secret)


@cache
def _pepper() -> bytes:
    return os.urandom(32)


def _needed(parameters: Mapping[str, str], name: str) -> str:
    if not parameters.get(name):
        raise BadKey(f"the proof lacks {name}")
    return parameters[name]


def _number(parameters: Mapping[str, str], name: str, allowed: range) -> int:
    text = _needed(parameters, name)
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) in allowed):
        raise BadKey(f"{name} of the proof must be a number from {allowed[0]} to {allowed[-1]}")
    return int(text)
