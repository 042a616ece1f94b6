"""The RDF documents of persons and of all other identifiers."""

from contextlib import suppress

from perdure.names import handle
from perdure.rdf.authority_metadata import metadata_tree, withdrawal_tree
from perdure.rdf.iris import iri as to_iri
from perdure.rdf.jsonld_context import terms
from perdure.rdf.person import person_tree
from perdure.rdf.serializer import Tree, write
from perdure.records.namespaces import Namespaces
from perdure.records.web_address import encode_web_address
from perdure.registry.identifier_view import View
from perdure.registry.persons import PersonView
from perdure.registry.withdrawal import Withdrawal


def write_person(
    person: PersonView,
    format: str,
    namespaces: Namespaces,
    context_url: str,
    *,
    as_version: bool = False,
) -> bytes:
    """Write the document of an observation or a reconstruction; with `as_version`, of its newest version."""
    tree = person_tree(person, namespaces, as_version=as_version)
    return write(tree, format, terms(namespaces), context_url)


def write_identifier(
    view: View,
    iri: str,
    format: str,
    namespaces: Namespaces,
    context_url: str,
    withdrawal: Withdrawal | None = None,
) -> bytes:
    """Write the document of an identifier: its metadata, targets and description, or its withdrawal."""
    subject = to_iri(iri)
    home = _registry_base(subject, view.name)
    tree = _identifier_tree(view, subject, namespaces, home)
    if withdrawal is not None:
        tree |= withdrawal_tree(subject, withdrawal, namespaces, home)
    return write(tree, format, terms(namespaces), context_url)


def write_name(name: str, state: str, iri: str, format: str, namespaces: Namespaces, context_url: str) -> bytes:
    """Write the document of a name without public data: only the name and its state."""
    tree: Tree = {"id": to_iri(iri), "identifier": name, "state": state}
    return write(tree, format, terms(namespaces), context_url)


def _registry_base(subject: str, name: str) -> str:
    """Return the base IRI of the registry's names, or an empty text if the subject does not end in the name."""
    home = subject.removesuffix(handle.escape(name))
    return "" if home == subject else home


def _identifier_tree(view: View, subject: str, namespaces: Namespaces, home: str) -> Tree:
    tree: Tree = {"id": subject, "identifier": list(dict.fromkeys((view.name, *view.names)))}
    if view.locations:  # they replace the target
        tree["url"] = [to_iri(encode_web_address(location)) for location in dict.fromkeys(view.locations)]
    elif view.target is not None:
        with suppress(ValueError):  # a target without a valid host, from before such targets were rejected
            tree["url"] = to_iri(encode_web_address(view.target))
    tree |= metadata_tree(view, namespaces, home)
    about = view.about
    if about is not None:
        fields = {field: text for field in about.__struct_fields__ if (text := getattr(about, field)) is not None}
        tree["about"] = {"id": f"{subject}#about", **fields}  # about the thing; all else is about the identifier
    return tree
