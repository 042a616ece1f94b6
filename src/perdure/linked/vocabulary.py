"""Our vocabulary: the classes and properties that nobody else has, each with what it means.

Everything is told once, here: the context of our JSON-LD, the pages and the published ontology follow from it.
"""

from enum import Enum
from functools import cache
from typing import Final, Literal

import msgspec

from perdure.linked.namespaces import EDTF, PNV, PROV, RDFS, XSD, Namespaces


class Kind(Enum):
    """What a property's value is, unless it says so itself (by a language or a type of its own)."""

    IRI = "iri"
    NAMED = "named"  # an IRI that may be written as one of our terms
    STRING = "string"
    TEXT = "text"  # in a human language; in an unknown one, if none is given
    INTEGER = "integer"
    DECIMAL = "decimal"
    DATE_TIME = "dateTime"
    EDTF = "edtf"


DATATYPES: Final = {
    Kind.STRING: XSD + "string",
    Kind.INTEGER: XSD + "integer",
    Kind.DECIMAL: XSD + "decimal",
    Kind.DATE_TIME: XSD + "dateTime",
    Kind.EDTF: EDTF,
}


class Term(msgspec.Struct, frozen=True):
    """A class or a property of ours, with the IRIs of what it is said of and of what it says."""

    name: str
    iri: str
    sort: Literal["class", "object property", "datatype property"]
    label: str
    comment: str
    subclass_of: tuple[str, ...] = ()
    domain: str | None = None
    range: str | None = None


class _Property(msgspec.Struct, frozen=True):
    """`range` names a class of ours, or has a prefix; left out, it is what the kind says."""

    kind: Kind
    label: str
    comment: str
    range: str | None = None


class _Class(msgspec.Struct, frozen=True):
    label: str
    comment: str
    parents: tuple[str, ...] = ()


_LITERAL: Final = "rdfs:Literal"
_RESOURCE: Final = "rdfs:Resource"
_TOLD: Final = "As the claims tell it."

CLASSES: Final = {
    "PersonObservation": _Class(
        "Person observation",
        "What one source shows of a person, at one moment. It never changes.",
        ("picom:PersonObservation",),
    ),
    "PersonReconstruction": _Class(
        "Person reconstruction",
        "A person, as somebody puts them together from observations.",
        ("picom:PersonReconstruction", "Employed"),
    ),
    "Claim": _Class("Claim", "One thing that a source says of a person."),
    "ClaimSet": _Class("Claims of an observation", "All that one observation claims, one by one."),
    "Employed": _Class("Employed", "What can have an employer: a person, or one of several employments of a person."),
    "Employment": _Class("Employment", "Work for one institution.", ("Employed",)),
}

