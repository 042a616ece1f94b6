"""What the header Authorization says, taken apart. Nothing here shows a secret when it is printed."""

import binascii
import re
from base64 import b64decode
from typing import Final
from urllib.parse import unquote_to_bytes

import msgspec

from perdure.errors import BadKey

# Some clients forget the commas, and some the quotation marks.
_PARAMETER: Final = re.compile(r'([A-Za-z]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))[ \t]*,?[ \t]*')
_ESCAPED: Final = re.compile(r"\\(.)")
_STRAY_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_IDENTITY: Final = re.compile(r"([0-9]{1,10}):(.+)", re.DOTALL)
_LARGEST_INDEX: Final = (1 << 31) - 1
_LONGEST: Final = 8192  # characters of the whole header


class Bearer:
    """A key of Perdure."""

    __slots__ = ("token",)

    def __init__(self, token: str) -> None:
        self.token = token


class Basic:
    """A name, percent-decoded, and a password, as the bytes that were sent."""

    __slots__ = ("name", "password")

    def __init__(self, name: str, password: bytes) -> None:
        self.name = name
        self.password = password


class Handle:
    """What clients of Handle servers say: a session, a proof, or that they have a certificate."""

    __slots__ = ("parameters",)

    def __init__(self, parameters: dict[str, str]) -> None:
        self.parameters = parameters

    @property
    def says_certificate(self) -> bool:
        return self.parameters.get("clientCert", "").lower() == "true"


class Identity(msgspec.Struct, frozen=True):
    """One value of one handle, as a client names itself; index 0 is any of them."""

    index: int
    handle: str


def credentials(header: str) -> Bearer | Basic | Handle:
    scheme, _, rest = header.strip().partition(" ")
    if len(header) > _LONGEST:
        raise BadKey("the header authorization is too long")
    match scheme.lower():
        case "bearer":
            return Bearer(rest.strip())
        case "basic":
            return _basic(rest.strip())
        case "handle":
            return Handle(handle_parameters(rest))
    raise BadKey("the header authorization must begin with Bearer, Basic or Handle")


def handle_parameters(text: str) -> dict[str, str]:
    """`name="value", …`; each once."""
    text = _as_utf8(text.strip())
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _PARAMETER.match(text, at)
        if match is None or match[1] in found:
            raise BadKey(f'the header authorization must go on as name="value", … (from character {at} on)')
        found[match[1]] = match[3] if match[2] is None else _ESCAPED.sub(r"\1", match[2])
        at = match.end()
    return found


def identity(text: str) -> Identity | None:
    """From `300:21.T1/ADMIN`, percent-encoded or not, because clients do either; None, if it is nothing of the kind."""
    match = _IDENTITY.fullmatch(percent_decoded(text))
    if match is None or int(match[1]) > _LARGEST_INDEX:
        return None
    return Identity(int(match[1]), match[2])


def percent_decoded(text: str) -> str:
    """Decoded, if it is encoded throughout; a percent sign that introduces nothing shows that it is not."""
    if "%" not in text or _STRAY_PERCENT.search(text):
        return text
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        return text


def octets(text: str, what: str, most: int) -> bytes:
    """Bytes in base64, of either alphabet, with or without padding. A plus sign that became a space is one again."""
    plain = text.strip().replace(" ", "+").replace("-", "+").replace("_", "/").rstrip("=")
    try:
        found = b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise BadKey(f"{what} is not base64") from None
    if not 0 < len(found) <= most:
        raise BadKey(f"{what} must have 1 to {most} bytes")
    return found


def _basic(text: str) -> Basic:
    try:
        name, colon, password = b64decode(text, validate=True).partition(b":")
    except (binascii.Error, ValueError):
        raise BadKey("what follows Basic is not base64") from None
    if not colon:
        raise BadKey("what follows Basic has no password")
    return Basic(percent_decoded(_text(name)), password)


def _text(octets: bytes) -> str:
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return octets.decode("latin-1")


def _as_utf8(text: str) -> str:
    """Headers are handed on as Latin-1; who writes other letters into them writes UTF-8."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
