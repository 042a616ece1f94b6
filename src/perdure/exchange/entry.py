"""What a line, or a block of lines, of a file asks for: the same few things, whatever the format."""

from typing import Any, Literal

import msgspec

from perdure.records.plain import Plain
from perdure.records.record import About, Record
from perdure.records.value import Value


class Put(Plain, frozen=True, kw_only=True):
    """Let a name exist and say this."""

    line: int
    name: str
    target: str | None = None
    values: tuple[Value, ...] = ()
    about: About | None = None
    creator: str | None = None
    owners: tuple[str, ...] = ()
    created: str | None = None
    state: Literal["active", "reserved"] = "active"


class Edit(Plain, frozen=True, kw_only=True):
    """Change a name that exists: add values, or put them in the place of others, or take some away, or withdraw it."""

    line: int
    name: str
    act: Literal["add", "modify", "remove", "delete"]
    values: tuple[Value, ...] = ()
    indexes: tuple[int, ...] = ()


class PastRevision(Plain, frozen=True, omit_defaults=True):
    """One version as it was: with its own time, agent and act."""

    version: int
    at: str
    agent: str
    action: str
    record: Record
    note: str | None = None


class Whole(Plain, frozen=True, kw_only=True, omit_defaults=True):
    """An identifier with its whole history, as another registry had it."""

    line: int = 0
    name: str
    scheme: str
    revisions: tuple[PastRevision, ...]
    uuid_raw: str | None = None


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a registry that is no identifier: a prefix, an agent, a grant."""

    line: int
    kind: str
    fields: dict[str, Any]


class Refused(Plain, frozen=True):
    """A line that cannot be taken, and why.

    `part` is the field that is wrong, where it is one, and `rule` what it breaks, in a specification's words.
    """

    line: int
    reason: str
    name: str | None = None
    part: str | None = None
    rule: str | None = None


class Notice(Plain, frozen=True):
    """A line that was passed over on purpose."""

    line: int
    reason: str


Entry = Put | Edit | Whole | Setting | Refused | Notice
