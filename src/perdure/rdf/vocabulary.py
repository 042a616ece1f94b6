"""Our vocabulary: the classes and properties that no other vocabulary has, each with its meaning.

The context of our JSON-LD, the pages and the published ontology are generated from it.
"""

from enum import Enum
from functools import cache
from typing import Final, Literal

import msgspec

from perdure.rdf.namespaces import EDTF, PNV, PROV, RDFS, XSD
from perdure.records.namespaces import Namespaces


class Kind(Enum):
    """The kind of a property's values, for values without a language or a type of their own."""

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
    """A class or a property of ours, with the IRIs of its domain and range."""

    name: str
    iri: str
    sort: Literal["class", "object property", "datatype property"]
    label: str
    comment: str
    subclass_of: tuple[str, ...] = ()
    domain: str | None = None
    range: str | None = None


class _Property(msgspec.Struct, frozen=True):
    """A property. `range` is a class of ours, or has a prefix. The default follows from the kind."""

    kind: Kind
    label: str
    comment: str
    range: str | None = None


class _Class(msgspec.Struct, frozen=True):
    """A class, with its superclasses."""

    label: str
    comment: str
    parents: tuple[str, ...] = ()


_LITERAL: Final = "rdfs:Literal"
_RESOURCE: Final = "rdfs:Resource"
_FROM_CLAIMS: Final = "As stated by the claims."

CLASSES: Final = {
    "PersonObservation": _Class(
        "Person observation",
        "The content of one source about a person, at one moment. It never changes.",
        ("picom:PersonObservation",),
    ),
    "PersonReconstruction": _Class(
        "Person reconstruction",
        "A person, as a curator reconstructs them from observations.",
        ("picom:PersonReconstruction", "Employed"),
    ),
    "Claim": _Class("Claim", "One statement of a source about a person."),
    "ClaimSet": _Class("Claims of an observation", "All claims of one observation."),
    "VersionHistory": _Class(
        "Version history", "All changes of the record of one person, each with the version that it generated."
    ),
    "Employed": _Class("Employed", "Anything with an employer: a person, or one of several employments of a person."),
    "Employment": _Class("Employment", "Work for one institution.", ("Employed",)),
}

