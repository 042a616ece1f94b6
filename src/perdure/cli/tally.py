"""Counting what a bulk check finds, in constant memory."""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from perdure import Recognition, recognise
from perdure.cli.lines import Batch
from perdure.names.ppid import validate_ppid
from perdure.names.recognition import invalid


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that is not right."""

    line: int
    text: str
    scheme: str
    part: str
    reason: str
    suggestion: str | None

    def as_object(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Tally:
    """How many lines of each scheme are right, and what is wrong with the others."""

    expected: str | None = None  # the scheme that every line should be of
    blank: int = 0
    doubtful: int = 0  # valid by the grammar of handles, and yet hardly one
    valid: Counter[str] = field(default_factory=Counter)
    wrong: Counter[tuple[str, str]] = field(default_factory=Counter)  # by scheme and the part to blame

    @property
    def total_valid(self) -> int:
        return self.valid.total()

    @property
    def total_wrong(self) -> int:
        return self.wrong.total()

    @property
    def total(self) -> int:
        return self.total_valid + self.total_wrong

    def count(self, batch: Batch) -> list[Problem]:
        """Count a batch of lines; returns the problems in it."""
        problems = []
        # Person identifiers and DOIs come in millions and can be told at a glance; all else takes the long way.
        is_person = validate_ppid if self.expected in (None, "ppid") else _never
        is_doi = PLAIN_DOI if self.expected in (None, "handle") else _never
        persons = dois = 0
        for number, text in zip(batch.numbers, batch.lines, strict=True):
            if is_person(text):
                persons += 1
            elif is_doi(text):
                dois += 1
            elif not text or text.isspace():
                self.blank += 1
            else:
                problem = self._look(number, text)
                if problem is not None:
                    problems.append(problem)
        for scheme, count in (("ppid", persons), ("handle", dois)):
            if count:
                self.valid[scheme] += count
        return problems

    def _look(self, number: int, text: str) -> Problem | None:
        found = _as_expected(recognise(text) if _is_unicode(text) else _NOT_UTF_8, self.expected)
        if found.valid:
            self.valid[found.scheme] += 1
            self.doubtful += "doubt" in found.details
            return None
        part = str(found.details["part"])
        self.wrong[found.scheme, part] += 1
        suggestion = found.details.get("suggestion")
        return Problem(number, text, found.scheme, part, found.reason, str(suggestion) if suggestion else None)

    def as_object(self) -> dict[str, Any]:
        return {
            "total": self.total,
            "valid": self.total_valid,
            "invalid": self.total_wrong,
            "doubtful": self.doubtful,
            "blank_lines": self.blank,
            "valid_by_scheme": dict(self.valid.most_common()),
            "invalid_by_reason": [
                {"scheme": scheme, "part": part, "count": count} for (scheme, part), count in self.wrong.most_common()
            ],
        }


_NOT_UTF_8 = invalid("unknown", "encoding", "the line is not in UTF-8")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# A test holds this to what `recognise` says of the same text.
PLAIN_DOI = re.compile(
    r"(?:https?://(?:dx\.)?doi\.org/|doi:)?10\.[0-9]{4,9}/[A-Za-z0-9._;()-]{0,2000}[A-Za-z0-9]"
).fullmatch


def _never(_text: str) -> bool:
    return False


def _as_expected(found: Recognition, expected: str | None) -> Recognition:
    """The reading as the expected scheme, or why there is none."""
    if expected is None or found.scheme == expected:
        return found
    for other in found.alternatives:
        if other.scheme == expected:
            return other
    if found.scheme == "unknown":
        return found
    return invalid(found.scheme, f"not {expected}", f"this is {found.scheme}, not {expected}")
