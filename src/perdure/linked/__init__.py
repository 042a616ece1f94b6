"""Linked data: persons and other identifiers as RDF, and the vocabulary that they are told in."""

from perdure.linked.authority import Withdrawal
from perdure.linked.claim_set import write_claims
from perdure.linked.documents import write_identifier, write_name, write_person
from perdure.linked.dumping import dump, write_persons
from perdure.linked.formats import BY_MEDIA, FORMATS, Format, format_named
from perdure.linked.namespaces import Namespaces
from perdure.linked.terms import CONTEXT, context
from perdure.linked.vocabulary import Term, vocabulary_terms
from perdure.linked.vocabulary_document import SHAPES, shapes, write_vocabulary

__all__ = [
    "BY_MEDIA",
    "CONTEXT",
    "FORMATS",
    "SHAPES",
    "Format",
    "Namespaces",
    "Term",
    "Withdrawal",
    "context",
    "dump",
    "format_named",
    "shapes",
    "vocabulary_terms",
    "write_claims",
    "write_identifier",
    "write_name",
    "write_person",
    "write_persons",
    "write_vocabulary",
]
