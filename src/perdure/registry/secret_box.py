"""Encryption of secrets that must be readable again (the HS_SECKEY of Handle clients), with a key outside the database.

A database, a backup or a copy holds only the sealed bytes. The database stores an id of the sealing key, not the key:
so a machine that lost the key, or was given another one, reports that before it seals.
"""

import os
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from perdure.errors import InvalidInput, StoreDamaged, StoreUnavailable
from perdure.registry.store_interface import Reader, Transaction

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SECRETS_KEY: Final = "secrets.key"  # in the registry's folder
SEALING_KEY_ID: Final = "sealing"  # the fact with the id of the key
KEY_BYTES: Final = 32

_VERSION: Final = b"\x01"
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
_CHECK_TEXT: Final = b"perdure sealing check"
_RESTORE_HINT: Final = (
    f"restore the file {SECRETS_KEY} of this registry, from its own backup, or from a machine that has it"
)


class Sealer:
    """Seals and opens secrets with one key.

    The context says whose secret it is: under another name, it does not open.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise InvalidInput("sealing", "key", f"a sealing key must have {KEY_BYTES} bytes, not {len(key)}")
        self._key_bytes = key

    def _key(self) -> bytes:
        return self._key_bytes

    def _cipher(self) -> "AESGCM":
        """Return the cipher. The library is imported here, because importing it is slow."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._key())

    def _create_key(self) -> None:
        """Create the key, if it has a storage location of its own and does not exist there."""

    def seal(self, plain: bytes, context: str) -> bytes:
        """Encrypt with a fresh random nonce: the same secret never gives the same bytes twice."""
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._cipher().encrypt(nonce, plain, context.encode())

    def open(self, sealed: bytes, context: str) -> bytes:
        from cryptography.exceptions import InvalidTag

        body = sealed[len(_VERSION) :]
        if len(body) < _NONCE_BYTES + _TAG_BYTES or not sealed.startswith(_VERSION):
            raise StoreDamaged(f"the secret of {context} is damaged, or was not encrypted by this program")
        try:
            return self._cipher().decrypt(body[:_NONCE_BYTES], body[_NONCE_BYTES:], context.encode())
        except InvalidTag:
            reason = f"the secret of {context} cannot be opened: it is damaged, or was encrypted with another key"
            raise StoreDamaged(f"{reason}. In that case {_RESTORE_HINT}") from None

    def check(self, known: str | None) -> str:
        """Return the id of this key. Raise StoreDamaged if `known` is the id of another key.

        If `known` is None, nothing was ever sealed: only then may a key be created.
        """
        if known is None:
            self._create_key()
        key_id = sha256(_CHECK_TEXT + self._key()).hexdigest()[:16]
        if known not in (None, key_id):
            raise StoreDamaged(
                f"this registry's secrets were encrypted with another key, not with the one here: {_RESTORE_HINT}"
            )
        return key_id


class NoSealer(Sealer):
    """The sealer of a registry that was opened without a key: it can neither store nor return secrets."""

    def __init__(self) -> None:
        """Set no key."""

    def _key(self) -> bytes:
        raise StoreUnavailable("this registry was opened without a key for its secrets")


def missing_key_error() -> StoreDamaged:
    return StoreDamaged(f"this registry's secrets are encrypted with a key that is not here: {_RESTORE_HINT}")


def secret_context(key: str, index: int) -> str:
    """Return the text that says whose secret it is."""
    return f"{key}#{index}"


def store_secret(tx: Transaction, sealer: Sealer, key: str, index: int, plain: bytes | None) -> None:
    """Seal and store the secret of one value of a name; None removes it.

    Every secret is stored through this function. It creates the key the first time, and refuses to seal with a key that
    differs from the one of the other secrets.
    """
    if plain is None:
        tx.put_secret(key, index, None)
        return
    known = tx.fact(SEALING_KEY_ID)
    key_id = sealer.check(known)
    if known is None:
        tx.put_fact(SEALING_KEY_ID, key_id)
    tx.put_secret(key, index, sealer.seal(plain, secret_context(key, index)))


def open_secret(reader: Reader, sealer: Sealer, key: str, index: int) -> bytes | None:
    """Return the opened secret of one value of a name."""
    sealed = reader.secret(key, index)
    return None if sealed is None else sealer.open(sealed, secret_context(key, index))
