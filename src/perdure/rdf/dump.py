"""Dumps: any number of persons as one document, in chunks."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from perdure.errors import InvalidInput
from perdure.rdf.formats import find_format
from perdure.rdf.jsonld_context import terms
from perdure.rdf.person import person_tree
from perdure.rdf.serializer import encode, n_triples, rdf_xml, turtle, without_noncharacters
from perdure.records.namespaces import Namespaces
from perdure.registry.persons import PersonView

NDJSON: Final = "ndjson"


def dump(
    persons: Iterable[PersonView], format: str, namespaces: Namespaces, context: str | msgspec.Raw
) -> Iterator[bytes]:
    """Yield N-Triples, Turtle, or JSON-LD with one person per line; or our own records, one per line (`ndjson`)."""
    if format == NDJSON:
        return _records(persons)
    chosen = find_format(format).name
    if chosen == "rdf-xml":
        raise InvalidInput(
            "linked", "format", "RDF/XML is not supported in a dump: use n-triples, turtle, json-ld or ndjson"
        )
    if chosen == "json-ld":
        return _json_ld(persons, namespaces, context)
    return _turtle(persons, namespaces) if chosen == "turtle" else _n_triples(persons, namespaces)


def write_persons(persons: Iterable[PersonView], format: str, namespaces: Namespaces, context_url: str) -> bytes:
    """Write some persons as one document, in any format of RDF."""
    chosen = find_format(format).name
    if chosen == "rdf-xml":
        return rdf_xml(b"".join(_n_triples(persons, namespaces)), terms(namespaces))
    return b"".join(dump(persons, chosen, namespaces, context_url))


def _json_ld(persons: Iterable[PersonView], namespaces: Namespaces, context: str | msgspec.Raw) -> Iterator[bytes]:
    yield b'{"@context":' + encode(context) + b',"@graph":['
    separator = b"\n"
    for person in persons:
        yield separator + without_noncharacters(encode(person_tree(person, namespaces)))
        separator = b",\n"
    yield b"\n]}\n"


def _turtle(persons: Iterable[PersonView], namespaces: Namespaces) -> Iterator[bytes]:
    words = terms(namespaces)
    yield words.declarations
    for person in persons:
        yield turtle(person_tree(person, namespaces), words)


def _n_triples(persons: Iterable[PersonView], namespaces: Namespaces) -> Iterator[bytes]:
    words = terms(namespaces)
    for person in persons:
        yield n_triples(person_tree(person, namespaces), words)


def _records(persons: Iterable[PersonView]) -> Iterator[bytes]:
    for person in persons:
        view = msgspec.structs.replace(person.view, handle_record=())
        fields = {"at": person.at, **msgspec.to_builtins(view)}
        if person.withdrawal is not None:
            fields["withdrawal"] = person.withdrawal._asdict()
        yield encode(fields) + b"\n"
