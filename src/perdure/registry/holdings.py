"""Collections of stored items, and what each of them holds, as a store records it."""

from typing import Final, Literal, NamedTuple

from perdure.records.frozen_struct import FrozenStruct

Role = Literal["original", "copy"]
Outcome = Literal["valid", "damaged", "missing", "unreadable"]
ELSEWHERE: Final = "@"  # before the identity of a server, in the name of the collection that stands for it
OUTCOMES: Final[tuple[Outcome, ...]] = ("valid", "damaged", "missing", "unreadable")


class Collection(FrozenStruct, frozen=True):
    """A directory of items. `url` is its public address, without a slash at the end; None: below the public URL.

    Another server that has the originals of items is a collection too: its name and its path are its
    identity, after `@`.
    """

    name: str
    path: str
    url: str | None
    created: str

    @property
    def is_elsewhere(self) -> bool:
        """Whether this is another server."""
        return self.name.startswith(ELSEWHERE)


class Holding(FrozenStruct, frozen=True):
    """One item in one collection: the original, or a copy. At most one collection has the original of an item.

    `subject` is the key of its identifier, and `label` the label under which it lies in the collection. `version` is
    the newest version there, with its number of files, their bytes together, and the digest of its list of files.
    `put_at` is when that version came, and `source` where from. `role_since` is when it became original or copy.
    `names` are the keys of all labels of an item of another server; those of other items are in the registry.
    """

    subject: str
    collection: str
    label: str
    role: Role
    role_since: str
    version: int
    files: int
    size: int
    digest: str
    main_file: str | None
    put_at: str
    source: str
    verified_at: str | None = None
    outcome: Outcome | None = None
    names: tuple[str, ...] = ()

    @property
    def is_elsewhere(self) -> bool:
        """Whether this is what another server holds."""
        return self.collection.startswith(ELSEWHERE)


class CollectionTotals(NamedTuple):
    """What a collection holds: items, originals among them, files and bytes of the newest versions, and problems."""

    items: int
    originals: int
    files: int
    size: int
    problems: int
