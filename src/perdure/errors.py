"""Every error that Perdure raises on purpose.

PerdureError                 has a stable `code`, the same in every language and every door
  ├─ InvalidName             the text is not a name of its scheme     (scheme, part, position, reason)
  └─ InvalidInput            no name can be made from this value      (scheme, part, reason)
       └─ OutOfRange         the right kind of value, but too early, too late, too small or too large

Those two are ValueErrors as well, so that code that knows nothing of Perdure catches them as it would expect.
"""

from typing import ClassVar, Final

_LONGEST_SHOWN: Final = 60


def shown(value: object) -> str:
    """A value as an error may show it: escaped, and not longer than a line."""
    if not isinstance(value, str):
        return type(value).__name__
    return f"{value!a}" if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]!a}…"


class PerdureError(Exception):
    """The root: catch this to catch everything that Perdure refuses."""

    code: ClassVar[str] = "error"


class InvalidName(PerdureError, ValueError):
    """The text is not a name of its scheme.

    `part` says which piece of the name is wrong, and `position` where the trouble starts: an index into the text that
    was given, counted from 0 (in a web address, once it is decoded, into the name), or None when no single place is to
    blame. `suggestion` is the name that was probably meant, where only one can be.
    """

    code = "invalid-name"

    def __init__(
        self, scheme: str, part: str, position: int | None, reason: str, suggestion: str | None = None
    ) -> None:
        super().__init__(scheme, part, position, reason, suggestion)
        self.scheme = scheme
        self.part = part
        self.position = position
        self.reason = reason
        self.suggestion = suggestion

    def __str__(self) -> str:
        return f"not a valid {self.scheme} name: {self.reason}"


class InvalidInput(PerdureError, ValueError):
    """No name can be made from this value."""

    code = "invalid-input"

    def __init__(self, scheme: str, part: str, reason: str) -> None:
        super().__init__(scheme, part, reason)
        self.scheme = scheme
        self.part = part
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.scheme}: {self.reason}"


class OutOfRange(InvalidInput):
    """The right kind of value, but outside what the scheme can write."""

    code = "out-of-range"
