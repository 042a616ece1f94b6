"""Opaque labels from before about 2008: case-sensitive, in base 53.

The suffix counts seconds from the epoch of today's labels. The prefix is an IPv4 number followed by Z, or a coded host.
In a coded host, X separates words, Z the first word, and Y the port (which may be missing). The coding of words is not
published, so the host is not decoded.

>>> parse_legacy("APM77Z/KFQ6T").ip
'127.0.0.1'
>>> parse_legacy("6qtX3pFwXQZ3r59YD6/GPtJt").port
1912
"""

import ipaddress
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering
from typing import Final

from perdure.errors import InvalidName
from perdure.names.ibi.label import MAX_PORT, check_text
from perdure.names.ibi.opaque import EPOCH, IPV4_TEXT
from perdure.names.radix import Radix

BASE_53: Final = Radix("23456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUV")
_DIGIT: Final = f"[{BASE_53.digits}]"
_LABEL: Final = re.compile(
    rf"(?:(?P<ip>{_DIGIT}{{1,20}})Z|(?P<host>{_DIGIT}+(?:X{_DIGIT}+)*Z{_DIGIT}+))"
    rf"(?:Y(?P<port>{_DIGIT}{{0,3}}))?/(?P<seconds>{_DIGIT}{{1,10}})"
)
_MAX_LABEL: Final = 300


@total_ordering
@dataclass(frozen=True, slots=True)
class LegacyName:
    """A base-53 label. It is compared, registered and resolved exactly as written, including case."""

    label: str
    ip: str | None
    port: int | None
    date: Fraction

    def __str__(self) -> str:
        return self.label

    @property
    def prefix(self) -> str:
        """Return the coded address or host, exactly as written."""
        return self.label.partition("/")[0]

    def __lt__(self, other: "LegacyName") -> bool:
        if not isinstance(other, LegacyName):
            return NotImplemented
        return (self.date, self.label) < (other.date, other.label)


def parse_legacy(label: str) -> LegacyName:
    """Parse a label of the old, case-sensitive form."""
    check_text(label)
    match = _LABEL.fullmatch(label) if len(label) <= _MAX_LABEL else None
    if match is None:
        raise InvalidName("ibi", "label", None, "this does not have the form of a base-53 label (as in APM77Z/KFQ6T)")
    date = EPOCH + BASE_53.read(match["seconds"])
    port = BASE_53.read(match["port"]) if match["port"] else None
    if port is not None and not 1 <= port <= MAX_PORT:
        raise InvalidName("ibi", "port", match.start("port"), f"the coded port, {port}, is beyond {MAX_PORT}")
    return LegacyName(label, _decode_ip(match["ip"]) if match["ip"] else None, port, Fraction(date))


def _decode_ip(coded: str) -> str:
    text = IPV4_TEXT.write(BASE_53.read(coded))
    text = "0" + text if text[0] == "." else text
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        raise InvalidName("ibi", "prefix", 0, f"the coded address, {text!r}, is not an IPv4 address") from None
