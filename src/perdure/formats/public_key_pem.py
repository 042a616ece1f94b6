"""Public keys in PEM files, as OpenSSL writes them: a public key, or a certificate that contains one."""

from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import dsa, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from perdure.errors import InvalidInput, OutOfRange
from perdure.records.public_key import ACCEPTED_BITS, DsaKey, PublicKey, RsaKey

MOST_BYTES: Final = 65_536
_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"
_PRIVATE: Final = b"PRIVATE KEY-----"
_PART: Final = "public_key"


def parse_pem(data: bytes) -> PublicKey:
    """Return the RSA or DSA key of a PEM file. A private key is refused: it must stay with the client."""
    if _PRIVATE in data:
        reason = (
            "the file contains a private key, which must stay secret: openssl pkey -in FILE -pubout writes the other"
        )
        raise InvalidInput("handle", _PART, reason)
    try:
        key = x509.load_pem_x509_certificate(data).public_key() if _CERTIFICATE in data else load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidInput("handle", _PART, "the file is not a public key or a certificate in PEM") from None
    if isinstance(key, rsa.RSAPublicKey):
        rsa_numbers = key.public_numbers()
        found: PublicKey = RsaKey(rsa_numbers.n, rsa_numbers.e)
    elif isinstance(key, dsa.DSAPublicKey):
        dsa_numbers = key.public_numbers()
        parameters = dsa_numbers.parameter_numbers
        found = DsaKey(dsa_numbers.y, parameters.p, parameters.q, parameters.g)
    else:
        raise InvalidInput("handle", _PART, "Handle servers know RSA and DSA keys only: openssl genrsa makes one")
    if key.key_size not in ACCEPTED_BITS:
        reason = f"the key has {key.key_size} bits: {ACCEPTED_BITS.start} to {ACCEPTED_BITS.stop - 1} are accepted"
        raise OutOfRange("handle", _PART, reason)
    return found
