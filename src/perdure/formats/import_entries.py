"""Entries of an import: the operations that lines of a file request, in every format."""

from typing import Any, Final, Literal

import msgspec

from perdure.records.frozen_struct import FrozenStruct
from perdure.records.record import About, Record
from perdure.records.value import Value

State = Literal["active", "reserved", "withdrawn"]
STATES: Final[tuple[State, ...]] = ("active", "reserved", "withdrawn")


class ImportPut(FrozenStruct, frozen=True, kw_only=True):
    """A name to create or update, with its record."""

    line: int
    name: str
    target: str | None = None
    values: tuple[Value, ...] = ()
    about: About | None = None
    creator: str | None = None
    owners: tuple[str, ...] = ()
    created: str | None = None
    state: State = "active"
    reason: str | None = None  # of a withdrawal
    replaced_by: str | None = None
    aliases: tuple[str, ...] = ()  # other names of the same object
    is_label: bool = False  # the name and its aliases are IBI labels
    joins_names: bool = False  # if one of the names exists, the others become names of the same identifier

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


class ImportEdit(FrozenStruct, frozen=True, kw_only=True):
    """A change of an existing name: add, replace or remove values, or withdraw it."""

    line: int
    name: str
    act: Literal["add", "modify", "remove", "delete"]
    values: tuple[Value, ...] = ()
    indexes: tuple[int, ...] = ()


class PastRevision(FrozenStruct, frozen=True, omit_defaults=True):
    """An earlier version with its own time, agent and action."""

    version: int
    at: str
    agent: str
    action: str
    record: Record
    note: str | None = None


class FullHistory(FrozenStruct, frozen=True, kw_only=True, omit_defaults=True):
    """An identifier with its complete history, as another registry exported it."""

    line: int = 0
    name: str
    scheme: str
    revisions: tuple[PastRevision, ...]
    uuid_raw: str | None = None


class RegistryPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a registry that is not an identifier: a prefix, an agent, a grant."""

    line: int
    kind: str
    fields: dict[str, Any]


NoticeKind = Literal[
    "verbatim", "mended", "bytes", "changed", "left-out", "party", "prefix", "case", "description", "alias"
]


class RejectedLine(FrozenStruct, frozen=True):
    """A line that is rejected, and the reason.

    `part` is the field that is wrong, if it is one field. `rule` quotes the rule of a specification that it violates.
    `code` is that of the error, if the registry has refused it.
    """

    line: int
    reason: str
    name: str | None = None
    part: str | None = None
    rule: str | None = None
    code: str | None = None


class Notice(FrozenStruct, frozen=True):
    """A line that was skipped on purpose, or that was not imported exactly as it is.

    Of an address that is not valid, `before` is the text in the file. `kind` is "verbatim" if it was stored so,
    "mended" if `after` was stored instead of it, and "bytes" for text that was stored as bytes. "changed" is another
    change of a value, and "left-out" a value that could not be stored.
    """

    line: int
    reason: str
    name: str | None = None
    kind: NoticeKind | None = None
    before: str | None = None
    after: str | None = None


Entry = ImportPut | ImportEdit | FullHistory | RegistryPart | RejectedLine | Notice
