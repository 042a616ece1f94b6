"""The headers of the tus protocol, version 1.0.0, for uploads in several parts: https://tus.io/protocols/resumable-upload

>>> parse_metadata("filename YS50eHQ=, is_draft")
{'filename': 'a.txt', 'is_draft': ''}
>>> parse_checksum("sha1 Lve95gjOVATpfV8EL5X4nxwjKHE=").hexadecimal
'2ef7bde608ce5404e97d5f042f95f89f1c232871'
"""

import base64
import binascii
import hashlib
import re
from typing import Final, NamedTuple

from perdure.errors import InvalidInput, quote_text
from perdure.http.shared.http_errors import MalformedRequest
from perdure.http.shared.request import Headers, Request

VERSION: Final = "1.0.0"
CONTENT_TYPE: Final = "application/offset+octet-stream"
RESUMABLE: Final = (b"tus-resumable", VERSION.encode())
CHECKSUM_ALGORITHMS: Final = ("sha1", "sha256", "sha512")
_EXTENSIONS: Final = b"creation,checksum,termination,expiration"
_KEY: Final = re.compile(r"[!-+\--~]+")  # visible ASCII without the comma
_NUMBER: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_LONGEST: Final = 16_384  # of the metadata; the headers of a request are bounded together
_EXPOSED: Final = b"location, tus-checksum-algorithm, tus-extension, tus-max-size, tus-resumable, tus-version"
_EXPOSED_OF_UPLOAD: Final = b"content-location, upload-expires, upload-length, upload-metadata, upload-offset"

COMMON: Final[Headers] = [
    RESUMABLE,
    (b"access-control-expose-headers", _EXPOSED + b", " + _EXPOSED_OF_UPLOAD),
]
OF_ERRORS: Final[Headers] = [*COMMON, (b"tus-version", VERSION.encode())]
_METHODS: Final = ("DELETE", "HEAD", "PATCH")  # which some proxies do not pass on


class Checksum(NamedTuple):
    """The digest of one part of an upload."""

    algorithm: str
    digest: bytes

    @property
    def hexadecimal(self) -> str:
        """Return the digest in hexadecimal digits."""
        return self.digest.hex()


def capabilities(largest: int) -> Headers:
    """Return the headers that say what this server supports."""
    return [
        (b"tus-version", VERSION.encode()),
        (b"tus-extension", _EXTENSIONS),
        (b"tus-max-size", b"%d" % largest),
        (b"tus-checksum-algorithm", ",".join(CHECKSUM_ALGORITHMS).encode()),
    ]


def stated_method(request: Request) -> str:
    """Return the method of a request: for POST, the one in X-HTTP-Method-Override, if a client states one."""
    stated = request.header(b"x-http-method-override") if request.method == "POST" else None
    if stated is None or (method := stated.strip().upper()) == "POST":
        return request.method
    if method not in _METHODS:
        raise MalformedRequest(
            f"X-HTTP-Method-Override must be {', '.join(_METHODS)} or POST, not {quote_text(stated)}"
        )
    return method


def parse_number(text: str | None, header: str) -> int:
    """Return the number in a required header."""
    if text is None:
        raise MalformedRequest(f"the header {header} is required")
    if _NUMBER.fullmatch(text.strip()) is None:
        raise MalformedRequest(f"the header {header} must be a number of bytes, not {quote_text(text)}")
    return int(text)


def parse_metadata(text: str | None) -> dict[str, str]:
    """Return the fields of Upload-Metadata. Each value is UTF-8 in Base64, or missing."""
    fields: dict[str, str] = {}
    if text is None or not text.strip():
        return fields
    if len(text) > _LONGEST:
        raise MalformedRequest(f"the header Upload-Metadata is longer than {_LONGEST} bytes")
    for pair in text.split(","):
        key, _, value = pair.strip().partition(" ")
        if _KEY.fullmatch(key) is None:
            raise MalformedRequest(f"Upload-Metadata has the key {quote_text(key)}: keys are visible ASCII characters")
        if key in fields:
            raise MalformedRequest(f"Upload-Metadata has the key {key} twice")
        fields[key] = _decode_value(key, value.strip())
    return fields


def parse_checksum(text: str) -> Checksum:
    """Return the digest in Upload-Checksum. Raise InvalidInput for an algorithm that is not supported."""
    algorithm, _, value = text.strip().partition(" ")
    if algorithm not in CHECKSUM_ALGORITHMS:
        supported = ", ".join(CHECKSUM_ALGORITHMS)
        raise MalformedRequest(f"Upload-Checksum has the algorithm {quote_text(algorithm)}; supported: {supported}")
    digest = _decode_base64(value.strip())
    if digest is None or len(digest) != hashlib.new(algorithm, usedforsecurity=False).digest_size:
        raise MalformedRequest(f"Upload-Checksum must be {algorithm} and the digest in Base64")
    return Checksum(algorithm, digest)


def _decode_value(key: str, value: str) -> str:
    decoded = _decode_base64(value)
    try:
        if decoded is None:
            raise ValueError
        return decoded.decode("utf-8")
    except ValueError:
        raise InvalidInput("upload", key, f"the value of {key} in Upload-Metadata is not UTF-8 in Base64") from None


def _decode_base64(value: str) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
