"""The parts of what clients send about persons: fields as the PPID specification names them, and as the model does."""

from typing import Annotated, ClassVar, Final, Literal

from msgspec import Meta

from perdure.http.v1.sent_values import Sent
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
from perdure.records.person_checks import MOST_CLAIMS

MOST_OTHERS: Final = 200

Filled = Annotated[str, Meta(min_length=1)]
Reason = Annotated[str, Meta(min_length=1, description="Why; everybody can read it.", examples=["the same baptism"])]
Timestamp = Annotated[
    str,
    Meta(
        min_length=1,
        description="ISO 8601 with date, time and zone, no finer than microseconds.",
        examples=["2025-01-09T10:30:00Z"],
    ),
]
Poid = Annotated[str, Meta(min_length=1, description="An observation.", examples=["POID-93b0-4476-560e-5ac1"])]
Prid = Annotated[str, Meta(min_length=1, description="A reconstruction.", examples=["PRID-5ccc-3780-8c9c-5a90"])]
CuratorId = Annotated[
    str,
    Meta(
        min_length=1,
        description="The curator, by an identifier that leads to them; or the name of an algorithm.",
        examples=["https://orcid.org/0000-0002-1825-0097"],
    ),
]
CuratorName = Annotated[str, Meta(min_length=1, examples=["M. Silva"])]
AlgorithmVersion = Annotated[str, Meta(min_length=1, description="Of an algorithm.", examples=["2.1"])]
Activity = Annotated[str, Meta(min_length=1, description="What was done.", examples=["manual curation"])]
Edtf = Annotated[str, Meta(min_length=1, description="A date in EDTF.", examples=["1895-03~", "195X"])]


class SentOfPerson(Sent, frozen=True, kw_only=True):
    """What is said of a person: claims, links and the like are numbered from 1."""

    counted_from: ClassVar[int] = 1


class SentName(Sent, frozen=True, kw_only=True):
    """A name and its parts, as the Person Name Vocabulary (PNV) has them."""

    literal_name: Filled | None = None
    given_name: Filled | None = None
    initials: Filled | None = None
    patronym: Filled | None = None
    surname_prefix: Filled | None = None
    base_surname: Filled | None = None

    def stated(self) -> PersonName:
        return PersonName(
            literal_name=self.literal_name,
            given_name=self.given_name,
            initials=self.initials,
            patronym=self.patronym,
            surname_prefix=self.surname_prefix,
            base_surname=self.base_surname,
        )


class SentPlace(Sent, frozen=True, kw_only=True):
    """Where in the source something stands."""

    xpath: Filled | None = None
    quote: Filled | None = None
    page: Filled | None = None

    def stated(self) -> InSource:
        return InSource(xpath=self.xpath, quote=self.quote, page=self.page)


class SentClaim(Sent, frozen=True, kw_only=True):
    """One thing that the source says of the person. What is inferred says by what reasoning."""

    type: Annotated[
        str,
        Meta(min_length=1, description="As in name, birth_date, occupation; or the IRI of another.", examples=["name"]),
    ]
    value: Annotated[
        Filled | SentName, Meta(description="Text; of a date, in EDTF; of a name, also in parts.", examples=["Jan"])
    ]
    language: Annotated[str, Meta(min_length=2, description="A language tag.", examples=["nl"])] | None = None
    confidence: Annotated[float, Meta(ge=0, le=1)] | None = None
    where: SentPlace | None = None
    agent: Annotated[str, Meta(min_length=1, description="Who, or what, took it from the source.")] | None = None
    status: Status = "verified"
    reasoning: Annotated[str, Meta(min_length=1, description="Of what is inferred: why.")] | None = None

    def stated(self) -> Claim:
        return Claim(
            type=self.type,
            value=self.value if isinstance(self.value, str) else self.value.stated(),
            language=self.language,
            confidence=self.confidence,
            where=None if self.where is None else self.where.stated(),
            agent=self.agent,
            status=self.status,
            reasoning=self.reasoning,
        )


class SentChoice(Sent, frozen=True, kw_only=True):
    """A claim of one of the observations, by its number there."""

    observation_id: Poid
    claim: Annotated[int, Meta(ge=1, le=MOST_CLAIMS)]

    def stated(self) -> ChosenClaim:
        return ChosenClaim(self.observation_id, self.claim)


class SentLink(Sent, frozen=True, kw_only=True):
    """The same person (exact), or one who is much like them (close), in another system."""

    relation: Relation
    scheme: Literal["orcid", "isni", "viaf", "wikidata"]
    value: Annotated[str, Meta(min_length=1, examples=["Q42"])]

    def stated(self) -> Link:
        return Link(self.relation, self.scheme, self.value)


class SentEmployment(Sent, frozen=True, kw_only=True):
    """Work for one institution."""

    institution: Annotated[str, Meta(min_length=1, description="A GHCID.", examples=["NL-NH-AMS-M-RM"])]
    role: Annotated[str, Meta(min_length=1, examples=["curator"])] | None = None
    start: Edtf | None = None
    end: Edtf | None = None

    def stated(self) -> Employment:
        return Employment(institution=self.institution, role=self.role, start=self.start, end=self.end)


Links = Annotated[tuple[SentLink, ...], Meta(max_length=MOST_OTHERS, description="Who this is in other systems.")]
