"""Secrets that must be given back (the HS_SECKEY of Handle clients), sealed with a key that no database holds.

Whoever has the database, a backup or a copy of it has the sealed bytes only. The database knows by which key they
were sealed, though not the key: so a machine that lost the key, or was given another, is told before it seals.
"""

import os
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from perdure.errors import InvalidInput, StoreDamaged, StoreUnavailable
from perdure.registry.protocol import Reader, Transaction

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SECRETS_KEY: Final = "secrets.key"  # in the registry's folder
SEALING: Final = "sealing"  # the fact that tells which key it is
KEY_BYTES: Final = 32

_VERSION: Final = b"\x01"
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
_CHECKED: Final = b"perdure sealing check"
_BRING_BACK: Final = (
    f"bring back the file {SECRETS_KEY} of this registry, from where it is kept apart from the backups, "
    "or from a machine that has it"
)


class Sealer:
    """Seals and opens with one key. The context says whose secret it is: moved to another place, it does not open."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise InvalidInput("sealing", "key", f"a key for sealing has {KEY_BYTES} bytes, and not {len(key)}")
        self._given = key

    def _key(self) -> bytes:
        return self._given

    def _cipher(self) -> "AESGCM":
        """Loaded only here, where it is needed: it takes its time."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._key())

    def _make(self) -> None:
        """Where the key has a place of its own: put one there, unless there is one."""

    def seal(self, plain: bytes, context: str) -> bytes:
        """Never twice the same: each time with a fresh random number."""
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._cipher().encrypt(nonce, plain, context.encode())

    def open(self, sealed: bytes, context: str) -> bytes:
        from cryptography.exceptions import InvalidTag

        body = sealed[len(_VERSION) :]
        if len(body) < _NONCE_BYTES + _TAG_BYTES or not sealed.startswith(_VERSION):
            raise StoreDamaged(f"the secret of {context} was not sealed by this program, or is damaged")
        try:
            return self._cipher().decrypt(body[:_NONCE_BYTES], body[_NONCE_BYTES:], context.encode())
        except InvalidTag:
            reason = f"the secret of {context} cannot be opened: it is damaged, or was sealed with another key"
            raise StoreDamaged(f"{reason}. In that case {_BRING_BACK}") from None

    def check(self, known: str | None) -> str:
        """What tells this key from others, if it is the one that `known` tells of.

        Where nothing is known, nothing was ever sealed: only then may a key be made.
        """
        if known is None:
            self._make()
        told = sha256(_CHECKED + self._key()).hexdigest()[:16]
        if known not in (None, told):
            raise StoreDamaged(f"this registry's secrets were sealed with another key than the one here: {_BRING_BACK}")
        return told


class NoSealer(Sealer):
    """For a registry that was opened without a key: it keeps no secrets, and gives none away."""

    def __init__(self) -> None:
        """Nothing is given, so nothing can be sealed."""

    def _key(self) -> bytes:
        raise StoreUnavailable("this registry was opened without a key for its secrets")


def missing_key() -> StoreDamaged:
    return StoreDamaged(f"this registry's secrets are sealed with a key that is not here: {_BRING_BACK}")


def context_of(key: str, index: int) -> str:
    """Whose secret it is."""
    return f"{key}#{index}"


def keep_secret(tx: Transaction, sealer: Sealer, key: str, index: int, plain: bytes | None) -> None:
    """Seal the secret of one value of a name, and keep it; None removes it.

    This is the way in: it makes the key the first time, and refuses to seal with one that others could not open.
    """
    if plain is None:
        tx.put_secret(key, index, None)
        return
    known = tx.fact(SEALING)
    told = sealer.check(known)
    if known is None:
        tx.put_fact(SEALING, told)
    tx.put_secret(key, index, sealer.seal(plain, context_of(key, index)))


def secret_of(reader: Reader, sealer: Sealer, key: str, index: int) -> bytes | None:
    """The opened secret of one value of a name."""
    sealed = reader.secret(key, index)
    return None if sealed is None else sealer.open(sealed, context_of(key, index))
