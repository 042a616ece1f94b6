"""The headers of a stored file: its type, its name, its digest, and what a browser may do with it.

Stored files come from many people, and are served from the address of the registry. So a page among them gets an origin
of its own, without scripts: it can neither read cookies of this server, nor send requests in the name of a reader.
"""

import base64
import codecs
import re
from typing import Final
from urllib.parse import quote

from perdure.http.shared.media_type import FORM_URLENCODED
from perdure.http.shared.request import Headers

# Files that a browser shows by itself, and that contain nothing that runs.
_SHOWN_AS_THEY_ARE: Final = frozenset(
    {
        "application/json",
        "application/pdf",
        "audio/aac",
        "audio/flac",
        "audio/mpeg",
        "audio/ogg",
        "audio/wav",
        "image/avif",
        "image/bmp",
        "image/gif",
        "image/jpeg",
        "image/png",
        "image/tiff",
        "image/webp",
        "text/csv",
        "text/markdown",
        "text/plain",
        "video/mp4",
        "video/ogg",
        "video/webm",
    }
)
# Files that a browser shows, and that could contain scripts.
_SHOWN_IN_SANDBOX: Final = frozenset(
    {"application/xhtml+xml", "application/xml", "image/svg+xml", "text/html", "text/xml"}
)
# Texts that cannot state their encoding. Browsers take them for Windows-1252 if the server states none.
_WITHOUT_ENCODING: Final = frozenset({"text/csv", "text/markdown", "text/plain", "text/tab-separated-values"})
_UNKNOWN: Final = "application/octet-stream"
_MEDIA_TYPE: Final = re.compile(
    r"[a-z0-9!#$&^_.+-]{1,80}/[a-z0-9!#$&^_.+-]{1,80}(?:;[ ]?[a-z]{1,20}=[a-z0-9_.:-]{1,40})?"
)
_PDF: Final = "application/pdf"
_OWN_PARTS: Final = (
    "img-src 'self' data:; media-src 'self' data:; font-src 'self' data:; style-src 'self' 'unsafe-inline'"
)
_SANDBOX: Final = (
    f"sandbox; default-src 'none'; {_OWN_PARTS}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_NO_FRAMES: Final = "frame-ancestors 'none'"  # the viewers of browsers do not show a PDF file in a sandbox
_TOKEN_CHARACTERS: Final = "!#$&+-.^_`|~"  # noqa: S105  (that need no encoding, RFC 8187, section 3.2.1)
_NOT_QUOTABLE: Final = re.compile(r"[^ !#-\[\]-~]|[%]")
_EXPOSED: Final = b"accept-ranges, content-disposition, content-range, repr-digest"


def safe_media_type(media_type: str | None) -> str:
    """Return a stored media type; that of any bytes if it is missing, or is not one."""
    text = (media_type or "").strip().lower()
    return text if _MEDIA_TYPE.fullmatch(text) else _UNKNOWN


def with_charset(media_type: str, beginning: bytes, *, is_whole: bool) -> str:
    """Return the media type of a text with its encoding, if its beginning shows that it is UTF-8.

    >>> with_charset("text/plain", "\N{LATIN SMALL LETTER A WITH TILDE}o".encode(), is_whole=True)
    'text/plain; charset=utf-8'
    >>> with_charset("text/plain", "\N{LATIN SMALL LETTER A WITH TILDE}o".encode("latin-1"), is_whole=True)
    'text/plain'
    """
    if media_type not in _WITHOUT_ENCODING or beginning.isascii():
        return media_type
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning, final=is_whole)
    except UnicodeDecodeError:
        return media_type
    return f"{media_type}; charset=utf-8"


def stated_media_type(text: str | None) -> str | None:
    """Return the media type that a client states of a file; None if it says less than the name of the file.

    >>> stated_media_type("Text/HTML"), stated_media_type("application/octet-stream"), stated_media_type("photo")
    ('text/html', None, None)
    """
    media_type = safe_media_type(text)
    return None if media_type in (_UNKNOWN, FORM_URLENCODED) else media_type


def content_disposition(filename: str, *, is_shown: bool) -> str:
    """Return the value of Content-Disposition (RFC 6266). A name that is not plain ASCII is given twice (RFC 8187).

    >>> content_disposition("a.txt", is_shown=True)
    'inline; filename="a.txt"'
    >>> content_disposition("f\\N{LATIN SMALL LETTER U WITH DIAERESIS}r.txt", is_shown=False)
    'attachment; filename="f_r.txt"; filename*=UTF-8\\'\\'f%C3%BCr.txt'
    """
    kind = "inline" if is_shown else "attachment"
    plain = _NOT_QUOTABLE.sub("_", filename)
    value = f'{kind}; filename="{plain}"'
    if plain != filename or plain != plain.strip():  # some clients remove blanks at the ends
        encoded = quote(filename.encode("utf-8", "replace"), safe=_TOKEN_CHARACTERS)
        value += f"; filename*=UTF-8''{encoded}"
    return value


def browser_headers(media_type: str | None, filename: str) -> Headers:
    """Return the headers that say what a file is, and keep it from acting in the name of this server."""
    media = safe_media_type(media_type)
    kind = media.partition(";")[0]
    is_plain = kind in _SHOWN_AS_THEY_ARE
    policy = _NO_FRAMES if kind == _PDF else _SANDBOX
    disposition = content_disposition(filename, is_shown=is_plain or kind in _SHOWN_IN_SANDBOX)
    return [
        (b"content-type", media.encode()),
        (b"content-disposition", disposition.encode("ascii")),
        (b"content-security-policy", policy.encode()),
        (b"referrer-policy", b"no-referrer"),
        (b"access-control-expose-headers", _EXPOSED),
    ]


def digest_field(algorithm: str, hexadecimal: str) -> bytes:
    """Return a digest as Repr-Digest and Content-Digest write it (RFC 9530).

    >>> digest_field("sha-256", "00" * 32)
    b'sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:'
    """
    return b"%b=:%b:" % (algorithm.encode(), base64.b64encode(bytes.fromhex(hexadecimal)))
