"""The terms of our documents: the meaning of each key of the JSON-LD, and the context that publishes it.

No term is a prefix. Otherwise the address of a source such as `prov:something` would be expanded as a term.
"""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final, NamedTuple
from xml.sax.saxutils import escape

import msgspec
import pyoxigraph as ox

from perdure.rdf.namespaces import DC, DCTERMS, EDTF, OWL, PNV, PROV, RDF, RDFS, SDO, SKOS, XSD, prefixes
from perdure.rdf.vocabulary import CLASSES, DATATYPES, PROPERTIES, Kind
from perdure.records.namespaces import Namespaces

UNKNOWN_LANGUAGE: Final = "und"
_NO_CHARACTER: Final = re.compile("[\ufffe\uffff]")  # not allowed in XML
_KEYWORDS: Final = {"id": "@id", "type": "@type", "value": "@value", "language": "@language"}

# Properties of other vocabularies, by their keys in our documents.
_OTHERS: Final[dict[str, tuple[str, Kind]]] = {
    "name": (SDO + "name", Kind.TEXT),
    "alternateName": (SDO + "alternateName", Kind.TEXT),
    "identityPage": (SDO + "sameAs", Kind.IRI),
    "gender": (SDO + "gender", Kind.NAMED),
    "birthDate": (SDO + "birthDate", Kind.STRING),
    "birthPlace": (SDO + "birthPlace", Kind.STRING),
    "deathDate": (SDO + "deathDate", Kind.STRING),
    "deathPlace": (SDO + "deathPlace", Kind.STRING),
    "hasOccupation": (SDO + "hasOccupation", Kind.STRING),
    "description": (SDO + "description", Kind.STRING),
    "url": (SDO + "url", Kind.IRI),
    "holdingArchive": (SDO + "holdingArchive", Kind.IRI),
    "softwareVersion": (SDO + "softwareVersion", Kind.STRING),
    "about": (SDO + "about", Kind.IRI),
    "who": (DC + "creator", Kind.STRING),
    "what": (DC + "title", Kind.STRING),
    "when": (DC + "date", Kind.STRING),
    "where": (DC + "publisher", Kind.STRING),
    "hasName": (PNV + "hasName", Kind.IRI),
    "literalName": (PNV + "literalName", Kind.TEXT),
    "givenName": (PNV + "givenName", Kind.TEXT),
    "initials": (PNV + "initials", Kind.TEXT),
    "patronym": (PNV + "patronym", Kind.TEXT),
    "surnamePrefix": (PNV + "surnamePrefix", Kind.TEXT),
    "baseSurname": (PNV + "baseSurname", Kind.TEXT),
    "wasGeneratedBy": (PROV + "wasGeneratedBy", Kind.IRI),
    "generated": (PROV + "generated", Kind.IRI),
    "wasDerivedFrom": (PROV + "wasDerivedFrom", Kind.IRI),
    "wasRevisionOf": (PROV + "wasRevisionOf", Kind.IRI),
    "wasAssociatedWith": (PROV + "wasAssociatedWith", Kind.IRI),
    "wasAttributedTo": (PROV + "wasAttributedTo", Kind.IRI),
    "wasInvalidatedBy": (PROV + "wasInvalidatedBy", Kind.IRI),
    "hadPrimarySource": (PROV + "hadPrimarySource", Kind.IRI),
    "specializationOf": (PROV + "specializationOf", Kind.IRI),
    "alternateOf": (PROV + "alternateOf", Kind.IRI),
    "generatedAtTime": (PROV + "generatedAtTime", Kind.DATE_TIME),
    "invalidatedAtTime": (PROV + "invalidatedAtTime", Kind.DATE_TIME),
    "startedAtTime": (PROV + "startedAtTime", Kind.DATE_TIME),
    "identifier": (DCTERMS + "identifier", Kind.STRING),
    "created": (DCTERMS + "created", Kind.DATE_TIME),
    "modified": (DCTERMS + "modified", Kind.DATE_TIME),
    "creator": (DCTERMS + "creator", Kind.IRI),
    "rightsHolder": (DCTERMS + "rightsHolder", Kind.IRI),
    "hasPart": (DCTERMS + "hasPart", Kind.IRI),
    "hasVersion": (DCTERMS + "hasVersion", Kind.IRI),
    "isVersionOf": (DCTERMS + "isVersionOf", Kind.IRI),
    "replaces": (DCTERMS + "replaces", Kind.IRI),
    "isReplacedBy": (DCTERMS + "isReplacedBy", Kind.IRI),
    "sameAs": (OWL + "sameAs", Kind.IRI),
    "differentFrom": (OWL + "differentFrom", Kind.IRI),
    "closeMatch": (SKOS + "closeMatch", Kind.IRI),
    "note": (SKOS + "note", Kind.STRING),
    "label": (RDFS + "label", Kind.TEXT),
    "comment": (RDFS + "comment", Kind.TEXT),
    "isDefinedBy": (RDFS + "isDefinedBy", Kind.IRI),
    "subClassOf": (RDFS + "subClassOf", Kind.IRI),
    "domain": (RDFS + "domain", Kind.IRI),
    "range": (RDFS + "range", Kind.IRI),
}
# Classes, individuals and datatypes of other vocabularies.
_NAMED: Final = {
    "PersonName": PNV + "PersonName",
    "ArchiveComponent": SDO + "ArchiveComponent",
    "Male": SDO + "Male",
    "Female": SDO + "Female",
    "Entity": PROV + "Entity",
    "Activity": PROV + "Activity",
    "Agent": PROV + "Agent",
    "Person": PROV + "Person",
    "SoftwareAgent": PROV + "SoftwareAgent",
    "Ontology": OWL + "Ontology",
    "Class": OWL + "Class",
    "ObjectProperty": OWL + "ObjectProperty",
    "DatatypeProperty": OWL + "DatatypeProperty",
    "date": XSD + "date",
    "gYear": XSD + "gYear",
    "gYearMonth": XSD + "gYearMonth",
    "EDTF": EDTF,
}


