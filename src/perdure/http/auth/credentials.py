"""Parsers of the Authorization header. No class of this module shows a secret when it is printed."""

import re
from typing import Final
from urllib.parse import unquote_to_bytes

import msgspec

from perdure.errors import BadKey
from perdure.names.handle import STRAY_PERCENT
from perdure.records.base64_text import decode_base64

# Some clients omit the commas, and some the quotation marks.
_PARAMETER: Final = re.compile(r'([A-Za-z]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))[ \t]*,?[ \t]*')
# Names of parameters are compared without case (RFC 9110): some clients write sessionID.
_NAMES: Final = {
    name.lower(): name
    for name in ("sessionId", "clientCert", "id", "type", "cnonce", "alg", "signature", "salt", "iterations", "length")
}
_ESCAPED: Final = re.compile(r"\\(.)")
_IDENTITY: Final = re.compile(r"([0-9]{1,10}):(.+)", re.DOTALL)
_ANY_INDEX: Final = 0
_LARGEST_INDEX: Final = (1 << 31) - 1
_LONGEST: Final = 8192  # characters of the whole header


class Bearer:
    """A Perdure key."""

    __slots__ = ("token",)

    def __init__(self, token: str) -> None:
        self.token = token


class Basic:
    """A percent-decoded name, and a password as the bytes that the client sent."""

    __slots__ = ("name", "password")

    def __init__(self, name: str, password: bytes) -> None:
        self.name = name
        self.password = password


class Handle:
    """The parameters of the Handle scheme: a session, a proof, or the use of a client certificate."""

    __slots__ = ("parameters",)

    def __init__(self, parameters: dict[str, str]) -> None:
        self.parameters = parameters

    @property
    def is_certificate(self) -> bool:
        return self.parameters.get("clientCert", "").lower() == "true"


class Identity(msgspec.Struct, frozen=True):
    """One value of one handle, the name of a Handle client. Index 0 means any value."""

    index: int
    handle: str


def parse_authorization(header: str) -> Bearer | Basic | Handle:
    scheme, _, rest = header.strip().partition(" ")
    if len(header) > _LONGEST:
        raise BadKey("the Authorization header is too long")
    match scheme.lower():
        case "bearer":
            return Bearer(rest.strip())
        case "basic":
            return _parse_basic(rest.strip())
        case "handle":
            return Handle(parse_handle_parameters(rest))
    raise BadKey("the Authorization header must begin with Bearer, Basic or Handle")


def parse_handle_parameters(text: str) -> dict[str, str]:
    """Parse `name="value", …`, with each name at most once."""
    text = _reread_as_utf8(text.strip())
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _PARAMETER.match(text, at)
        name = "" if match is None else _NAMES.get(match[1].lower(), match[1])
        if match is None or name in found:
            raise BadKey(f'malformed Authorization header at character {at}: expected name="value", …')
        found[name] = match[3] if match[2] is None else _ESCAPED.sub(r"\1", match[2])
        at = match.end()
    return found


def parse_identity(text: str) -> Identity | None:
    """Parse an identity such as `300:21.T1/ADMIN`, percent-encoded or not.

    A handle without an index means any of its values. Returns None for a text without a slash, which is no handle.
    """
    decoded = percent_decode(text)
    match = _IDENTITY.fullmatch(decoded)
    if match is None:
        return Identity(_ANY_INDEX, decoded) if "/" in decoded else None
    if int(match[1]) > _LARGEST_INDEX:
        return None
    return Identity(int(match[1]), match[2])


def percent_decode(text: str) -> str:
    """Decode a percent-encoded text. A text with a stray percent sign is returned as it is."""
    if "%" not in text or STRAY_PERCENT.search(text):
        return text
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        return text


def decode_octets(text: str, what: str, most: int) -> bytes:
    """Decode base64 as clients write it. A space is read as the plus sign it was made from."""
    try:
        found = decode_base64(text.strip().replace(" ", "+"))
    except ValueError:
        raise BadKey(f"{what} is not base64") from None
    if not 0 < len(found) <= most:
        raise BadKey(f"{what} must have 1 to {most} bytes")
    return found


def _parse_basic(text: str) -> Basic:
    try:
        name, colon, password = decode_base64(text).partition(b":")
    except ValueError:
        raise BadKey("the credentials after Basic are not base64") from None
    if not colon:
        raise BadKey("the credentials after Basic have no password")
    return Basic(percent_decode(_decode_text(name)), password)


def _decode_text(octets: bytes) -> str:
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return octets.decode("latin-1")


def _reread_as_utf8(text: str) -> str:
    """Decode a header again as UTF-8: servers decode headers as Latin-1, but clients write other letters in UTF-8."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
