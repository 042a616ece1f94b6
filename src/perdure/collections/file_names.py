"""Paths of files inside an item: which ones are accepted, and where their content lies on disk.

A path is stored exactly as it is given. It is refused if it could leave the item, or if two systems would disagree on
what it means. Characters that only Windows refuses are escaped on disk, and nowhere else.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable
from typing import Final

from perdure.collections.portable_names import LONGEST_NAME, escape_name, is_device_name
from perdure.errors import RefusedFile, quote_text

LONGEST_PATH: Final = 1024  # bytes, of the whole path of a file inside its item
MOST_DIRECTORIES: Final = 32
_ESCAPED: Final = re.compile(r'[<>:"|?*=]')
# Control characters, also those that change the direction of text.
_REFUSED: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def check_path(path: str) -> str:
    """Return the path of a file inside an item. Raise RefusedFile, which names the file and the reason."""
    problem = _explain_bad_path(path)
    if problem is not None:
        raise RefusedFile(path, problem)
    return path


def content_name(path: str) -> str:
    """Return the path of a file's content on disk, below the content directory of its version.

    >>> content_name("data/What? 1=1.txt")
    'data/What=u003f 1=u003d1.txt'
    """
    return "/".join(escape_name(part, _ESCAPED) for part in path.split("/"))


def comparison_key(path: str) -> str:
    """Return the text that two paths have in common if macOS or Windows takes them for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


class PathSet:
    """The paths of one version. No two are the same on macOS or Windows, and no file is also a directory."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._directories: dict[str, str] = {}  # the spelling of each, by its comparison key

    def add(self, path: str) -> None:
        """Add a path. Raise RefusedFile if it collides with an earlier one."""
        key = comparison_key(path)
        if key in self._files:
            raise RefusedFile(path, "another file of the item has the same name, or differs only in case or accents")
        if key in self._directories:
            raise RefusedFile(path, "a directory of the item has the same name")
        self._files.add(key)
        self._add_directories(path)

    def _add_directories(self, path: str) -> None:
        directory = path.rpartition("/")[0]
        while directory:
            key = comparison_key(directory)
            known = self._directories.setdefault(key, directory)
            if known != directory:
                reason = f"the item has the directory {quote_text(known)}, which differs only in case or accents"
                raise RefusedFile(path, reason)
            if key in self._files:
                raise RefusedFile(path, f"{quote_text(directory)} is a file of the item, so it cannot be a directory")
            directory = directory.rpartition("/")[0]


def check_new_paths(paths: Iterable[str], present: Collection[str]) -> None:
    """Raise RefusedFile unless an item with the files `present` can have these too. They replace files of equal path.

    >>> check_new_paths(["a.txt", "data/b.txt"], ["a.txt"])
    """
    new = dict.fromkeys(paths)
    known = PathSet()
    for path in present:
        if path not in new:
            known.add(path)
    for path in new:
        known.add(check_path(path))


def _explain_bad_path(path: str) -> str | None:
    if not path:
        return "the name is empty"
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "the name is not valid Unicode"
    if size > LONGEST_PATH:
        return f"the path is longer than {LONGEST_PATH} bytes"
    if path.startswith("/"):
        return "the path is absolute"
    if "\\" in path:
        return "the path has a backslash, which separates directories on Windows"
    if path[1:2] == ":" and path[0].isalpha():
        return "the path begins with a drive letter"
    if _REFUSED.search(path):
        return "the path has a control character, or one that changes the direction of text"
    parts = path.split("/")
    if len(parts) > MOST_DIRECTORIES:
        return f"the path has more than {MOST_DIRECTORIES} directories"
    return next((problem for part in parts if (problem := _explain_bad_part(part)) is not None), None)


def _explain_bad_part(part: str) -> str | None:
    if part in ("", ".", ".."):
        return f"{quote_text(part)} is not the name of a file or directory"
    if part[-1] in ". ":
        return f"{quote_text(part)} ends with a full stop or a space, which Windows removes"
    if is_device_name(part):
        return f"{quote_text(part)} is the name of a device on Windows"
    if len(content_name(part).encode()) > LONGEST_NAME:
        return f"{quote_text(part)} is longer than {LONGEST_NAME} bytes"
    return None