class Dialect(NamedTuple):
    """A syntax of statements: the predicate of each key, the function that writes its values, and IRIs of names."""

    keys: dict[str, tuple[str, Callable[[Any], str]]]
    names: dict[str, str]


class Terms(NamedTuple):
    """The terms in the namespaces of one registry."""

    turtle: Dialect
    n_triples: Dialect
    prefixes: dict[str, str]
    declarations: bytes  # of the prefixes, in Turtle
    xml_root: bytes


def quote_literal(text: str) -> str:
    """Quote a literal as pyoxigraph escapes it. Most need no escapes.

    >>> quote_literal("Jan"), quote_literal('"Jan"')
    ('"Jan"', '"\\\\"Jan\\\\""')
    """
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return str(ox.Literal(_NO_CHARACTER.sub("\ufffd", text)))


@cache
def terms(namespaces: Namespaces) -> Terms:
    known = prefixes(namespaces)
    declared = " ".join(f'xmlns:{name}="{escape(iri)}"' for name, iri in {"rdf": RDF, **known}.items())
    return Terms(
        _dialect(namespaces, "a", lambda iri: _shorten_iri(iri, known)),
        _dialect(namespaces, f"<{RDF}type>", "<{}>".format),
        known,
        "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in known.items()).encode(),
        f"<rdf:RDF {declared}>".encode(),
    )


def _shorten_iri(iri: str, known: dict[str, str]) -> str:
    for prefix, namespace in known.items():
        if iri.startswith(namespace) and iri[len(namespace) :].isalpha():
            return f"{prefix}:{iri[len(namespace) :]}"
    return f"<{iri}>"


def _dialect(namespaces: Namespaces, a: str, written: Callable[[str], str]) -> Dialect:
    properties = _properties(namespaces)
    names = {name: written(iri) for name, iri in _names(namespaces).items()}
    names |= {name: written(iri) for name, (iri, _) in properties.items()}
    makers: dict[Kind, Callable[[Any], str]] = {
        kind: partial(_typed_literal, f"^^{written(datatype)}") for kind, datatype in DATATYPES.items()
    }
    makers |= {
        Kind.IRI: "<{}>".format,
        Kind.NAMED: lambda name: names.get(name) or f"<{name}>",
        Kind.STRING: quote_literal,
        Kind.TEXT: partial(_typed_literal, f"@{UNKNOWN_LANGUAGE}"),
    }
    keys = {name: (names[name], makers[kind]) for name, (_, kind) in properties.items()}
    return Dialect({**keys, "type": (a, makers[Kind.NAMED])}, names)


def _typed_literal(ending: str, value: object) -> str:
    return quote_literal(str(value)) + ending


@cache
def context(namespaces: Namespaces) -> bytes:
    """Return the JSON-LD context, as it is served."""
    words: dict[str, object] = {"@version": 1.1, **_KEYWORDS, **_names(namespaces)}
    for name, (iri, kind) in _properties(namespaces).items():
        words[name] = {"@id": iri, **_coercion(kind)}
    return msgspec.json.format(msgspec.json.encode({"@context": words}), indent=2) + b"\n"


def _coercion(kind: Kind) -> dict[str, str]:
    if kind is Kind.TEXT:
        return {"@language": UNKNOWN_LANGUAGE}
    if kind in (Kind.STRING, Kind.INTEGER):
        return {}  # the types of JSON
    return {"@type": {Kind.IRI: "@id", Kind.NAMED: "@vocab"}.get(kind) or DATATYPES[kind]}


def _properties(namespaces: Namespaces) -> dict[str, tuple[str, Kind]]:
    ours = {name: (namespaces.ppidv + name, term.kind) for name, term in PROPERTIES.items()}
    return {**ours, "hasAge": (namespaces.picom + "hasAge", Kind.STRING), **_OTHERS}


def _names(namespaces: Namespaces) -> dict[str, str]:
    ours = {name: namespaces.ppidt + name for name in CLASSES}
    pico = {f"Pico{name}": namespaces.picom + name for name in ("PersonObservation", "PersonReconstruction")}
    return {**ours, **pico, **_NAMED}


CONTEXT: Final = context(Namespaces())
