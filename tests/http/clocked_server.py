"""A server for tests whose clock is a file: `python -m tests.http.clocked_server FILE serve …`.

The clock is replaced in this process and its workers alone. The program of users has no option, setting or variable
for that.
"""

import asyncio
import os
import sys
from fractions import Fraction
from pathlib import Path

from perdure.folder import registry_folder
from perdure.timelines.clock import NANOSECONDS

_NAP = 0.005  # seconds between two looks at the file
_FILE = "TEST_CLOCK_FILE"  # the variable that hands the path of the file on to the workers


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


if __name__ in ("__main__", "__mp_main__"):  # the program, or one of its workers, which import it again
    if __name__ == "__main__":
        os.environ[_FILE] = sys.argv.pop(1)
        sys.argv[0] = "perdure"
    clock = FileClock(Path(os.environ[_FILE]))
    registry_folder.SystemClock = lambda: clock  # type: ignore[assignment,misc]

if __name__ == "__main__":
    from perdure.cli.app import main

    main()
