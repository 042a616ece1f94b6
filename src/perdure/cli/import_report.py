"""Report of lines that an import refused: all of them in a file, or the first ones on the screen."""

from typing import Final, TextIO

import msgspec
from rich.console import Console

from perdure.cli.terminal import print_error, to_json
from perdure.formats.import_entries import Notice, RejectedLine

_MAX_SHOWN: Final = 20


class ProblemReport:
    """Receives problems one by one. `screen` is the console of a progress bar, which stays below the messages."""

    def __init__(self, sink: TextIO | None = None, screen: Console | None = None) -> None:
        self.sink = sink
        self.screen = screen
        self._count = 0

    def __call__(self, problem: RejectedLine | Notice) -> None:
        if self.sink is not None:
            fields = msgspec.structs.asdict(problem) | {"refused": isinstance(problem, RejectedLine)}
            self.sink.write(to_json(fields) + "\n")
            return
        self._count += 1
        if self._count <= _MAX_SHOWN:
            print_error(f"line {problem.line}: {problem.reason}", self.screen)

    def print_remaining_count(self) -> None:
        if self._count > _MAX_SHOWN:
            print_error(f"… and {self._count - _MAX_SHOWN:,} more: write all of them to a file with --problems FILE")
