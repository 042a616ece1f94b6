"""What is said of a person: what a source shows of them (an observation), and what a curator concludes.

An observation makes claims, each of them numbered by its place, from 1. A reconstruction chooses among the claims of
its observations, and adds what only a curator can say: who else this is, who it is not, and where they worked.
"""

from typing import Final, Literal

from msgspec.structs import replace

from perdure.records.plain import Plain

Status = Literal["verified", "inferred"]
Relation = Literal["exact", "close"]
Kind = Literal["name", "date", "text"]

# What a claim can be about under a plain name, and what its value is. Anything else is said by an IRI.
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

# What these IRIs mean has a plain name, under which its values are checked and compared.
SAID_PLAINLY: Final = {
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


class PersonName(Plain, frozen=True, omit_defaults=True, kw_only=True):
    """A name and its parts, as the Person Name Vocabulary (PNV) has them."""

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


class InSource(Plain, frozen=True, omit_defaults=True, kw_only=True):
    """Where in the source something stands."""

    xpath: str | None = None
    quote: str | None = None
    page: str | None = None


class Claim(Plain, frozen=True, omit_defaults=True, kw_only=True):
    """One thing that a source says of a person. What is inferred says by what reasoning."""

    type: str
    value: str | PersonName
    language: str | None = None
    confidence: float | None = None
    where: InSource | None = None
    agent: str | None = None
    status: Status = "verified"
    reasoning: str | None = None


class Observation(Plain, frozen=True, omit_defaults=True):
    """What a source shows. The first three are what a POID is made from (PPID, section 5.1)."""

    source_url: str
    retrieval_timestamp: str
    content_hash: str
    source_name: str | None = None
    holding_archive: str | None = None
    claims: tuple[Claim, ...] = ()


class ChosenClaim(Plain, frozen=True, omit_defaults=True):
    """A claim of an observation, by its number there; and what it says, once the registry has looked."""

    observation_id: str
    claim: int
    said: Claim | None = None


class Link(Plain, frozen=True):
    """The same person, or one who is much like them, in another system."""

    relation: Relation
    scheme: str
    value: str


class Employment(Plain, frozen=True, omit_defaults=True, kw_only=True):
    """Work for one institution, which a GHCID names."""

    institution: str
    role: str | None = None
    start: str | None = None
    end: str | None = None


class Reconstruction(Plain, frozen=True, omit_defaults=True):
    """What a curator, or an algorithm, concludes.

    The first three are what a PRID was made from, and in later versions what it stands upon now. `replaces` are the
    PRIDs in whose place it came, by a merge or a split.
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


class Redaction(Plain, frozen=True, omit_defaults=True):
    """What was taken out of a record for good: why, when, and the SHA-256 of the record as it was written before.

    `of` names the observation whose claims were taken out, and `indexes` the values, where the rest stays; `earlier` is
    what had been taken out by then, the first first.
    """

    reason: str
    at: str
    sha256: str
    of: str | None = None
    earlier: "tuple[Redaction, ...]" = ()
    indexes: tuple[int, ...] = ()

    @property
    def acts(self) -> "tuple[Redaction, ...]":
        """Each by itself, the last of them last."""
        return (*self.earlier, replace(self, earlier=()))

    @property
    def is_whole(self) -> bool:
        """Whether one of the acts took out everything."""
        return any(act.of is None and not act.indexes for act in self.acts)

    def without_digests(self) -> "Redaction":
        """For those who might guess from one the little that was said."""
        return replace(self, sha256="", earlier=tuple(replace(one, sha256="") for one in self.earlier))


class Restriction(Plain, frozen=True):
    """Why what is said of a person is not shown, and since when."""

    reason: str
    since: str
