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
LONGEST_CONTENT_PATH: Final = 2048  # bytes, with the escapes: half of what Linux accepts for an absolute path
MOST_DIRECTORIES: Final = 32
_CONTENT_DIRECTORIES: Final = 2  # above each path: those of the version and of its content
_ESCAPED: Final = re.compile(r'[<>:"|?*=]')
# Control characters, also those that change the direction of text.
_REFUSED: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def check_path(path: str) -> str:
    """Return the path of a file inside an item. Raise RefusedFile, which names the file and the reason."""
    problem = _explain_bad_path(path, LONGEST_PATH, MOST_DIRECTORIES) or _explain_bad_parts(path.split("/"))
    if problem is None and len(content_name(path).encode()) > LONGEST_CONTENT_PATH:
        problem = f"with the escapes for Windows, the path is longer than {LONGEST_CONTENT_PATH} bytes"
    if problem is not None:
        raise RefusedFile(path, problem)
    return path


def check_content_path(path: str) -> str:
    """Return the path of content inside an OCFL object, which has been escaped. Raise RefusedFile if it is not safe."""
    most = MOST_DIRECTORIES + _CONTENT_DIRECTORIES
    problem = _explain_bad_path(path, LONGEST_CONTENT_PATH + LONGEST_NAME, most)
    problem = problem or _explain_bad_parts(path.split("/"), is_escaped=True)
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


def _explain_bad_path(path: str, longest: int, most_directories: int) -> str | None:
    if not path:
        return "the name is empty"
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "the name is not valid Unicode"
    if size > longest:
        return f"the path is longer than {longest} bytes"
    if path.startswith("/"):
        return "the path is absolute"
    if "\\" in path:
        return "the path has a backslash, which separates directories on Windows"
    if path[1:2] == ":" and path[0].isalpha():
        return "the path begins with a drive letter"
    if _REFUSED.search(path):
        return "the path has a control character, or one that changes the direction of text"
    if path.count("/") >= most_directories:
        return f"the path has more than {most_directories} directories"
    return None


def _explain_bad_parts(parts: Iterable[str], *, is_escaped: bool = False) -> str | None:
    return next((problem for part in parts if (problem := _explain_bad_part(part, is_escaped)) is not None), None)


def _explain_bad_part(part: str, is_escaped: bool) -> str | None:
    if part in ("", ".", ".."):
        return f"{quote_text(part)} is not the name of a file or directory"
    if part[-1] in ". ":
        return f"{quote_text(part)} ends with a full stop or a space, which Windows removes"
    if is_device_name(part):
        return f"{quote_text(part)} is the name of a device on Windows"
    if len(part.encode()) > LONGEST_NAME:
        return f"{quote_text(part)} is longer than {LONGEST_NAME} bytes"
    if not is_escaped and len(content_name(part).encode()) > LONGEST_NAME:
        return f"with the escapes for Windows, {quote_text(part)} is longer than {LONGEST_NAME} bytes"
    return None
