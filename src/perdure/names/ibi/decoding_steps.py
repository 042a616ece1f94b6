"""The parts of a label, each with the rule of the standard that reads it: Algorithms 1, 2, 5 and 6, in reverse."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

from perdure.names import instant
from perdure.names.ibi.label import Label
from perdure.names.ibi.opaque import BASE_27, DEFAULT_PORT, EPOCH, IPV4_TEXT, IPV6_TEXT, OpaqueName
from perdure.names.ibi.repository import DEFAULT_PORT as DEFAULT_HTTP_PORT
from perdure.names.ibi.repository import RepositoryName

_LONGEST_TEXT: Final = 200  # characters of a part that are shown; exact fractions may be much longer


class DecodingStep(NamedTuple):
    """A part of a label and what it means, by one algorithm of the standard."""

    algorithm: int
    part: str  # of the label
    rule: str
    result: str


def decoding_steps(label: Label) -> tuple[DecodingStep, ...]:
    """Return how the algorithms of the standard decode a label, part by part.

    >>> from perdure.names.ibi import parse
    >>> for step in decoding_steps(parse("8JMKD3MGP8W/34PGRBS")):
    ...     print(step.algorithm, step.part, "→", step.result)
    5 8JMKD3MGP8 → 50477949106962
    5 W → 150.163.34.243
    5  → port 800
    6 34PGRBS → 427571160
    6 34PGRBS → 1234806360
    6 34PGRBS → 2009-02-16T17:46:00Z
    """
    if isinstance(label, RepositoryName):
        steps = _repository_steps(label)
    elif isinstance(label, OpaqueName):
        steps = _opaque_steps(label)
    else:
        raise TypeError(f"labels of the kind {type(label).__name__} are not decoded")
    return tuple(DecodingStep(one.algorithm, _shorten(one.part), one.rule, _shorten(one.result)) for one in steps)


def _repository_steps(label: RepositoryName) -> Iterator[DecodingStep]:
    subdomain, word_port, year, time = label.label.split("/")
    word = word_port.partition(".")[0].partition("@")[0]
    port = word_port[len(word) + 1 :]
    yield DecodingStep(1, subdomain, "the subdomain: the host without its first word", subdomain.lower())
    yield DecodingStep(1, word, "the first word of the host, before the subdomain", label.host)
    if port:
        yield DecodingStep(1, word_port[len(word) :], "the port, after a full stop (or @, before 2010)", f"port {port}")
    else:
        yield DecodingStep(1, "", f"no port: {DEFAULT_HTTP_PORT} is left out", f"port {DEFAULT_HTTP_PORT}")
    names = ("month", "day", "hour", "minute", "second", "fraction of a second")
    yield DecodingStep(2, year, "the year, in UTC", year)
    numbers = time.split(".", len(names) - 1)
    for name, number in zip(names, numbers, strict=False):
        yield DecodingStep(2, number, f"the {name}", f"0.{number}" if name == names[-1] else number)
    if len(numbers) < len(names) - 1:
        yield DecodingStep(2, "", "no second: 00 is left out", "00")
    yield _date_step(2, f"{year}/{time}", label.date)


def _opaque_steps(label: OpaqueName) -> Iterator[DecodingStep]:
    prefix, suffix = label.label.upper().split("/")
    kind = "W" if "W" in prefix else "X"
    coded_ip, coded_port = prefix.split(kind)
    base = (IPV4_TEXT if kind == "W" else IPV6_TEXT).base
    number = BASE_27.read(coded_ip)
    version = "IPv4" if kind == "W" else "IPv6"
    yield DecodingStep(5, coded_ip, "the address, a number in base 27 (Table 7.6)", str(number))
    yield DecodingStep(5, kind, f"{kind} marks {version}: in base {base}, the number is the text", label.ip)
    if coded_port:
        yield DecodingStep(5, coded_port, "the port, in base 27", f"port {label.port}")
    else:
        yield DecodingStep(5, "", f"no port: {DEFAULT_PORT} is left out", f"port {DEFAULT_PORT}")
    coded_seconds, _, coded_fraction = suffix.partition("W")
    seconds = BASE_27.read(coded_seconds)
    yield DecodingStep(6, coded_seconds, "the seconds since 1995-08-01T00:00:00Z, in base 27", str(seconds))
    yield DecodingStep(6, coded_seconds, f"plus {EPOCH}: the seconds since 1970", str(seconds + EPOCH))
    if coded_fraction:
        places = instant.decimals(label.date - label.date // 1, "ibi") or "0"
        rule = "after W: the decimal places, in base 27; each leading 2 is a leading zero"
        yield DecodingStep(6, coded_fraction, rule, f"0.{places}")
    yield _date_step(6, suffix, label.date)


def _date_step(algorithm: int, part: str, date: Fraction) -> DecodingStep:
    return DecodingStep(algorithm, part, "the date", instant.to_iso(date))


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
