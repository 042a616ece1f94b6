"""The check of the directories between the items: what is not an item, and items that lie where they do not belong."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from perdure.collections.collection_paths import EXTENSIONS
from perdure.collections.inventory import DECLARATION
from perdure.collections.item_report import FOREIGN, MISPLACED, UNREADABLE, Findings, ItemReport
from perdure.collections.label_path import path_to_label

CheckItem = Callable[[Path, str, str], ItemReport]


def check_tree(root: Path, check: CheckItem) -> Iterator[ItemReport]:
    """Check all items of a collection, and yield a report of each, and of each problem between them."""
    yield from _check_below(root, "", check)


def _check_below(root: Path, path: str, check: CheckItem) -> Iterator[ItemReport]:
    is_empty = True
    try:
        with os.scandir(root / path) as entries:
            for entry in entries:
                is_empty = False
                below = f"{path}/{entry.name}" if path else entry.name
                if below == EXTENSIONS or (not path and entry.is_file(follow_symlinks=False)):
                    continue  # OCFL permits any files in the root itself
                if not entry.is_dir(follow_symlinks=False):
                    yield _report(below, FOREIGN, "it belongs to no item")
                elif _has_declaration(entry.path):
                    yield _check_object(root, below, check)
                else:
                    yield from _check_below(root, below, check)
    except OSError as problem:
        yield _report(path, UNREADABLE, problem.strerror or "")
    else:
        if is_empty and path:
            yield _report(path, FOREIGN, "the directory is empty, which OCFL does not permit")


def _check_object(root: Path, path: str, check: CheckItem) -> ItemReport:
    label = path_to_label(path)
    if label is None:
        return _report(path, MISPLACED, "no label has this directory")
    return check(root / path, path, label)


def _has_declaration(directory: str) -> bool:
    """Return whether a directory is an OCFL object, of whatever version of OCFL, or was one."""
    return any(os.path.lexists(os.path.join(directory, name)) for name in (DECLARATION, "inventory.json"))


def _report(path: str, kind: str, detail: str) -> ItemReport:
    findings = Findings()
    findings.add(kind, path, detail)
    return findings.report("", path)
