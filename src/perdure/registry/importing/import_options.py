"""The options of an import, and the counts of its result."""

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, Literal

import msgspec

Outcome = Literal["created", "changed", "unchanged"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("created", "changed", "unchanged")


class ImportOptions(msgspec.Struct, frozen=True):
    """The options of an import.

    `update`: existing names are changed to what the file says, as a new version. `any_suffix`: names under a PILIN
    prefix are accepted although its minter did not make them. `mend`: addresses that are not valid are repaired if
    there is one sure repair. `creator` and `created` are for names whose creator and date the file does not state.
    `new_prefixes`: unknown prefixes are added, with the minter `chosen`, and case-sensitive as this says; or `labels`,
    for a file of IBI labels, whose case has rules of its own.
    """

    update: bool = False
    strict: bool = False
    dry_run: bool = False
    any_suffix: bool = False
    source: str = "a file"
    mend: bool = False
    creator: str | None = None
    created: str | None = None
    new_prefixes: Literal["ignore-case", "case-sensitive", "labels"] | None = None

    @property
    def note(self) -> str:
        return _note(self.source)


@lru_cache(maxsize=4)
def _note(source: str) -> str:
    return f"imported from {source.encode('ascii', 'backslashreplace').decode()}"


def one_day_later(at: str) -> str:
    """Return the latest time that a timestamp of another machine's clock may have."""
    return _day_after(at[:19])


@lru_cache(maxsize=4)
def _day_after(second: str) -> str:
    return (datetime.fromisoformat(second) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Tally(msgspec.Struct):
    """The counts of an import, and how far the file was read."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    refused: int = 0
    notices: int = 0
    entries: int = 0
    line: int = 0
    finished: bool = False
    verbatim: int = 0  # addresses that are not valid, and were stored as they are
    mended: int = 0
    left_out: int = 0  # values that could not be stored, of names that came in without them
    resumed: int = 0  # how many entries earlier runs had processed

    def count(self, outcome: Outcome) -> None:
        setattr(self, outcome, getattr(self, outcome) + 1)
