"""Certificates for the tests: self-signed, like those of Handle clients."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.x509.oid import NameOID

PrivateKey = rsa.RSAPrivateKey | dsa.DSAPrivateKey | ec.EllipticCurvePrivateKey


def subject(cn: str = "", uid: str = "") -> x509.Name:
    named = [(NameOID.COMMON_NAME, cn), (NameOID.USER_ID, uid)]
    return x509.Name([x509.NameAttribute(kind, text) for kind, text in named if text])


def certificate(key: PrivateKey, name: x509.Name, *, now: datetime | None = None, days: int = 1) -> bytes:
    """Return a certificate in PEM, valid from yesterday for this number of days."""
    now = now or datetime.now(timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=min(-1, days - 1)))
        .not_valid_after(now + timedelta(days=days))
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )


def private_pem(key: PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def write_pair(folder: Path, stem: str, key: PrivateKey, pem: bytes) -> tuple[Path, Path]:
    """Write the certificate and the private key to files, and return their paths."""
    certificate_file, key_file = folder / f"{stem}.pem", folder / f"{stem}.key"
    certificate_file.write_bytes(pem)
    key_file.write_bytes(private_pem(key))
    return certificate_file, key_file
