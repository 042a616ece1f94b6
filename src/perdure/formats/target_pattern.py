"""Patterns from which the target of a name is made: a URL with the columns of a table in braces.

>>> read_pattern("https://repo.example.org/items/{resource_id}", ["handle", "resource_id"]).fill({"resource_id": "a b"})
'https://repo.example.org/items/a%20b'
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from perdure.errors import InvalidInput, quote_text
from perdure.records.validation import Limits, check_target

_COLUMN: Final = re.compile(r"\{([^{}]*)\}")
_SAFE: Final = "/:@!$'()*,;~"  # a handle in a path keeps its slash; nothing begins a query or a fragment


class TargetPattern(msgspec.Struct, frozen=True):
    """A pattern as its pieces: text, column, text, column, …, text."""

    pieces: tuple[str, ...]

    def fill(self, row: Mapping[str, str | None]) -> str:
        """Return the target of a row. Raise InvalidInput if a column is empty in it."""
        written = []
        for at, piece in enumerate(self.pieces):
            if at % 2 == 0:
                written.append(piece)
                continue
            value = row[piece]
            if value is None:
                raise InvalidInput("import", "target_pattern", f"the column {piece} is empty, and the target needs it")
            written.append(quote(value, safe=_SAFE, errors="surrogateescape"))
        return "".join(written)


def read_pattern(text: str, columns: Sequence[str]) -> TargetPattern:
    """Parse a pattern. Raise InvalidInput for an unknown column, and if its targets cannot be valid addresses."""
    pieces = tuple(_COLUMN.split(text))
    for column in pieces[1::2]:
        if column not in columns:
            reason = f"the pattern {quote_text(text)} has an unknown column {quote_text(column)}"
            raise InvalidInput("import", "target_pattern", f"{reason}: the columns are {', '.join(columns)}")
    if any("{" in piece or "}" in piece for piece in pieces[::2]):
        reason = f"the pattern {quote_text(text)} has a brace without its other half"
        raise InvalidInput("import", "target_pattern", reason)
    pattern = TargetPattern(pieces)
    try:
        check_target(pattern.fill(dict.fromkeys(columns, "1")), Limits(), "target_pattern")
    except InvalidInput as problem:
        reason = f"the pattern {quote_text(text)} makes no valid address: {problem.reason}"
        raise InvalidInput("import", "target_pattern", reason) from None
    return pattern
