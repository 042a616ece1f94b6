"""Exit codes of the command. 2 means wrong usage or an error; `perdure.cli.app.main` returns it."""

from typing import Final

SOME_REFUSED: Final = 1
NOTHING_FOUND: Final = 1
PROBLEMS_FOUND: Final = 1
ERROR: Final = 2
INTERRUPTED: Final = 130  # shells expect 128 + SIGINT of a command that was ended by Ctrl-C
