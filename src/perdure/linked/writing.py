"""Write a document. It is built once, as a tree that already is the JSON-LD; its statements are read from that tree.

Turtle and N-Triples are put together from terms as pyoxigraph writes them. Its own writers would need an object for
each triple, and to make those takes three times as long as all the rest; only RDF/XML goes that way.
"""

import re
from typing import Any, Final

import msgspec
import pyoxigraph as ox

from perdure.linked.formats import format_named
from perdure.linked.terms import Dialect, Terms, quoted

Tree = dict[str, Any]
Statements = list[tuple[str, list[tuple[str, list[str]]]]]

_NO_XML: Final = re.compile(b"\xef\xbf[\xbe\xbf]")  # U+FFFE and U+FFFF
_UNREADABLE: Final = b"\xef\xbf\xbd"
_ROOT: Final = re.compile(rb"<rdf:RDF [^>]*>")

encode: Final = msgspec.json.Encoder().encode


def write(tree: Tree, format: str, words: Terms, context_url: str) -> bytes:
    """The tree in one of the forms of RDF."""
    chosen = format_named(format).name
    if chosen == "json-ld":
        return without_unwritable(encode({"@context": context_url, **tree}))
    if chosen == "turtle":
        return words.declarations + turtle(tree, words)
    lines = n_triples(tree, words)
    return rdf_xml(lines, words) if chosen == "rdf-xml" else lines


def turtle(tree: Tree, words: Terms) -> bytes:
    """The statements, without declarations of prefixes."""
    nodes = [
        f"\n{subject} " + " ;\n    ".join([f"{predicate} {', '.join(objects)}" for predicate, objects in said]) + " .\n"
        for subject, said in _statements(tree, words.turtle)
    ]
    return without_unwritable("".join(nodes).encode())


def n_triples(tree: Tree, words: Terms) -> bytes:
    """One line for each statement."""
    lines = [
        f"{subject} {predicate} {one} .\n"
        for subject, said in _statements(tree, words.n_triples)
        for predicate, objects in said
        for one in objects
    ]
    return without_unwritable("".join(lines).encode())


def rdf_xml(lines: bytes, words: Terms) -> bytes:
    """What N-Triples say, as XML."""
    triples = ox.parse(lines, format=ox.RdfFormat.N_TRIPLES)
    written = ox.serialize(triples, format=ox.RdfFormat.RDF_XML, prefixes=words.prefixes) or b""
    # The namespaces come in another order each time, and the same document should be the same bytes.
    written = _ROOT.sub(lambda _: words.xml_root, written, count=1)
    # An XML parser would make one line break of a carriage return and a line feed.
    return written.replace(b"\r", b"&#13;")


def without_unwritable(written: bytes) -> bytes:
    """Two code points are no characters, and no XML can hold them: so no form does, and all say the same."""
    return _NO_XML.sub(_UNREADABLE, written) if b"\xef" in written else written  # one byte is found fastest


def _statements(tree: Tree, dialect: Dialect) -> Statements:
    """What the tree says, node after node."""
    nodes = [tree]
    keys, names = dialect
    found: Statements = []
    for node in nodes:  # which grows by the nodes inside
        said = []
        for key, value in node.items():
            if key == "id":
                continue
            predicate, make = keys[key]
            if type(value) is list:
                objects = [_object(one, nodes, names) if type(one) is dict else make(one) for one in value]
            else:
                objects = [_object(value, nodes, names) if type(value) is dict else make(value)]
            said.append((predicate, objects))
        found.append((f"<{node['id']}>", said))
    return found


def _object(value: Tree, nodes: list[Tree], names: dict[str, str]) -> str:
    """Another node, whose turn will come, or a literal that says more than its key does."""
    if "id" in value:
        nodes.append(value)
        return f"<{value['id']}>"
    if "language" in value:
        return f"{quoted(value['value'])}@{value['language']}"
    return f"{quoted(value['value'])}^^{names[value['type']]}"
