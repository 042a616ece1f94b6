"""Conversion of binary data to the JSON of Handle servers: a key, a site, text if possible, or else base64."""

from base64 import b64encode
from typing import Any, Final

from perdure.errors import InvalidInput
from perdure.records import public_key, site

_CONTROLS: Final = frozenset(range(0x20)) - frozenset(range(0x09, 0x14)) | {0x7F}


def bytes_to_json(kind: str, raw: bytes) -> dict[str, Any]:
    """Return the data of a value of this type (in upper case), with its format.

    >>> bytes_to_json("DESC", "a\\u2028b".encode())
    {'format': 'string', 'value': 'a\\u2028b'}
    >>> bytes_to_json("HS_PUBKEY", bytes([0, 255]))
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
