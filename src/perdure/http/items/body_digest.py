"""Digests that a client sends with a body (RFC 9530), and that the server compares.

>>> BodyDigest.parse("sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:", None).check()
"""

import base64
import binascii
import hashlib
import re
from typing import Final

from perdure.http.shared.http_errors import DigestMismatch, MalformedRequest

ALGORITHMS: Final = {"sha-256": "sha256", "sha-512": "sha512"}
_ITEM: Final = re.compile(r"([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):(?:;.*)?")


class BodyDigest:
    """The digests of one body, which is hashed while it is received. A body has no encoding, so both headers agree."""

    def __init__(self, expected: dict[str, bytes]) -> None:
        self._expected = expected
        self._hashes = {algorithm: hashlib.new(ALGORITHMS[algorithm]) for algorithm in expected}

    @classmethod
    def parse(cls, *headers: str | None) -> "BodyDigest":
        """Return the digests in Repr-Digest and Content-Digest. Algorithms that are not supported are ignored."""
        expected: dict[str, bytes] = {}
        for header in headers:
            for item in (header or "").split(","):
                parsed = _ITEM.fullmatch(item.strip())
                if parsed is None:
                    if item.strip():
                        raise MalformedRequest("a digest must be written as in sha-256=:BASE64: (RFC 9530)")
                    continue
                algorithm, value = parsed.groups()
                if algorithm not in ALGORITHMS:
                    continue
                digest = _decode(value)
                if expected.setdefault(algorithm, digest) != digest:
                    raise MalformedRequest(f"Repr-Digest and Content-Digest have different values for {algorithm}")
        return cls(expected)

    def update(self, piece: bytes) -> None:
        """Hash the next part of the body."""
        for one in self._hashes.values():
            one.update(piece)

    def check(self) -> None:
        """Raise DigestMismatch if the body is not what the client meant to send."""
        for algorithm, one in self._hashes.items():
            if one.digest() != self._expected[algorithm]:
                raise DigestMismatch(algorithm, one.hexdigest())


def _decode(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedRequest("a digest is not in Base64") from None
