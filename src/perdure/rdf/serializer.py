"""Serialisation of documents as JSON-LD, Turtle, N-Triples and RDF/XML.

A document is built once, as a tree that is also its JSON-LD. Its statements are derived from that tree. Turtle and
N-Triples are assembled from terms in pyoxigraph's spelling. Its own writers need an object for each triple, which takes
three times as long as all the rest. Only RDF/XML uses them.
"""

import re
from typing import Any, Final

import msgspec
import pyoxigraph as ox

from perdure.rdf.formats import find_format
from perdure.rdf.jsonld_context import Dialect, Terms, quote_literal

Tree = dict[str, Any]
Statements = list[tuple[str, list[tuple[str, list[str]]]]]

_NO_XML: Final = re.compile(b"\xef\xbf[\xbe\xbf]")  # U+FFFE and U+FFFF
_UNREADABLE: Final = b"\xef\xbf\xbd"
_ROOT: Final = re.compile(rb"<rdf:RDF [^>]*>")

encode: Final = msgspec.json.Encoder().encode


def write(tree: Tree, format: str, words: Terms, context_url: str) -> bytes:
    """Write the tree in one of the formats of RDF."""
    chosen = find_format(format).name
    if chosen == "json-ld":
        return without_noncharacters(encode({"@context": context_url, **tree}))
    if chosen == "turtle":
        return words.declarations + turtle(tree, words)
    lines = n_triples(tree, words)
    return rdf_xml(lines, words) if chosen == "rdf-xml" else lines


def turtle(tree: Tree, words: Terms) -> bytes:
    """Write the statements in Turtle, without declarations of prefixes."""
    nodes = [
        f"\n{subject} "
        + " ;\n    ".join([f"{predicate} {', '.join(objects)}" for predicate, objects in pairs])
        + " .\n"
        for subject, pairs in _statements(tree, words.turtle)
    ]
    return without_noncharacters("".join(nodes).encode())


def n_triples(tree: Tree, words: Terms) -> bytes:
    """Write one line for each statement."""
    lines = [
        f"{subject} {predicate} {value} .\n"
        for subject, pairs in _statements(tree, words.n_triples)
        for predicate, objects in pairs
        for value in objects
    ]
    return without_noncharacters("".join(lines).encode())


def rdf_xml(lines: bytes, words: Terms) -> bytes:
    """Convert N-Triples to RDF/XML."""
    triples = ox.parse(lines, format=ox.RdfFormat.N_TRIPLES)
    written = ox.serialize(triples, format=ox.RdfFormat.RDF_XML, prefixes=words.prefixes) or b""
    # The order of the namespaces varies, but a document must always have the same bytes.
    written = _ROOT.sub(lambda _: words.xml_root, written, count=1)
    # An XML parser would change a carriage return and a line feed to one line break.
    return written.replace(b"\r", b"&#13;")


def without_noncharacters(written: bytes) -> bytes:
    """Replace two noncharacters that XML does not allow. All formats do so, to have equal content."""
    return _NO_XML.sub(_UNREADABLE, written) if b"\xef" in written else written  # one byte is searched fastest


def _statements(tree: Tree, dialect: Dialect) -> Statements:
    """Return the statements of the tree, node by node."""
    nodes = [tree]
    keys, names = dialect
    statements: Statements = []
    for node in nodes:  # `_object` appends the nested nodes
        pairs = []
        for key, value in node.items():
            if key == "id":
                continue
            predicate, make = keys[key]
            if type(value) is list:
                objects = [_object(each, nodes, names) if type(each) is dict else make(each) for each in value]
            else:
                objects = [_object(value, nodes, names) if type(value) is dict else make(value)]
            pairs.append((predicate, objects))
        statements.append((f"<{node['id']}>", pairs))
    return statements


def _object(value: Tree, nodes: list[Tree], names: dict[str, str]) -> str:
    """Write a nested node, which is appended to `nodes`, or a literal with a language or a type of its own."""
    if "id" in value:
        nodes.append(value)
        return f"<{value['id']}>"
    if "language" in value:
        return f"{quote_literal(value['value'])}@{value['language']}"
    return f"{quote_literal(value['value'])}^^{names[value['type']]}"
