"""What clients send about persons: one type for each body."""

from hashlib import sha256
from typing import Annotated, ClassVar, Final

from msgspec import Meta

from perdure.errors import InvalidInput
from perdure.http.v1.person_parts import (
    MOST_OTHERS,
    Activity,
    AlgorithmVersion,
    CuratorId,
    CuratorName,
    Filled,
    Links,
    Poid,
    Prid,
    Reason,
    SentChoice,
    SentClaim,
    SentEmployment,
    SentOfPerson,
    Timestamp,
)
from perdure.http.v1.sent_values import Sent
from perdure.names.ppid_inputs import SOURCE_RULE, TIMESTAMP_RULE
from perdure.records.person import Reconstruction
from perdure.records.person_checks import MOST_CLAIMS, MOST_OBSERVATIONS
from perdure.registry.persons import Curation

_MOST_PARTS: Final = 100
# A rule of section 11.2 that a body can break before anything of it is looked at.
_OBSERVATIONS: Final = "PRID must have observations"


class NewObservation(SentOfPerson, frozen=True, kw_only=True):
    """What a source shows of a person. The first three are what the POID is made from."""

    rules: ClassVar[dict[str, str]] = {"source_url": SOURCE_RULE, "retrieval_timestamp": TIMESTAMP_RULE}

    source_url: Annotated[str, Meta(min_length=1, examples=["https://example.org/staff/jan"])]
    retrieval_timestamp: Timestamp
    content_hash: (
        Annotated[
            str,
            Meta(
                pattern="^[0-9a-f]{64}$",
                description="The SHA-256 of what was retrieved.",
                examples=["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
            ),
        ]
        | None
    ) = None
    content: (
        Annotated[
            bytes,
            Meta(
                description="What was retrieved, in Base64, in place of its hash: it is hashed, and not kept.",
                extra_json_schema={"examples": ["SmFuIGRlIFZyaWVz"]},
            ),
        ]
        | None
    ) = None
    source_name: Annotated[str, Meta(min_length=1, examples=["Staff page"])] | None = None
    holding_archive: (
        Annotated[
            str,
            Meta(min_length=1, description="Who holds it: a GHCID, or a web address.", examples=["NL-NH-AMS-M-RM"]),
        ]
        | None
    ) = None
    claims: Annotated[
        tuple[SentClaim, ...], Meta(max_length=MOST_CLAIMS, description="What it says, numbered from 1.")
    ] = ()

    def digest(self) -> str:
        """The hash that was given, or that of the content that was."""
        if (self.content_hash is None) == (self.content is None):
            reason = "give either content_hash, the SHA-256 of what was retrieved, or content, itself in Base64"
            raise InvalidInput("ppid", "content_hash", reason)
        return self.content_hash or sha256(self.content or b"").hexdigest()


class Curated(SentOfPerson, frozen=True, kw_only=True):
    """Who concluded something, and when."""

    rules: ClassVar[dict[str, str]] = {"observation_ids": _OBSERVATIONS, "timestamp": TIMESTAMP_RULE}

    curator_id: CuratorId
    timestamp: Timestamp
    curator_name: CuratorName | None = None
    algorithm_version: AlgorithmVersion | None = None
    activity: Activity | None = None

    def curation(self) -> Curation:
        return Curation(self.curator_id, self.timestamp, self.curator_name, self.algorithm_version, self.activity)


class NewReconstruction(Curated, frozen=True, kw_only=True):
    """What a curator concludes. The PRID is made from observation_ids, curator_id and timestamp."""

    observation_ids: Annotated[
        tuple[Poid, ...],
        Meta(min_length=1, max_length=MOST_OBSERVATIONS, description="What it stands upon; all must exist."),
    ]
    claims: Annotated[
        tuple[SentChoice, ...], Meta(max_length=MOST_CLAIMS, description="Those that are taken to be right.")
    ] = ()
    notes: Filled | None = None
    links: Links = ()
    employment: Annotated[tuple[SentEmployment, ...], Meta(max_length=MOST_OTHERS)] = ()
    different_from: Annotated[
        tuple[Prid, ...], Meta(max_length=MOST_OTHERS, description="Namesakes who are somebody else.")
    ] = ()

    def stated(self) -> Reconstruction:
        made = Reconstruction(
            self.observation_ids,
            self.curator_id,
            self.timestamp,
            claims=tuple(one.stated() for one in self.claims),
            notes=self.notes,
            links=tuple(link.stated() for link in self.links),
            employment=tuple(one.stated() for one in self.employment),
            different_from=self.different_from,
        )
        return self.curation().of(made)


class RevisedReconstruction(NewReconstruction, frozen=True, kw_only=True):
    """All that is concluded from now on: what is not named is not said any more."""

    reason: Reason | None = None


class Merging(Curated, frozen=True, kw_only=True):
    """Which reconstruction takes this one up, who says so, and why."""

    into: Prid
    reason: Reason


class Splitting(Curated, frozen=True, kw_only=True):
    """The persons that this one really was, each by their observations; who says so, and why."""

    parts: Annotated[
        tuple[Annotated[tuple[Poid, ...], Meta(min_length=1, max_length=MOST_OBSERVATIONS)], ...],
        Meta(min_length=2, max_length=_MOST_PARTS, description="Each observation goes to one of them."),
    ]
    reason: Reason


class Undoing(SentOfPerson, frozen=True, kw_only=True):
    """Why a merge or a split was wrong. Who says so, and when: of a merge, because the survivor is concluded anew;

    of a split, if its parts have learnt something since, which goes to the one that stands again.
    """

    rules: ClassVar[dict[str, str]] = {"timestamp": TIMESTAMP_RULE}

    reason: Reason
    curator_id: CuratorId | None = None
    timestamp: Timestamp | None = None
    curator_name: CuratorName | None = None
    algorithm_version: AlgorithmVersion | None = None
    activity: Activity | None = None

    def curation(self) -> Curation:
        if self.curator_id is None or self.timestamp is None:
            missing = "curator_id" if self.curator_id is None else "timestamp"
            raise InvalidInput("request", missing, f"{missing} is missing: whoever undoes this concludes anew")
        return Curation(self.curator_id, self.timestamp, self.curator_name, self.algorithm_version, self.activity)


class Restricting(Sent, frozen=True, kw_only=True):
    """Why what is said of this person is not to be shown."""

    reason: Annotated[str, Meta(min_length=1, description="Everybody can read it.", examples=["a living person"])]


class Lifting(Sent, frozen=True, kw_only=True):
    """Why it may be shown again."""

    reason: Annotated[str, Meta(min_length=1, description="Everybody can read it.", examples=["consent was given"])]


class Redacting(Sent, frozen=True, kw_only=True):
    """Why all that is said of this person is taken out for good."""

    reason: Annotated[str, Meta(min_length=1, description="Everybody can read it.", examples=["a court order"])]


class ReplacedLinks(SentOfPerson, frozen=True, kw_only=True):
    """All links from now on; everything else stays."""

    links: Links
    reason: Reason | None = None


PERSON_BODIES: Final[tuple[type[Sent], ...]] = (
    NewObservation,
    NewReconstruction,
    RevisedReconstruction,
    Merging,
    Splitting,
    Undoing,
    Restricting,
    Lifting,
    Redacting,
    ReplacedLinks,
)
