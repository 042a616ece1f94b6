"""Response schemas of persons."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from perdure.http.api.schemas.responses import ResponseSchema, RevisionSummary
from perdure.records.authority_metadata import AuthorityMetadata
from perdure.records.person import Observation, Reconstruction, Redaction, Restriction
from perdure.records.record import Tombstone
from perdure.registry.persons import DroppedItem

Ppid = Annotated[str, Meta(examples=["POID-93b0-4476-560e-5ac1"])]
EndedState = Annotated[
    str, Meta(description="withdrawn or merged; omitted if the identifier is active", examples=["withdrawn"])
]
Uri = Annotated[
    str,
    Meta(
        description="The public URL at this server.",
        examples=["https://id.example.org/POID-93b0-4476-560e-5ac1"],
    ),
]


class CreatedPerson(ResponseSchema, frozen=True, kw_only=True):
    """A person identifier, and the UUID that it was derived from."""

    ppid: Ppid
    uuid_raw: Annotated[str, Meta(examples=["93b04476-560e-5aca-a783-906230499222"])]
    uri: Uri
    state: EndedState | None = None
    tombstone: Tombstone | None = None


Dropped = Annotated[
    tuple[DroppedItem, ...],
    Meta(
        description="What this change dropped from the person, and no person has who results from it. "
        "The old version still has it. Omitted if nothing was dropped."
    ),
]


class SplitResponse(ResponseSchema, frozen=True, kw_only=True):
    """The persons that result from a split, in the order of the parts."""

    persons: tuple[CreatedPerson, ...]
    dropped: Dropped = ()


class ObservationLine(ResponseSchema, frozen=True, kw_only=True):
    """The result of one line: its POID, and whether it is new; or the error."""

    line: Annotated[
        int, Meta(description="The line number, from 1. For a row of several lines, the number of the last one.")
    ]
    ppid: Ppid | None = None
    uuid_raw: str | None = None
    created: bool | None = None
    state: EndedState | None = None
    error: Annotated[dict[str, Any], Meta(description="A problem document.")] | None = None


class ObservationSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The last line: the totals. `untold` is the number of result lines that are omitted from the response."""

    created: int
    unchanged: int
    refused: int
    lines: int
    dry_run: bool
    untold: int


class WithdrawalResponse(ResponseSchema, frozen=True, kw_only=True):
    """The withdrawal, merge or split of a person. The reason is in `tombstone`."""

    at: Annotated[str, Meta(description="The time.", examples=["2025-02-15T14:00:00Z"])]
    by: Annotated[str, Meta(description="The agent's name.", examples=["City Archive of Leiden"])]
    by_identifier: Annotated[str, Meta(description="The agent's identifier.")] = ""


class PersonResponse(ResponseSchema, frozen=True, kw_only=True):
    """A person, as visible to the caller. A restricted person shows the reason and the date."""

    ppid: Ppid
    type: Literal["POID", "PRID"]
    uri: Uri
    state: Annotated[str, Meta(description="active, withdrawn or merged", examples=["active"])]
    version: int
    newest: Annotated[int, Meta(description="The number of the newest version.")]
    authority: AuthorityMetadata
    uuid_raw: str | None = None
    observation: Observation | None = None
    reconstruction: Reconstruction | None = None
    restriction: Restriction | None = None
    redaction: Redaction | None = None
    tombstone: Tombstone | None = None
    withdrawal: WithdrawalResponse | None = None
    dropped: Dropped = ()
    redacted_too: Annotated[
        tuple[Ppid, ...], Meta(description="After a redaction: the reconstructions that lost data, too.")
    ] = ()
    public_observations: Annotated[
        tuple[Ppid, ...],
        Meta(description="After a restriction: the observations that still show the person."),
    ] = ()
    public_reconstructions: Annotated[
        tuple[Ppid, ...],
        Meta(description="After a restriction: the reconstructions that it replaced, and that still show the person."),
    ] = ()


class ObservationResponse(ResponseSchema, frozen=True, kw_only=True):
    """An observation of a reconstruction."""

    ppid: Ppid
    uri: Uri
    state: str
    uuid_raw: str | None = None
    observation: Observation | None = None
    restriction: Restriction | None = None
    redaction: Redaction | None = None
    tombstone: Tombstone | None = None


class ObservationListResponse(ResponseSchema, frozen=True, kw_only=True):
    """The observations of a reconstruction at a version. If it is restricted, only the reason."""

    ppid: Ppid
    version: int
    observations: tuple[ObservationResponse, ...]
    restriction: Restriction | None = None
    redaction: Redaction | None = None


class PersonHistoryResponse(ResponseSchema, frozen=True, kw_only=True):
    """The versions of a person, oldest first. `next` is the value of `after` for the next page."""

    ppid: Ppid
    revisions: tuple[RevisionSummary, ...]
    next: int | None = None


class ValidationResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The validity of a text as a person identifier, whether it is registered here, and suggestions."""

    ppid: Annotated[str, Meta(description="The given text.")]
    valid: bool
    message: Annotated[str, Meta(description="PPID, section 11.1: Valid, Invalid syntax or Invalid checksum.")]
    exists: bool
    canonical: (
        Annotated[str, Meta(description="The canonical spelling, if the text is valid, or would be in that spelling.")]
        | None
    ) = None
    reason: Annotated[str, Meta(description="The error, and its position.")] | None = None
    suggestions: Annotated[
        tuple[str, ...], Meta(description="Registered identifiers that differ by one typing error.")
    ] = ()


class PersonHit(msgspec.Struct, frozen=True, kw_only=True):
    """A search result."""

    ppid: Ppid
    uri: Uri
    state: str
    names: Annotated[tuple[str, ...], Meta(description="The names of the person.")]


class PersonSearchResponse(msgspec.Struct, frozen=True, kw_only=True):
    """Search results: reconstructions first, then observations; each newest first.

    `next` is the value of `after` for the next page. There may be a next page even if this one is empty.
    """

    found: tuple[PersonHit, ...]
    next: str | None = None


PERSON_RESPONSE_SCHEMAS: tuple[type[msgspec.Struct], ...] = (
    CreatedPerson,
    SplitResponse,
    ObservationLine,
    ObservationSummary,
    PersonResponse,
    ObservationListResponse,
    PersonHistoryResponse,
    ValidationResponse,
    PersonSearchResponse,
)
