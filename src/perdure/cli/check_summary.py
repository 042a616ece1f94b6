"""Counts of valid and invalid identifiers in a bulk check, in constant memory."""

import re
from collections import Counter
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from perdure import Recognition, recognise
from perdure.cli.line_input import Batch
from perdure.names.ppid import validate_ppid
from perdure.names.recognition_result import UNKNOWN, invalid_recognition

_UNREADABLE = "row"  # the invalid part, for a malformed row of a table


@dataclass(frozen=True, slots=True)
class Problem:
    """A line with an invalid identifier."""

    line: int
    text: str
    scheme: str
    part: str
    reason: str
    suggestion: str | None

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class CheckSummary:
    """The number of valid lines of each scheme, and of invalid lines by cause."""

    expected: str | None = None  # the scheme that every line should have
    blank: int = 0
    doubtful: int = 0  # valid by the grammar of handles, but unlikely to be a handle
    valid: Counter[str] = field(default_factory=Counter)
    wrong: Counter[tuple[str, str]] = field(default_factory=Counter)  # by scheme and the invalid part

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
        """Count a batch of lines, and return the problems in it."""
        problems = []
        # Person identifiers and DOIs come in millions, and a quick test finds them. Others need full recognition.
        is_person = validate_ppid if self.expected in (None, "ppid") else _always_false
        is_doi = is_plain_doi if self.expected in (None, "handle") else _always_false
        persons = dois = 0
        for number, text in zip(batch.numbers, batch.lines, strict=True):
            if is_person(text):
                persons += 1
            elif is_doi(text):
                dois += 1
            elif not text or text.isspace():
                self.blank += 1
            else:
                problem = self._check_line(number, text)
                if problem is not None:
                    problems.append(problem)
        for scheme, count in (("ppid", persons), ("handle", dois)):
            if count:
                self.valid[scheme] += count
        for number, reason in batch.unreadable:
            self.wrong[UNKNOWN, _UNREADABLE] += 1
            problems.append(Problem(number, "", UNKNOWN, _UNREADABLE, reason, None))
        return sorted(problems, key=attrgetter("line"))

    def _check_line(self, number: int, text: str) -> Problem | None:
        recognition = _read_as(recognise(text) if _is_unicode(text) else _NOT_UTF_8, self.expected)
        if recognition.valid:
            self.valid[recognition.scheme] += 1
            self.doubtful += "doubt" in recognition.details
            return None
        part = str(recognition.details["part"])
        self.wrong[recognition.scheme, part] += 1
        suggestion = recognition.details.get("suggestion")
        return Problem(
            number, text, recognition.scheme, part, recognition.reason, str(suggestion) if suggestion else None
        )

    def to_dict(self) -> dict[str, Any]:
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


_NOT_UTF_8 = invalid_recognition("unknown", "encoding", "the line is not valid UTF-8")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# A test checks that this agrees with `recognise`.
is_plain_doi = re.compile(
    r"(?:https?://(?:dx\.)?doi\.org/|doi:)?10\.[0-9]{4,9}/[A-Za-z0-9._;()-]{0,2000}[A-Za-z0-9]"
).fullmatch


def _always_false(_text: str) -> bool:
    return False


def _read_as(recognition: Recognition, expected: str | None) -> Recognition:
    """Return the recognition as the expected scheme, or one that says why it is not of that scheme."""
    if expected is None or recognition.scheme == expected:
        return recognition
    for other in recognition.alternatives:
        if other.scheme == expected:
            return other
    if recognition.scheme == "unknown":
        return recognition
    return invalid_recognition(recognition.scheme, f"not {expected}", f"this is {recognition.scheme}, not {expected}")
