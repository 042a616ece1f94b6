"""Public keys (HS_PUBKEY): as bytes, as Handle servers store them, and as JWK, as clients write them.

>>> key = from_jwk({"kty": "RSA", "n": "AMUhmw", "e": "AQAB"})
>>> key
RsaKey(n=12919195, e=65537)
>>> from_wire(to_wire(key)) == key, to_jwk(key)["n"]
(True, 'xSGb')
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from typing import Any, Final, NamedTuple

from perdure.errors import InvalidInput, quote_text
from perdure.records.wire_bytes import WireReader, with_length, write_number

PUBLIC_KEY: Final = "HS_PUBKEY"

_RSA: Final = "RSA_PUB_KEY"
_DSA: Final = "DSA_PUB_KEY"
_FLAGS: Final = b"\x00\x00"
# Sizes of keys by which clients may authenticate: smaller ones are broken, larger ones are too slow.
ACCEPTED_BITS: Final = range(1024, 8193)
_LONGEST: Final = 2_048  # bytes of one number: keys of 16,384 bits


class RsaKey(NamedTuple):
    """An RSA key: modulus and exponent."""

    n: int
    e: int


class DsaKey(NamedTuple):
    """A DSA key: public value and parameters."""

    y: int
    p: int
    q: int
    g: int


PublicKey = RsaKey | DsaKey


def from_wire(raw: bytes) -> PublicKey:
    """Decode a key from its bytes. Raise InvalidInput if they are not a key of a supported type."""
    reader = WireReader(raw, "public key")
    kind = reader.read_text()
    reader.read_short()  # flags, of which none is in use
    if kind == _RSA:
        e, n = (_read_natural(reader) for _ in range(2))
        if not reader.is_at_end:  # some programs end with an empty text
            reader.read_sized()
        reader.require_end()
        return RsaKey(n, e)
    if kind == _DSA:
        q, p, g, y = (_read_natural(reader) for _ in range(4))
        reader.require_end()
        return DsaKey(y, p, q, g)
    raise reader.error(f"{quote_text(kind)} is not one of {_RSA}, {_DSA}")


def to_wire(key: PublicKey) -> bytes:
    if isinstance(key, RsaKey):
        return with_length(_RSA.encode()) + _FLAGS + _signed_bytes(key.e) + _signed_bytes(key.n) + write_number(0)
    parts = (key.q, key.p, key.g, key.y)
    return with_length(_DSA.encode()) + _FLAGS + b"".join(_signed_bytes(part) for part in parts)


def from_jwk(jwk: Any) -> PublicKey:
    """Decode a key as clients send it."""
    if not isinstance(jwk, dict):
        raise InvalidInput("record", "data.value", "a public key must be a JSON object (a JWK)")
    kind = jwk.get("kty")
    if kind == "RSA":
        return RsaKey(*(_parse_base64url(jwk, name) for name in RsaKey._fields))
    if kind == "DSA":
        return DsaKey(*(_parse_base64url(jwk, name) for name in DsaKey._fields))
    raise InvalidInput("record", "data.value.kty", f"the kty of a public key is RSA or DSA, not {quote_text(kind)}")


def to_jwk(key: PublicKey) -> dict[str, str]:
    kind = "RSA" if isinstance(key, RsaKey) else "DSA"
    return {"kty": kind} | {name: _format_base64url(part) for name, part in key._asdict().items()}


def _read_natural(reader: WireReader) -> int:
    raw = reader.read_sized()
    if not 0 < len(raw) <= _LONGEST + 1:
        raise reader.error(f"a number in it has {len(raw)} bytes")
    value = int.from_bytes(raw, "big", signed=True)
    if value < 0:
        raise reader.error("a number in it is negative")
    return value


def _signed_bytes(value: int) -> bytes:
    """Encode a number with a bit for its sign, as the protocol requires: a first bit that is set means negative."""
    return with_length(value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _parse_base64url(jwk: dict[str, Any], name: str) -> int:
    text = jwk.get(name)
    part = f"data.value.{name}"
    if not isinstance(text, str) or not text:
        raise InvalidInput("record", part, f"{name} of the public key is missing, or is not text")
    try:
        raw = urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except (BadBase64, ValueError):
        raise InvalidInput("record", part, f"{name} of the public key is not in base64url") from None
    if not 0 < len(raw) <= _LONGEST + 1:
        raise InvalidInput("record", part, f"{name} of the public key has {len(raw)} bytes")
    return int.from_bytes(raw, "big")


def _format_base64url(value: int) -> str:
    return urlsafe_b64encode(value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")).rstrip(b"=").decode()
