"""What clients are told about persons."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from perdure.http.v1.told import ShownRevision, Told
from perdure.records.authority import AuthorityMetadata
from perdure.records.person import Observation, Reconstruction, Redaction, Restriction
from perdure.records.record import Tombstone

Ppid = Annotated[str, Meta(examples=["POID-93b0-4476-560e-5ac1"])]
Uri = Annotated[
    str,
    Meta(
        description="Where this server shows it to everybody.",
        examples=["https://id.example.org/POID-93b0-4476-560e-5ac1"],
    ),
]


class NewPerson(Told, frozen=True, kw_only=True):
    """A person identifier, and the UUID of what it was made from."""

    ppid: Ppid
    uuid_raw: Annotated[str, Meta(examples=["93b04476-560e-5acb-837d-67cbc75f4a8f"])]
    uri: Uri


class NewPersons(Told, frozen=True, kw_only=True):
    """The persons that one was split into, in the order of the parts."""

    persons: tuple[NewPerson, ...]


class ObservedLine(Told, frozen=True, kw_only=True):
    """What became of one line of many: its POID, and whether that is new; or the problem that it was refused for."""

    line: Annotated[int, Meta(description="Its number, counted from 1; of a row of several lines, the last one's.")]
    ppid: Ppid | None = None
    uuid_raw: str | None = None
    created: bool | None = None
    error: Annotated[dict[str, Any], Meta(description="A problem document.")] | None = None


class ObservedTally(msgspec.Struct, frozen=True, kw_only=True):
    """The last line: what became of all, and how many of the lines above are missing from this answer."""

    created: int
    unchanged: int
    refused: int
    lines: int
    dry_run: bool
    untold: int


class ShownPerson(Told, frozen=True, kw_only=True):
    """A person identifier as it may be shown to whoever asked. What is restricted says why, and since when."""

    ppid: Ppid
    type: Literal["POID", "PRID"]
    uri: Uri
    state: Annotated[str, Meta(description="active, withdrawn or merged", examples=["active"])]
    version: int
    newest: Annotated[int, Meta(description="The number of the last version.")]
    authority: AuthorityMetadata
    uuid_raw: str | None = None
    observation: Observation | None = None
    reconstruction: Reconstruction | None = None
    restriction: Restriction | None = None
    redaction: Redaction | None = None
    tombstone: Tombstone | None = None


class ShownObservation(Told, frozen=True, kw_only=True):
    """An observation that a reconstruction stands upon."""

    ppid: Ppid
    uri: Uri
    state: str
    uuid_raw: str | None = None
    observation: Observation | None = None
    restriction: Restriction | None = None
    redaction: Redaction | None = None
    tombstone: Tombstone | None = None


class ShownObservations(Told, frozen=True, kw_only=True):
    """What a reconstruction stands upon at a version; of one that is restricted, nothing but why."""

    ppid: Ppid
    version: int
    observations: tuple[ShownObservation, ...]
    restriction: Restriction | None = None
    redaction: Redaction | None = None


class PersonHistory(Told, frozen=True, kw_only=True):
    """The versions of a person, the first one first; `next` is what to give as `after` for the following page."""

    ppid: Ppid
    revisions: tuple[ShownRevision, ...]
    next: int | None = None


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a text is a person identifier, whether it is registered here, and what may have been meant."""

    ppid: Annotated[str, Meta(description="What was asked about.")]
    valid: bool
    message: Annotated[str, Meta(description="PPID, section 11.1: Valid, Invalid syntax or Invalid checksum.")]
    exists: bool
    canonical: (
        Annotated[str, Meta(description="The right spelling: of what is valid, or but for its spelling would be.")]
        | None
    ) = None
    reason: Annotated[str, Meta(description="What is wrong with it, and where.")] | None = None
    suggestions: Annotated[tuple[str, ...], Meta(description="Registered, and one slip away from this.")] = ()


class FoundPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A hit."""

    ppid: Ppid
    uri: Uri
    state: str
    names: Annotated[tuple[str, ...], Meta(description="The names that are said to be this person's.")]


class FoundPersons(msgspec.Struct, frozen=True, kw_only=True):
    """Hits: reconstructions first, then observations; of each the newest first.

    `next` is what to give as `after` for the following page, which there may be even if nobody is on this one.
    """

    found: tuple[FoundPerson, ...]
    next: str | None = None


PERSON_TOLD: tuple[type[msgspec.Struct], ...] = (
    NewPerson,
    NewPersons,
    ObservedLine,
    ObservedTally,
    ShownPerson,
    ShownObservations,
    PersonHistory,
    Validation,
    FoundPersons,
)
