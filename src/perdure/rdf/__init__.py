"""Linked data: persons and other identifiers as RDF, and its vocabulary."""

from perdure.rdf.claim_set import write_claims
from perdure.rdf.documents import write_identifier, write_name, write_person
from perdure.rdf.dump import dump, write_persons
from perdure.rdf.formats import BY_MEDIA, FORMATS, Format, find_format
from perdure.rdf.jsonld_context import CONTEXT, context
from perdure.rdf.version_history import write_version_history
from perdure.rdf.vocabulary import Term, vocabulary_terms
from perdure.rdf.vocabulary_document import SHAPES, shapes, write_vocabulary
from perdure.records.namespaces import Namespaces

__all__ = [
    "BY_MEDIA",
    "CONTEXT",
    "FORMATS",
    "SHAPES",
    "Format",
    "Namespaces",
    "Term",
    "context",
    "dump",
    "find_format",
    "shapes",
    "vocabulary_terms",
    "write_claims",
    "write_identifier",
    "write_name",
    "write_person",
    "write_persons",
    "write_version_history",
    "write_vocabulary",
]
