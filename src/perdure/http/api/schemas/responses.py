"""Response schemas, one for each response. The OpenAPI document is generated from them."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from perdure.records.value import Data, Reference
from perdure.registry.entities import LabelKind
from perdure.registry.identifier_view import IdentifierFields


class ResponseSchema(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of response schemas."""


class MintedName(ResponseSchema, frozen=True, kw_only=True):
    """A new name, which is never issued again."""

    name: Annotated[str, Meta(examples=["12345/Y35XYS0QH"])]
    alias: Annotated[str, Meta(description="The opaque label of an IBI.")] | None = None
    date: Annotated[str, Meta(description="The instant that the name was derived from.")] | None = None


class MintResponse(ResponseSchema, frozen=True, kw_only=True):
    """The minted names."""

    identifiers: tuple[MintedName, ...]
    also_known_as: Annotated[
        tuple[str, ...], Meta(description="Identifiers that had the same target before, the newest first.")
    ] = ()


class PendingMintResponse(ResponseSchema, frozen=True, kw_only=True):
    """Names that are minted, and are disclosed once their dates have come."""

    due: Annotated[str, Meta(description="The time from which on the names can be read.")]


class ValueResponse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One typed value of a record."""

    index: int
    type: str
    data: Data
    ttl: int | str
    timestamp: str
    permissions: str
    references: tuple[Reference, ...]
    verbatim: Annotated[
        bool,
        Meta(description="Whether it was imported although it is not a valid address: no reader is redirected to it."),
    ] = False


class IdentifierResponse(IdentifierFields, frozen=True, kw_only=True, omit_defaults=True):
    """An identifier, as visible to the caller."""

    values: tuple[ValueResponse, ...] = ()
    handle_record: Annotated[
        tuple[ValueResponse, ...],
        Meta(description="On request: the whole record, as Handle clients read it."),
    ] = ()


class IdentifierSummary(ResponseSchema, frozen=True, kw_only=True):
    """The summary of an identifier."""

    name: str
    scheme: str
    state: str
    version: int
    target: str | None = None
    created: Annotated[str, Meta(description="With details: the creation date.")] | None = None
    changed: Annotated[str, Meta(description="With details: the time of the newest version.")] | None = None
    creator: Annotated[str, Meta(description="With details.")] | None = None
    owners: Annotated[tuple[str, ...], Meta(description="With details.")] = ()


class IdentifierListResponse(ResponseSchema, frozen=True, kw_only=True):
    """A page of identifiers. `next` is the value of `after` for the next page."""

    identifiers: tuple[IdentifierSummary, ...]
    next: str | None = None


class RevisionSummary(ResponseSchema, frozen=True, kw_only=True):
    """One version with time, agent and action."""

    version: int
    at: str
    agent: str
    action: str
    note: str | None = None


class RecordedRevision(RevisionSummary, frozen=True, kw_only=True):
    """One version, with its record if that was requested."""

    record: Annotated[Any, Meta(description="On request: the record, as exports contain it.")] = None


class HistoryResponse(ResponseSchema, frozen=True, kw_only=True):
    """The versions of an identifier, oldest first. `next` is the value of `after` for the next page."""

    name: str
    revisions: tuple[RecordedRevision, ...]
    next: int | None = None


class DifferenceItem(msgspec.Struct, frozen=True, kw_only=True):
    """One difference between two versions; null means absent."""

    part: Annotated[str, Meta(examples=["value 1"])]
    before: Any
    after: Any


class DiffResponse(ResponseSchema, frozen=True, kw_only=True):
    """The differences between two versions."""

    name: str
    differences: tuple[DifferenceItem, ...]


class SearchHit(ResponseSchema, frozen=True, kw_only=True):
    """A search result."""

    name: str
    state: str
    target: str | None = None


class SearchResponse(ResponseSchema, frozen=True, kw_only=True):
    """Search results, newest first."""

    found: tuple[SearchHit, ...]


class TransferResponse(ResponseSchema, frozen=True, kw_only=True):
    """The number of transferred identifiers, without those that belonged to the agent already."""

    transferred: int


class LabelPeriodItem(ResponseSchema, frozen=True, kw_only=True):
    """A time in which an IBI subsystem mints labels under one label prefix."""

    label: Annotated[str, Meta(description="The label prefix.", examples=["sid.inpe.br/mtc-m18"])]
    kind: Annotated[LabelKind, Meta(description="Whether it is made from the host name or from the IP address.")]
    started: str
    ended: Annotated[str, Meta(description="The end. Without it, the label prefix is in use.")] | None = None


class PrefixResponse(ResponseSchema, frozen=True, kw_only=True):
    """A prefix of this registry."""

    prefix: str
    scheme: str
    minter: str
    case_sensitive: Annotated[bool, Meta(description="Whether names are case-sensitive.")]
    pass_through: bool
    joiners: bool
    created: str
    policy: str = ""
    parent: str | None = None
    pattern: str | None = None
    opaque: (
        Annotated[str, Meta(description="The prefix of the opaque labels that an IBI subsystem mints now.")] | None
    ) = None
    periods: Annotated[
        tuple[LabelPeriodItem, ...],
        Meta(description="When an IBI subsystem minted labels under which label prefix, the oldest first."),
    ] = ()
    host: str | None = None
    port: int | None = None
    ip: str | None = None
    ip_port: int | None = None
    granularity: str | None = None
    ttl: Annotated[int, Meta(description="The TTL of values for which none is given.")] | None = None


class ResolutionPeriod(ResponseSchema, frozen=True, kw_only=True):
    """The resolutions in one period, by kind of client."""

    period: Annotated[str, Meta(description="A day (2026-11-18) or a month (2026-11).")]
    browser: int
    robot: Annotated[int, Meta(description="Search engines, link checkers and other automatic clients.")]
    program: Annotated[int, Meta(description="Command-line tools and libraries.")]
    handle: Annotated[int, Meta(description="Clients that read the Handle record.")]
    total: Annotated[int, Meta(description="All but robots.")]


class NameStatisticsResponse(ResponseSchema, frozen=True, kw_only=True):
    """The resolutions of one identifier."""

    name: str
    periods: tuple[ResolutionPeriod, ...]


class NameTotal(ResponseSchema, frozen=True, kw_only=True):
    """The resolutions of one identifier in the whole time, without robots."""

    name: str
    total: int


class PrefixStatisticsResponse(ResponseSchema, frozen=True, kw_only=True):
    """The resolutions under a prefix, and the identifiers that were resolved most often."""

    prefix: str
    periods: tuple[ResolutionPeriod, ...]
    names: tuple[NameTotal, ...]


class PrefixListResponse(ResponseSchema, frozen=True, kw_only=True):
    """All prefixes of this registry."""

    prefixes: tuple[PrefixResponse, ...]


class ValueTypeItem(ResponseSchema, frozen=True, kw_only=True):
    """A type of values."""

    name: Annotated[str, Meta(description="A handle.", examples=["102.100.TYPE/CREATOR"])]
    description: str
    created: str | None = None


class ValueTypeListResponse(ResponseSchema, frozen=True, kw_only=True):
    """The types of values that this registry defines."""

    prefix: Annotated[str, Meta(description="The prefix of all their names, a setting.", examples=["102.100.TYPE"])]
    types: tuple[ValueTypeItem, ...]


class GrantResponse(ResponseSchema, frozen=True, kw_only=True):
    """A permission of an agent and its scope."""

    scope: Annotated[str, Meta(description="A prefix, or * for the whole registry.")]
    action: str
    own: Annotated[bool, Meta(description="Only for identifiers that the agent is responsible for.")] = False
    until: str | None = None
    given_by: Annotated[str, Meta(description="The agent who gave it.")] = ""
    given_at: str = ""


class AgentResponse(ResponseSchema, frozen=True, kw_only=True):
    """An agent and its grants."""

    id: str
    name: str
    identifier: str
    kind: str
    grants: tuple[GrantResponse, ...]
    created: str = ""
    retired: Annotated[str, Meta(description="When the agent was retired. It has no keys and no grants.")] | None = None


class ErrorDescription(ResponseSchema, frozen=True, kw_only=True):
    """The meaning of an error code, and its HTTP statuses."""

    code: str
    statuses: tuple[int, ...]
    meaning: str


class ErrorListResponse(ResponseSchema, frozen=True, kw_only=True):
    """All error codes."""

    errors: tuple[ErrorDescription, ...]


class ImportProblem(ResponseSchema, frozen=True, kw_only=True):
    """A line that was refused, or that was not imported exactly as it is (`refused` is false)."""

    line: int
    reason: str
    refused: bool
    name: str | None = None
    code: Annotated[str, Meta(description="The error, if it was refused; see /errors.")] | None = None
    kind: (
        Annotated[
            str,
            Meta(
                description="What was done: verbatim, mended, bytes, changed, left-out, party, prefix, case, "
                "description, alias."
            ),
        ]
        | None
    ) = None
    before: Annotated[str, Meta(description="The address in the line.")] | None = None
    after: Annotated[str, Meta(description="The address that was stored.")] | None = None


class ImportSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The last line: the totals. `untold` is the number of problem lines that are omitted from the response."""

    created: int
    changed: int
    unchanged: int
    refused: int
    notices: int
    verbatim: Annotated[int, Meta(description="Addresses that are not valid: stored as they are, they lead nowhere.")]
    mended: int
    left_out: Annotated[int, Meta(description="Values that could not be stored, of names that came in without them.")]
    entries: int
    dry_run: bool
    untold: int


