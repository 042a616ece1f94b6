"""The check of all sources of a version, before a name is reserved and before anything is written."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from perdure.collections.file_names import PathSet, check_path
from perdure.collections.inventory import MOST_FILES
from perdure.collections.source_files import LocalFile, SourceFile
from perdure.collections.work_progress import CHECK_NAMES, Progress, Report
from perdure.errors import InvalidInput, OutOfRange, RefusedFile, quote_text


class SourceTotals(NamedTuple):
    """How many files there are, and their bytes together."""

    files: int
    size: int


def refuse_directory_around(source: Path, inner: Path, description: str) -> None:
    """Refuse to store a directory that contains another one, which is written at the same time or has secrets."""
    if source.is_dir() and inner.resolve().is_relative_to(source.resolve()):
        raise InvalidInput("collection", "source", f"{source} contains {description}, {inner}: put another directory")


def check_sources(
    sources: Iterable[SourceFile], main_file: str | None = None, report: Report | None = None
) -> SourceTotals:
    """Check the names of all files, and that they can be read. Raise RefusedFile for the first that is refused."""
    progress = Progress(report)
    progress.begin_phase(CHECK_NAMES)
    names = PathSet()
    files = size = 0
    has_main = main_file is None
    for source in sources:
        progress.begin_file(source.path)
        names.add(check_path(source.path))
        if isinstance(source, LocalFile) and not os.access(source.file, os.R_OK):
            raise RefusedFile(source.path, "it cannot be read: you have no permission, or it is gone")
        has_main = has_main or source.path == main_file
        files, size = files + 1, size + (source.size or 0)
        if files > MOST_FILES:
            raise OutOfRange("item", "files", f"an item has at most {MOST_FILES} files; store more as several items")
        progress.end_file()
    if not files:
        raise InvalidInput("item", "files", "there is no file: an item has at least one")
    if not has_main:
        raise InvalidInput(
            "item", "main", f"there is no file {quote_text(main_file or '')}, so that is not the main file"
        )
    return SourceTotals(files, size)
