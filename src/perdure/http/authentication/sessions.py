"""Sessions: a number that the server chose, a proof by the client, and then the session's own id as the credential.

The id carries its number and its date, signed, so that an unanswered session is kept nowhere, and any process can take
the answer to what another has asked. An answered one is in a file that all processes of the server read. It holds for
as long as the key that opened it is there, and never opens again once it has ended.
"""

import asyncio
import binascii
import hashlib
import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec

from perdure.http.authentication.credentials import Identity
from perdure.http.authentication.shelf import Shelf
from perdure.http.surroundings import SECRET, SESSIONS
from perdure.minting.clock import NANOSECONDS, Clock
from perdure.registry import Agent
from perdure.registry.handles import KeyMaterial

NONCE_BYTES: Final = 16
ANSWERED_WITHIN: Final = 600  # seconds
LASTS: Final = 3600  # seconds after the answer

_DATE_BYTES: Final = 8
_MAC_BYTES: Final = 32
_SIGNED: Final = b"perdure session"
_REMEMBERED: Final = b"perdure session key"

Keys = Callable[[Identity], Awaitable[KeyMaterial | None]]


class Session(msgspec.Struct, frozen=True):
    """`actor` is None until the client has proved who it is. The id is a credential from then on, and not shown."""

    id: str
    nonce: bytes
    actor: Agent | None = None

    def __repr__(self) -> str:
        return f"Session(actor={None if self.actor is None else self.actor.id!r})"


class _Token(msgspec.Struct, frozen=True):
    """What an id carries."""

    nonce: bytes
    until: int

    @property
    def name(self) -> str:
        """What its file is called. It is made of what the id says, because the same can be written in several ways."""
        return hashlib.sha256(self.nonce + self.until.to_bytes(_DATE_BYTES, "big")).hexdigest()


class _Answered(msgspec.Struct, frozen=True):
    """What is kept: who, by which key (a digest that means nothing elsewhere), until when."""

    index: int
    handle: str
    key: str
    until: int


class Sessions:
    """Those of one server, whichever of its processes began them."""

    def __init__(self, clock: Clock, keys: Keys, shelf: Shelf | None = None) -> None:
        self._clock = clock
        self._keys = keys
        given, shared = os.environ.get(SECRET, ""), os.environ.get(SESSIONS, "")
        self._secret = hashlib.sha256(given.encode()).digest() if given else os.urandom(32)
        self._shelf = shelf or Shelf(Path(shared) if shared else None)

    def create(self, cnonce: bytes | None = None) -> Session:
        """A new one, which nobody has answered. (A server with a key of its own would sign the client's number.)"""
        token = _Token(os.urandom(NONCE_BYTES), self._now() + ANSWERED_WITHIN)
        signed = token.nonce + token.until.to_bytes(_DATE_BYTES, "big")
        return Session(urlsafe_b64encode(signed + self._mac(signed)).rstrip(b"=").decode(), token.nonce)

    async def find(self, id: str) -> Session | None:
        """None, if it was never begun here, has lapsed, was ended, or the key that opened it is gone."""
        token = self._read(id)
        if token is None:
            return None
        kept = self._shelf.get(token.name)
        if kept is None:
            return Session(id, token.nonce) if self._now() < token.until else None
        if not kept:
            return None
        answered = msgspec.json.decode(kept, type=_Answered)
        if self._now() >= answered.until:
            return None
        keys = await self._keys(Identity(answered.index, answered.handle))
        for one in () if keys is None else keys.candidates:
            if hmac.compare_digest(self._digest(one), answered.key):
                return Session(id, token.nonce, one.identity)
        self._shelf.clear(token.name)
        return None

    async def opened(self, session: Session, who: Identity, by: KeyMaterial) -> Session | None:
        """The session, answered by this key; None, if it was answered or ended before, or it is too late for it."""
        token, now = self._read(session.id), self._now()
        if token is None or now >= token.until:
            return None
        answered = _Answered(by.identity.index, who.handle, self._digest(by), now + LASTS)
        content = msgspec.json.encode(answered)
        if not await asyncio.to_thread(self._shelf.put, token.name, content, token.until, now):  # it may have to tidy
            return None
        return Session(session.id, session.nonce, by.identity)

    def end(self, id: str) -> None:
        """One that nobody has answered is kept nowhere, and lapses: nothing is written on a stranger's word."""
        token = self._read(id)
        if token is not None:
            self._shelf.clear(token.name)

    def _read(self, id: str) -> _Token | None:
        try:
            raw = urlsafe_b64decode(id.encode("ascii") + b"=" * (-len(id) % 4))
        except (binascii.Error, ValueError):
            return None
        signed, mac = raw[:-_MAC_BYTES], raw[-_MAC_BYTES:]
        if len(signed) != NONCE_BYTES + _DATE_BYTES or not hmac.compare_digest(mac, self._mac(signed)):
            return None
        return _Token(signed[:NONCE_BYTES], int.from_bytes(signed[NONCE_BYTES:], "big"))

    def _mac(self, signed: bytes) -> bytes:
        return hmac.digest(self._secret, _SIGNED + signed, "sha256")

    def _digest(self, key: KeyMaterial) -> str:
        """Tells a key from others, to whoever has this server's secret."""
        parts = (b"secret", key.secret) if key.secret is not None else (b"public", *key.public_keys)
        return hmac.digest(self._secret, b"\0".join((_REMEMBERED, *parts)), "sha256").hex()

    def _now(self) -> int:
        return self._clock.now_ns() // NANOSECONDS
