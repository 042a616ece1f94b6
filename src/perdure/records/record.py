"""The record of one identifier in one version, and its encoding.

A record is encoded as JSON once. The bytes are stored in the identifier's row and in its history, and compared.
"""

from typing import Final, Literal

import msgspec

from perdure.errors import StoreDamaged
from perdure.records.frozen_struct import FrozenStruct
from perdure.records.person import Observation, Reconstruction, Redaction, Restriction
from perdure.records.value import Value

_REMEDY: Final = "run perdure verify, and restore a backup (perdure restore)"
State = Literal["reserved", "active", "withdrawn", "merged"]
STATES: Final[tuple[State, ...]] = ("reserved", "active", "withdrawn", "merged")


class About(FrozenStruct, frozen=True, omit_defaults=True):
    """A description for landing pages and citations. It does not replace the authority metadata."""

    who: str | None = None
    what: str | None = None
    when: str | None = None
    where: str | None = None


class Tombstone(FrozenStruct, frozen=True, omit_defaults=True):
    """The reason why an identifier was withdrawn, and its replacement.

    `successors` are the persons that it was split into. `merged_at` is the version of the person it was merged into.
    """

    reason: str
    replaced_by: str | None = None
    successors: tuple[str, ...] = ()
    merged_at: int | None = None


class Record(FrozenStruct, frozen=True, omit_defaults=True, kw_only=True):
    """All data of an identifier. `created` is the first association of the name with a thing, if there is one.

    `changed` is the newest change that no timestamp of a public value shows: of the owners, of the description, of the
    state, or the removal of a value. `change_time` computes it for every version from the second one on; a record of an
    earlier release may lack it.
    """

    state: State
    creator: str
    owners: tuple[str, ...] = ()
    created: str | None = None
    values: tuple[Value, ...] = ()
    about: About | None = None
    alias: str | None = None  # the other label of an IBI pair
    aliases: tuple[str, ...] = ()  # further names of the same object, which an import brought
    tombstone: Tombstone | None = None
    observation: Observation | None = None
    reconstruction: Reconstruction | None = None
    restriction: Restriction | None = None
    redaction: Redaction | None = None
    changed: str | None = None

    @property
    def responsible_parties(self) -> tuple[str, ...]:
        """Return the parties that are responsible for the identifier: its owners, or the creator if there are none."""
        return self.owners or (self.creator,)

    @property
    def other_names(self) -> tuple[str, ...]:
        """Return all names of the identifier but its first one."""
        return self.aliases if self.alias is None else (self.alias, *self.aliases)

    @property
    def is_redacted(self) -> bool:
        """Return whether the whole description of a person was removed."""
        return self.redaction is not None and self.redaction.is_whole


encode: Final = msgspec.json.Encoder(order="deterministic").encode
_decode: Final = msgspec.json.Decoder(Record).decode


def decode(encoded: bytes) -> Record:
    """Decode a record."""
    try:
        return _decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise StoreDamaged(f"a record cannot be read ({problem}): {_REMEDY}") from problem
