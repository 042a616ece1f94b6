"""Names of uniform repositories: Algorithms 1, 2 and 3, and the grammar of Table 6.1."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from perdure.errors import InvalidInput, InvalidName, OutOfRange, shown
from perdure.names import instant
from perdure.names.handle import fold
from perdure.names.ibi.citation import refuse_document_type
from perdure.names.ibi.label import MAX_PORT, Label, check_port, check_text
from perdure.names.instant import Exact

DEFAULT_PORT: Final = 80

_WORD: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_WORD_ONLY: Final = re.compile(_WORD)
_WORD_PORT: Final = re.compile(rf"(?P<word>{_WORD})(?:[.@](?P<port>[0-9]+))?")
_YEAR: Final = re.compile(r"[0-9]{4,}")
_TIME: Final = re.compile(r"([0-9]{2})\.([0-9]{2})\.([0-9]{2})\.([0-9]{2})(?:\.([0-9]{2})(?:\.([0-9]+))?)?")
_MAX_WORD: Final = 63  # RFC 1035, section 2.3.4, which the standard builds upon
_MAX_HOST: Final = 253
_MAX_YEAR_DIGITS: Final = 12


@dataclass(frozen=True, slots=True, eq=False)
class RepositoryName(Label):
    """The readable label: `subdomain/word[.port]/year/month.day.hour.minute[.second[.fraction]]`."""

    host: str

    @property
    def canonical(self) -> str:
        return f"{repository_prefix(self.host, self.port)}/{repository_suffix(self.date)}"

    @property
    def directory(self) -> str:
        """The four nested directories that hold the item, as a relative path: equal names, equal directories."""
        return self.key


def repository_prefix(host: str, port: int) -> str:
    """Algorithm 1: the first word of the host name goes last, with the port unless that is 80.

    >>> repository_prefix("mtc-m18.sid.inpe.br", 80)
    'sid.inpe.br/mtc-m18'
    >>> repository_prefix("WWW.Example.org.", 8080)
    'example.org/www.8080'
    """
    check_port(port)
    word, subdomain = _split_host(host)
    return f"{subdomain}/{word}" if port == DEFAULT_PORT else f"{subdomain}/{word}.{port}"


def repository_suffix(date: Exact) -> str:
    """Algorithm 2: the date in UTC, as far as it is not zero.

    >>> repository_suffix(1234806360)
    '2009/02.16.17.46'
    >>> from decimal import Decimal
    >>> repository_suffix(Decimal("1287587646.05"))
    '2010/10.20.15.14.06.05'
    """
    value = instant.exact(date, "ibi")
    whole = value.numerator // value.denominator
    year, month, day, hour, minute, second = instant.fields(whole)
    if year < 0:
        raise OutOfRange("ibi", "date", "the date is before the year 0")
    suffix = f"{year:04d}/{month:02d}.{day:02d}.{hour:02d}.{minute:02d}"
    places = instant.decimals(value - whole, "ibi")
    if places:
        return f"{suffix}.{second:02d}.{places}"
    return f"{suffix}.{second:02d}" if second else suffix


def repository_name(host: str, port: int, date: Exact) -> RepositoryName:
    """Algorithm 3: prefix and suffix, joined."""
    label = f"{repository_prefix(host, port)}/{repository_suffix(date)}"
    return RepositoryName(label, port, instant.exact(date, "ibi"), _host(host))


def parse_repository(label: str) -> RepositoryName:
    """Read a repository name by Table 6.1, with a real host, port and date."""
    check_text(label)
    if label.count("/") != 3:
        raise InvalidName("ibi", "label", None, "a repository name has four parts, separated by three slashes")
    subdomain, word_port, year, time = label.split("/")
    at = len(subdomain) + 1
    match = _WORD_PORT.fullmatch(word_port)
    if match is None or len(match["word"]) > _MAX_WORD:
        raise InvalidName(
            "ibi", "word", at, f"{shown(word_port)} is not a word of a domain name with or without a port"
        )
    host = _parsed_host(f"{match['word']}.{subdomain}")
    port = _parsed_port(match["port"], at + match.start("port"))
    date = _parsed_date(label, year, time, at + len(word_port) + 1)
    return RepositoryName(label, port, date, host)


def _host(host: str) -> str:
    return fold(host).removesuffix(".")


def _split_host(host: str) -> tuple[str, str]:
    if not isinstance(host, str):
        raise InvalidInput("ibi", "host", f"the host must be text, not {type(host).__name__}")
    name = _host(host)
    problem = _host_problem(name)
    if problem:
        raise InvalidInput("ibi", "host", problem)
    word, _, subdomain = name.partition(".")
    return word, subdomain


def _host_problem(name: str) -> str | None:
    """What is wrong with a host name (Table 6.1, and the sizes of RFC 1035); None if nothing is."""
    words = name.split(".")
    if len(words) < 2:
        return f"the host {shown(name)} has one word, and a repository name needs at least two (example.org)"
    for word in words:
        if not _WORD_ONLY.fullmatch(word):
            hint = "" if word.isascii() else " (write an international name in its xn-- form)"
            return f"{shown(word)} is not a word of a domain name: letters, digits, inner hyphens{hint}"
        if len(word) > _MAX_WORD:
            return f"{shown(word)} is longer than {_MAX_WORD} characters"
    if not words[-1][0].isalpha():
        return f"the last word of a host name, {shown(words[-1])}, begins with a letter (an IP address is no host name)"
    if len(name) > _MAX_HOST:
        return f"the host name is longer than {_MAX_HOST} characters"
    return None


def _parsed_host(written: str) -> str:
    host = _host(written)
    problem = _host_problem(host)
    if problem:
        raise InvalidName("ibi", "subdomain", 0, problem)
    return host


def _parsed_port(digits: str | None, position: int) -> int:
    if digits is None:
        return DEFAULT_PORT
    significant = digits.lstrip("0")
    if not significant or len(significant) > len(str(MAX_PORT)) or int(significant) > MAX_PORT:
        raise InvalidName("ibi", "port", position, f"the port must be between 1 and {MAX_PORT}")
    return int(significant)


def _parsed_date(label: str, year: str, time: str, position: int) -> Fraction:
    if not _YEAR.fullmatch(year):
        raise InvalidName("ibi", "year", position, f"{shown(year)} is not a year of at least four digits")
    if len(year.lstrip("0")) > _MAX_YEAR_DIGITS:
        raise InvalidName("ibi", "year", position, f"the year has more than {_MAX_YEAR_DIGITS} digits")
    match = _TIME.fullmatch(time)
    time_at = position + len(year) + 1
    if match is None:
        refuse_document_type(label, parse_repository)
        raise InvalidName("ibi", "time", time_at, f"{shown(time)} is not month.day.hour.minute[.second[.fraction]]")
    month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:5])
    try:
        whole = instant.seconds(int(year), month, day, hour, minute, second)
        date = whole + instant.from_decimals(match[6] or "")
    except ValueError as problem:
        raise InvalidName("ibi", "time", time_at, f"there is no such date: {problem}") from None
    if date >= instant.MAX_SECONDS:
        raise InvalidName("ibi", "year", position, "the date is beyond any clock")
    return date
