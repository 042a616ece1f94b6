"""IBIps, the opaque labels: Algorithms 5, 6 and 7, and the grammar of Table 7.1."""

import ipaddress
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from perdure.errors import InvalidInput, InvalidName, OutOfRange, quote_text
from perdure.names import instant
from perdure.names.ibi.citation import refuse_document_type
from perdure.names.ibi.label import MAX_PORT, Label, check_port, check_text
from perdure.names.instant import Exact
from perdure.names.radix import Radix

DEFAULT_PORT: Final = 800
EPOCH: Final = 807_235_200  # 1995-08-01T00:00:00Z, the month of the first label

BASE_27: Final = Radix("23456789ABCDEFGHJKLMNPQRSTU")  # Table 7.6
IPV4_TEXT: Final = Radix("0123456789.")  # Table 7.4
IPV6_TEXT: Final = Radix("0123456789abcdef:")  # Table 7.5
_DECIMAL: Final = Radix("0123456789")
_ZERO: Final = BASE_27.digits[0]

_ADDRESS_AND_PORT: Final = re.compile(r"[0-9.]+:[0-9]{1,5}|\[.*\]:[0-9]{1,5}")
_NOT_A_GRAPHEME: Final = re.compile(r"[^2-9A-HJ-NP-UWXa-hj-np-uwx/]")
_PREFIX: Final = re.compile(r"(?P<ip>[2-9A-HJ-NP-U]+)(?P<kind>[WX])(?P<port>[2-9A-HJ-NP-U]*)")
_SUFFIX: Final = re.compile(r"(?P<seconds>[2-9A-HJ-NP-U]+)(?:W(?P<places>[2-9A-HJ-NP-U]+))?")
_ADDRESSES: Final = 256  # in each cache: a server mints under a few of them, again and again
_MAX_ADDRESS_DIGITS: Final = 64  # more than the longest IPv6 text needs, with room for leading zeros


@dataclass(frozen=True, slots=True, eq=False)
class OpaqueName(Label):
    """An opaque label: an address and a port, a slash, an instant, each written in base 27."""

    ip: str

    @property
    def canonical_spelling(self) -> str:
        return self.label.upper()

    @property
    def canonical(self) -> str:
        return f"{self.prefix}/{opaque_suffix(self.date)}"

    @property
    def prefix(self) -> str:
        """Return the prefix of all labels of this address and port."""
        return opaque_prefix(self.ip, self.port)


def opaque_prefix(ip: str, port: int) -> str:
    """Algorithm 5: encode the text of the address as a number, W for IPv4 or X for IPv6, the port if it is not 800.

    >>> opaque_prefix("150.163.34.243", 800)
    '8JMKD3MGP8W'
    >>> opaque_prefix("2001:252:0:1::2008:6", 802)
    '7URMDHLL9SSN2D89MX34M'
    """
    check_port(port)
    text = _normalise_address(ip)
    coded_port = "" if port == DEFAULT_PORT else BASE_27.write(port)
    return f"{_encode_address(text)}{coded_port}"


@lru_cache(_ADDRESSES)
def _encode_address(text: str) -> str:
    if ":" in text:
        return f"{BASE_27.write(IPV6_TEXT.read(text))}X"
    return f"{BASE_27.write(IPV4_TEXT.read(text))}W"


def opaque_suffix(date: Exact) -> str:
    """Algorithm 6: encode the seconds since 1995-08-01T00:00:00Z and, after a W, the decimal places.

    Each leading zero of the decimal places is written as the grapheme for zero, so that .5 and .05 have different
    labels.

    >>> opaque_suffix(1234806360)
    '34PGRBS'
    >>> opaque_suffix(1234806360 + Fraction(1, 20))
    '34PGRBSW27'
    """
    if type(date) is int and EPOCH <= date < instant.MAX_SECONDS:
        return BASE_27.write(date - EPOCH)
    value = instant.to_exact(date, "ibi")
    if value.numerator < EPOCH * value.denominator:
        raise OutOfRange("ibi", "date", "the date is before 1995-08-01T00:00:00Z, where IBIps begin")
    whole, places = instant.split_seconds(value, "ibi")
    suffix = BASE_27.write(whole - EPOCH)
    if not places:
        return suffix
    significant = places.lstrip("0")
    zeros = _ZERO * (len(places) - len(significant))
    return f"{suffix}W{zeros}{BASE_27.write(_DECIMAL.read(significant))}"


