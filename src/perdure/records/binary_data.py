"""Data that is kept in bytes, as Handle servers show it: a key, a site, text if it is any, and base64 otherwise."""

from base64 import b64encode
from typing import Any, Final

from perdure.errors import InvalidInput
from perdure.records import public_key, site

_CONTROLS: Final = frozenset(range(0x20)) - frozenset(range(0x09, 0x14)) | {0x7F}


def shown_bytes(kind: str, raw: bytes) -> dict[str, Any]:
    """The data of a value of this type (in capitals), with its format.

    >>> shown_bytes("DESC", "a\\u2028b".encode())
    {'format': 'string', 'value': 'a\\u2028b'}
    >>> shown_bytes("HS_PUBKEY", bytes([0, 255]))
    {'format': 'base64', 'value': 'AP8='}
    """
    try:
        if kind == public_key.PUBLIC_KEY:
            return {"format": "key", "value": public_key.to_jwk(public_key.from_wire(raw))}
        if kind in site.SITE_TYPES:
            return {"format": "site", "value": site.to_json(site.from_wire(raw))}
        if _CONTROLS.isdisjoint(raw):
            return {"format": "string", "value": raw.decode("utf-8")}
    except (InvalidInput, UnicodeDecodeError):
        pass
    return {"format": "base64", "value": b64encode(raw).decode()}
