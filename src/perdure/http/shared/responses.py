"""Responses: headers that many handlers send, and records as Handle clients read them.

The fast path takes the parts of its responses from here, so that they equal those of the application byte for byte.
"""

from collections.abc import Iterable
from email.utils import formatdate
from functools import lru_cache
from typing import Final

import msgspec

from perdure.http.shared.conditional import record_etag
from perdure.http.shared.request import Headers, Response
from perdure.records.value import JsonValue, Value, to_json_value

SUCCESS: Final = 1  # the response code of Handle servers
COMMON_HEADERS: Final[Headers] = [(b"x-content-type-options", b"nosniff")]  # of every response
NO_CACHE: Final = (b"cache-control", b"no-cache")
NO_STORE: Final = (b"cache-control", b"no-store")
MAX_AGE_DAY: Final = (b"cache-control", b"max-age=86400")
VARY: Final = b"accept"  # the headers that every response of the resolver depends on
VARY_ACCEPT: Final = (b"vary", VARY)
HANDLE_JSON: Final = b"application/json;charset=utf-8"
RECORD_HEADERS: Final[Headers] = [(b"content-type", HANDLE_JSON), NO_CACHE]

_encode: Final = msgspec.json.Encoder().encode
_RECORD_START: Final = b'{"responseCode":%d,"handle":' % SUCCESS
# All bytes that a header may contain. Without them, only the line ends of a head may be left.
_HEADER_BYTES: Final = bytes(byte for byte in range(256) if byte == 9 or (byte >= 32 and byte != 127))
_LINE_END: Final = b"\r\n"


class HandleRecord(msgspec.Struct, gc=False):
    """A record in the JSON of Handle servers."""

    responseCode: int  # noqa: N815  (the name that Handle clients know)
    handle: str
    values: list[JsonValue]


def record_response(name: str, values: Iterable[Value], version: int) -> Response:
    """Return a record under the name as the client wrote it, because Handle clients compare it."""
    etag = (b"etag", record_etag(version).encode())
    return Response(200, record_body(name, values), [*RECORD_HEADERS, etag])


def record_body(name: str, values: Iterable[Value]) -> bytes:
    """Return the JSON of a record."""
    return _encode(HandleRecord(SUCCESS, name, [to_json_value(value) for value in values]))


def record_body_from_json(name: bytes, values: bytes) -> bytes:
    """Return the JSON of a record from values that are JSON already, and a name in plain ASCII."""
    return b"".join((_RECORD_START, _encode(name.decode("ascii")), b',"values":', values, b"}"))


def format_head(headers: Headers) -> bytes:
    """Return the lines of a head. Raise RuntimeError if a header would break its line."""
    head = b"".join([b"%b: %b\r\n" % header for header in headers])
    if head.translate(None, _HEADER_BYTES) != _LINE_END * len(headers):
        raise RuntimeError("a header would have broken its line")
    return head


@lru_cache(maxsize=64)
def http_date(second: int) -> bytes:
    """Return an instant as HTTP headers write it."""
    return formatdate(second, usegmt=True).encode()
