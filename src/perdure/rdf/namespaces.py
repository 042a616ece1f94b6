"""The namespaces of our RDF: our own, which are settings, and those of other vocabularies."""

from typing import Final

from perdure.records.namespaces import Namespaces

PROV: Final = "http://www.w3.org/ns/prov#"
SDO: Final = "https://schema.org/"
PNV: Final = "https://w3id.org/pnv#"
DCTERMS: Final = "http://purl.org/dc/terms/"
DC: Final = "http://purl.org/dc/elements/1.1/"
OWL: Final = "http://www.w3.org/2002/07/owl#"
SKOS: Final = "http://www.w3.org/2004/02/skos/core#"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
EDTF: Final = "http://id.loc.gov/datatypes/edtf/EDTF"


def prefixes(namespaces: Namespaces) -> dict[str, str]:
    """Return the prefix of each namespace in a document."""
    return {
        "ppid": namespaces.ppid,
        "ppidv": namespaces.ppidv,
        "ppidt": namespaces.ppidt,
        "picom": namespaces.picom,
        "prov": PROV,
        "sdo": SDO,
        "pnv": PNV,
        "dcterms": DCTERMS,
        "dc": DC,
        "owl": OWL,
        "skos": SKOS,
        "rdfs": RDFS,
        "xsd": XSD,
    }