_IRI, _STRING, _TIME = Kind.IRI, Kind.STRING, Kind.DATE_TIME
_BY_DOMAIN: Final[dict[str, dict[str, _Property]]] = {
    "PersonObservation": {
        "poid": _Property(_STRING, "Person Observation ID", "The identifier of a person observation."),
        "retrievedAt": _Property(_TIME, "retrieved at", "When the source was read."),
        "contentHash": _Property(_STRING, "content hash", "The SHA-256 of what was read, in hexadecimal digits."),
    },
    "PersonReconstruction": {
        "prid": _Property(_STRING, "Person Reconstruction ID", "The identifier of a person reconstruction."),
        "hasObservation": _Property(
            _IRI, "has observation", "An observation that the reconstruction stands upon.", "PersonObservation"
        ),
        "orcid": _Property(_STRING, "ORCID", "The person's ORCID, in groups of four."),
        "isni": _Property(_STRING, "ISNI", "The person's ISNI, as sixteen digits."),
        "viaf": _Property(_STRING, "VIAF ID", "The number of the person's cluster in VIAF."),
        "wikidata": _Property(_STRING, "Wikidata item", "The person's item in Wikidata."),
        "employment": _Property(
            _IRI, "employment", "One of the person's employments, with its own role and dates.", "Employment"
        ),
    },
    "Employed": {
        "employedAt": _Property(_IRI, "employed at", "The institution, by the IRI of its GHCID.", _RESOURCE),
        "employmentRole": _Property(_STRING, "employment role", "What the work was called."),
        "employmentStart": _Property(_STRING, "employment start", "The year, month or day when work began.", _LITERAL),
        "employmentEnd": _Property(_STRING, "employment end", "The year, month or day when work ended.", _LITERAL),
        "employmentStartEdtf": _Property(
            Kind.EDTF, "employment start (EDTF)", "When the work began, as exactly as it is known."
        ),
        "employmentEndEdtf": _Property(
            Kind.EDTF, "employment end (EDTF)", "When the work ended, as exactly as it is known."
        ),
    },
    "Claim": {
        "claimType": _Property(Kind.NAMED, "claim type", "The property that the claim states.", _RESOURCE),
        "claimValue": _Property(_STRING, "claim value", "What the claim says, in the words of the source.", _LITERAL),
        "claimedName": _Property(_IRI, "claimed name", "The name that the claim says, in its parts.", "pnv:PersonName"),
        "claimNumber": _Property(Kind.INTEGER, "claim number", "The place of the claim in its observation, from 1."),
        "claimOf": _Property(_IRI, "claim of", "The observation that makes the claim.", "PersonObservation"),
        "claimStatus": _Property(_STRING, "claim status", "Whether the claim was verified or inferred."),
        "confidence": _Property(Kind.DECIMAL, "confidence", "How sure the claim is, from 0 to 1."),
        "reasoning": _Property(_STRING, "reasoning", "By what reasoning it was inferred."),
        "xpath": _Property(_STRING, "XPath", "Where in the source the claim stands, as an XPath."),
        "quote": _Property(_STRING, "quote", "The words of the source."),
        "page": _Property(_STRING, "page", "The page of the source."),
        "retrievalAgent": _Property(_STRING, "retrieval agent", "Who or what took the claim from the source."),
    },
    "picom:Person": {
        "claim": _Property(_IRI, "claim", "A claim that an observation makes, or a reconstruction chose.", "Claim"),
        "uuidRaw": _Property(_STRING, "UUID of the inputs", "The UUID of what the identifier was made from."),
        "version": _Property(Kind.INTEGER, "version", "The number of the version that the document tells of."),
        "currentVersion": _Property(_IRI, "current version", "The version that is the newest now.", "prov:Entity"),
        "restrictionReason": _Property(_STRING, "restriction reason", "Why what is said of the person is not shown."),
        "restrictedSince": _Property(_TIME, "restricted since", "Since when what is said is not shown."),
        "redactionReason": _Property(_STRING, "redaction reason", "Why something was taken out for good."),
        "redactedAt": _Property(_TIME, "redacted at", "When something was taken out for good."),
        "redactedHash": _Property(_STRING, "redacted hash", "The SHA-256 of the record before it was redacted."),
        "redactionOf": _Property(_IRI, "redaction of", "The observation that was taken out.", "PersonObservation"),
        "baptismDate": _Property(_STRING, "baptism date", _TOLD, _LITERAL),
        "baptismPlace": _Property(_STRING, "baptism place", _TOLD, _LITERAL),
        "burialDate": _Property(_STRING, "burial date", _TOLD, _LITERAL),
        "burialPlace": _Property(_STRING, "burial place", _TOLD, _LITERAL),
        "marriageDate": _Property(_STRING, "marriage date", _TOLD, _LITERAL),
        "marriagePlace": _Property(_STRING, "marriage place", _TOLD, _LITERAL),
        "residence": _Property(_STRING, "residence", _TOLD, _LITERAL),
        "employer": _Property(_STRING, "employer", "Whom the person worked for, as the claims tell it.", _LITERAL),
        "role": _Property(_STRING, "role", "What the person is in the source, as the claims tell it.", _LITERAL),
        "education": _Property(_STRING, "education", _TOLD, _LITERAL),
        "nationality": _Property(_STRING, "nationality", _TOLD, _LITERAL),
        "religion": _Property(_STRING, "religion", _TOLD, _LITERAL),
        "relation": _Property(_STRING, "relation", "To whom the person is related, as the claims tell it.", _LITERAL),
    },
    _RESOURCE: {
        "state": _Property(_STRING, "state", "Of the identifier: reserved, active, withdrawn or merged."),
        "tombstoneReason": _Property(_STRING, "tombstone reason", "Why it was withdrawn, merged or split."),
    },
}
PROPERTIES: Final = {name: one for properties in _BY_DOMAIN.values() for name, one in properties.items()}


@cache
def vocabulary_terms(namespaces: Namespaces) -> tuple[Term, ...]:
    """Every term of ours, the classes first."""
    bases = {"picom": namespaces.picom, "rdfs": RDFS, "prov": PROV, "pnv": PNV}

    def full(name: str) -> str:
        prefix, colon, local = name.partition(":")
        return bases[prefix] + local if colon else namespaces.ppidt + name

    classes = [
        Term(name, namespaces.ppidt + name, "class", one.label, one.comment, tuple(map(full, one.parents)))
        for name, one in CLASSES.items()
    ]
    properties = [
        Term(
            name,
            namespaces.ppidv + name,
            "object property" if one.kind in (Kind.IRI, Kind.NAMED) else "datatype property",
            one.label,
            one.comment,
            domain=full(domain),
            range=DATATYPES[one.kind] if one.range is None else full(one.range),
        )
        for domain, said in _BY_DOMAIN.items()
        for name, one in said.items()
    ]
    return (*classes, *properties)
