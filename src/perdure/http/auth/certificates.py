"""Client certificates that a trusted proxy forwards, after it has verified that the client holds the private key.

The issuer does not matter: the public key must be the one that the registry stores for the identity in the subject.
"""

from datetime import datetime, timezone
from typing import Final, NamedTuple
from urllib.parse import unquote

from cryptography import x509
from cryptography.x509.oid import NameOID

from perdure.errors import BadKey
from perdure.http.auth.credentials import Identity, parse_identity
from perdure.http.auth.signatures import is_same_key
from perdure.http.shared.request import Request, is_trusted_peer
from perdure.registry.handles import KeyMaterial
from perdure.timelines.clock import NANOSECONDS, Clock

_LONGEST: Final = 32_768
_NAMED_BY: Final = (NameOID.USER_ID, NameOID.COMMON_NAME)


class Certificate(NamedTuple):
    """The identity that a certificate names, and its public key."""

    identity: Identity
    key: object

    def check(self, keys: KeyMaterial | None) -> KeyMaterial | None:
        """Return the key material that has the public key of this certificate."""
        for one in () if keys is None else keys.candidates:
            if any(is_same_key(wire, self.key) for wire in one.public_keys):
                return one
        return None


def forwarded_certificate(request: Request) -> str | None:
    """Return the client certificate from the header of a trusted proxy, or None.

    The header is ignored from any other peer, and unless the settings name it: a proxy that does not set the header
    may pass on one that a client wrote.
    """
    name = request.options.certificate_header
    if not name or not is_trusted_peer(request.scope, request.options):
        return None
    return request.header(name.lower().encode("latin-1", "replace")) or None


def parse_certificate(escaped: str, clock: Clock) -> Certificate:
    """Parse a percent-encoded PEM certificate. Raises BadKey if it names no identity or is not valid now."""
    if len(escaped) > _LONGEST:
        raise BadKey("the certificate is too long")
    try:
        found = x509.load_pem_x509_certificate(unquote(escaped).encode("ascii"))
        key = found.public_key()
        subject = found.subject
    except Exception:  # the bytes are from outside: any error of the parser means unreadable
        raise BadKey("the certificate cannot be read") from None
    now = datetime.fromtimestamp(clock.now_ns() // NANOSECONDS, timezone.utc)
    if not found.not_valid_before_utc <= now <= found.not_valid_after_utc:
        raise BadKey("the certificate has expired or is not valid yet")
    return Certificate(_parse_subject(subject), key)


def _parse_subject(subject: x509.Name) -> Identity:
    for kind in _NAMED_BY:
        names = subject.get_attributes_for_oid(kind)
        if len(names) > 1:
            break
        if names:
            who = parse_identity(str(names[0].value))
            if who is None:
                break
            return who
    raise BadKey("the certificate's subject (UID, or else CN) must be one index:handle")
