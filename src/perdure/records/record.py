"""The record: all that is said of one identifier at one version, and how it is written down.

A record is written as JSON once, stored as it is in the identifier's row and in its history, and compared as bytes.
"""

from typing import Final, Literal

import msgspec

from perdure.errors import StoreDamaged
from perdure.records.person import Observation, Reconstruction, Redaction, Restriction
from perdure.records.plain import Plain
from perdure.records.value import Value

_REMEDY: Final = "run perdure verify, and restore a backup (perdure restore)"
State = Literal["reserved", "active", "withdrawn", "merged"]
STATES: Final[tuple[State, ...]] = ("reserved", "active", "withdrawn", "merged")


class About(Plain, frozen=True, omit_defaults=True):
    """A description for landing pages and citations: apart from the authority metadata, and never in its place."""

    who: str | None = None
    what: str | None = None
    when: str | None = None
    where: str | None = None


class Tombstone(Plain, frozen=True, omit_defaults=True):
    """Why an identifier was withdrawn, and what stands in its place.

    `successors` are the persons that it was split into; `merged_at` is the version in which another took it up.
    """

    reason: str
    replaced_by: str | None = None
    successors: tuple[str, ...] = ()
    merged_at: int | None = None


class Record(Plain, frozen=True, omit_defaults=True, kw_only=True):
    """`created` is the first association of the name with a thing: a reserved name has none."""

    state: State
    creator: str
    owners: tuple[str, ...] = ()
    created: str | None = None
    values: tuple[Value, ...] = ()
    about: About | None = None
    alias: str | None = None
    tombstone: Tombstone | None = None
    observation: Observation | None = None
    reconstruction: Reconstruction | None = None
    restriction: Restriction | None = None
    redaction: Redaction | None = None

    @property
    def responsible(self) -> tuple[str, ...]:
        """Who answers for the identifier: its owners, or the creator where no one else is named."""
        return self.owners or (self.creator,)

    @property
    def is_redacted(self) -> bool:
        """Whether nothing is left of what was said of a person."""
        return self.redaction is not None and self.redaction.is_whole


# How a record is written in which a value has a lifetime of its own (or that quotes this: then it is read for nothing).
OWN_LIFETIME: Final = b'"ttl":'

encode: Final = msgspec.json.Encoder(order="deterministic").encode
_decode: Final = msgspec.json.Decoder(Record).decode


def decode(written: bytes) -> Record:
    """The record as it was written."""
    try:
        return _decode(written)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise StoreDamaged(f"a record cannot be read ({problem}): {_REMEDY}") from problem
