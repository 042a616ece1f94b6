"""Descriptions of a person: observations, from one source each, and reconstructions, by a curator.

An observation makes claims, numbered from 1. A reconstruction chooses among the claims of its observations. A curator
adds links to the person in other systems, persons that it is different from, and employments.
"""

from typing import Final, Literal

from msgspec.structs import replace

from perdure.records.frozen_struct import FrozenStruct

Status = Literal["verified", "inferred"]
Relation = Literal["exact", "close"]
Kind = Literal["name", "date", "text"]

# The types of claims that have a name, and the kind of their values. All other types are IRIs.
CLAIM_TYPES: Final[dict[str, Kind]] = {
    "name": "name",
    "gender": "text",
    "birth_date": "date",
    "birth_place": "text",
    "baptism_date": "date",
    "baptism_place": "text",
    "death_date": "date",
    "death_place": "text",
    "burial_date": "date",
    "burial_place": "text",
    "marriage_date": "date",
    "marriage_place": "text",
    "age": "text",
    "residence": "text",
    "occupation": "text",
    "employer": "text",
    "role": "text",
    "education": "text",
    "nationality": "text",
    "religion": "text",
    "relation": "text",
    "description": "text",
}

# IRIs that are rejected as types, because a named type means the same. Its values are checked and compared.
CLAIM_TYPE_OF_IRI: Final = {
    "https://schema.org/name": "name",
    "https://schema.org/gender": "gender",
    "https://schema.org/birthDate": "birth_date",
    "https://schema.org/birthPlace": "birth_place",
    "https://schema.org/deathDate": "death_date",
    "https://schema.org/deathPlace": "death_place",
    "https://schema.org/hasOccupation": "occupation",
    "https://schema.org/description": "description",
    "https://personsincontext.org/model#hasAge": "age",
}


class PersonName(FrozenStruct, frozen=True, omit_defaults=True, kw_only=True):
    """A name and its parts, as in the Person Name Vocabulary (PNV)."""

    literal_name: str | None = None
    given_name: str | None = None
    initials: str | None = None
    patronym: str | None = None
    surname_prefix: str | None = None
    base_surname: str | None = None

    def __str__(self) -> str:
        if self.literal_name is not None:
            return self.literal_name
        first = self.given_name or self.initials
        parts = (first, self.patronym, self.surname_prefix, self.base_surname)
        return " ".join(part for part in parts if part)


class InSource(FrozenStruct, frozen=True, omit_defaults=True, kw_only=True):
    """A location in the source."""

    xpath: str | None = None
    quote: str | None = None
    page: str | None = None


class Claim(FrozenStruct, frozen=True, omit_defaults=True, kw_only=True):
    """One statement of a source about a person. If it is inferred, it has the reasoning."""

    type: str
    value: str | PersonName
    language: str | None = None
    confidence: float | None = None
    where: InSource | None = None
    agent: str | None = None
    status: Status = "verified"
    reasoning: str | None = None


class Observation(FrozenStruct, frozen=True, omit_defaults=True):
    """The content of a source about a person. The first three fields are the inputs of a POID (PPID, section 5.1)."""

    source_url: str
    retrieval_timestamp: str
    content_hash: str
    source_name: str | None = None
    holding_archive: str | None = None
    claims: tuple[Claim, ...] = ()


class ChosenClaim(FrozenStruct, frozen=True, omit_defaults=True):
    """A claim of an observation, by its number. `said` is the claim itself, once the registry has looked it up."""

    observation_id: str
    claim: int
    said: Claim | None = None


class Link(FrozenStruct, frozen=True):
    """A link to the person, or to one who is very similar, in another system."""

    relation: Relation
    scheme: str
    value: str


class Employment(FrozenStruct, frozen=True, omit_defaults=True, kw_only=True):
    """Work for one institution, identified by its GHCID."""

    institution: str
    role: str | None = None
    start: str | None = None
    end: str | None = None


class Reconstruction(FrozenStruct, frozen=True, omit_defaults=True):
    """The conclusions of a curator or an algorithm about a person.

    In the first version, the first three fields are the inputs of the PRID. In later versions they are the current
    ones. `replaces` are the PRIDs that it replaced by a merge or a split.
    """

    observation_ids: tuple[str, ...]
    curator_id: str
    timestamp: str
    curator_name: str | None = None
    algorithm_version: str | None = None
    activity: str | None = None
    claims: tuple[ChosenClaim, ...] = ()
    notes: str | None = None
    links: tuple[Link, ...] = ()
    employment: tuple[Employment, ...] = ()
    different_from: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()


class Redaction(FrozenStruct, frozen=True, omit_defaults=True):
    """A permanent removal from a record: why, when, and the SHA-256 of the record before.

    If only a part was removed, `of` is the observation whose claims were removed, or `indexes` are the values.
    `earlier` are the previous redactions, the oldest first.
    """

    reason: str
    at: str
    sha256: str
    of: str | None = None
    earlier: "tuple[Redaction, ...]" = ()
    indexes: tuple[int, ...] = ()

    @property
    def acts(self) -> "tuple[Redaction, ...]":
        """Return all redactions separately, the newest last."""
        return (*self.earlier, replace(self, earlier=()))

    @property
    def is_whole(self) -> bool:
        """Return whether one of the redactions removed everything."""
        return any(act.of is None and not act.indexes for act in self.acts)

    def without_digests(self) -> "Redaction":
        """Return a copy without digests, for readers who could guess short content from its digest."""
        return replace(self, sha256="", earlier=tuple(replace(redaction, sha256="") for redaction in self.earlier))


class Restriction(FrozenStruct, frozen=True):
    """The reason why a description of a person is not public, and since when."""

    reason: str
    since: str
