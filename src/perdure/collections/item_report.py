"""What a check of an item, or of the directories between the items, has found."""

from typing import Final, NamedTuple

MISSING: Final = "missing"  # the inventory lists it, and it is not there
CHANGED: Final = "changed"  # its digest is another one
FOREIGN: Final = "foreign"  # no inventory lists it
MISPLACED: Final = "misplaced"  # it is listed, under another path
UNREADABLE: Final = "unreadable"  # reading failed, so its content is unknown
MOST_PROBLEMS: Final = 1000  # that are listed one by one


class Problem(NamedTuple):
    """A problem of a file or directory, by its path inside the item."""

    kind: str
    path: str
    detail: str = ""


class ItemReport(NamedTuple):
    """The outcome of a check: how much was read, and what is wrong. A long list of problems is cut off."""

    label: str
    path: str
    files: int
    bytes: int
    problems: tuple[Problem, ...]
    problem_count: int

    @property
    def is_sound(self) -> bool:
        return self.problem_count == 0

    @property
    def is_unreadable(self) -> bool:
        """Return whether all that is wrong are failed reads, which a later check may not meet again."""
        return not self.is_sound and all(problem.kind == UNREADABLE for problem in self.problems)


class Findings:
    """Collects problems, in bounded memory."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._count = 0

    def add(self, kind: str, path: str, detail: str = "") -> None:
        self._count += 1
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(Problem(kind, path, detail))

    def report(self, label: str, path: str, files: int = 0, size: int = 0) -> ItemReport:
        return ItemReport(label, path, files, size, tuple(self._problems), self._count)
