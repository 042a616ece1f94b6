"""Nested request schemas of persons: fields are named as in the PPID specification and in the records."""

from typing import Annotated, ClassVar, Final, Literal

from msgspec import Meta

from perdure.http.api.schemas.values import RequestSchema
from perdure.records.person import (
    ChosenClaim,
    Claim,
    Employment,
    InSource,
    Link,
    PersonName,
    Relation,
    Status,
)
from perdure.records.person_validation import MOST_CLAIMS
from perdure.registry.persons import DroppedLink

MOST_LIST_ITEMS: Final = 200

NonEmptyText = Annotated[str, Meta(min_length=1)]
Reason = Annotated[str, Meta(min_length=1, description="The reason, which is public.", examples=["the same baptism"])]
Timestamp = Annotated[
    str,
    Meta(
        min_length=1,
        description="ISO 8601 with date, time and zone, no finer than microseconds.",
        examples=["2025-01-09T10:30:00Z"],
    ),
]
Poid = Annotated[str, Meta(min_length=1, description="A POID.", examples=["POID-93b0-4476-560e-5ac1"])]
Prid = Annotated[str, Meta(min_length=1, description="A PRID.", examples=["PRID-5ccc-3780-8c9c-5a90"])]
CuratorId = Annotated[
    str,
    Meta(
        min_length=1,
        description="A resolvable identifier of the curator, or the name of an algorithm.",
        examples=["https://orcid.org/0000-0002-1825-0097"],
    ),
]
CuratorName = Annotated[str, Meta(min_length=1, examples=["M. Silva"])]
AlgorithmVersion = Annotated[str, Meta(min_length=1, description="The version of the algorithm.", examples=["2.1"])]
Activity = Annotated[str, Meta(min_length=1, description="The activity.", examples=["manual curation"])]
Edtf = Annotated[str, Meta(min_length=1, description="A date in EDTF.", examples=["1895-03~", "195X"])]


class PersonRequestSchema(RequestSchema, frozen=True, kw_only=True):
    """The base of request bodies about persons: claims, links and other lists are numbered from 1."""

    counted_from: ClassVar[int] = 1


class PersonNameInput(RequestSchema, frozen=True, kw_only=True):
    """A name and its parts, as in the Person Name Vocabulary (PNV)."""

    literal_name: NonEmptyText | None = None
    given_name: NonEmptyText | None = None
    initials: NonEmptyText | None = None
    patronym: NonEmptyText | None = None
    surname_prefix: NonEmptyText | None = None
    base_surname: NonEmptyText | None = None

    def to_domain(self) -> PersonName:
        return PersonName(
            literal_name=self.literal_name,
            given_name=self.given_name,
            initials=self.initials,
            patronym=self.patronym,
            surname_prefix=self.surname_prefix,
            base_surname=self.base_surname,
        )


class SourceLocationInput(RequestSchema, frozen=True, kw_only=True):
    """The location of a claim in its source."""

    xpath: NonEmptyText | None = None
    quote: NonEmptyText | None = None
    page: NonEmptyText | None = None

    def to_domain(self) -> InSource:
        return InSource(xpath=self.xpath, quote=self.quote, page=self.page)


class ClaimInput(RequestSchema, frozen=True, kw_only=True):
    """One claim of the source about the person. An inferred claim gives its reasoning."""

    type: Annotated[
        str,
        Meta(
            min_length=1, description="A known type, as in name, birth_date, occupation; or an IRI.", examples=["name"]
        ),
    ]
    value: Annotated[
        NonEmptyText | PersonNameInput,
        Meta(description="Text; a date in EDTF; or a name in parts.", examples=["Jan"]),
    ]
    language: Annotated[str, Meta(min_length=2, description="A language tag.", examples=["nl"])] | None = None
    confidence: Annotated[float, Meta(ge=0, le=1)] | None = None
    where: SourceLocationInput | None = None
    agent: (
        Annotated[
            str, Meta(min_length=1, description="The person or the program that extracted the claim from the source.")
        ]
        | None
    ) = None
    status: Status = "verified"
    reasoning: Annotated[str, Meta(min_length=1, description="The reasoning of an inferred claim.")] | None = None

    def to_domain(self) -> Claim:
        return Claim(
            type=self.type,
            value=self.value if isinstance(self.value, str) else self.value.to_domain(),
            language=self.language,
            confidence=self.confidence,
            where=None if self.where is None else self.where.to_domain(),
            agent=self.agent,
            status=self.status,
            reasoning=self.reasoning,
        )


class ClaimChoiceInput(RequestSchema, frozen=True, kw_only=True):
    """A claim of one of the observations, by its number in that observation."""

    observation_id: Poid
    claim: Annotated[int, Meta(ge=1, le=MOST_CLAIMS)]

    def to_domain(self) -> ChosenClaim:
        return ChosenClaim(self.observation_id, self.claim)


LinkedSystem = Literal["orcid", "isni", "viaf", "wikidata"]
LinkedValue = Annotated[str, Meta(min_length=1, examples=["Q42"])]


class LinkInput(RequestSchema, frozen=True, kw_only=True):
    """A link to the same person (exact) or a similar one (close) in another system."""

    relation: Relation
    scheme: LinkedSystem
    value: LinkedValue

    def to_domain(self) -> Link:
        return Link(self.relation, self.scheme, self.value)


class DroppedLinkInput(RequestSchema, frozen=True, kw_only=True):
    """A link to drop. Without a relation, an exact or a close one."""

    scheme: LinkedSystem
    value: LinkedValue
    relation: Relation | None = None

    def to_domain(self) -> DroppedLink:
        return DroppedLink(self.scheme, self.value, self.relation)


class EmploymentInput(RequestSchema, frozen=True, kw_only=True):
    """An employment at one institution."""

    institution: Annotated[str, Meta(min_length=1, description="A GHCID.", examples=["NL-NH-AMS-M-RM"])]
    role: Annotated[str, Meta(min_length=1, examples=["curator"])] | None = None
    start: Edtf | None = None
    end: Edtf | None = None

    def to_domain(self) -> Employment:
        return Employment(institution=self.institution, role=self.role, start=self.start, end=self.end)


Links = Annotated[
    tuple[LinkInput, ...], Meta(max_length=MOST_LIST_ITEMS, description="Links to the person in other systems.")
]
