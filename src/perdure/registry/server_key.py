"""The key with which a server signs what it states to other servers, and that they know it by.

The key is in a file beside the settings, in no database and in no backup. The database holds its public half: so a
machine that lost the file, or was given another one, reports that, and does not sign with a key that no peer knows.
"""

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Final, NamedTuple

from perdure.errors import StoreDamaged, StoreUnavailable
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Event
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.registry import Registry
from perdure.registry.server_key_store import SERVER_KEY
from perdure.registry.store_interface import Transaction

SERVER_KEY_FACT: Final = "server key"  # the fact with the public key
_FINGERPRINT_GROUP: Final = 4


class ServerKey(NamedTuple):
    """The two halves of the key: the secret seed (RFC 8032), and the public key as base64url."""

    seed: bytes
    public: str


async def open_server_key(registry: Registry) -> ServerKey:
    """Return the key of this server. It is created when it is first needed."""
    known = await registry.store.read(lambda reader: reader.fact(SERVER_KEY_FACT))
    if known is None:
        key = _with_public_key(registry.server_key.create())

        def work(tx: Transaction) -> str:
            earlier = tx.fact(SERVER_KEY_FACT)
            if earlier is None:
                tx.put_fact(SERVER_KEY_FACT, key.public)
            return earlier or key.public

        known = await registry.store.write(work)
    else:
        key = _with_public_key(registry.server_key.read())
    if key.public != known:
        reason = f"{SERVER_KEY} is not the key of this server, by which its peers know it"
        raise StoreDamaged(f"{reason}: restore the right file, or make a new key (perdure peer identity --new-key)")
    return key


async def replace_server_key(registry: Registry, by: Agent) -> ServerKey:
    """Make a new key for this server. Each peer must accept it. Requires permission on the whole registry."""

    def check(tx: Transaction) -> str:
        at = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
        return at

    await registry.store.write(check)
    key = _with_public_key(registry.server_key.replace())

    def work(tx: Transaction) -> None:
        at = check(tx)
        tx.put_fact(SERVER_KEY_FACT, key.public)
        tx.put_event(Event(at, by.id, "server key", registry.id, f"new key {fingerprint(key.public)}"))

    await registry.store.write(work)
    return key


def fingerprint(public: str) -> str:
    """Return a short digest of a public key, for people to compare.

    >>> fingerprint("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
    'e3ca cd5c 2d93 1295 a64f 6c3b b3f6 ea58'
    """
    digits = sha256(public.encode()).hexdigest()[:32]
    return " ".join(digits[at : at + _FINGERPRINT_GROUP] for at in range(0, len(digits), _FINGERPRINT_GROUP))


def _with_public_key(seed: bytes) -> ServerKey:
    """Return a key with its public half. The library is imported here, because importing it is slow."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    except ValueError:
        raise StoreUnavailable(f"{SERVER_KEY} holds no valid key") from None
    return ServerKey(seed, urlsafe_b64encode(public).rstrip(b"=").decode())