def opaque_name(ip: str, port: int, date: Exact) -> OpaqueName:
    """Algorithm 7: join prefix and suffix."""
    label = f"{opaque_prefix(ip, port)}/{opaque_suffix(date)}"
    return OpaqueName(label, port, instant.to_exact(date, "ibi"), _normalise_address(ip))


def parse_opaque(label: str) -> OpaqueName:
    """Parse an IBIp by Table 7.1, with a valid address, port and date."""
    check_text(label)
    if label.count("/") != 1:
        raise InvalidName("ibi", "label", None, "an IBIp has two words, separated by one slash")
    stray = _NOT_A_GRAPHEME.search(label)
    if stray:
        refuse_document_type(label, parse_opaque)
        raise InvalidName(
            "ibi", "label", stray.start(), f"{stray[0]!a} at position {stray.start()} is not in the IBIp alphabet"
        )
    prefix, suffix = label.upper().split("/")
    ip, port = _parse_prefix(prefix)
    return OpaqueName(label, port, _parse_suffix(suffix, len(prefix) + 1), ip)


def _normalise_address(ip: str) -> str:
    """Return the address as the algorithm expects it: dotted IPv4, or IPv6 by RFC 5952 with hexadecimal groups only."""
    if not isinstance(ip, str):
        raise InvalidInput("ibi", "ip", f"the IP address must be text, not {type(ip).__name__}")
    if "%" in ip:
        raise InvalidInput("ibi", "ip", f"{quote_text(ip)} has a zone id, which is meaningless on other machines")
    return _write_address(ip)


@lru_cache(_ADDRESSES)
def _write_address(ip: str) -> str:
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        hint = ": give the IP address and the port apart" if _ADDRESS_AND_PORT.fullmatch(ip) else ""
        raise InvalidInput("ibi", "ip", f"{quote_text(ip)} is not an IP address{hint}") from None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    if mapped is not None:  # Python versions differ in how they write these
        high, low = divmod(int(mapped), 1 << 16)
        return f"::ffff:{high:x}:{low:x}"
    return str(address)


def _parse_prefix(prefix: str) -> tuple[str, int]:
    match = _PREFIX.fullmatch(prefix)
    if match is None:
        raise InvalidName(
            "ibi", "prefix", 0, "the prefix must be a coded address, one W (IPv4) or X (IPv6), and perhaps a coded port"
        )
    if len(match["ip"]) > _MAX_ADDRESS_DIGITS:
        raise InvalidName("ibi", "prefix", 0, "the coded address is longer than any IP address")
    text = (IPV4_TEXT if match["kind"] == "W" else IPV6_TEXT).write(BASE_27.read(match["ip"]))
    # A number has no leading zero: "0.1.2.3" is decoded to ".1.2.3", "0:1::" to ":1::".
    if text[0] == "." or (text[0] == ":" and text[:2] != "::"):
        text = "0" + text
    try:
        ip = _normalise_address(text)
    except InvalidInput as problem:
        raise InvalidName("ibi", "prefix", 0, f"the coded address is wrong: {problem.reason}") from None
    return ip, _parse_port(match["port"], match.start("port"))


def _parse_port(coded: str, position: int) -> int:
    if not coded:
        return DEFAULT_PORT
    significant = coded.lstrip(_ZERO)
    port = BASE_27.read(significant) if 0 < len(significant) <= 4 else 0
    if not 1 <= port <= MAX_PORT:
        raise InvalidName("ibi", "port", position, f"the coded port must be between 1 and {MAX_PORT}")
    return port


def _parse_suffix(suffix: str, position: int) -> Fraction:
    match = _SUFFIX.fullmatch(suffix)
    if match is None:
        raise InvalidName(
            "ibi", "suffix", position, "the suffix must be coded seconds and perhaps W and a coded fraction"
        )
    seconds = EPOCH + BASE_27.read(match["seconds"])
    if seconds >= instant.MAX_SECONDS:
        raise InvalidName("ibi", "suffix", position, "the coded date is too far in the future")
    places = match["places"] or ""
    significant = places.lstrip(_ZERO)
    zeros = "0" * (len(places) - len(significant))
    digits = zeros + (_DECIMAL.write(BASE_27.read(significant)) if significant else "")
    try:
        return seconds + instant.from_decimals(digits)
    except ValueError as problem:
        raise InvalidName("ibi", "suffix", position, f"the coded fraction is too long: {problem}") from None
