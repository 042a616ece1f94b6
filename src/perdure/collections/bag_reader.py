"""BagIt bags as sources of items: only complete bags are accepted, and every digest is checked while files are stored.

Specification: RFC 8493.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from perdure.collections.hashed_copy import ALGORITHMS
from perdure.collections.inventory import MOST_FILES
from perdure.collections.source_files import LocalFile, list_directory
from perdure.errors import RefusedFile, quote_text

PAYLOAD: Final = "data"
_DECLARATION: Final = re.compile(r"BagIt-Version: *([0-9]+\.[0-9]+) *\nTag-File-Character-Encoding: *(\S+)\s*")
_LINE: Final = re.compile(r"([0-9A-Fa-f]+)[ \t]+\*?(?:\./)?(.+)")
_ESCAPE: Final = re.compile("%(0[AaDd]|25)")
_OXUM: Final = re.compile(r"^Payload-Oxum: *([0-9]+)\.([0-9]+) *$", re.IGNORECASE | re.MULTILINE)
_ENCODINGS: Final = ("utf-8", "utf-16", "iso-8859-1", "us-ascii")
_MOST_TAG_BYTES: Final = 1 << 20
_MOST_LINE: Final = 8192  # characters


def is_bag(directory: Path) -> bool:
    """Return whether a directory says that it is a bag."""
    return (directory / "bagit.txt").is_file()


def read_bag(directory: Path) -> Iterator[LocalFile]:
    """Check that a bag is complete, then yield its payload, with the digests that its manifests list."""
    bag = _Bag(directory)
    files = bag.list_payload()
    return iter(files)


class _Bag:
    """A bag that is being checked."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        match = _DECLARATION.fullmatch(self._read_tags("bagit.txt", "utf-8-sig").replace("\r\n", "\n"))
        if match is None:
            raise RefusedFile("bagit.txt", "it is not the declaration of a bag")
        self._version = tuple(map(int, match[1].split(".")))
        if not (0, 93) <= self._version <= (1, 0):
            raise RefusedFile("bagit.txt", f"BagIt version {match[1]} is not supported")
        self._encoding = match[2].lower()
        if self._encoding not in _ENCODINGS:
            raise RefusedFile("bagit.txt", f"the character encoding {quote_text(match[2])} is not supported")
        if (directory / "fetch.txt").exists() or (directory / "fetch.txt").is_symlink():
            raise RefusedFile(
                "fetch.txt", "a bag must be complete, and this one has files to be fetched from elsewhere"
            )

    def list_payload(self) -> list[LocalFile]:
        """Return the payload, after comparing the names and sizes of its files with all that the bag says."""
        manifests = {name: self._read_manifest(f"manifest-{name}.txt") for name in self._list_algorithms("manifest")}
        if not manifests:
            raise RefusedFile("manifest-sha512.txt", f"the bag has no manifest of {', '.join(ALGORITHMS)}")
        files = []
        root = self._directory / PAYLOAD
        if root.is_symlink() or not root.is_dir():
            raise RefusedFile(PAYLOAD, "the bag has no directory of this name")
        for file in list_directory(root):
            listed = f"{PAYLOAD}/{file.path}"
            digests = {name: digest for name, known in manifests.items() if (digest := known.pop(listed, None))}
            if not digests or (self._version >= (1, 0) and len(digests) < len(manifests)):
                raise RefusedFile(listed, "a manifest of the bag does not list it")
            files.append(file._replace(digests=digests))
        for known in manifests.values():
            for path in known:
                raise RefusedFile(path, "a manifest of the bag lists it, and it is missing")
        self._compare_oxum(files)
        self._compare_tags()
        return files

    def _compare_oxum(self, files: list[LocalFile]) -> None:
        if not (self._directory / "bag-info.txt").exists():
            return
        found = f"{sum(file.size or 0 for file in files)}.{len(files)}"
        for match in _OXUM.finditer(self._read_tags("bag-info.txt", self._encoding)):
            if f"{int(match[1])}.{int(match[2])}" != found:
                raise RefusedFile("bag-info.txt", f"its Payload-Oxum is {match[1]}.{match[2]}, and the payload {found}")

    def _compare_tags(self) -> None:
        """Check the digests of the tag files."""
        for name in self._list_algorithms("tagmanifest"):
            for path, expected in self._read_manifest(f"tagmanifest-{name}.txt").items():
                file = self._directory / path
                if path.startswith((f"{PAYLOAD}/", "/")) or ".." in path.split("/"):
                    raise RefusedFile(path, "a manifest of tag files lists it, and it is none")
                digest = hashlib.new(name, usedforsecurity=False)
                if self._is_plain(path):
                    with file.open("rb") as stream:
                        while part := stream.read(_MOST_TAG_BYTES):
                            digest.update(part)
                if digest.hexdigest() != expected:
                    raise RefusedFile(path, f"it is missing, or its {name} is not the one that the bag says")

    def _list_algorithms(self, kind: str) -> list[str]:
        return [name for name in ALGORITHMS if self._is_plain(f"{kind}-{name}.txt")]

    def _is_plain(self, path: str) -> bool:
        """Return whether this is a file of the bag, and not reached by a symbolic link."""
        file = self._directory
        for part in path.split("/"):
            file /= part
            if file.is_symlink():
                raise RefusedFile(path, "it is, or is reached by, a symbolic link")
        return file.is_file()

    def _read_manifest(self, name: str) -> dict[str, str]:
        found: dict[str, str] = {}
        try:
            with (self._directory / name).open(encoding=self._encoding) as lines:
                while line := lines.readline(_MOST_LINE):
                    if len(line) == _MOST_LINE:
                        raise RefusedFile(name, f"a line is longer than {_MOST_LINE} characters")
                    if line.strip():
                        self._read_line(name, line, found)
        except UnicodeError:
            raise RefusedFile(name, f"it is not in {self._encoding}") from None
        return found

    def _read_line(self, name: str, line: str, found: dict[str, str]) -> None:
        match = _LINE.fullmatch(line.rstrip("\r\n"))
        if match is None:
            raise RefusedFile(name, f"{quote_text(line.strip())} is not a digest and a path")
        path = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), match[2])
        if found.setdefault(path, match[1].lower()) != match[1].lower():
            raise RefusedFile(path, f"{name} lists it twice, with different digests")
        if len(found) > MOST_FILES:
            raise RefusedFile(name, f"it lists more than {MOST_FILES} files")

    def _read_tags(self, name: str, encoding: str) -> str:
        if not self._is_plain(name):
            raise RefusedFile(name, "the bag does not have it")
        with (self._directory / name).open("rb") as stream:
            content = stream.read(_MOST_TAG_BYTES + 1)
        if len(content) > _MOST_TAG_BYTES:
            raise RefusedFile(name, f"it has more than {_MOST_TAG_BYTES} bytes")
        try:
            return content.decode(encoding)
        except UnicodeError:
            raise RefusedFile(name, f"it is not in {encoding}") from None
