"""The base of both forms of a label: its date, and comparison by case folding only."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import total_ordering
from typing import Final

from perdure.errors import InvalidInput, InvalidName, OutOfRange
from perdure.names.handle import fold

MAX_LABEL: Final = 32_768  # characters; exact fractions may be long, but parsing must stay fast
MAX_PORT: Final = 65_535


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """A label as it was written, with its decoded parts.

    Two labels are equal if they differ only in ASCII case. `mtc-m18@80` and `mtc-m18` are different names for the same
    host and port. Labels are ordered by their date, as one timeline issues them.
    """

    label: str
    port: int
    date: Fraction = field(repr=False)  # its digits may be more than Python prints

    def __str__(self) -> str:
        return self.label

    @property
    def key(self) -> str:
        """Return the text by which labels are compared: the label in lower case."""
        return fold(self.label)

    @property
    def canonical_spelling(self) -> str:
        """Return the canonical spelling of this name: the label in the case in which the algorithms write it."""
        raise NotImplementedError

    @property
    def canonical(self) -> str:
        """Return the label that the algorithms of the standard write for these parts."""
        raise NotImplementedError

    @property
    def is_canonical(self) -> bool:
        """Return whether the label is exactly what the algorithms write."""
        return self.label == self.canonical

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Label) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: "Label") -> bool:
        if not isinstance(other, Label):
            return NotImplemented
        return (self.date, self.key) < (other.date, other.key)


def check_text(label: str) -> None:
    if not isinstance(label, str):
        raise InvalidInput("ibi", "label", f"a label must be text, not {type(label).__name__}")
    if len(label) > MAX_LABEL:
        raise InvalidName("ibi", "label", MAX_LABEL, f"the label is longer than {MAX_LABEL} characters")


def check_port(port: int) -> None:
    if isinstance(port, bool) or not isinstance(port, int):
        raise InvalidInput("ibi", "port", f"the port must be an int, not {type(port).__name__}")
    if not 1 <= port <= MAX_PORT:
        raise OutOfRange("ibi", "port", f"the port must be between 1 and {MAX_PORT}")
