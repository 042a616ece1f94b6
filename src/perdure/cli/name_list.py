"""Lists of names, one per line, from a file or from standard input. A list can be read several times.

A name ends at a tab, which no name contains: so the output of `perdure list` is such a list, too.
"""

import shutil
import tempfile
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import cast

from perdure.cli.line_input import plain_lines
from perdure.cli.terminal import open_standard_input


class NameList:
    """The names in a file. Standard input is copied into a temporary file first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._copy: BufferedReader | None = None
        if str(path) == "-":
            self._copy = cast(BufferedReader, tempfile.TemporaryFile())  # noqa: SIM115  (closed by __exit__)
            shutil.copyfileobj(open_standard_input(), self._copy)

    def __enter__(self) -> "NameList":
        return self

    def __exit__(self, *_: object) -> None:
        if self._copy is not None:
            self._copy.close()

    def __call__(self) -> Iterator[str]:
        """Yield the names; empty lines are skipped."""
        if self._copy is not None:
            self._copy.seek(0)
            yield from _read_names(self._copy)
            return
        with self._path.open("rb") as stream:
            yield from _read_names(stream)


def _read_names(stream: BufferedReader) -> Iterator[str]:
    for batch in plain_lines(stream, lambda count: None):
        for line in batch.lines:
            if name := line.partition("\t")[0].strip():
                yield name
