"""Request schemas of persons, one for each body."""

from hashlib import sha256
from typing import Annotated, ClassVar, Final

from msgspec import Meta

from perdure.errors import InvalidInput
from perdure.http.api.schemas.person_parts import (
    MOST_LIST_ITEMS,
    Activity,
    AlgorithmVersion,
    ClaimChoiceInput,
    ClaimInput,
    CuratorId,
    CuratorName,
    DroppedLinkInput,
    EmploymentInput,
    Links,
    NonEmptyText,
    PersonRequestSchema,
    Poid,
    Prid,
    Reason,
    Timestamp,
)
from perdure.http.api.schemas.values import RequestSchema
from perdure.names.ppid_inputs import SOURCE_RULE, TIMESTAMP_RULE
from perdure.records.person import Reconstruction
from perdure.records.person_validation import MOST_CLAIMS, MOST_OBSERVATIONS
from perdure.registry.persons import Curation

_MOST_PARTS: Final = 100
# A rule of section 11.2 that a field of the wrong type violates.
_OBSERVATIONS_RULE: Final = "PRID must have observations"


class ObserveRequest(PersonRequestSchema, frozen=True, kw_only=True):
    """An observation of a person in a source. The POID is derived from the first three fields."""

    rules: ClassVar[dict[str, str]] = {"source_url": SOURCE_RULE, "retrieval_timestamp": TIMESTAMP_RULE}

    source_url: Annotated[str, Meta(min_length=1, examples=["https://example.org/staff/jan"])]
    retrieval_timestamp: Timestamp
    content_hash: (
        Annotated[
            str,
            Meta(
                pattern="^[0-9a-f]{64}$",
                description="The SHA-256 of the retrieved content.",
                examples=["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
            ),
        ]
        | None
    ) = None
    content: (
        Annotated[
            bytes,
            Meta(
                description="The retrieved content in Base64, instead of its hash. It is hashed and not stored.",
                extra_json_schema={"examples": ["SmFuIGRlIFZyaWVz"]},
            ),
        ]
        | None
    ) = None
    source_name: Annotated[str, Meta(min_length=1, examples=["Staff page"])] | None = None
    holding_archive: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="The archive that holds the source: a GHCID or a web address.",
                examples=["NL-NH-AMS-M-RM"],
            ),
        ]
        | None
    ) = None
    claims: Annotated[
        tuple[ClaimInput, ...], Meta(max_length=MOST_CLAIMS, description="The claims of the source, numbered from 1.")
    ] = ()

    def digest(self) -> str:
        """Return the given hash, or the hash of the given content."""
        if (self.content_hash is None) == (self.content is None):
            reason = "give either content_hash (SHA-256 of the retrieved content) or content (in Base64)"
            raise InvalidInput("ppid", "content_hash", reason)
        return self.content_hash or sha256(self.content or b"").hexdigest()


class CuratedRequest(PersonRequestSchema, frozen=True, kw_only=True):
    """The curator and the time of a conclusion."""

    rules: ClassVar[dict[str, str]] = {"observation_ids": _OBSERVATIONS_RULE, "timestamp": TIMESTAMP_RULE}

    curator_id: CuratorId
    timestamp: Timestamp
    curator_name: CuratorName | None = None
    algorithm_version: AlgorithmVersion | None = None
    activity: Activity | None = None

    def to_curation(self) -> Curation:
        return Curation(self.curator_id, self.timestamp, self.curator_name, self.algorithm_version, self.activity)


class ReconstructRequest(CuratedRequest, frozen=True, kw_only=True):
    """A curator's conclusions. The PRID is derived from observation_ids, curator_id and timestamp."""

    observation_ids: Annotated[
        tuple[Poid, ...],
        Meta(
            min_length=1, max_length=MOST_OBSERVATIONS, description="The observations it is based on; all must exist."
        ),
    ]
    claims: Annotated[
        tuple[ClaimChoiceInput, ...], Meta(max_length=MOST_CLAIMS, description="The claims that the curator accepts.")
    ] = ()
    notes: NonEmptyText | None = None
    links: Links = ()
    employment: Annotated[tuple[EmploymentInput, ...], Meta(max_length=MOST_LIST_ITEMS)] = ()
    different_from: Annotated[
        tuple[Prid, ...],
        Meta(max_length=MOST_LIST_ITEMS, description="Other persons who could be confused with this one."),
    ] = ()

    def to_domain(self) -> Reconstruction:
        reconstruction = Reconstruction(
            self.observation_ids,
            self.curator_id,
            self.timestamp,
            claims=tuple(claim.to_domain() for claim in self.claims),
            notes=self.notes,
            links=tuple(link.to_domain() for link in self.links),
            employment=tuple(employment.to_domain() for employment in self.employment),
            different_from=self.different_from,
        )
        return self.to_curation().apply_to(reconstruction)


