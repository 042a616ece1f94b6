"""UUIDv5 of the inputs of person identifiers, in the namespaces of the PPID specification, section 5.1.

The hash of a namespace is equal for every identifier. It is computed once, and each identifier continues from it.
"""

import uuid
from functools import lru_cache
from hashlib import sha1
from typing import TYPE_CHECKING, Final

from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from hashlib import _Hash

# The value printed in the specification. A registry chooses its own when it is created, and cannot change it.
PPID_NAMESPACE: Final = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")

_SUBSPACES: Final = {"POID": "PersonObservation", "PRID": "PersonReconstruction"}


@lru_cache(maxsize=64)
def _namespace_hash(namespace: uuid.UUID, kind: str) -> "_Hash":
    return sha1(uuid.uuid5(namespace, _SUBSPACES[kind]).bytes, usedforsecurity=False)


def type_digest(namespace: uuid.UUID, kind: str, text: str) -> str:
    """Return the hexadecimal SHA-1 whose first digits are the UUIDv5 of this type."""
    if not isinstance(namespace, uuid.UUID):
        raise InvalidInput("ppid", "namespace", f"the namespace must be a uuid.UUID, not {type(namespace).__name__}")
    digest = _namespace_hash(namespace, kind).copy()
    digest.update(text.encode())
    return digest.hexdigest()


def poid_digest(namespace: uuid.UUID, source_url: str, timestamp: str, content_hash: str) -> str:
    return type_digest(namespace, "POID", f"{source_url}|{timestamp}|{content_hash}")


def prid_digest(namespace: uuid.UUID, observations: list[str], curator_id: str, timestamp: str) -> str:
    return type_digest(namespace, "PRID", f"{'|'.join(observations)}|{curator_id}|{timestamp}")


def uuid_from_digest(digest: str) -> uuid.UUID:
    return uuid.UUID(hex=digest[:32], version=5)
