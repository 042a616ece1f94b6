"""Files that commands write: an existing one is replaced only if the user wants it."""

import filecmp
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Annotated, BinaryIO, Self, cast

import typer

from perdure.errors import InvalidInput
from perdure.store.file_sync import sync_folder

Overwrite = Annotated[bool, typer.Option("--overwrite", "--force", help="Overwrite an existing file.")]


def check_output(file: Path, overwrite: bool, scheme: str) -> None:
    """Refuse a file whose folder does not exist, or that exists already."""
    if not file.parent.is_dir():
        raise InvalidInput(scheme, "file", f"folder not found: {file.parent}")
    if file.exists() and not overwrite:
        raise existing_file_error(file, scheme)


def existing_file_error(file: Path, scheme: str) -> InvalidInput:
    return InvalidInput(scheme, "file", f"{file} exists already: choose another file, or add --overwrite")


class OutputFile:
    """A new file that only its owner can read. Until `finish`, its content is in a hidden file beside it.

    Two commands that write the same file never mix their content.
    """

    def __init__(self, path: Path, *, overwrite: bool, scheme: str) -> None:
        self._path = path
        self._overwrite = overwrite
        self._scheme = scheme

    def __enter__(self) -> Self:
        descriptor, name = tempfile.mkstemp(suffix=".new", prefix=f".{self._path.name}.", dir=self._path.parent)
        self._partial = Path(name)
        self.stream = cast(BinaryIO, os.fdopen(descriptor, "wb"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stream.close()
        self._partial.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the file its name. An existing file with the same content stays."""
        self.stream.flush()
        os.fsync(self.stream.fileno())
        if self._overwrite:
            self._partial.replace(self._path)
        elif not self._link():
            if not filecmp.cmp(self._partial, self._path, shallow=False):
                raise existing_file_error(self._path, self._scheme)
            return
        sync_folder(self._path.parent)

    def _link(self) -> bool:
        """Return whether the file has its name now: not if there is another one."""
        with suppress(FileExistsError):
            try:
                os.link(self._partial, self._path)
            except FileExistsError:
                raise
            except OSError:  # a file system without hard links
                if self._path.exists():
                    return False
                self._partial.rename(self._path)
            return True
        return False


class StandardOutput:
    """Standard output, used like a file."""

    def __enter__(self) -> Self:
        self.stream = sys.stdout.buffer
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def finish(self) -> None:
        self.stream.flush()