class ReviseRequest(ReconstructRequest, frozen=True, kw_only=True):
    """The complete new version of a reconstruction: fields that are not given become empty."""

    reason: Reason | None = None


class MergeRequest(CuratedRequest, frozen=True, kw_only=True):
    """The reconstruction to merge into, the curator and the reason."""

    into: Prid
    reason: Reason


class SplitRequest(CuratedRequest, frozen=True, kw_only=True):
    """The observations of each new person, the curator and the reason."""

    parts: Annotated[
        tuple[Annotated[tuple[Poid, ...], Meta(min_length=1, max_length=MOST_OBSERVATIONS)], ...],
        Meta(min_length=2, max_length=_MOST_PARTS, description="Each observation must be in exactly one part."),
    ]
    reason: Reason


class UndoRequest(PersonRequestSchema, frozen=True, kw_only=True):
    """The reason for undoing a merge or a split, the curator and the time.

    The undo of a merge requires curator and time, because it revises the survivor. The undo of a split requires them
    only if the parts have changed since: the changes are added to the restored reconstruction.
    """

    rules: ClassVar[dict[str, str]] = {"timestamp": TIMESTAMP_RULE}

    reason: Reason
    curator_id: CuratorId | None = None
    timestamp: Timestamp | None = None
    curator_name: CuratorName | None = None
    algorithm_version: AlgorithmVersion | None = None
    activity: Activity | None = None

    def to_curation(self) -> Curation:
        if self.curator_id is None or self.timestamp is None:
            missing = "curator_id" if self.curator_id is None else "timestamp"
            raise InvalidInput("request", missing, f"{missing} is required: the undo revises a reconstruction")
        return Curation(self.curator_id, self.timestamp, self.curator_name, self.algorithm_version, self.activity)


class RestrictRequest(RequestSchema, frozen=True, kw_only=True):
    """The reason for hiding the content of this person."""

    reason: Annotated[str, Meta(min_length=1, description="The reason, which is public.", examples=["a living person"])]
    with_observations: Annotated[
        bool,
        Meta(
            description="Restrict the observations of a reconstruction too, and what was merged into it. This needs "
            "permission for each of them, and no other public person may show their claims."
        ),
    ] = False


class LiftRestrictionRequest(RequestSchema, frozen=True, kw_only=True):
    """The reason for lifting the restriction."""

    reason: Annotated[
        str, Meta(min_length=1, description="The reason, which is public.", examples=["consent was given"])
    ]


class RedactPersonRequest(RequestSchema, frozen=True, kw_only=True):
    """The reason for permanently removing the content of this person."""

    reason: Annotated[str, Meta(min_length=1, description="The reason, which is public.", examples=["a court order"])]


class ReplaceLinksRequest(PersonRequestSchema, frozen=True, kw_only=True):
    """The new list of links; everything else stays."""

    links: Links
    reason: Reason | None = None


class ChangeLinksRequest(PersonRequestSchema, frozen=True, kw_only=True):
    """The links to add and to drop; all others stay."""

    add: Links = ()
    drop: Annotated[tuple[DroppedLinkInput, ...], Meta(max_length=MOST_LIST_ITEMS)] = ()
    reason: Reason | None = None


PERSON_REQUEST_SCHEMAS: Final[tuple[type[RequestSchema], ...]] = (
    ObserveRequest,
    ReconstructRequest,
    ReviseRequest,
    MergeRequest,
    SplitRequest,
    UndoRequest,
    RestrictRequest,
    LiftRestrictionRequest,
    RedactPersonRequest,
    ReplaceLinksRequest,
    ChangeLinksRequest,
)