_IRI, _STRING, _TIME = Kind.IRI, Kind.STRING, Kind.DATE_TIME
_BY_DOMAIN: Final[dict[str, dict[str, _Property]]] = {
    "PersonObservation": {
        "poid": _Property(_STRING, "Person Observation ID", "The identifier of a person observation."),
        "retrievedAt": _Property(_TIME, "retrieved at", "When the source was read."),
        "contentHash": _Property(
            _STRING, "content hash", "The SHA-256 of the content that was read, in hexadecimal digits."
        ),
    },
    "PersonReconstruction": {
        "prid": _Property(_STRING, "Person Reconstruction ID", "The identifier of a person reconstruction."),
        "hasObservation": _Property(
            _IRI, "has observation", "An observation that the reconstruction is based on.", "PersonObservation"
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
        "employmentRole": _Property(_STRING, "employment role", "The name of the position."),
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
        "claimValue": _Property(
            _STRING, "claim value", "The value of the claim, in the words of the source.", _LITERAL
        ),
        "claimedName": _Property(_IRI, "claimed name", "The claimed name, in its parts.", "pnv:PersonName"),
        "claimNumber": _Property(Kind.INTEGER, "claim number", "The number of the claim in its observation, from 1."),
        "claimOf": _Property(_IRI, "claim of", "The observation that makes the claim.", "PersonObservation"),
        "claimStatus": _Property(_STRING, "claim status", "Whether the claim was verified or inferred."),
        "confidence": _Property(Kind.DECIMAL, "confidence", "The confidence in the claim, from 0 to 1."),
        "reasoning": _Property(_STRING, "reasoning", "The reasoning by which it was inferred."),
        "xpath": _Property(_STRING, "XPath", "The location of the claim in the source, as an XPath."),
        "quote": _Property(_STRING, "quote", "The words of the source."),
        "page": _Property(_STRING, "page", "The page of the source."),
        "retrievalAgent": _Property(
            _STRING, "retrieval agent", "The person or program that took the claim from the source."
        ),
    },
    "picom:Person": {
        "claim": _Property(_IRI, "claim", "A claim that an observation makes, or a reconstruction chose.", "Claim"),
        "uuidRaw": _Property(_STRING, "UUID of the inputs", "The UUID of the inputs of the identifier."),
        "version": _Property(Kind.INTEGER, "version", "The number of the version that the document describes."),
        "currentVersion": _Property(_IRI, "current version", "The newest version.", "prov:Entity"),
        "restrictionReason": _Property(
            _STRING, "restriction reason", "The reason why the description of the person is not public."
        ),
        "restrictedSince": _Property(_TIME, "restricted since", "The date since which the description is not public."),
        "redactionReason": _Property(_STRING, "redaction reason", "The reason of a permanent removal."),
        "redactedAt": _Property(_TIME, "redacted at", "The date of a permanent removal."),
        "redactedHash": _Property(_STRING, "redacted hash", "The SHA-256 of the record before it was redacted."),
        "redactionOf": _Property(_IRI, "redaction of", "The observation that was removed.", "PersonObservation"),
        "baptismDate": _Property(_STRING, "baptism date", _FROM_CLAIMS, _LITERAL),
        "baptismPlace": _Property(_STRING, "baptism place", _FROM_CLAIMS, _LITERAL),
        "burialDate": _Property(_STRING, "burial date", _FROM_CLAIMS, _LITERAL),
        "burialPlace": _Property(_STRING, "burial place", _FROM_CLAIMS, _LITERAL),
        "marriageDate": _Property(_STRING, "marriage date", _FROM_CLAIMS, _LITERAL),
        "marriagePlace": _Property(_STRING, "marriage place", _FROM_CLAIMS, _LITERAL),
        "residence": _Property(_STRING, "residence", _FROM_CLAIMS, _LITERAL),
        "employer": _Property(_STRING, "employer", "The employer of the person, as stated by the claims.", _LITERAL),
        "role": _Property(_STRING, "role", "The role of the person in the source, as stated by the claims.", _LITERAL),
        "education": _Property(_STRING, "education", _FROM_CLAIMS, _LITERAL),
        "nationality": _Property(_STRING, "nationality", _FROM_CLAIMS, _LITERAL),
        "religion": _Property(_STRING, "religion", _FROM_CLAIMS, _LITERAL),
        "relation": _Property(_STRING, "relation", "A relation of the person, as stated by the claims.", _LITERAL),
    },
    _RESOURCE: {
        "state": _Property(_STRING, "state", "Of the identifier: reserved, active, withdrawn or merged."),
        "tombstoneReason": _Property(_STRING, "tombstone reason", "The reason why it was withdrawn, merged or split."),
    },
}
PROPERTIES: Final = {name: term for terms in _BY_DOMAIN.values() for name, term in terms.items()}


@cache
def vocabulary_terms(namespaces: Namespaces) -> tuple[Term, ...]:
    """Return every term of ours, the classes first."""
    bases = {"picom": namespaces.picom, "rdfs": RDFS, "prov": PROV, "pnv": PNV}

    def full(name: str) -> str:
        prefix, colon, local = name.partition(":")
        return bases[prefix] + local if colon else namespaces.ppidt + name

    classes = [
        Term(name, namespaces.ppidt + name, "class", each.label, each.comment, tuple(map(full, each.parents)))
        for name, each in CLASSES.items()
    ]
    properties = [
        Term(
            name,
            namespaces.ppidv + name,
            "object property" if term.kind in (Kind.IRI, Kind.NAMED) else "datatype property",
            term.label,
            term.comment,
            domain=full(domain),
            range=DATATYPES[term.kind] if term.range is None else full(term.range),
        )
        for domain, terms in _BY_DOMAIN.items()
        for name, term in terms.items()
    ]
    return (*classes, *properties)
