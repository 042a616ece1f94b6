"""Public keys (HS_PUBKEY): as Handle servers keep them, in bytes, and as their clients write them, as JWK.

>>> key = from_jwk({"kty": "RSA", "n": "AMUhmw", "e": "AQAB"})
>>> key
RsaKey(n=12919195, e=65537)
>>> from_wire(to_wire(key)) == key, to_jwk(key)["n"]
(True, 'xSGb')
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from typing import Any, Final, NamedTuple

from perdure.errors import InvalidInput, shown
from perdure.records.wire_bytes import WireReader, number, sized

PUBLIC_KEY: Final = "HS_PUBKEY"

_RSA: Final = "RSA_PUB_KEY"
_DSA: Final = "DSA_PUB_KEY"
_FLAGS: Final = b"\x00\x00"
_LONGEST: Final = 2_048  # bytes of one number: keys of 16,384 bits


class RsaKey(NamedTuple):
    n: int
    e: int


class DsaKey(NamedTuple):
    y: int
    p: int
    q: int
    g: int


PublicKey = RsaKey | DsaKey


def from_wire(raw: bytes) -> PublicKey:
    """A key from its bytes; InvalidInput if they are none, or one of a kind that we do not know."""
    reader = WireReader(raw, "public key")
    kind = reader.text()
    reader.short()  # flags, of which none is in use
    if kind == _RSA:
        e, n = (_natural(reader) for _ in range(2))
        if not reader.is_at_end:  # some programs end with an empty text
            reader.sized()
        reader.end()
        return RsaKey(n, e)
    if kind == _DSA:
        q, p, g, y = (_natural(reader) for _ in range(4))
        reader.end()
        return DsaKey(y, p, q, g)
    raise reader.problem(f"{shown(kind)} is not one of {_RSA}, {_DSA}")


def to_wire(key: PublicKey) -> bytes:
    if isinstance(key, RsaKey):
        return sized(_RSA.encode()) + _FLAGS + _signed(key.e) + _signed(key.n) + number(0)
    parts = (key.q, key.p, key.g, key.y)
    return sized(_DSA.encode()) + _FLAGS + b"".join(_signed(part) for part in parts)


def from_jwk(given: Any) -> PublicKey:
    """A key as clients send it."""
    if not isinstance(given, dict):
        raise InvalidInput("record", "data.value", "a public key is a JSON object (a JWK)")
    kind = given.get("kty")
    if kind == "RSA":
        return RsaKey(*(_number(given, name) for name in RsaKey._fields))
    if kind == "DSA":
        return DsaKey(*(_number(given, name) for name in DsaKey._fields))
    raise InvalidInput("record", "data.value.kty", f"the kind of a public key is RSA or DSA, not {shown(kind)}")


def to_jwk(key: PublicKey) -> dict[str, str]:
    kind = "RSA" if isinstance(key, RsaKey) else "DSA"
    return {"kty": kind} | {name: _written(part) for name, part in key._asdict().items()}


def _natural(reader: WireReader) -> int:
    raw = reader.sized()
    if not 0 < len(raw) <= _LONGEST + 1:
        raise reader.problem(f"a number in it has {len(raw)} bytes")
    value = int.from_bytes(raw, "big", signed=True)
    if value < 0:
        raise reader.problem("a number in it is negative")
    return value


def _signed(value: int) -> bytes:
    """With room for a sign, as the protocol has it: a first bit that is set would make it negative."""
    return sized(value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _number(given: dict[str, Any], name: str) -> int:
    text = given.get(name)
    part = f"data.value.{name}"
    if not isinstance(text, str) or not text:
        raise InvalidInput("record", part, f"{name} of the public key is missing, or is no text")
    try:
        raw = urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except (BadBase64, ValueError):
        raise InvalidInput("record", part, f"{name} of the public key is not in base64url") from None
    if not 0 < len(raw) <= _LONGEST + 1:
        raise InvalidInput("record", part, f"{name} of the public key has {len(raw)} bytes")
    return int.from_bytes(raw, "big")


def _written(value: int) -> str:
    return urlsafe_b64encode(value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")).rstrip(b"=").decode()
