"""Repository names, the readable labels: Algorithms 1, 2 and 3, and the grammar of Table 6.1."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from perdure.errors import InvalidInput, InvalidName, OutOfRange, quote_text
from perdure.names import instant
from perdure.names.handle import fold
from perdure.names.ibi.citation import refuse_document_type
from perdure.names.ibi.label import MAX_PORT, Label, check_port, check_text
from perdure.names.instant import Exact

DEFAULT_PORT: Final = 80

_WORD: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_WORD_ONLY: Final = re.compile(_WORD)
_HOST_AND_PORT: Final = re.compile(r"[^:/]+:[0-9]{1,5}")
_WORD_PORT: Final = re.compile(rf"(?P<word>{_WORD})(?:[.@](?P<port>[0-9]+))?")
_YEAR: Final = re.compile(r"[0-9]{4,}")
_TIME: Final = re.compile(r"([0-9]{2})\.([0-9]{2})\.([0-9]{2})\.([0-9]{2})(?:\.([0-9]{2})(?:\.([0-9]+))?)?")
_MAX_WORD: Final = 63  # RFC 1035, section 2.3.4, which the standard builds upon
_MAX_HOST: Final = 253
_HOSTS: Final = 256  # in the cache: a server mints under a few of them, again and again
_MAX_YEAR_DIGITS: Final = 12


@dataclass(frozen=True, slots=True, eq=False)
class RepositoryName(Label):
    """A readable label: `subdomain/word[.port]/year/month.day.hour.minute[.second[.fraction]]`."""

    host: str

    @property
    def canonical_spelling(self) -> str:
        return self.key

    @property
    def canonical(self) -> str:
        return f"{self.prefix}/{repository_suffix(self.date)}"

    @property
    def prefix(self) -> str:
        """Return the prefix of all labels of this host and port. A label may write it differently (`mtc-m18@80`)."""
        return repository_prefix(self.host, self.port)

    @property
    def directory(self) -> str:
        """Return the relative path of the four nested directories that hold the item. Equal names have equal paths."""
        return self.key


def repository_prefix(host: str, port: int) -> str:
    """Algorithm 1: move the first word of the host name to the end, with the port if it is not 80.

    >>> repository_prefix("mtc-m18.sid.inpe.br", 80)
    'sid.inpe.br/mtc-m18'
    >>> repository_prefix("WWW.Example.org.", 8080)
    'example.org/www.8080'
    """
    check_port(port)
    word, subdomain = _split_host(host)
    return f"{subdomain}/{word}" if port == DEFAULT_PORT else f"{subdomain}/{word}.{port}"


def repository_suffix(date: Exact) -> str:
    """Algorithm 2: write the date in UTC, without seconds and fraction if they are zero.

    >>> repository_suffix(1234806360)
    '2009/02.16.17.46'
    >>> from decimal import Decimal
    >>> repository_suffix(Decimal("1287587646.05"))
    '2010/10.20.15.14.06.05'
    """
    value = instant.to_exact(date, "ibi")
    whole, places = instant.split_seconds(value, "ibi")
    year, month, day, hour, minute, second = instant.from_posix(whole)
    if year < 0:
        raise OutOfRange("ibi", "date", "the date is before the year 0")
    suffix = f"{year:04d}/{month:02d}.{day:02d}.{hour:02d}.{minute:02d}"
    if places:
        return f"{suffix}.{second:02d}.{places}"
    return f"{suffix}.{second:02d}" if second else suffix


def repository_name(host: str, port: int, date: Exact) -> RepositoryName:
    """Algorithm 3: join prefix and suffix."""
    label = f"{repository_prefix(host, port)}/{repository_suffix(date)}"
    return RepositoryName(label, port, instant.to_exact(date, "ibi"), _normalise_host(host))


def parse_repository(label: str) -> RepositoryName:
    """Parse a repository name by Table 6.1, with a valid host, port and date."""
    check_text(label)
    if label.count("/") != 3:
        raise InvalidName("ibi", "label", None, "a repository name has four parts, separated by three slashes")
    subdomain, word_port, year, time = label.split("/")
    at = len(subdomain) + 1
    match = _WORD_PORT.fullmatch(word_port)
    if match is None or len(match["word"]) > _MAX_WORD:
        raise InvalidName(
            "ibi", "word", at, f"{quote_text(word_port)} is not a word of a domain name with or without a port"
        )
    host = _parse_host(f"{match['word']}.{subdomain}")
    port = _parse_port(match["port"], at + match.start("port"))
    date = _parse_date(label, year, time, at + len(word_port) + 1)
    return RepositoryName(label, port, date, host)


def _normalise_host(host: str) -> str:
    return fold(host).removesuffix(".")


def _split_host(host: str) -> tuple[str, str]:
    if not isinstance(host, str):
        raise InvalidInput("ibi", "host", f"the host must be text, not {type(host).__name__}")
    return _split_name(_normalise_host(host))


@lru_cache(_HOSTS)
def _split_name(name: str) -> tuple[str, str]:
    problem = _explain_bad_host(name)
    if problem:
        raise InvalidInput("ibi", "host", problem)
    word, _, subdomain = name.partition(".")
    return word, subdomain


def _explain_bad_host(name: str) -> str | None:
    """Return why a host name is invalid (Table 6.1, and the sizes of RFC 1035), or None if it is valid."""
    words = name.split(".")
    if len(words) < 2:
        return f"the host {quote_text(name)} has one word, and a repository name needs at least two (example.org)"
    for word in words:
        if not _WORD_ONLY.fullmatch(word):
            if _HOST_AND_PORT.fullmatch(name):
                return f"{quote_text(name)} contains a port: give the host and the port apart"
            hint = "" if word.isascii() else " (write an international name in its xn-- form)"
            return f"{quote_text(word)} is not a word of a domain name: letters, digits, inner hyphens{hint}"
        if len(word) > _MAX_WORD:
            return f"{quote_text(word)} is longer than {_MAX_WORD} characters"
    if not words[-1][0].isalpha():
        last = quote_text(words[-1])
        return f"the last word of a host name, {last}, must begin with a letter (an IP address is not a host name)"
    if len(name) > _MAX_HOST:
        return f"the host name is longer than {_MAX_HOST} characters"
    return None


def _parse_host(written: str) -> str:
    host = _normalise_host(written)
    problem = _explain_bad_host(host)
    if problem:
        raise InvalidName("ibi", "subdomain", 0, problem)
    return host


def _parse_port(digits: str | None, position: int) -> int:
    if digits is None:
        return DEFAULT_PORT
    significant = digits.lstrip("0")
    if not significant or len(significant) > len(str(MAX_PORT)) or int(significant) > MAX_PORT:
        raise InvalidName("ibi", "port", position, f"the port must be between 1 and {MAX_PORT}")
    return int(significant)


def _parse_date(label: str, year: str, time: str, position: int) -> Fraction:
    if not _YEAR.fullmatch(year):
        raise InvalidName("ibi", "year", position, f"{quote_text(year)} is not a year of at least four digits")
    if len(year.lstrip("0")) > _MAX_YEAR_DIGITS:
        raise InvalidName("ibi", "year", position, f"the year has more than {_MAX_YEAR_DIGITS} digits")
    match = _TIME.fullmatch(time)
    time_at = position + len(year) + 1
    if match is None:
        refuse_document_type(label, parse_repository)
        raise InvalidName(
            "ibi", "time", time_at, f"{quote_text(time)} is not month.day.hour.minute[.second[.fraction]]"
        )
    month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:5])
    try:
        whole = instant.to_posix(int(year), month, day, hour, minute, second)
        date = whole + instant.from_decimals(match[6] or "")
    except ValueError as problem:
        raise InvalidName("ibi", "time", time_at, f"there is no such date: {problem}") from None
    if date >= instant.MAX_SECONDS:
        raise InvalidName("ibi", "year", position, "the date is too far in the future")
    return date
