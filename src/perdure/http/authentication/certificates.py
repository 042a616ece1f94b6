"""Certificates of TLS clients, as a trusted proxy passes them on: it has seen that the client has the private key.

Who issued a certificate does not matter: its public key must be the one that the registry holds for the identity that
its subject names.
"""

from datetime import datetime, timezone
from typing import Final, NamedTuple
from urllib.parse import unquote

from cryptography import x509
from cryptography.x509.oid import NameOID

from perdure.errors import BadKey
from perdure.http.authentication.credentials import Identity, identity
from perdure.http.authentication.signatures import same_key
from perdure.http.message import Request, is_trusted_peer
from perdure.minting.clock import NANOSECONDS, Clock
from perdure.registry.handles import KeyMaterial

_LONGEST: Final = 32_768
_NAMED_BY: Final = (NameOID.USER_ID, NameOID.COMMON_NAME)


class Certificate(NamedTuple):
    """Whom it names, and the key of its holder."""

    identity: Identity
    key: object

    def proven(self, keys: KeyMaterial | None) -> KeyMaterial | None:
        """The one of these keys that the certificate holds."""
        for one in () if keys is None else keys.candidates:
            if any(same_key(wire, self.key) for wire in one.public_keys):
                return one
        return None


def passed_on(request: Request) -> str | None:
    """What the proxy says of the client's certificate. From anybody else that header says nothing.

    Nor does it from a proxy of which the settings do not say that it writes the header: it may only pass it on.
    """
    name = request.options.certificate_header
    if not name or not is_trusted_peer(request.scope, request.options):
        return None
    return request.header(name.lower().encode("latin-1", "replace")) or None


def certificate(escaped: str, clock: Clock) -> Certificate:
    """From PEM, percent-encoded. BadKey, if it names no identity, or is out of date."""
    if len(escaped) > _LONGEST:
        raise BadKey("the certificate is too long")
    try:
        found = x509.load_pem_x509_certificate(unquote(escaped).encode("ascii"))
        key = found.public_key()
        subject = found.subject
    except Exception:  # whatever the parser says of bytes that a stranger chose
        raise BadKey("the certificate cannot be read") from None
    now = datetime.fromtimestamp(clock.now_ns() // NANOSECONDS, timezone.utc)
    if not found.not_valid_before_utc <= now <= found.not_valid_after_utc:
        raise BadKey("the certificate is not valid at this time")
    return Certificate(_named(subject), key)


def _named(subject: x509.Name) -> Identity:
    for kind in _NAMED_BY:
        names = subject.get_attributes_for_oid(kind)
        if len(names) > 1:
            break
        if names:
            who = identity(str(names[0].value))
            if who is None:
                break
            return who
    raise BadKey("the certificate's subject (UID, or else CN) must be one index:handle")
