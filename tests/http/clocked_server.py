"""A server for tests whose clock is a file: `python -m tests.http.clocked_server FILE serve …`.

The clock is replaced in this process alone. The program of users has no option, setting or variable for that.
"""

import asyncio
import os
import sys
from fractions import Fraction
from pathlib import Path

from perdure.folder import registry_folder
from perdure.timelines.clock import NANOSECONDS

_NAP = 0.005  # seconds between two looks at the file


class FileClock:
    """A clock that another process sets. `set_clock` replaces the file at once, so that it is never half written."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def now_ns(self) -> int:
        return int(Fraction(self._file.read_text()) * NANOSECONDS)

    async def wait_until(self, instant: Fraction) -> None:
        while Fraction(self.now_ns(), NANOSECONDS) < instant:
            await asyncio.sleep(_NAP)


def set_clock(file: Path, now: Fraction | int | str) -> None:
    temporary = file.with_suffix(".new")
    temporary.write_text(str(Fraction(now)))
    os.replace(temporary, file)


if __name__ == "__main__":
    from perdure.cli.app import main

    clock = FileClock(Path(sys.argv[1]))
    registry_folder.SystemClock = lambda: clock  # type: ignore[assignment,misc]
    sys.argv = ["perdure", *sys.argv[2:]]
    main()
