"""What clients are told: one type for each answer, from which the document is written too."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from perdure.records.authority import AuthorityMetadata
from perdure.records.person import Observation, Reconstruction, Redaction, Restriction
from perdure.records.record import About, Tombstone
from perdure.records.value import Data, Reference


class Told(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What all answers have in common."""


class NewName(Told, frozen=True, kw_only=True):
    """A name that was made for you, and that nobody gets again."""

    name: Annotated[str, Meta(examples=["12345/Y35XYS0QH"])]
    alias: Annotated[str, Meta(description="The opaque label of an IBI.")] | None = None
    date: Annotated[str, Meta(description="The instant that it was made from.")] | None = None


class NewNames(Told, frozen=True, kw_only=True):
    """What was minted."""

    identifiers: tuple[NewName, ...]


class ShownValue(msgspec.Struct, frozen=True, kw_only=True):
    """One typed statement of a record."""

    index: int
    type: str
    data: Data
    ttl: int | str
    timestamp: str
    permissions: str
    references: tuple[Reference, ...]


class ShownIdentifier(Told, frozen=True, kw_only=True):
    """All that is said of an identifier, as it may be shown to whoever asked."""

    name: str
    names: Annotated[tuple[str, ...], Meta(description="All its names: an IBI has two.")]
    scheme: str
    state: Annotated[str, Meta(description="reserved, active, withdrawn or merged", examples=["active"])]
    version: int
    authority: AuthorityMetadata
    target: Annotated[str, Meta(description="The first URL value: what PATCH changes by that name.")] | None = None
    locations: Annotated[
        tuple[str, ...],
        Meta(
            description="The places of a 10320/loc: where there are some, the resolver sends readers to one of these."
        ),
    ] = ()
    values: tuple[ShownValue, ...] = ()
    about: About | None = None
    tombstone: Tombstone | None = None
    observation: Observation | None = None
    reconstruction: Reconstruction | None = None
    restriction: Restriction | None = None
    redaction: Redaction | None = None
    uuid_raw: str | None = None


class Listed(Told, frozen=True, kw_only=True):
    """An identifier in short."""

    name: str
    scheme: str
    state: str
    version: int
    target: str | None = None


class ListedIdentifiers(Told, frozen=True, kw_only=True):
    """A page of identifiers; `next` is what to give as `after` for the following page."""

    identifiers: tuple[Listed, ...]
    next: str | None = None


class ShownRevision(Told, frozen=True, kw_only=True):
    """One version: when, by whom, and by what act."""

    version: int
    at: str
    agent: str
    action: str
    note: str | None = None


class ShownHistory(Told, frozen=True, kw_only=True):
    """The versions of an identifier, the first one first; `next` is what to give as `after` for the following page."""

    name: str
    revisions: tuple[ShownRevision, ...]
    next: int | None = None


class ShownDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that two versions say differently; null is nothing."""

    part: Annotated[str, Meta(examples=["value 1"])]
    before: Any
    after: Any


class ShownDifferences(Told, frozen=True, kw_only=True):
    """What changed from one version to another."""

    name: str
    differences: tuple[ShownDifference, ...]


class Found(Told, frozen=True, kw_only=True):
    """A hit."""

    name: str
    state: str
    target: str | None = None


class FoundIdentifiers(Told, frozen=True, kw_only=True):
    """Hits, the newest first."""

    found: tuple[Found, ...]


class Transferred(Told, frozen=True, kw_only=True):
    """How many identifiers changed hands; those that were the agent's already did not."""

    transferred: int


class ShownPrefix(Told, frozen=True, kw_only=True):
    """A prefix that this registry keeps."""

    prefix: str
    scheme: str
    minter: str
    case_sensitive: Annotated[bool, Meta(description="Whether names are told apart by case.")]
    pass_through: bool
    created: str
    policy: str = ""
    parent: str | None = None
    pattern: str | None = None
    opaque: Annotated[str, Meta(description="The prefix of the opaque labels of an IBI subsystem.")] | None = None
    host: str | None = None
    port: int | None = None
    ip: str | None = None
    ip_port: int | None = None
    granularity: str | None = None


class ShownPrefixes(Told, frozen=True, kw_only=True):
    """All prefixes that this registry keeps."""

    prefixes: tuple[ShownPrefix, ...]


class ShownGrant(Told, frozen=True, kw_only=True):
    """What somebody may do, and where."""

    scope: Annotated[str, Meta(description="A prefix, or * for the whole registry.")]
    action: str
    own: Annotated[bool, Meta(description="Only to identifiers that the agent answers for.")] = False
    until: str | None = None


class ShownAgent(Told, frozen=True, kw_only=True):
    """Who is asking, and what that one was granted."""

    id: str
    name: str
    identifier: str
    kind: str
    grants: tuple[ShownGrant, ...]


class Meaning(Told, frozen=True, kw_only=True):
    """What an error code means, and the statuses that it comes with."""

    code: str
    statuses: tuple[int, ...]
    meaning: str


class Meanings(Told, frozen=True, kw_only=True):
    """All error codes."""

    errors: tuple[Meaning, ...]


class ImportProblem(Told, frozen=True, kw_only=True):
    """A line that was left out, or passed over on purpose (`refused` is false)."""

    line: int
    reason: str
    refused: bool
    name: str | None = None


class ImportTally(msgspec.Struct, frozen=True, kw_only=True):
    """The last line: what became of the entries, and how many of the lines above are missing from this answer."""

    created: int
    changed: int
    unchanged: int
    refused: int
    notices: int
    entries: int
    dry_run: bool
    untold: int


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong (RFC 9457), and what the error knows besides: the field, the name, what was expected …"""

    type: Annotated[str, Meta(examples=["/api/v1/errors/no-such-name"])]
    title: str
    status: int
    detail: str
    code: Annotated[str, Meta(description="Stable; see /errors.", examples=["no-such-name"])]
    instance: str | None = None
    part: Annotated[str, Meta(description="Which field, parameter or header it is about.")] | None = None
    rule: (
        Annotated[
            str,
            Meta(
                description="Which rule of its specification is broken, in its words.",
                examples=["PRID must have observations"],
            ),
        ]
        | None
    ) = None


TOLD: tuple[type[msgspec.Struct], ...] = (
    NewNames,
    ShownIdentifier,
    ListedIdentifiers,
    ShownHistory,
    ShownDifferences,
    FoundIdentifiers,
    Transferred,
    ShownPrefix,
    ShownPrefixes,
    ShownAgent,
    Meaning,
    Meanings,
    ImportProblem,
    ImportTally,
    Problem,
)
