"""What both forms of a label have in common: they know their date, and they compare by case folding only."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import total_ordering
from typing import Final

from perdure.errors import InvalidInput, InvalidName, OutOfRange
from perdure.names.handle import fold

MAX_LABEL: Final = 32_768  # exact fractions may be long; a label must not be longer than a reader can bear
MAX_PORT: Final = 65_535


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """A label as it was written, with what it says.

    Two labels are the same name if they differ only in ASCII case; `mtc-m18@80` and `mtc-m18` are different names
    for the same host and port. Labels are ordered by their date, as one timeline issues them.
    """

    label: str
    port: int
    date: Fraction = field(repr=False)  # its digits may be more than Python prints

    def __str__(self) -> str:
        return self.label

    @property
    def key(self) -> str:
        """What the label is compared by: itself, in lower case."""
        return fold(self.label)

    @property
    def canonical(self) -> str:
        """The label as the algorithms of the standard write it today."""
        raise NotImplementedError

    @property
    def is_canonical(self) -> bool:
        """Strictly right: the label re-encodes to itself."""
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
