"""The vocabulary as a document, and the SHACL shapes of our documents."""

from pathlib import Path
from typing import Final

import msgspec

from perdure.rdf.formats import find_format
from perdure.rdf.jsonld_context import context, terms
from perdure.rdf.serializer import Tree, encode, n_triples, rdf_xml, turtle
from perdure.rdf.vocabulary import Term, vocabulary_terms
from perdure.records.namespaces import Namespaces

SHAPES: Final = Path(__file__).with_name("shapes.ttl").read_bytes()

_SORTS: Final = {"class": "Class", "object property": "ObjectProperty", "datatype property": "DatatypeProperty"}
_TITLE: Final = "Person identifiers"
_COMMENT: Final = "Descriptions of persons in a registry: observations, reconstructions, and their claims."


def shapes(namespaces: Namespaces) -> bytes:
    """Return the shapes for documents in these namespaces."""
    written = SHAPES
    usual = Namespaces()
    for field in usual.__struct_fields__:
        old, new = (f"@prefix {field}: <{getattr(each, field)}>".encode() for each in (usual, namespaces))
        written = written.replace(old, new)
    return written


def write_vocabulary(format: str, namespaces: Namespaces) -> bytes:
    """Write our classes and properties as an ontology. Its JSON-LD contains the context."""
    chosen = find_format(format).name
    words = terms(namespaces)
    trees = _trees(namespaces)
    if chosen == "json-ld":
        return encode({**msgspec.json.decode(context(namespaces)), "@graph": trees})
    if chosen == "turtle":
        return words.declarations + b"".join(turtle(tree, words) for tree in trees)
    lines = b"".join(n_triples(tree, words) for tree in trees)
    return rdf_xml(lines, words) if chosen == "rdf-xml" else lines


def _trees(namespaces: Namespaces) -> list[Tree]:
    ontology = namespaces.ppidv.rstrip("#/")
    whole: Tree = {"id": ontology, "type": ["Ontology"], "label": _english(_TITLE), "comment": _english(_COMMENT)}
    return [whole, *(_tree(term, ontology) for term in vocabulary_terms(namespaces))]


def _tree(term: Term, ontology: str) -> Tree:
    tree: Tree = {
        "id": term.iri,
        "type": [_SORTS[term.sort]],
        "label": _english(term.label),
        "comment": _english(term.comment),
        "isDefinedBy": ontology,
    }
    others = {"subClassOf": list(term.subclass_of), "domain": term.domain, "range": term.range}
    return tree | {key: value for key, value in others.items() if value}


def _english(words: str) -> dict[str, str]:
    return {"value": words, "language": "en"}
