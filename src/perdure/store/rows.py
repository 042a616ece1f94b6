"""From the columns of a row to the registry's own values, where both engines keep them alike."""

import json
from fractions import Fraction
from typing import Any, Final

import msgspec

from perdure.registry.entities import History, Identifier, Prefix, Revision, Subsystem

LAST_CHARACTER: Final = chr(0x10FFFF)  # sorts behind everything that a key can go on with

MOST_FORGOTTEN: Final = 1000  # answers, in one transaction: nobody is to wait for it

PREFIX_COLUMNS: Final = (
    "key, name, scheme, minter, case_sensitive, parent, policy, pattern, opaque, subsystem, created, pass_through"
)


def prefix_of(row: tuple[Any, ...]) -> Prefix:
    """A prefix from its columns."""
    key, name, scheme, minter, case_sensitive, parent, policy, pattern, opaque, subsystem, created, passes = row
    return Prefix(
        key=key,
        name=name,
        scheme=scheme,
        minter=minter,
        case_sensitive=bool(case_sensitive),
        parent=parent,
        policy=policy,
        pattern=pattern,
        opaque=opaque,
        subsystem=None if subsystem is None else _read_subsystem(subsystem),
        created=created,
        pass_through=bool(passes),
    )


def prefix_row(prefix: Prefix) -> tuple[Any, ...]:
    """The columns of a prefix."""
    return (
        prefix.key,
        prefix.name,
        prefix.scheme,
        prefix.minter,
        prefix.case_sensitive,
        prefix.parent,
        prefix.policy,
        prefix.pattern,
        prefix.opaque,
        None if prefix.subsystem is None else _write_subsystem(prefix.subsystem),
        prefix.created,
        prefix.pass_through,
    )


def key_range(after: str, under: str | None) -> tuple[str, str]:
    """Between which keys to look: both are left out."""
    return (after, LAST_CHARACTER) if under is None else (max(after, under), under + LAST_CHARACTER)


def newest_history(
    row: Identifier,
    added: int,
    uuid_raw: str | None,
    at: str | None,
    agent: str,
    action: str,
    note: str | None,
    digest: bytes,
    original: bytes | None,
) -> History:
    """A name with its newest revision, whose record is that of the row; `at` is None where there is no revision."""
    revisions = () if at is None else (Revision(row.version, at, agent, action, row.record, note, digest, original),)
    return History(row, added, revisions, uuid_raw=uuid_raw)


def _write_subsystem(subsystem: Subsystem) -> str:
    fields = msgspec.structs.asdict(subsystem)
    return json.dumps(fields | {"granularity": str(subsystem.granularity)})


def _read_subsystem(text: str) -> Subsystem:
    fields = json.loads(text)
    return Subsystem(**(fields | {"granularity": Fraction(fields["granularity"])}))
