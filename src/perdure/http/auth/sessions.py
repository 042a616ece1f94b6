"""Sessions of Handle clients: the server's nonce, a proof by the client, then the session id as the credential.

The id contains the nonce and the expiry date, signed. So a session is not stored until it is authenticated, and any
worker can check the proof. An authenticated session is a file that all workers of the server read. It is valid while
the key that authenticated it exists. It cannot be authenticated again after it has ended.
"""

import binascii
import hashlib
import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec

from perdure.http.auth.credentials import Identity
from perdure.http.auth.session_store import SessionStore
from perdure.http.shared.threads import run_in_thread
from perdure.http.shared.worker_environment import SECRET_VARIABLE, SESSIONS_VARIABLE
from perdure.registry import Agent
from perdure.registry.handles import KeyMaterial
from perdure.timelines.clock import NANOSECONDS, Clock

NONCE_BYTES: Final = 16
PROOF_TIMEOUT: Final = 600  # seconds for the client to send its proof
LIFETIME: Final = 3600  # seconds after the proof

_DATE_BYTES: Final = 8
_MAC_BYTES: Final = 32
_ID_MAC: Final = b"perdure session"
_KEY_DIGEST: Final = b"perdure session key"

Keys = Callable[[Identity], Awaitable[KeyMaterial | None]]


class Session(msgspec.Struct, frozen=True):
    """A session. `actor` is None until it is authenticated. The id is then a credential, and never printed."""

    id: str
    nonce: bytes
    actor: Agent | None = None

    def __repr__(self) -> str:
        return f"Session(actor={None if self.actor is None else self.actor.id!r})"


class _Token(msgspec.Struct, frozen=True):
    """The content of a session id."""

    nonce: bytes
    until: int

    @property
    def name(self) -> str:
        """The name of the session's file. It depends on the content, because base64 has several spellings of one id."""
        return hashlib.sha256(self.nonce + self.until.to_bytes(_DATE_BYTES, "big")).hexdigest()


class _AuthenticatedSession(msgspec.Struct, frozen=True):
    """The stored session: the identity, a digest of its key that only this server can compute, and the expiry date."""

    index: int
    handle: str
    key: str
    until: int


class Sessions:
    """The sessions of one server, shared by its workers."""

    def __init__(self, clock: Clock, keys: Keys, store: SessionStore | None = None) -> None:
        self._clock = clock
        self._keys = keys
        given, shared = os.environ.get(SECRET_VARIABLE, ""), os.environ.get(SESSIONS_VARIABLE, "")
        self._secret = hashlib.sha256(given.encode()).digest() if given else os.urandom(32)
        self._store = store or SessionStore(Path(shared) if shared else None)

    def create(self, cnonce: bytes | None = None) -> Session:
        """Create a session that is not authenticated. (A server with a signing key would sign the client's nonce.)"""
        token = _Token(os.urandom(NONCE_BYTES), self._now_seconds() + PROOF_TIMEOUT)
        signed = token.nonce + token.until.to_bytes(_DATE_BYTES, "big")
        return Session(urlsafe_b64encode(signed + self._mac(signed)).rstrip(b"=").decode(), token.nonce)

    async def find(self, id: str) -> Session | None:
        """Return the session, or None if it is unknown, has expired or ended, or its key no longer exists."""
        token = self._decode_token(id)
        if token is None:
            return None
        stored = self._store.get(token.name)
        if stored is None:
            return Session(id, token.nonce) if self._now_seconds() < token.until else None
        if not stored:
            return None
        answered = msgspec.json.decode(stored, type=_AuthenticatedSession)
        if self._now_seconds() >= answered.until:
            return None
        keys = await self._keys(Identity(answered.index, answered.handle))
        for one in () if keys is None else keys.candidates:
            if hmac.compare_digest(self._digest(one), answered.key):
                return Session(id, token.nonce, one.identity)
        self._store.remove(token.name)
        return None

    async def authenticate(self, session: Session, who: Identity, by: KeyMaterial) -> Session | None:
        """Authenticate the session with this key. Returns None if it was authenticated, has ended or has expired."""
        token, now = self._decode_token(session.id), self._now_seconds()
        if token is None or now >= token.until:
            return None
        answered = _AuthenticatedSession(by.identity.index, who.handle, self._digest(by), now + LIFETIME)
        content = msgspec.json.encode(answered)
        # It may remove expired files.
        if not await run_in_thread(self._store.put, token.name, content, token.until, now):
            return None
        return Session(session.id, session.nonce, by.identity)

    def end(self, id: str) -> None:
        """End a session. One without a proof is not stored and expires by itself, so nothing is written for it."""
        token = self._decode_token(id)
        if token is not None:
            self._store.remove(token.name)

    def _decode_token(self, id: str) -> _Token | None:
        try:
            raw = urlsafe_b64decode(id.encode("ascii") + b"=" * (-len(id) % 4))
        except (binascii.Error, ValueError):
            return None
        signed, mac = raw[:-_MAC_BYTES], raw[-_MAC_BYTES:]
        if len(signed) != NONCE_BYTES + _DATE_BYTES or not hmac.compare_digest(mac, self._mac(signed)):
            return None
        return _Token(signed[:NONCE_BYTES], int.from_bytes(signed[NONCE_BYTES:], "big"))

    def _mac(self, signed: bytes) -> bytes:
        return hmac.digest(self._secret, _ID_MAC + signed, "sha256")

    def _digest(self, key: KeyMaterial) -> str:
        """Return a digest of the key that only a holder of this server's secret can compute."""
        parts = (b"secret", key.secret) if key.secret is not None else (b"public", *key.public_keys)
        return hmac.digest(self._secret, b"\0".join((_KEY_DIGEST, *parts)), "sha256").hex()

    def _now_seconds(self) -> int:
        return self._clock.now_ns() // NANOSECONDS