class MintedLine(ResponseSchema, frozen=True, kw_only=True):
    """The result of one line: its name, or the error. In a dry run, a line that would be minted has no name."""

    line: Annotated[
        int, Meta(description="The line number, from 1. For a row of several lines, the number of the last one.")
    ]
    name: str | None = None
    alias: Annotated[str, Meta(description="The opaque label of an IBI.")] | None = None
    date: Annotated[str, Meta(description="The instant that the name was derived from.")] | None = None
    created: Annotated[bool, Meta(description="Whether this request minted the name.")] | None = None
    error: Annotated[dict[str, Any], Meta(description="A problem document.")] | None = None


class MintSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The last line: the totals. `unchanged` lines had their names before this request.

    `untold` is the number of result lines that are omitted from the response.
    """

    minted: int
    unchanged: int
    refused: int
    lines: int
    dry_run: bool
    untold: int


class ProblemDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A problem document (RFC 9457), with further members depending on the error: field, name, expected value …"""

    type: Annotated[str, Meta(examples=["/api/v1/errors/no-such-name"])]
    title: str
    status: int
    detail: str
    code: Annotated[str, Meta(description="Stable; see /errors.", examples=["no-such-name"])]
    instance: str | None = None
    part: Annotated[str, Meta(description="The invalid field, parameter or header.")] | None = None
    rule: (
        Annotated[
            str,
            Meta(
                description="The violated rule, quoted from its specification.",
                examples=["PRID must have observations"],
            ),
        ]
        | None
    ) = None


RESPONSE_SCHEMAS: tuple[type[msgspec.Struct], ...] = (
    MintResponse,
    IdentifierResponse,
    IdentifierListResponse,
    HistoryResponse,
    DiffResponse,
    SearchResponse,
    TransferResponse,
    PrefixResponse,
    PrefixListResponse,
    ValueTypeListResponse,
    AgentResponse,
    ErrorDescription,
    ErrorListResponse,
    ImportProblem,
    ImportSummary,
    MintedLine,
    MintSummary,
    ProblemDocument,
)
