"""What an import could not take: all of it into a file, or the first of it onto the screen."""

from typing import Final, TextIO

import msgspec
from rich.console import Console

from perdure.cli.screen import as_json, complain
from perdure.exchange.entry import Notice, Refused

_SHOWN: Final = 20


class ProblemReport:
    """Told of problems one by one. `screen` is where a progress bar is drawn, so that it stays below what is said."""

    def __init__(self, sink: TextIO | None = None, screen: Console | None = None) -> None:
        self.sink = sink
        self.screen = screen
        self._count = 0

    def __call__(self, problem: Refused | Notice) -> None:
        if self.sink is not None:
            fields = msgspec.structs.asdict(problem) | {"refused": isinstance(problem, Refused)}
            self.sink.write(as_json(fields) + "\n")
            return
        self._count += 1
        if self._count <= _SHOWN:
            complain(f"line {problem.line}: {problem.reason}", self.screen)

    def say_how_many_more(self) -> None:
        if self._count > _SHOWN:
            complain(f"… and {self._count - _SHOWN:,} more: write them all to a file with --problems FILE")
