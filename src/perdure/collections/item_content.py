"""What one version of an item contains, as the registry records it."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final, NamedTuple, Protocol

from perdure.errors import InvalidInput, quote_text

ITEM_PAGE: Final = "/"  # in place of a main file: the identifier leads to the page of the item


class ContentFile(Protocol):
    """A file of a version, on disk or on another server."""

    @property
    def path(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def sha512(self) -> str: ...


class ItemContent(NamedTuple):
    """A version of an item: its number, its files and their bytes, and the digest of the list of its files.

    `only_file` is the path of its file if there is only one.
    """

    version: int
    files: int
    size: int
    digest: str
    only_file: str | None


def summarize_content(version: int, files: Iterable[ContentFile]) -> ItemContent:
    """Add up the files of a version. The digest covers every path and every byte, in the order of paths."""
    digest, count, size, path = sha256(), 0, 0, None
    for file in sorted(files, key=lambda one: one.path):
        digest.update(f"{file.sha512}  {file.path}\n".encode())
        count, size, path = count + 1, size + file.size, file.path
    return ItemContent(version, count, size, digest.hexdigest(), path if count == 1 else None)


def check_main_file(chosen: str, paths: Iterable[str]) -> None:
    """Raise InvalidInput unless the chosen main file is one of the files of the item, or the page of the item."""
    if chosen != ITEM_PAGE and chosen not in paths:
        reason = f"the item has no file {quote_text(chosen)}, so that is not its main file"
        raise InvalidInput("item", "main", reason)


def choose_main_file(content: ItemContent, paths: Iterable[str], chosen: str | None, before: str | None) -> str | None:
    """Return the main file of a version: the chosen one, or that of the version before, or the only one.

    Return None if the identifier leads to the page of the item.
    """
    if chosen is not None:
        check_main_file(chosen, paths)
        return None if chosen == ITEM_PAGE else chosen
    if before is not None and before in paths:
        return before
    return content.only_file
